package orchestrator

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/local"
)

// offline are the agents that come with the host, and the provider that needs no
// network.
type offline struct {
	agent.Agent
	provider.Provider
	root string
}

func (o offline) Names() []string { return []string{"local"} }

type offlineProviders struct{ offline }

func (o offlineProviders) Provider(context.Context, string) (provider.Provider, error) {
	return o.offline.Provider, nil
}

type offlineAgents struct{ offline }

func (o offlineAgents) Definitions(context.Context) ([]Definition, error) {
	var all []Definition
	for _, d := range builtin.Definitions() {
		all = append(all, Definition{Definition: d, AnyTool: len(d.Tools) == 0})
	}
	return all, nil
}

func (o offlineAgents) Agent(context.Context, string) (agent.Agent, error) {
	return o.offline.Agent, nil
}

// desk has two skills, which do their work in this process.
type desk struct{ offline }

func (d desk) List(context.Context, task.Task) ([]Tool, error) {
	path := json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"Path of the file"}},"additionalProperties":false}`)
	markdown := json.RawMessage(`{"type":"object","required":["markdown"],"properties":{"markdown":{"type":"string","description":"Markdown text"}},"additionalProperties":false}`)
	text := json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string","description":"The text"}},"additionalProperties":false}`)
	return []Tool{
		{Skill: "files", Tool: "read_text", Description: "Read a text file.", InputSchema: path, ReadOnly: true, Untrusted: true},
		{Skill: "markdown", Tool: "links", Description: "List the links of a Markdown text.", InputSchema: markdown, ReadOnly: true},
		{Skill: "text", Tool: "summarize", Description: "Summarize a text by its most important sentences.", InputSchema: text, ReadOnly: true},
	}, nil
}

var link = regexp.MustCompile(`\]\(([^)]+)\)`)

func (d desk) Call(_ context.Context, c task.ToolCall, _ *budget.Lease, _ func() error) task.Result {
	var in struct{ Path, Markdown, Text string }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return failing(fault.KindUsage, err.Error())
	}
	var out any
	switch c.Tool {
	case "read_text":
		text, err := os.ReadFile(filepath.Join(d.root, filepath.Base(in.Path)))
		if err != nil {
			return failing(fault.KindNotFound, err.Error())
		}
		out = map[string]any{"text": string(text), "size": len(text), "truncated": false}
	case "links":
		links := []map[string]string{}
		for _, m := range link.FindAllStringSubmatch(in.Markdown, -1) {
			links = append(links, map[string]string{"url": m[1]})
		}
		out = map[string]any{"links": links}
	case "summarize":
		first, _, _ := strings.Cut(in.Text, ".")
		out = map[string]string{"summary": strings.TrimSpace(first) + "."}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return failing(fault.KindInternal, err.Error())
	}
	return ok(string(data))
}

// A goal in words is reached by the agents and the provider that come with the host,
// with no network.
func TestOffline(t *testing.T) {
	l := newLab(t, nil, Settings{})
	log := hclog.NewNullLogger()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte("Skillet runs skills. See [the guide](https://example.com/guide) and [the source](https://example.com/src).\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	off := offline{builtin.New(log, "0.0.0"), local.New(), root}
	ledger := budget.Open(log, l.store.KV(), l.bus, budget.Settings{})
	router := llm.New(log, l.store, l.bus, ledger, offlineProviders{off}, llm.Settings{})
	t.Cleanup(func() { router.Close() })
	o := New(log, l.store, l.bus, Ports{Models: router, Tools: desk{off}, Agents: offlineAgents{off}, Budget: ledger, Memory: l.mem}, Settings{})
	for _, goal := range []string{"Summarise README.md and list its links", "List the links of README.md"} {
		submitted, err := o.Submit(t.Context(), task.Task{Goal: goal, Owner: "human:ada", Roots: []string{root}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Run(t.Context(), submitted.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, r, task.Completed)
		if !strings.Contains(r.Report.Answer, "https://example.com/guide") || !strings.Contains(r.Report.Answer, "https://example.com/src") {
			t.Errorf("%s: %s", goal, r.Report.Answer)
		}
		if !r.Planned || len(r.Recovery) > 0 || r.Telemetry.ToolCalls < 2 || r.Telemetry.OutputTokens == 0 || r.Telemetry.Models[0] == "" {
			t.Errorf("%s: planned %v, %+v", goal, r.Planned, r.Telemetry)
		}
		t.Logf("%s\n%d steps, confidence %.2f, %d tokens, recovery %v, notes %v\n%s", goal, len(r.Steps), r.Report.Confidence, r.Telemetry.InputTokens+r.Telemetry.OutputTokens, r.Recovery, r.Notes, r.Report.Answer)
	}
}
