package builtin_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests/schema"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
)

func failing(context.Context, int, agent.Call) (agent.ToolResult, error) {
	return agent.ToolResult{Kind: "skill", Text: "404"}, nil
}

const (
	goodPlan = `{"steps":[{"id":"read","title":"Read","tool":"files__read_text","input":{"path":"a.txt"}},
	{"id":"count","title":"Count","tool":"text__statistics","input":{"text":"${steps.read.text}"},"after":["read"]},
	{"id":"say","title":"Say","agent":"general","goal":"Say how many.","after":["count"],"input":{}}],"risk":"low"}`
	misfit = `{"steps":[{"id":"read","title":"Read","tool":"files__read_text","input":{"file":"a.txt"}}]}`
	later  = `{"steps":[{"id":"read","title":"Read","tool":"files__read_text","input":{"path":"a"}},{"id":"w","title":"W","tool":"files__write_text","input":{"file":"${steps.read.text}"},"after":["read"]}]}`
	cycle  = `{"steps":[{"id":"a","title":"A","agent":"general","goal":"g","after":["b"]},{"id":"b","title":"B","agent":"general","goal":"g","after":["a"]}]}`
)

func TestPlanner(t *testing.T) {
	t.Parallel()
	task := agent.Task{ID: "t", Agent: builtin.Planner, Goal: "Count the words of a.txt.", Tools: tools(), Agents: []agent.Info{{Name: "general", Description: "anything"}, {Name: "research"}}}
	for _, c := range []struct {
		name    string
		answers []string
		steps   int
		thought int
		told    string // what the second thought is told
	}{
		{"good", []string{goodPlan}, 3, 1, ""},
		{"with words around it", []string{"Here it is:\n```json\n" + goodPlan + "\n```\nGood luck!"}, 3, 1, ""},
		{"with an example before it", []string{"{like this}\n" + goodPlan}, 3, 1, ""},
		{"mended", []string{cycle, goodPlan}, 3, 2, "waits for itself"},
		{"an input that does not fit", []string{misfit, goodPlan}, 3, 2, "its input does not fit files__read_text"},
		{"a late input that does not fit", []string{later, goodPlan}, 3, 2, "path is missing"},
		{"without waiting", []string{strings.Replace(goodPlan, `,"after":["read"]`, "", 1)}, 3, 1, ""},
		{"waiting for nothing", []string{strings.ReplaceAll(goodPlan, "steps.read", "steps.none"), goodPlan}, 3, 2, "which is not another step"},
		{"never right", []string{misfit}, 1, 2, "does not fit"},
		{"no JSON", []string{"I would rather not."}, 1, 2, "not the JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var script []provider.Response
			for _, a := range c.answers {
				script = append(script, agenttest.Says(a))
			}
			h := &agenttest.Host{Model: agenttest.Script(script...)}
			p, err := builtin.New(nil, "1").Plan(t.Context(), task, h)
			if err != nil || len(p.Steps) != c.steps || len(p.Problems(task)) > 0 {
				t.Fatalf("%+v, %v", p, err)
			}
			thoughts := h.Thoughts()
			if len(thoughts) != c.thought || c.told != "" && !strings.Contains(thoughts[1].Request.System, c.told) {
				t.Errorf("%d thoughts: %s", len(thoughts), thoughts[len(thoughts)-1].Request.System)
			}
			if c.steps == 1 && (p.Steps[0].Agent != "general" || p.Steps[0].Goal != task.Goal || p.Reason == "") {
				t.Errorf("the way out is %+v", p)
			}
			first := thoughts[0].Request
			if asJSON(t, first.Schema) != asJSON(t, schema.Plan()) || len(first.Tools) != 4 || !strings.Contains(first.System, "- research: ") {
				t.Error("it was not asked with the schema, the tools and the agents")
			}
			if m := first.Messages; m[len(m)-1].Text != task.Goal {
				t.Errorf("the goal is not the last message: %+v", m)
			}
		})
	}
}

// asJSON is JSON without what spaces mean nothing in it.
func asJSON[T ~[]byte](t *testing.T, b T) string {
	t.Helper()
	return strings.Join(strings.Fields(string(b)), "")
}

func TestPlannerWithoutAModel(t *testing.T) {
	t.Parallel()
	a := builtin.New(nil, "1")
	task := agent.Task{ID: "t", Agent: builtin.Planner, Goal: "g"}
	p, err := a.Plan(t.Context(), task, &agenttest.Host{Refuse: errors.New("no model can be had")})
	if err != nil || len(p.Steps) != 1 || len(p.Problems(task)) > 0 || !strings.Contains(p.Reason, "no model can be had") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := a.Plan(t.Context(), task, &agenttest.Host{Refuse: context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOthersDecideOnTheWay(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{}
	for _, name := range []string{builtin.General, builtin.Research, "mine", ""} {
		p, err := builtin.New(nil, "1").Plan(t.Context(), agent.Task{Agent: name, Goal: "g"}, h)
		if err != nil || len(p.Steps) != 1 || p.Steps[0].Agent != cmp.Or(name, builtin.General) || len(h.Thoughts()) > 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// TestPlannerDescribesToolsInWords has a provider that takes no tools with a schema,
// and a model that calls tools instead of planning.
func TestPlannerDescribesToolsInWords(t *testing.T) {
	t.Parallel()
	task := agent.Task{ID: "t", Agent: builtin.Planner, Goal: "g", Tools: tools(), Agents: []agent.Info{{Name: "general"}}}
	for name, first := range map[string]func() (provider.Response, error){
		"refused": func() (provider.Response, error) {
			return provider.Response{}, &provider.Error{Class: provider.ClassInvalid, Message: "tools and a schema"}
		},
		"called": func() (provider.Response, error) {
			return agenttest.Wants(0, "files__read_text", `{"path":"a"}`), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &agenttest.Host{Model: func(_ context.Context, n int, thought agent.Thought) (provider.Response, error) {
				if n == 0 {
					return first()
				}
				if r := thought.Request; len(r.Tools) > 0 || !strings.Contains(r.System, "- text__statistics: Counts words. {") {
					t.Errorf("it was asked with %d tools and %s", len(r.Tools), r.System)
				}
				return agenttest.Says(goodPlan), nil
			}}
			if p, err := builtin.New(nil, "1").Plan(t.Context(), task, h); err != nil || len(p.Steps) != 3 {
				t.Errorf("%+v, %v", p, err)
			}
			if len(h.Called()) > 0 {
				t.Error("it called a tool")
			}
		})
	}
}
