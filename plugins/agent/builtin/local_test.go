package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/local"
)

// skillTools are the tools of first-party skills, as a task has them.
func skillTools(t *testing.T, skills ...string) (all []provider.Tool) {
	t.Helper()
	for _, skill := range skills {
		text, err := os.ReadFile("../../../skills/" + skill + "/skill.json")
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifests.Parse(text, "skill.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range m.Tools {
			all = append(all, provider.Tool{Name: skill + "__" + tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
		}
	}
	return all
}

// thinksLocally is a host whose model is the provider that needs no network.
func thinksLocally() *agenttest.Host {
	p := local.New()
	return &agenttest.Host{
		Model: func(ctx context.Context, _ int, t agent.Thought) (provider.Response, error) {
			t.Request.Model = local.Planner
			return p.Generate(ctx, t.Request, nil)
		},
		Tool: func(_ context.Context, _ int, c agent.Call) (agent.ToolResult, error) {
			switch c.Tool {
			case "files__read_text":
				return agent.ToolResult{OK: true, Text: `{"text":"# Notes\n\nThe moon is far away. See [the moon](https://moon.example/).\n"}`, Untrusted: true}, nil
			case "markdown__links":
				return agent.ToolResult{OK: true, Text: `{"links":[{"text":"the moon","url":"https://moon.example/"}]}`, Untrusted: true}, nil
			}
			return agent.ToolResult{Kind: "not_found", Text: "there is no such thing"}, nil
		},
	}
}

func TestWithTheLocalProvider(t *testing.T) {
	t.Parallel()
	task := agent.Task{ID: "t", Goal: "List the links of notes.md.", Tools: skillTools(t, "files", "markdown"), Agents: []agent.Info{{Name: "general", Description: "anything"}}}
	for _, name := range []string{builtin.General, builtin.Conversation} {
		task.Agent = name
		h := thinksLocally()
		r := play(t, task, h)
		if !r.Done || !strings.Contains(r.Answer, "https://moon.example/") || strings.Contains(r.Answer, "[data") {
			t.Errorf("%s: %+v", name, r)
		}
		var called []string
		for _, c := range h.Called() {
			called = append(called, c.Tool)
		}
		if got := strings.Join(called, " "); got != "files__read_text markdown__links" {
			t.Errorf("%s called %s", name, got)
		}
	}
	task.Agent = builtin.Planner
	h := thinksLocally()
	p, err := builtin.New(nil, "1").Plan(t.Context(), task, h)
	if err != nil || len(p.Problems(task)) > 0 || len(p.Steps) < 2 || len(h.Thoughts()) != 1 {
		b, _ := json.Marshal(p)
		t.Errorf("planned %s, %v", b, err)
	}
}

func TestResearchWithTheLocalProvider(t *testing.T) {
	t.Parallel()
	task := agent.Task{ID: "t", Agent: builtin.Research, Goal: "Summarise notes.md.", Tools: skillTools(t, "files", "text")}
	r := play(t, task, thinksLocally())
	if len(r.Sources) != 1 || r.Sources[0].Source != "notes.md" {
		t.Errorf("%+v", r)
	}
}
