package local

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/schema"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
)

func planned(t testing.TB, goal, system string, tools []provider.Tool) (agent.Plan, error) {
	t.Helper()
	r := provider.Request{Model: Planner, System: system, Tools: tools, Schema: schema.Plan(), Messages: []provider.Message{{Role: provider.RoleUser, Text: goal}}}
	a, err := New().Generate(t.Context(), r, nil)
	if err != nil {
		return agent.Plan{}, err
	}
	s, err := manifests.CompileSchema(schema.Plan())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check([]byte(a.Text)); err != nil {
		t.Errorf("%s: %v: %s", goal, err, a.Text)
	}
	var p agent.Plan
	if err := json.Unmarshal([]byte(a.Text), &p); err != nil {
		t.Fatal(err)
	}
	return p, nil
}

// Every plan fits its schema, can be followed, and has inputs that fit their tools.
func TestPlansFit(t *testing.T) {
	t.Parallel()
	tools := bundled(t)
	const system = "You write plans.\n\nAgents a step may name:\n- code: writes code\n- general: does the rest\n\nMore."
	task := agent.Task{Agent: "planner", Tools: tools, Agents: []agent.Info{{Name: "code"}, {Name: "general"}}}
	schemas := map[string]*manifests.ValueSchema{}
	for _, x := range tools {
		s, err := manifests.CompileSchema(x.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		schemas[x.Name] = s
	}
	for _, c := range append(goalCases(t, "testdata/goals.txt"), goalCases(t, "testdata/heldout.txt")...) {
		p, err := planned(t, c.goal, system, tools)
		if err != nil {
			t.Errorf("%s: %v", c.goal, err)
			continue
		}
		if problems := p.Problems(task); len(problems) > 0 {
			t.Errorf("%s: %q", c.goal, problems)
		}
		for _, s := range p.Steps {
			if s.Tool == "" {
				continue
			}
			if err := schemas[s.Tool].Check(s.Input); err != nil {
				t.Errorf("%s: %s%s: %v", c.goal, s.Tool, s.Input, err)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	got, err := planned(t, "Save a summary of a.md to b.txt and translate it into French.", "Agents a step may name:\n- general: x", bundled(t))
	want := agent.Plan{Risk: "medium", Reason: "It changes files. " + made, Steps: []agent.Step{
		{ID: "s1", Title: "files__read_text: a.md", Tool: "files__read_text", Input: json.RawMessage(`{"path":"a.md"}`)},
		{ID: "s2", Title: "text__summarize", Tool: "text__summarize", Input: json.RawMessage(`{"text":"${steps.s1.json.text}"}`), After: []string{"s1"}},
		{ID: "s3", Title: "Save a summary of a.md to b.txt", Tool: "files__write_text", Input: json.RawMessage(`{"path":"b.txt","text":"${steps.s2.json.summary}"}`), After: []string{"s2"}, Approval: true},
		{ID: "rest1", Title: "translate it into French", Agent: "general", Goal: "translate it into French", After: []string{"s1", "s2", "s3"}},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
}

func TestPlanOfNothing(t *testing.T) {
	t.Parallel()
	got, err := planned(t, "Write me a poem", "Agents a step may name:\n- poet: writes\n- bard: sings", bundled(t))
	if err != nil || len(got.Steps) != 1 || got.Steps[0].Agent != "poet" || got.Steps[0].Goal != "Write me a poem" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = planned(t, "Write me a poem", "", nil)
	if e, ok := err.(*provider.Error); !ok || e.Class != provider.ClassRefused {
		t.Errorf("%v", err)
	}
}

// What a goal quotes is not taken for a reference of a plan.
func TestPlanQuotes(t *testing.T) {
	t.Parallel()
	got, err := planned(t, `Write "costs ${steps}" to a.txt`, "", bundled(t))
	if err != nil || len(got.Steps) != 1 || string(got.Steps[0].Input) != `{"path":"a.txt","text":"costs $${steps}"}` {
		t.Errorf("%+v, %v", got, err)
	}
}

// The built-in agents reach goals with this provider as they do with others.
func TestBuiltinAgents(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"files__read_text": `{"text":"Rain fell. The river rose.","size":26,"offset":0,"next_offset":26,"truncated":false}`,
		"text__summarize":  `{"summary":"Rain fell.","sentences":[],"total_sentences":2,"truncated":false}`,
		"markdown__links":  `{"links":[{"text":"a","url":"https://example.com/","title":"","kind":"inline","heading":""}],"count":1,"left_out":0,"truncated":false}`,
	}
	for _, name := range []string{builtin.General, builtin.Research, builtin.FileOps, builtin.Conversation} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &agenttest.Host{
				Model: func(ctx context.Context, _ int, th agent.Thought) (provider.Response, error) {
					th.Request.Model = Planner
					return New().Generate(ctx, th.Request, nil)
				},
				Tool: func(_ context.Context, _ int, c agent.Call) (agent.ToolResult, error) {
					return agent.ToolResult{OK: true, Text: answers[c.Tool], Untrusted: true}, nil
				},
			}
			task := agent.Task{ID: "t1", Agent: name, Goal: "Summarise README.md and list its links", Tools: bundled(t)}
			r, err := builtin.New(nil, "1.0.0").Run(t.Context(), task, host)
			unfit := name == builtin.FileOps // has no tools but those for files
			if err != nil || r.Done == unfit {
				t.Fatalf("%+v, %v", r, err)
			}
			switch name {
			case builtin.FileOps:
				if !strings.Contains(r.Answer, "I cannot do this") || r.Problem == "" {
					t.Errorf("%+v", r)
				}
			case builtin.Conversation:
			case builtin.Research:
				if !strings.Contains(r.Answer, "> Rain fell.") || len(r.Sources) == 0 {
					t.Errorf("%+v", r)
				}
			default:
				if !strings.Contains(r.Answer, "> Rain fell.") || !strings.Contains(r.Answer, "[a](<https://example.com/>)") || len(host.Called()) != 3 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestBuiltinPlanner(t *testing.T) {
	t.Parallel()
	host := &agenttest.Host{Model: func(ctx context.Context, _ int, th agent.Thought) (provider.Response, error) {
		th.Request.Model = Planner
		return New().Generate(ctx, th.Request, nil)
	}}
	task := agent.Task{ID: "t1", Agent: builtin.Planner, Goal: "Summarise README.md and list its links", Tools: bundled(t)}
	p, err := builtin.New(nil, "1.0.0").Plan(t.Context(), task, host)
	var tools []string
	for _, s := range p.Steps {
		tools = append(tools, s.Tool)
	}
	if err != nil || !slices.Equal(tools, []string{"files__read_text", "text__summarize", "markdown__links"}) {
		t.Errorf("%+v, %v", p, err)
	}
}
