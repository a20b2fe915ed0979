package orchestrator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

func TestComplexity(t *testing.T) {
	for _, c := range []struct {
		goal string
		want task.Complexity
		sure float64
	}{
		// Fewer than 20 words, "what is", none of then, after, next: 3 of 4.
		{"What is Python?", task.Simple, 0.75},
		// And the word define: 4 of 4.
		{"Define WASI: what is it?", task.Simple, 1},
		// Short and without then, after, next: 2 of 4 is not more than half.
		{"Fix this bug in my code", task.Medium, 0.5},
		{"Summarise README.md and list its links", task.Medium, 0.5},
		// An order to build.
		{"Build a REST API with authentication", task.Complex, 0.5},
		{"Design a schema", task.Complex, 0.5},
		// Of complex goals build, step by step and line breaks: 3 of 4.
		{"Please build it step-by-step:\n1\n2\n3\n4\n", task.Complex, 0.75},
		{strings.Repeat("word ", 101) + "design it step by step\n\n\n\n\n", task.Complex, 1},
		// Half of the signs is not more than half.
		{"please build it step by step", task.Medium, 0.5},
		// Parts of words are no words: authentication, undefined, afternoon, rebuild.
		{"Rebuild authentication, what is undefined this afternoon?", task.Simple, 0.75},
		{"What is next?", task.Medium, 0.5},
		{"somewhat isolated", task.Medium, 0.5},
	} {
		if got, sure := classify(c.goal); got != c.want || sure != c.sure {
			t.Errorf("%.40q: %s with %v, want %s with %v", c.goal, got, sure, c.want, c.sure)
		}
	}
}

func TestEstimate(t *testing.T) {
	like := func(tokens ...int64) (all []taskCost) {
		for _, n := range tokens {
			all = append(all, taskCost{Tokens: n})
		}
		return all
	}
	for _, c := range []struct {
		of   task.Complexity
		like []taskCost
		want int64
	}{
		{task.Simple, nil, 240},                                          // 200 x 1.2
		{task.Medium, nil, 600},                                          // 500 x 1.2
		{task.Complex, nil, 1800},                                        // 1500 x 1.2
		{task.Medium, like(1000), 1020},                                  // (0.7 x 1000 + 0.3 x 500) x 1.2 = 850 x 1.2
		{task.Simple, like(100, 300), 240},                               // (0.7 x 200 + 0.3 x 200) x 1.2
		{task.Complex, like(100, 101), 624},                              // 0.7 x 100.5 + 450 = 520.35, whole: 520, x 1.2
		{task.Medium, []taskCost{{Tokens: 1000, Exhausted: true}}, 1440}, // 0.7 x 1500 + 150 = 1200, x 1.2
		{task.Medium, append(like(0), taskCost{Exhausted: true}), 180},   // 0.3 x 500 x 1.2
	} {
		if got := estimate(c.of, c.like); got != c.want {
			t.Errorf("%s, %d like it: %d, want %d", c.of, len(c.like), got, c.want)
		}
	}
}

func TestSimilarTasks(t *testing.T) {
	history := []taskCost{{Words: topic("count the words of the page"), Tokens: 100, ActiveMS: 3000}, {Words: topic("send a mail"), Tokens: 9}}
	// count, words, page, the: of 5 different words 4 are in both.
	if like := similar("count words of the second page", history); len(like) != 1 || like[0].Tokens != 100 {
		t.Errorf("%+v", like)
	}
	if like := similar("paint a picture", history); len(like) != 0 {
		t.Errorf("%+v", like)
	}
	r := &task.Run{}
	assess(r, task.Task{Goal: "count the words of the page"}, history, Settings{}.orDefault())
	// (0.7 x 100 + 0.3 x 500) x 1.2 = 264, and 40 times that for what goes in and out.
	if r.Estimate != 264 || r.SoftTokens != 264*40 || r.Similar != 1 || r.ExpectedMS != 3000 || r.Budget.Tokens != 200_000 {
		t.Errorf("%+v", r)
	}
	r = &task.Run{}
	assess(r, task.Task{Goal: "x", Budget: task.Budget{Tokens: 77}}, nil, Settings{}.orDefault())
	if r.SoftTokens != 77 || r.Budget.Tokens != 77 {
		t.Errorf("%+v", r)
	}
}

func TestRoutes(t *testing.T) {
	var defs []Definition
	for _, n := range []string{"general", "code", "research", "fileops", "conversation"} {
		var d Definition
		d.Name = n
		defs = append(defs, d)
	}
	s := Settings{}.orDefault()
	for goal, want := range map[string]string{
		"Write a skill that sorts lines": "code", "Fix the code": "code", "write a poem": "general",
		"Read https://example.com/a and say what it is about": "research", "research the history of tea": "research",
		"list the files here": "fileops", "make a list of files": "general", "Summarise README.md and list its links": "general",
	} {
		if got := route(task.Task{Goal: goal}, defs, s); got != want {
			t.Errorf("%s: %s, want %s", goal, got, want)
		}
	}
	if got := route(task.Task{Goal: "write a skill", Agent: "mine"}, defs, s); got != "mine" {
		t.Error(got)
	}
	if got := route(task.Task{Goal: "hello", Type: task.TypeConversation}, defs, s); got != "conversation" {
		t.Error(got)
	}
	if got := route(task.Task{Goal: "write a skill"}, defs[:1], s); got != "general" {
		t.Error(got)
	}
}

func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	tools := withNames([]Tool{
		{Skill: "text", Tool: "statistics"}, {Skill: "a.b", Tool: "c"}, {Skill: "a_b", Tool: "c"}, {Skill: "text", Tool: "statistics"},
		{Skill: "é", Tool: long}, {Skill: "é", Tool: long + "y"},
	})
	seen := map[string]bool{}
	for _, tool := range tools {
		if seen[tool.Name] || len(tool.Name) > 64 || strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q", tool.Name)
		}
		seen[tool.Name] = true
	}
	if len(tools) != 5 || !seen["text__statistics"] || seen["a_b__c"] {
		t.Errorf("%v", seen)
	}
}

func TestReferences(t *testing.T) {
	answers := map[string]answer{
		"a":    {Text: "hello", Data: json.RawMessage(`"hello"`)},
		"json": {Text: `{"n":1.50,"list":[{"x":"y"},null,12345678901234567890]}`, Data: json.RawMessage(`{"n":1.50,"list":[{"x":"y"},null,12345678901234567890]}`)},
		"says": {Text: `{"deep":{"a b":true}}`, Data: json.RawMessage(`"{\"deep\":{\"a b\":true}}"`)},
		"long": {Text: "beginning", Cut: true},
	}
	find := func(step string) (answer, error) {
		a, ok := answers[step]
		if !ok {
			return a, fault.Errorf(fault.KindUsage, "the step %s has no answer", step)
		}
		return a, nil
	}
	for in, want := range map[string]string{
		`{"t":"x"}`:               `{"t":"x"}`,
		`{"t":"${steps.a.text}"}`: `{"t":"hello"}`,
		`{"t":"<${steps.a.text}, ${steps.a.text}>"}`: `{"t":"\u003chello, hello\u003e"}`,
		`{"t":"${steps.json.json.n}"}`:               `{"t":1.50}`,
		`{"t":"n=${steps.json.json.n}"}`:             `{"t":"n=1.50"}`,
		`{"t":["${steps.json.json.list.0.x}"]}`:      `{"t":["y"]}`,
		`{"t":"${steps.json.json.list.2}"}`:          `{"t":12345678901234567890}`,
		`{"t":"${steps.json.json.list.1}"}`:          `{"t":null}`,
		`{"t":"${steps.json.json}"}`:                 `{"t":{"list":[{"x":"y"},null,12345678901234567890],"n":1.50}}`,
		`{"t":"${steps.json.json.list.0} there"}`:    `{"t":"{\"x\":\"y\"} there"}`,
		`{"t":"${steps.says.json.deep.a b}"}`:        `{"t":true}`,
		`{"t":"$${steps.a.text}"}`:                   `{"t":"${steps.a.text}"}`,
		`{"t":"${HOME} costs $5"}`:                   `{"t":"${HOME} costs $5"}`,
		`{"t":"\u0024{steps.a.text}"}`:               `{"t":"hello"}`,
	} {
		got, err := resolve(json.RawMessage(in), find)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{
		"${steps.a}", "${steps.a.body}", "${steps.a.text.x}", "${steps..text}", "${steps.a.text", "${steps.a.json..x}", "${steps.b c.text}",
		"${steps.gone.text}", "${steps.a.json.x}", "${steps.json.json.gone}", "${steps.json.json.list.9}", "${steps.json.json.list.-1}", "${steps.json.json.n.x}", "${steps.long.text}",
	} {
		in, _ := json.Marshal(map[string]string{"t": bad})
		if got, err := resolve(in, find); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

func FuzzReferences(f *testing.F) {
	f.Add(`{"t":"a ${steps.a.text} b ${steps.b.json.x.0} $${steps.c.text}"}`)
	f.Add(`"${steps.${steps.a.text}.text}"`)
	f.Add(`["\u0024{steps.a.json}", 1e999, {"${steps.a.text}": "$$${steps.a.text}"}]`)
	f.Fuzz(func(t *testing.T, input string) {
		all, err := texts(json.RawMessage(input))
		if err != nil || input == "" {
			return
		}
		refs, err := references(all...)
		asked := map[string]bool{}
		out, resolveErr := resolve(json.RawMessage(input), func(step string) (answer, error) {
			asked[step] = true
			return answer{Text: `{"x":["${steps.z.text}"]}`, Data: json.RawMessage(`{"x":["${steps.z.text}"]}`)}, nil
		})
		if err != nil && resolveErr == nil {
			t.Fatalf("%q: %v when looked at, and resolved to %s", input, err, out)
		}
		if asked["z"] && !contains(refs, "z") {
			t.Fatalf("%q: what a step answered was taken for a reference", input)
		}
		if resolveErr != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", input, out)
		}
		for id := range asked {
			if !contains(refs, id) {
				t.Fatalf("%q: %s was asked for, and is not among %v", input, id, refs)
			}
		}
	})
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

func TestPercentAndTimeLeft(t *testing.T) {
	base := task.Run{}.CreatedAt
	step := func(s task.StepState, from, to int) task.Step {
		return task.Step{State: s, StartedAt: base.Add(seconds(from)), FinishedAt: base.Add(seconds(to))}
	}
	half := 50.0
	running := step(task.StepRunning, 8, 8)
	running.Percent = &half
	r := task.Run{State: task.Running, Phase: task.PhaseAct, Steps: []task.Step{step(task.StepDone, 0, 4), step(task.StepFailed, 4, 8), running, {State: task.StepPending}}}
	// Of four steps two are over and one is half done: 10 + 80 x 2.5/4.
	if p := percentOf(r); p != 60 {
		t.Error(p)
	}
	// Steps took 4 s on average, two are open, one of which has had 1 s: 4 x 2 - 1.
	if ms, basis, known := left(r, base.Add(seconds(9))); ms != 7000 || basis != "steps" || !known {
		t.Error(ms, basis, known)
	}
	// It takes longer than that already: nobody knows.
	if ms, _, known := left(r, base.Add(seconds(30))); known {
		t.Error(ms)
	}
	// No step is over, and earlier tasks took 10 s: 10 - 2 - 3.
	r = task.Run{State: task.Running, Phase: task.PhaseAct, ExpectedMS: 10_000, ActiveMS: 2000, Steps: []task.Step{step(task.StepRunning, 0, 0)}}
	if ms, basis, known := left(r, base.Add(seconds(3))); ms != 5000 || basis != "history" || !known {
		t.Error(ms, basis, known)
	}
	r.ExpectedMS = 0
	if _, _, known := left(r, base.Add(seconds(3))); known {
		t.Error("known from nothing")
	}
	for phase, want := range map[task.Phase]float64{task.PhaseIntake: 0, task.PhaseRetrieve: 2.5, task.PhasePlan: 5, task.PhaseConsolidate: 95} {
		if p := percentOf(task.Run{State: task.Running, Phase: phase}); p != want {
			t.Errorf("%s: %v", phase, p)
		}
	}
	ended := task.Run{State: task.Cancelled, Phase: task.PhaseAct, Steps: []task.Step{{State: task.StepFailed}, {State: task.StepSkipped}}}
	if p := percentOf(ended); p != percentPlanned {
		t.Errorf("cancelled with nothing done: %v", p)
	}
	if p := percentOf(task.Run{State: task.Failed}); p != 100 {
		t.Error(p)
	}
}

func TestLongTextIsBounded(t *testing.T) {
	got := bounded(strings.Repeat("é", 100), 11)
	if got != "ééééé\n[cut: 190 bytes more]" {
		t.Errorf("%q", got)
	}
	if got := cut("é", 1); got != "" {
		t.Errorf("%q", got)
	}
	if got := line(fmt.Sprint("a\n\tb", "\x1b[31m")); strings.ContainsAny(got, "\n\t\x1b") {
		t.Errorf("%q", got)
	}
}

// A plan that a model writes is refused, or can be followed to its end: no step waits
// for itself, and what a step refers to is done before it.
func FuzzPlan(f *testing.F) {
	f.Add(`{"steps":[{"id":"a","title":"a","tool":"lab__look","input":{"text":"${steps.b.json.x}"}},{"id":"b","title":"b","agent":"general","goal":"read ${steps.c.text}","after":["c"]},{"id":"c","title":"c","tool":"lab__look","input":{}}]}`)
	f.Add(`{"steps":[{"id":"a","title":"a","tool":"lab__look","input":{"text":"${steps.b.text}"}},{"id":"b","title":"b","tool":"lab__look","input":{"text":"${steps.a.text}"}}]}`)
	f.Add(`{"steps":[{"id":"a","tool":"lab__look","input":{"text":"\u0024{steps.a.text}"},"after":["a"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p agent.Plan
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		w := &work{tools: withNames([]Tool{{Skill: "lab", Tool: "look", InputSchema: json.RawMessage(`{"type":"object"}`)}})}
		p, err := w.checked(p, agent.Task{Agent: "general", Tools: offered(w.tools)})
		if err != nil {
			return
		}
		done := map[string]bool{}
		for range p.Steps {
			for _, s := range p.Steps {
				ready := true
				for _, id := range s.After {
					ready = ready && done[id]
				}
				refs, err := stepReferences(s)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				for _, id := range refs {
					if ready && !done[id] {
						t.Fatalf("%q: the step %s begins before %s", text, s.ID, id)
					}
				}
				done[s.ID] = done[s.ID] || ready
			}
		}
		for _, s := range p.Steps {
			if !done[s.ID] {
				t.Fatalf("%q: the step %s never begins", text, s.ID)
			}
		}
	})
}
