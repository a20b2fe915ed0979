package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/mcp"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
)

func TestMain(m *testing.M) {
	if code, ok := host.Roles().Run(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

var ada = approval.NewHuman("ada")

// eras are a revision of each.
var eras = []string{"2025-11-25", "2026-07-28"}

// A home has a few skills, and is served.
type home struct {
	t    testing.TB
	h    *host.Host
	edge *mcp.Edge
}

func newHome(t testing.TB) *home {
	t.Helper()
	// Compiling a module takes ten times as long under the race detector.
	environ := []string{"SKILLET_SECRET_KEY=file", "SKILLET_COMPILE_TIMEOUT_SECONDS=600"}
	h, err := host.Open(t.Context(), host.Options{Home: filepath.Join(t.TempDir(), "home"), Environ: environ, LogOutput: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) })
	edge := mcp.New(hclog.NewNullLogger(), mcp.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Code: h.Code(), Work: h.Work(), Explain: meaning.Of, Decided: h.Decided, Refused: h.Govern().Tokens.Refused,
		Say: func(hint string, rs []fault.Remedy) string { return fault.Fill(hint, rs, fault.Remedy.String) },
	}, mcp.Settings{Watch: time.Millisecond})
	t.Cleanup(edge.Close)
	return &home{t, h, edge}
}

// echo is a module whose tools answer their input.
func echo(tools ...string) []byte {
	m := wasmtest.New()
	length := m.ImportFunc("skillet:host/v1", "input_length", wasmtest.Signature{Results: []byte{0x7e}})
	read := m.ImportFunc("skillet:host/v1", "input_read", wasmtest.Signature{Params: []byte{0x7f, 0x7e, 0x7f}, Results: []byte{0x7f}})
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(16, 16)
	for _, name := range tools {
		m.ExportFunc(name, m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0),
			wasmtest.I32Const(0), wasmtest.I64Const(0), wasmtest.Call(length), wasmtest.Op(0xa7), wasmtest.Call(read), wasmtest.Call(write)))
	}
	return m.Bytes()
}

func spin() []byte {
	m := wasmtest.New()
	m.ExportFunc("spin", m.Func(wasmtest.Signature{}, "", wasmtest.Loop(wasmtest.Empty, wasmtest.Br(0))))
	return m.Bytes()
}

// install installs a skill, as a person at the machine.
func (h *home) install(manifest string, module []byte) {
	h.t.Helper()
	dir := h.t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600), os.WriteFile(filepath.Join(dir, "main.wasm"), module, 0o600)); err != nil {
		h.t.Fatal(err)
	}
	if module == nil {
		_ = os.Remove(filepath.Join(dir, "main.wasm"))
	}
	h.installFrom(dir)
}

// installFrom installs what is at a path.
func (h *home) installFrom(path string) {
	h.t.Helper()
	plan, err := h.h.Admit().Plan(h.t.Context(), ada, admit.Install{Package: path, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	if err == nil {
		_, err = h.h.Admit().Commit(h.t.Context(), ada, plan, admit.Shown)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

const say = `{"name":"say","version":"1.0.0","description":"says things","type":"code_inline","command":"main.wasm","tools":[
	{"name":"again","description":"answers its input","read_only":true,"input_schema":{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]},
	 "output_schema":{"type":"object","properties":{"word":{"type":"string"}}}},
	{"name":"any","description":"answers anything"},
	{"name":"number","description":"answers a number","idempotent":true,"output_schema":{"type":"number"}}]}`

const greet = `{"name":"greet","version":"1.0.0","description":"a greeting","type":"prompt_inline","prompt":"Greet {name}.",
	"parameters":[{"name":"name","type":"string","required":true}]}`

// stdio connects a client to the edge by a pipe.
func (h *home) stdio(era string, o *sdk.ClientOptions) *sdk.ClientSession {
	h.t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	ctx := context.WithoutCancel(h.t.Context())
	go func() {
		ended <- h.edge.Serve(ctx, mcp.Client{Pass: govern.AdmitStarted("test", govern.RoleAgent)}, fromClient, toClient)
		_ = toClient.Close()
	}()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).
		Connect(ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cs.Close()
		_ = toServer.Close()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
	return cs
}

// names are the names of the tools that a client sees, in their order.
func names(t testing.TB, cs *sdk.ClientSession) string {
	t.Helper()
	r, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range r.Tools {
		all = append(all, one.Name)
	}
	return strings.Join(all, " ")
}

// call calls a tool, and returns its text.
func call(t testing.TB, cs *sdk.ClientSession, name, arguments string) (*sdk.CallToolResult, string) {
	t.Helper()
	r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	text := ""
	if len(r.Content) == 1 {
		text = r.Content[0].(*sdk.TextContent).Text
	}
	return r, text
}

// decode reads what is structured in an answer.
func decode(t testing.TB, r *sdk.CallToolResult, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(asJSON(r.StructuredContent)), v); err != nil {
		t.Fatalf("%s: %v", asJSON(r), err)
	}
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestTools(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	for _, era := range eras {
		cs := h.stdio(era, nil)
		r, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, cs); got != "say__again say__any say__number" {
			t.Errorf("%s: tools: %s", era, got)
		}
		if r.TTLMs <= 0 || r.CacheScope != "private" {
			t.Errorf("%s: cache hints: %d %s", era, r.TTLMs, r.CacheScope)
		}
		again, number := r.Tools[0], r.Tools[2]
		if !again.Annotations.ReadOnlyHint || !again.Annotations.IdempotentHint || *again.Annotations.DestructiveHint || *again.Annotations.OpenWorldHint || again.OutputSchema == nil {
			t.Errorf("%s: again: %s", era, asJSON(again))
		}
		if number.Annotations.ReadOnlyHint || !number.Annotations.IdempotentHint || number.OutputSchema != nil || !strings.Contains(asJSON(number.InputSchema), `"required":["input"]`) {
			t.Errorf("%s: number: %s", era, asJSON(number))
		}
		for _, c := range []struct {
			tool, arguments, text, structured string
			failed                            bool
		}{
			{"say__again", `{"word":"hello"}`, `{"word":"hello"}`, `{"word":"hello"}`, false},
			{"say__again", `{}`, "", "", true},
			{"say__any", `{"input":"some text"}`, "some text", "", false},
			{"say__any", `{"input":{"a":[1]}}`, `{"a":[1]}`, `{"a":[1]}`, false},
			{"say__any", `{"input":1,"more":2}`, "", "", true},
			{"say__number", `{"input":4.5}`, "4.5", "", false},
			{"say__number", `{"input":"4.5"}`, "4.5", "", false},
			{"say__number", `{"input":"x"}`, "", "", true},
		} {
			r, text := call(t, cs, c.tool, c.arguments)
			if r.IsError != c.failed || !c.failed && (text != c.text || c.structured != "" && asJSON(r.StructuredContent) != c.structured) {
				t.Errorf("%s: %s %s: %s", era, c.tool, c.arguments, asJSON(r))
			}
		}
		if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "say__nothing"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: a tool that is not there: %v", era, err)
		}
	}
}

// A name that is too long for clients ends in a part of its hash, and is the same each time.
func TestLongNames(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	skill, tool := strings.Repeat("a", 60), strings.Repeat("b", 60)
	h.install(`{"name":"`+skill+`","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"`+tool+`","description":"d"},{"name":"`+tool+`2","description":"d"}]}`, echo(tool, tool+"2"))
	cs := h.stdio(eras[0], nil)
	got := names(t, cs)
	for name := range strings.FieldsSeq(got) {
		if len(name) > 64 {
			t.Errorf("%s has %d characters", name, len(name))
		}
		if _, text := call(t, cs, name, `{"input":"x"}`); text != "x" {
			t.Errorf("%s: %s", name, text)
		}
	}
	if again := names(t, h.stdio(eras[1], nil)); again != got || strings.Count(got, " ") != 1 {
		t.Errorf("%s, and then %s", got, again)
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(greet, nil)
	for _, era := range eras {
		cs := h.stdio(era, nil)
		all, err := cs.ListPrompts(t.Context(), nil)
		if err != nil || len(all.Prompts) != 1 || all.Prompts[0].Name != "greet" || !all.Prompts[0].Arguments[0].Required {
			t.Fatalf("%s: prompts: %s %v", era, asJSON(all), err)
		}
		got, err := cs.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
		if err != nil || !strings.Contains(asJSON(got.Messages), "Ada") {
			t.Errorf("%s: %s %v", era, asJSON(got), err)
		}
		if _, err := cs.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet"}); err == nil {
			t.Errorf("%s: a prompt without what it needs", era)
		}
	}
}

// What is installed, disabled and removed later is shown and told.
func TestListChanges(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(greet, nil)
	for i, era := range eras {
		told := make(chan struct{}, 100)
		cs := h.stdio(era, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }})
		if got := names(t, cs); got != "" {
			t.Errorf("%s: tools: %s", era, got)
		}
		h.install(strings.Replace(say, "1.0.0", "1.0."+string(rune('1'+i)), 1), echo("again", "any", "number"))
		<-told
		if got := names(t, cs); got != "say__again say__any say__number" {
			t.Errorf("%s: tools after an installation: %s", era, got)
		}
		if _, err := h.h.Admit().Disable(t.Context(), ada, admit.EnableRequest{Skill: "say", Reason: "too loud"}); err != nil {
			t.Fatal(err)
		}
		<-told
		if got := names(t, cs); got != "" {
			t.Errorf("%s: tools of a disabled skill: %s", era, got)
		}
		if _, err := h.h.Admit().Enable(t.Context(), ada, admit.EnableRequest{Skill: "say"}); err != nil {
			t.Fatal(err)
		}
		<-told
		plan, err := h.h.Admit().Plan(t.Context(), ada, admit.Removal{Skills: []string{"say"}})
		if err == nil {
			_, err = h.h.Admit().Commit(t.Context(), ada, plan, admit.Shown)
		}
		if err != nil {
			t.Fatal(err)
		}
		<-told
	}
}

// A call with a key is carried out once, and another call with the key is refused.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	for _, era := range eras {
		cs := h.stdio(era, nil)
		do := func(word, key string) (*sdk.CallToolResult, error) {
			return cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "say__again", Arguments: map[string]string{"word": word}, Meta: sdk.Meta{"run.skillet/idempotency-key": key}})
		}
		run := func(r *sdk.CallToolResult) any { return r.Meta["run.skillet/run"] }
		first, err := do("a", "key")
		if err != nil {
			t.Fatal(err)
		}
		again, err := do("a", "key")
		if err != nil || run(again) != run(first) || run(first) == nil {
			t.Errorf("%s: the same call: %s %v, want %s", era, asJSON(again), err, asJSON(first))
		}
		if other, err := do("a", "other"); err != nil || run(other) == run(first) {
			t.Errorf("%s: another key: %s %v", era, asJSON(other), err)
		}
		for _, c := range [][2]string{{"b", "key"}, {"a", "a key"}, {"a", strings.Repeat("k", 201)}} {
			if r, err := do(c[0], c[1]); err == nil {
				t.Errorf("%s: %q: %s", era, c, asJSON(r))
			}
		}
	}
}

// A call ends when its client cancels it.
func TestCancelled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(busy, spin())
	for _, era := range eras {
		cs := h.stdio(era, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "busy__spin", Arguments: map[string]any{"input": ""}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", era, err)
		}
		// The edge waits for its calls when the client closes it, which the cleanup has it do.
	}
}

// A client that ends after its last request is answered all that it asked.
func TestAnswersWhatWasRead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	const n = 20
	in := &strings.Builder{}
	for i := range n {
		fmt.Fprintln(in, strings.Replace(strings.Replace(newList("tools/call"), `"params":{`, `"params":{"name":"say__again","arguments":{"word":"x"},`, 1), `"id":1`, fmt.Sprintf(`"id":%d`, i), 1))
	}
	var out bytes.Buffer
	if err := h.edge.Serve(t.Context(), mcp.Client{Pass: govern.AdmitStarted("test", govern.RoleAgent)}, strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"text":"{\"word\":\"x\"}"`); got != n {
		t.Errorf("%d of %d requests were answered:\n%s", got, n, out.String())
	}
}
