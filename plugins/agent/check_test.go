package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
)

func planTask() Task {
	return Task{Agent: "me", Tools: []provider.Tool{{Name: "files__read"}, {Name: "text__count"}}, Agents: []Info{{Name: "research"}}}
}

func TestProblemsOfPlans(t *testing.T) {
	t.Parallel()
	read := `{"id":"a","title":"t","tool":"files__read","input":{}}`
	for _, c := range []struct{ plan, want string }{
		{`{"steps":[` + read + `]}`, ""},
		{`{"steps":[` + read + `,{"id":"b","tool":"text__count","input":{"text":"${steps.a.text}"},"after":["a"]}],"risk":"low"}`, ""},
		{`{"steps":[` + read + `,{"id":"b","tool":"text__count","input":{},"after":["a"]},{"id":"c","tool":"text__count","input":{"text":"x ${steps.a.text} y"},"after":["b"]}]}`, ""},
		{`{"steps":[{"id":"a","agent":"me","goal":"g"}]}`, ""},
		{`{"steps":[{"id":"a","agent":"research","goal":"g","input":{}}]}`, ""},
		{`{}`, "no steps"},
		{`{"steps":[{"id":"a b","agent":"me","goal":"g"}]}`, `its id "a b"`},
		{`{"steps":[` + read + `,` + read + `]}`, "used twice"},
		{`{"steps":[{"id":"a"}]}`, "neither"},
		{`{"steps":[{"id":"a","tool":"files__read","agent":"me","goal":"g","input":{}}]}`, "one of them"},
		{`{"steps":[{"id":"a","tool":"approve","input":{}}]}`, `unknown tool "approve"`},
		{`{"steps":[{"id":"a","tool":"files__read","input":[]}]}`, "not a JSON object"},
		{`{"steps":[{"id":"a","tool":"files__read"}]}`, "not a JSON object"},
		{`{"steps":[{"id":"a","agent":"root","goal":"g"}]}`, `unknown agent "root"`},
		{`{"steps":[{"id":"a","agent":"me","goal":" "}]}`, "no goal"},
		{`{"steps":[{"id":"a","agent":"me","goal":"g","input":{"x":1}}]}`, "which only tools have"},
		{`{"steps":[{"id":"a","agent":"me","goal":"g","after":["z"]}]}`, `waits for "z"`},
		{`{"steps":[{"id":"a","agent":"me","goal":"g","after":["a"]}]}`, `waits for "a"`},
		{`{"steps":[{"id":"a","agent":"me","goal":"g","after":["b"]},{"id":"b","agent":"me","goal":"g","after":["a"]}]}`, "waits for itself"},
		{`{"steps":[` + read + `,{"id":"b","tool":"text__count","input":{"text":"${steps.a.text}"}}]}`, "does not wait"},
		{`{"steps":[{"id":"a","agent":"me","goal":"g"}],"risk":"none"}`, "risk"},
	} {
		var p Plan
		if err := json.Unmarshal([]byte(c.plan), &p); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(p.Problems(planTask()), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.plan, got, c.want)
		}
	}
}

func TestPlansAreBounded(t *testing.T) {
	t.Parallel()
	p := Plan{}
	for i := range MaxSteps + 1 {
		p.Steps = append(p.Steps, Step{ID: fmt.Sprint(i), Agent: "me", Goal: "g"})
	}
	if len(p.Problems(planTask())) != 1 {
		t.Error("a plan of too many steps is taken")
	}
	p.Steps = p.Steps[1:]
	if got := p.Problems(planTask()); len(got) != 0 {
		t.Error(got)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	s := Step{Input: json.RawMessage(`{"a":"${steps.x.text} ${steps.y.text}","b":"${steps.x.json.items.0}"}`), Goal: "Look at ${steps.z.text}."}
	if got := s.References(); !slices.Equal(got, []string{"x", "y", "z"}) {
		t.Error(got)
	}
}
