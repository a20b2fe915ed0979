package orchestrator

import (
	"context"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/llm"
	"github.com/skillet-run/skillet/host/memory"
	"github.com/skillet-run/skillet/host/task"
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
		provider.ClassRateLimited: "requests_per_minute", provider.ClassAuth: "skillet secret set", provider.ClassUnavailable: "skillet provider diagnose",
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
		if e := r.Report.Error; e == nil || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %+v", class, e)
		}
	}
}
