package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	events "github.com/skillet-run/skillet/host/event"
	"github.com/skillet-run/skillet/host/orchestrator"
	"github.com/skillet-run/skillet/host/task"
)

// follow works on a task, shows what happens, and prints what came out. On a terminal
// it asks about steps that wait for a person, and goes on.
func (t *terminal) follow(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	o, err := h.Tasks(ctx)
	if err != nil {
		return err
	}
	w := watcher{t: t}
	for {
		r, err := w.work(ctx, h, o, id, func() (task.Run, error) { return h.RunTask(ctx, id, allow) })
		if err != nil {
			return err
		}
		again, err := t.decideSteps(ctx, o, &r)
		if err != nil {
			return err
		}
		if !again {
			return t.concluded(ctx, r)
		}
	}
}

// watcher shows the events of a task, each once.
type watcher struct {
	t    *terminal
	last uint64
	said string
	// refused are the refusals that were shown: of a call first, then of its step.
	refused []string
}

// work does the work and shows its events meanwhile.
func (w *watcher) work(ctx context.Context, h *host.Host, o *orchestrator.Orchestrator, id string, do func() (task.Run, error)) (task.Run, error) {
	watching, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	var shown sync.WaitGroup
	var failed error
	shown.Go(func() { failed = o.Follow(watching, id, w.last, w.show) })
	r, err := do()
	if err != nil || r.State == task.Queued || r.State == task.Running { // nobody ends the following
		done()
	} else {
		time.AfterFunc(2*time.Second, done)
	}
	shown.Wait()
	if errors.Is(failed, context.Canceled) {
		failed = nil
	}
	return r, errors.Join(err, failed)
}

// show prints an event: as a line of JSON, or in words.
func (w *watcher) show(e events.Event) error {
	w.last = e.Seq
	if w.t.json {
		line, err := json.Marshal(w.t.filled(e))
		if err == nil {
			_, err = fmt.Fprintf(w.t.out, "%s\n", line)
		}
		return err
	}
	if e.Type == events.StepDenied {
		text := eventText(e, happenedIn(e))
		if slices.Contains(w.refused, text) {
			return nil
		}
		w.refused = append(w.refused, text)
	}
	if words := eventWords(e); words != "" && words != w.said {
		w.said = words
		w.t.note("%s", words)
	}
	return nil
}

// happened is what events of tasks say beside their text.
type happened struct {
	Step   string       `json:"step"`
	Agent  string       `json:"agent"`
	Tool   string       `json:"tool"`
	TookMS float64      `json:"took_ms"`
	OK     *bool        `json:"ok"`
	Error  *fault.Error `json:"error"`
}

// happenedIn is what an event says beside its text. One that says something else is
// shown by its text.
func happenedIn(e events.Event) (d happened) {
	if len(e.Data) > 0 {
		_ = json.Unmarshal(e.Data, &d)
	}
	return d
}

// maxDone is how many characters of what a step answered are shown on the way.
const maxDone = 100

// eventText is the text of an event, or of the error that it tells of.
func eventText(e events.Event, d happened) string {
	if e.Text == "" && d.Error != nil {
		return plain(d.Error.Message)
	}
	return plain(e.Text)
}

// eventWords is an event in a line; empty for one that says nothing to a person.
func eventWords(e events.Event) string {
	d := happenedIn(e)
	text := eventText(e, d)
	took := ""
	if d.TookMS > 0 {
		took = fmt.Sprintf(" (%s)", time.Duration(d.TookMS*float64(time.Millisecond)).Round(time.Millisecond))
	}
	by := plain(strings.Trim(d.Agent+" "+d.Tool, " "))
	switch e.Type {
	case events.TaskPlanned:
		return "plan: " + text
	case events.TaskProgress:
		return "  " + text
	case events.TaskRecovered:
		return "trying in another way: " + text
	case events.TaskWaiting:
		return "waits for you: " + text
	case events.TaskPaused, events.TaskCancelled, events.TaskResumed:
		return strings.TrimRight(strings.TrimPrefix(string(e.Type), "task.")+": "+text, ": ")
	case events.StepStarted:
		return "> " + text
	case events.StepCompleted: // all of it is in the answer, or `skillet task show` has it
		return "  done" + took + ": " + short(text, maxDone)
	case events.StepFailed:
		return "  failed: " + text + took
	case events.StepDenied:
		return "  denied: " + by + ": " + text
	case events.StepUncertain:
		return "  nobody knows whether it happened: " + text
	case events.StepCalled:
		if d.OK != nil && !*d.OK {
			return "  " + by + " failed: " + text
		}
		return "  " + by
	}
	return ""
}

// decideSteps asks a person about the steps that wait for one, and reports whether the
// task goes on.
func (t *terminal) decideSteps(ctx context.Context, o *orchestrator.Orchestrator, r *task.Run) (again bool, err error) {
	if r.State != task.WaitingApproval || !t.canAsk() {
		return false, nil
	}
	for _, s := range r.Steps {
		if s.State != task.StepWaiting || s.Proposal != "" {
			continue
		}
		t.note("the step %s waits for you: %s", plain(s.ID), plain(s.Title))
		for _, line := range waitingWords(s) {
			t.note("  %s", line)
		}
		yes, err := t.ask("Let it begin?")
		if err != nil {
			return false, err
		}
		decide := o.Refuse
		if yes {
			decide = o.Approve
		}
		if *r, err = decide(ctx, t.person(), r.TaskID, s.ID, ""); err != nil {
			return false, err
		}
	}
	return r.State == task.Queued, nil
}

// waitingWords say what a step waits for: the calls that it would make, or what an agent
// is given to do.
func waitingWords(s task.Step) []string {
	if len(s.Calls) == 0 {
		return []string{fmt.Sprintf("the agent %s is given: %s", plain(s.Agent), plain(short(s.Goal, 2000)))}
	}
	var lines []string
	for _, c := range s.Calls {
		more := ""
		if n := c.InputBytes - len(c.Input); n > 0 {
			more = fmt.Sprintf(" ... %d bytes more", n)
		}
		lines = append(lines, fmt.Sprintf("it calls %s with %s%s", plain(c.Tool), visible(c.Input), more), "  "+plain(c.Reason))
	}
	return lines
}

// concluded prints what came out, and says by the exit code what that is.
func (t *terminal) concluded(ctx context.Context, r task.Run) error {
	id := shortID(r.TaskID)
	if t.json {
		line, err := json.Marshal(t.filled(r))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(t.out, "%s\n", line); err != nil {
			return err
		}
	}
	switch r.State {
	case task.Completed:
	case task.WaitingApproval:
		return t.standing(fault.Errorf(fault.KindApproval, "the task %s waits for you: %s", id, r.Reason).
			WithHint("`skillet task show %s` shows what for; then `skillet task approve %s` and `skillet task resume %s`, with the --allow that it was run with", id, id, id))
	case task.Failed:
		t.printAnswer(r)
		return t.standing(t.unreached(r))
	case task.Cancelled:
		return t.standing(fault.Errorf(fault.KindConflict, "the task %s was cancelled: %s", id, r.Reason).WithHint("`skillet task show %s` says how far it came", id))
	default:
		if r.State == task.Paused && r.Phase == task.PhaseAct {
			t.showSteps(r)
		}
		if err := ctx.Err(); err != nil {
			t.note("the task %s stands: `skillet task resume %s` goes on with it", id, id)
			return err
		}
		t.note("the task %s is %s: `skillet task resume %s` goes on with it", id, r.State, id)
		return nil
	}
	t.printAnswer(r)
	return nil
}

// showSteps prints the steps of a plan of which none was begun.
func (t *terminal) showSteps(r task.Run) {
	if t.json || slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.State != task.StepPending }) {
		return
	}
	for _, s := range r.Steps {
		what := "the agent " + s.Agent
		if s.Tool != "" {
			what = s.Tool + " with " + string(s.Input)
		}
		asks := ""
		if s.Approval {
			asks = "; waits for you"
		}
		t.say("%s: %s", plain(s.ID), plain(s.Title))
		t.say("  %s%s", visible(short(what, 2000)), asks)
	}
	if r.Risk != "" {
		t.say("risk: %s%s", r.Risk, because(plain(r.RiskReason), nil))
	}
}

// standing is an error that JSON was printed for already.
func (t *terminal) standing(e *fault.Error) error {
	if t.json {
		return reported{e.Kind}
	}
	return e
}

// unreached says why a goal was not reached.
func (t *terminal) unreached(r task.Run) *fault.Error {
	e := fault.Errorf(fault.KindSkill, "the goal of %s was not reached", shortID(r.TaskID))
	if r.Report != nil && r.Report.Error != nil {
		e = fault.Errorf(r.Report.Error.Kind, "the goal of %s was not reached: %s", shortID(r.TaskID), r.Report.Error.Message)
	}
	if r.Report != nil {
		if steps := t.filled(*r.Report).(task.Report).NextSteps; len(steps) > 0 {
			return e.WithHint("%s", steps[0])
		}
	}
	return e.WithHint("`skillet task show %s` says how far it came", shortID(r.TaskID))
}

// printAnswer prints the answer of a task, and what a person should know beside it.
func (t *terminal) printAnswer(r task.Run) {
	if t.json || r.Report == nil {
		return
	}
	answer := strings.TrimSpace(plainLines(r.Report.Answer))
	if answer != "" {
		t.say("%s", answer)
	}
	for _, s := range r.Report.Sources {
		t.note("source: %s", plain(s))
	}
	for _, d := range r.Report.Denials {
		hint := t.way(d.Hint, d.Remedies)
		if !strings.Contains(answer, plain(d.Reason)) || hint != "" {
			t.note("denied: %s: %s", plain(d.Tool), plain(d.Reason))
		}
		if hint != "" {
			t.note("  hint: %s", plain(hint))
		}
	}
	for _, a := range r.Report.Artifacts {
		if a.Kind == "proposal" {
			t.note("proposed: %s; `skillet approvals show %s` shows it", plain(a.Title), plain(a.Name))
		}
	}
}
