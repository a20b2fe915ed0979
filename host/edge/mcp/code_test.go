package mcp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// engine installs the interpreter of JavaScript, or the test is skipped.
func (h *home) engine() {
	h.t.Helper()
	dir := h.t.TempDir()
	built, err := h.h.Author().BuildEngines(h.t.Context(), ada, author.BuildEnginesRequest{Names: []string{"qjs"}, Dir: dir})
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound {
		h.t.Skipf("no interpreter: %v", err)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.installFrom(built[0].Path)
}

// many is a skill with many tools.
func many(name string, n int) (manifest string, module []byte) {
	var tools, names []string
	for i := range n {
		tool := fmt.Sprintf("tool_%d", i)
		names = append(names, tool)
		tools = append(tools, fmt.Sprintf(`{"name":%q,"read_only":true,"description":"does the work of number %d with a text, and answers it","input_schema":{"type":"object","properties":{"word":{"type":"string","description":"the text to work on"}},"required":["word"]},"output_schema":{"type":"object","properties":{"word":{"type":"string"}}}}`, tool, i))
	}
	return fmt.Sprintf(`{"name":%q,"version":"1.0.0","description":"has many tools","type":"code_inline","command":"main.wasm","tools":[%s]}`, name, strings.Join(tools, ",")), echo(names...)
}

// Above the budget a model is shown three tools, of less than 1,000 tokens, and reaches what its
// token may call through them; below it, tools and one for scripts.
func TestScriptsForTools(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.engine()
	h.install(say, echo("again", "any", "number"))
	for _, era := range eras {
		if got := names(t, h.stdio(era, nil)); got != "execute_code say__again say__any say__number" {
			t.Errorf("%s: below the budget: %s", era, got)
		}
	}
	for i := range 5 {
		h.install(many(fmt.Sprintf("many-%d", i), 60))
	}
	url := h.serve()
	everything, one := h.token("everything", govern.RoleAgent), h.token("one", govern.RoleAgent, "many-3:tool_7")
	for _, era := range eras {
		cs := h.client(url, everything, era, nil)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, cs); got != "execute_code run_skill_script search_tools" {
			t.Errorf("%s: above the budget: %s", era, got)
		}
		if size := len(asJSON(list.Tools)); size > 4000 {
			t.Errorf("%s: the definitions have %d bytes", era, size)
		}
		_, found := call(t, cs, "search_tools", `{"query":"work of number 42","limit":3}`)
		if !strings.Contains(found, "tool_42(input: { word: string }): Promise<{ word?: string }>") || !strings.Contains(found, "and ") {
			t.Errorf("%s: found %s", era, found)
		}
		r, text := call(t, cs, "execute_code", `{"code":"const r = await tools.many_3.tool_42({ word: data }); r.word.length","data":"`+strings.Repeat("x", 1000)+`"}`)
		if r.IsError || text != "1000" || r.Meta["run.skillet/run"] == "" {
			t.Errorf("%s: %s", era, asJSON(r))
		}
		if r, text := call(t, cs, "execute_code", `{"code":"1;\nnull.x"}`); !r.IsError || !strings.Contains(text, "(line 2)") {
			t.Errorf("%s: %s", era, asJSON(r))
		}
		if r, _ := call(t, cs, "execute_code", `{"code":"1","more":1}`); !r.IsError {
			t.Errorf("%s: arguments that are not known: %s", era, asJSON(r))
		}
		if r, text := call(t, cs, "run_skill_script", `{"skill":"say","path":"scripts/x.py"}`); !r.IsError || !strings.Contains(text, "no scripts") {
			t.Errorf("%s: %s", era, asJSON(r))
		}
		if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "say__again"}); err == nil {
			t.Errorf("%s: a tool that is not shown was called", era)
		}
		cs = h.client(url, one, era, nil)
		if got := names(t, cs); got != "execute_code many-3__tool_7" {
			t.Errorf("%s: of one tool: %s", era, got)
		}
		r, _ = call(t, cs, "execute_code", `{"code":"let k; try { await tools.many_3.tool_8({ word: 'x' }) } catch (e) { k = e.kind }\n[k, (await tools.many_3.tool_7({ word: 'y' })).word]"}`)
		if r.IsError || !strings.Contains(asJSON(r), `[\"denied\",\"y\"]`) {
			t.Errorf("%s: a script of a token for one tool: %s", era, asJSON(r))
		}
	}
}

// A script that needs a person is paused as a call is, and goes on.
func TestPausedScript(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.engine()
	dir := filepath.Join(h.h.Home(), "policies")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "ask.cedar"), []byte(`@id("ask-each")
@reason("somebody looks at it")
@approval("required")
forbid(principal, action == Action::"kv", resource) unless { context.approved };
`), 0o600)); err != nil {
		t.Fatal(err)
	}
	skill := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(skill, "skill.json"), []byte(`{"name":"notes","version":"1.0.0","description":"notes","type":"code_inline","command":"qjs","args":["main.js"],"dependencies":{"qjs":"*"},
		"tools":[{"name":"add","description":"adds a note","input_schema":{"type":"object","properties":{"text":{"type":"string"}}}}],"security":{"permissions":{"kv":{}}}}`), 0o600),
		os.WriteFile(filepath.Join(skill, "main.js"), []byte(`import { kv } from "skillet";
export const add = ({ text }) => { const n = (kv.getJSON("n") ?? 0) + 1; kv.putJSON("n", n); return n; };`), 0o600)); err != nil {
		t.Fatal(err)
	}
	h.installFrom(skill)
	for i, era := range eras {
		cs := h.stdio(era, nil)
		arguments := fmt.Sprintf(`{"code":"const a = Math.random(); await tools.notes.add({ text: '%s' })"}`, era)
		r, _ := call(t, cs, "execute_code", arguments)
		var paused struct{ Status, Proposal, Message string }
		decode(t, r, &paused)
		if paused.Status != "paused" || paused.Proposal == "" || !strings.Contains(paused.Message, "call 1") {
			t.Fatalf("%s: %s", era, asJSON(r))
		}
		p, err := h.h.Govern().Proposals.Find(t.Context(), ada, paused.Proposal)
		if err == nil {
			_, err = h.h.Govern().Proposals.Approve(t.Context(), ada, govern.Approval{ID: p.ID, Digest: string(p.Digest)})
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, text := call(t, cs, "execute_code", arguments); r.IsError || text != fmt.Sprint(i+1) {
			t.Errorf("%s: after the decision: %s", era, asJSON(r))
		}
	}
}
