package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hashicorp/go-hclog"

	cut "github.com/skillet-run/skillet/internal/text"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// work is one task while it is worked on. It belongs to one goroutine.
type work struct {
	log  hclog.Logger
	task agent.Task
	host agent.Host

	thoughts  int // how many were had
	limit     int // how many there may be
	decisions []string
	tally     tally
}

// newWork fills in what the task leaves to the definition.
func newWork(log hclog.Logger, t agent.Task, h agent.Host) *work {
	d, builtIn := Definition(t.Agent)
	if !builtIn {
		d, _ = Definition(General)
	}
	if t.SystemPrompt == "" {
		t.SystemPrompt = d.SystemPrompt
	}
	if t.Tier == "" && builtIn {
		t.Tier = string(d.Tier)
	}
	if t.Temperature == nil && builtIn {
		t.Temperature = d.Temperature
	}
	w := &work{log: log, task: t, host: h, limit: t.Iterations}
	if w.limit <= 0 {
		w.limit = agentdef.DefaultIterations
		if builtIn {
			w.limit = d.Iterations()
		}
	}
	return w
}

var errThoughts = errors.New("it has thought as often as it may")

// think asks a model. It fails with errThoughts when that was done often enough.
func (w *work) think(ctx context.Context, purpose string, r provider.Request) (provider.Response, error) {
	if w.thoughts >= w.limit {
		return provider.Response{}, errThoughts
	}
	w.thoughts++
	r.MaxTokens, r.Temperature, r.Thinking = w.task.MaxTokens, w.task.Temperature, w.task.Thinking
	return w.host.Think(ctx, agent.Thought{Tier: w.task.Tier, Purpose: purpose, Request: r})
}

// tell says how far the work is, which nothing depends on: only a cancelled task
// is an error.
func (w *work) tell(ctx context.Context, message string) error {
	if err := w.host.Progress(ctx, agent.Progress{Message: brief(message)}); err != nil {
		w.log.Debug("progress was not told", "error", err)
	}
	return ctx.Err()
}

func (w *work) decide(format string, args ...any) {
	const most = 100
	if len(w.decisions) < most {
		w.decisions = append(w.decisions, brief(fmt.Sprintf(format, args...)))
	}
}

// system is what a conversation begins with: the prompt, what always holds, and
// what the person asked for beside the goal. notes are about this one request.
func (w *work) system(notes ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(w.task.SystemPrompt))
	b.WriteString("\n\n" + provider.DataRule + "\nNever claim what you did not do or see. Nobody can be asked for more rights. An answer that does not reach all of the goal begins with " + provider.LowConfidence + " and says what is missing.")
	if len(w.task.Constraints) > 0 {
		b.WriteString("\n\nThe person also asks for:\n- " + strings.Join(w.task.Constraints, "\n- "))
	}
	for _, n := range notes {
		b.WriteString("\n\n" + n)
	}
	return b.String()
}

// opening are the first messages: what is known from before, as data, and last
// the goal in the person's own words.
func (w *work) opening(shown func(i int, p agent.Passage) string) []provider.Message {
	var m []provider.Message
	if len(w.task.Context) > 0 {
		var texts []string
		for i, p := range w.task.Context {
			texts = append(texts, shown(i, p))
		}
		m = append(m, provider.Message{Role: provider.RoleUser, Text: strings.Join(texts, "\n")})
	}
	return append(m, provider.Message{Role: provider.RoleUser, Text: w.task.Goal})
}

func shownPlain(_ int, p agent.Passage) string { return provider.MarkData(p.Source, clip(p.Text)) }

// failed is the report of a task that the host refuses to go on with. That the
// task was cancelled is an error, because nobody waits for a report then.
func (w *work) failed(err error, answer string) (agent.Report, error) {
	if errors.Is(err, context.Canceled) {
		return agent.Report{}, fmt.Errorf("run task %s: %w", w.task.ID, err)
	}
	w.tally.stopped = true
	r := w.report(false, answer)
	r.Problem = brief(err.Error())
	return r, nil
}

func (w *work) report(done bool, answer string) agent.Report {
	return agent.Report{Done: done, Answer: answer, Confidence: w.tally.confidence(), Decisions: w.decisions}
}

// oneStep is the plan to decide on the way.
func (w *work) oneStep(name string) agent.Plan {
	return agent.Plan{Steps: []agent.Step{{ID: "goal", Title: brief(w.task.Goal), Agent: name, Goal: w.task.Goal}}}
}

// tally counts what tells how far an answer can be trusted.
type tally struct {
	calls, failed int  // of tools
	repairs       int  // answers that had to be asked for again
	given         bool // the task came with text to work on
	cut           bool // the answer is not whole
	stopped       bool // the work was not ended by the agent itself
	unsourced     bool // no source stands behind the answer
	doubted       bool // the model says itself that it is not an answer to all of the goal
}

// confidence is a figure from 0 to 1, rounded to hundredths. It is made of what
// happened; what a model says about itself can only lower it:
//
//	0.9, or 0.6 when no tool answered and the task came with nothing to work on
//	× (1 − 0.4 × calls that failed / calls)
//	× 0.85 for each answer that had to be asked for again
//	× 0.7 when the answer is cut off
//	× 0.5 when no source stands behind it, where sources are asked for
//	× 0.3 when the model doubts it itself, see [provider.LowConfidence]
//	× 0.3 when the work was stopped before its end
func (t tally) confidence() float64 {
	c := 0.9
	if t.calls == t.failed && !t.given {
		c = 0.6
	}
	if t.calls > 0 {
		c *= 1 - 0.4*float64(t.failed)/float64(t.calls)
	}
	c *= math.Pow(0.85, float64(t.repairs))
	for _, f := range []struct {
		is bool
		by float64
	}{{t.cut, 0.7}, {t.unsourced, 0.5}, {t.doubted, 0.3}, {t.stopped, 0.3}} {
		if f.is {
			c *= f.by
		}
	}
	return math.Round(c*100) / 100
}

const (
	maxText  = 32 << 10 // bytes of one text of others that a model is shown
	maxBrief = 300      // bytes of a line of a report
)

// clip cuts a text at maxText and says so.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return fmt.Sprintf("%s\n(cut: the first %d of %d bytes)", head(text, maxText), maxText, len(text))
}

// brief is a text in one line of at most maxBrief bytes.
func brief(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if short := head(text, maxBrief); short != text {
		return short + "…"
	}
	return text
}

// head is the beginning of a text, of at most n bytes and whole characters.
func head(text string, n int) string {
	return strings.ToValidUTF8(cut.Head(text, n), "\uFFFD")
}
