package orchestrator

import (
	"context"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// What an agent wants remembered is kept whole, or it is told that it is too long.
func TestRememberedWhole(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, Settings{})
	fits, long := strings.Repeat("word ", memory.MaxText/5), strings.Repeat("word ", memory.MaxText/5+2)
	var kept, refused error
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		kept = h.Remember(context.Background(), agent.Memory{Text: fits})
		refused = h.Remember(context.Background(), agent.Memory{Text: long})
		return agent.Report{Done: true, Answer: "7 words", Confidence: 0.9}, nil
	}})
	r := l.run(l.submit(nil))
	wantState(t, r, task.Completed)
	if kept != nil || refused == nil || !strings.Contains(refused.Error(), "at most 32768 are kept") {
		t.Errorf("kept: %v, refused: %v", kept, refused)
	}
	found, err := l.mem.Search(t.Context(), memory.Query{Text: "word", Limit: 10})
	whole := 0
	for _, m := range found {
		if strings.TrimSpace(m.Text) == strings.TrimSpace(fits) {
			whole++
		}
	}
	if err != nil || whole != 1 {
		t.Errorf("%d are kept whole, %v", whole, err)
	}
}

// A step that ends because a provider failed says what helps.
func TestFailureOfAProviderHasAHint(t *testing.T) {
	t.Parallel()
	for class, hint := range map[provider.Class]string{
		provider.ClassRateLimited: "requests_per_minute", provider.ClassAuth: "[set_secret]", provider.ClassUnavailable: "[show_routing]",
	} {
		l := newLab(t, nil, Settings{})
		l.think = func(llm.Ask) (llm.Answer, error) {
			return llm.Answer{}, &provider.Error{Class: class, Message: "of the server"}
		}
		l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
			_, err := thought(h, "what now")
			return agent.Report{}, err
		}})
		r := l.run(l.submit(nil))
		wantState(t, r, task.Failed)
		if e := r.Report.Error; e == nil || !strings.Contains(e.Way().String(), hint) {
			t.Errorf("%s: %+v", class, e)
		}
	}
}

// What failed without anything being tried leaves no memory; what was tried does.
func TestNothingIsRememberedOfARefusal(t *testing.T) {
	t.Parallel()
	for model, remembered := range map[string]int{"m": 0, "other": 1} {
		l := newLab(t, nil, Settings{Steady: func(model string) bool { return model == "m" }})
		l.think = func(llm.Ask) (llm.Answer, error) { a := said("I cannot do this"); a.Model = model; return a, nil }
		l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
			_, err := thought(h, "hello")
			return agent.Report{Problem: "no tool fits"}, err
		}})
		wantState(t, l.run(l.submit(nil)), task.Failed)
		found, err := l.mem.List(t.Context(), memory.Filter{}, 0)
		if err != nil || len(found) != remembered {
			t.Errorf("said by %s: %d memories, want %d, %v", model, len(found), remembered, err)
		}
	}
}

// An agent is told when what is remembered is what another agent said.
func TestRecalledIsSaidByAnAgent(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, Settings{})
	if _, err := l.mem.Add(t.Context(), memory.Draft{Text: "The deploy port is 8443."}); err != nil {
		t.Fatal(err)
	}
	var found []agent.Passage
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		err := h.Remember(context.Background(), agent.Memory{Text: "The deploy port is 6666."})
		if err == nil {
			found, err = h.Recall(context.Background(), "deploy port", 10)
		}
		return agent.Report{Done: true, Answer: "done", Confidence: 0.9}, err
	}})
	wantState(t, l.run(l.submit(nil)), task.Completed)
	if len(found) != 2 || found[0].Text != "The deploy port is 8443." || found[1].Text != "[remembered by agent:general, confirmed by nobody]\nThe deploy port is 6666." {
		t.Errorf("%+v", found)
	}
}

// The way past a refusal is offered with a warning when a text from outside was read before
// the call, and without one when it was not.
func TestHintsAfterForeignTexts(t *testing.T) {
	t.Parallel()
	for first, warned := range map[string]bool{"lab__look": false, "lab__page": true} {
		l := newLab(t, nil, Settings{})
		l.answer = func(c task.ToolCall) task.Result {
			if c.Tool != "put" {
				return ok(`{"text":"put x"}`)
			}
			return task.Result{Error: fault.Errorf(fault.KindDenied, "not granted").WithHint("%s", fault.Grant("lab", "x"))}
		}
		l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
			if _, err := call(h, first, `{}`); err != nil {
				return agent.Report{}, err
			}
			_, err := call(h, "lab__put", `{}`)
			return agent.Report{Problem: "denied"}, err
		}})
		r := l.run(l.submit(nil))
		wantState(t, r, task.Failed)
		if d := r.Report.Denials; len(d) != 1 || !strings.Contains(d[0].Way().String(), "[grant lab x]") || strings.Contains(d[0].Way().String(), "may want this") != warned {
			t.Errorf("after %s: %+v", first, d)
		}
	}
}
