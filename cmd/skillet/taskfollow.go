package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
)

// follow works on a task, shows what happens, and prints what came out. On a terminal
// it asks about steps that wait for a person, and goes on.
func (t *terminal) follow(ctx context.Context, c *cli.Context, h *host.Host, q work.DoRequest) error {
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	w := t.watcher()
	q.Allow, q.Watch = allow, w.show
	asker := t.asker(h)
	asker.forTask = allow
	if t.canAsk() {
		q.Ask = asker.allows
	}
	for {
		r, err := h.Work().Tasks().Do(ctx, t.person(), q)
		q.Allow = asker.forTask
		if err != nil {
			return err
		}
		q.History = false
		again, err := t.decideSteps(ctx, h, &r)
		if err != nil {
			return err
		}
		if !again {
			return w.concluded(ctx, r, c.StringSlice("allow"))
		}
	}
}

// A watcher shows what happens to a task.
type watcher struct {
	t *terminal
	work.Transcript
}

func (t *terminal) watcher() *watcher {
	return &watcher{t, work.Transcript{Way: t.inWords}}
}

// show prints an event: as a line of JSON, or in words.
func (w *watcher) show(e work.Event) error {
	if w.t.json {
		return w.t.line(e)
	}
	for _, line := range w.Event(e) {
		w.t.note("%s", plain(line))
	}
	return nil
}

// decideSteps asks a person about the steps that wait for one, and reports whether the
// task goes on.
func (t *terminal) decideSteps(ctx context.Context, h *host.Host, r *work.Run) (again bool, err error) {
	if r.State != work.WaitingApproval || !t.canAsk() {
		return false, nil
	}
	for _, s := range r.Steps {
		if !work.Undecided(s) {
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
		if *r, err = h.Work().Tasks().Decide(ctx, t.person(), work.Decision{ID: r.TaskID, Step: s.ID, Approved: yes, Hold: true}); err != nil {
			return false, err
		}
	}
	return r.State == work.Queued, nil
}

// waitingWords say what a step waits for: the calls that it would make, or what an agent
// is given to do.
func waitingWords(s work.Step) []string {
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

// concluded prints what came out, and says by the exit code what that is. allow is what was
// allowed.
func (w *watcher) concluded(ctx context.Context, r work.Run, allow []string) error {
	t, id := w.t, shortID(r.TaskID)
	if t.json {
		if err := t.line(r); err != nil {
			return err
		}
	}
	switch r.State {
	case work.Completed:
	case work.WaitingApproval:
		return t.standing(fault.Errorf(fault.KindApproval, "the task %s waits for you: %s", id, r.Reason).
			WithHint("`skillet task show %s` shows what for; %s", id, goOn(id, allow)))
	case work.Failed:
		w.printAnswer(r)
		e := w.Unreached(id, r)
		if e.Way().IsZero() {
			e = e.WithHint("`skillet task show %s` says how far it came", id)
		}
		return t.standing(e)
	case work.Cancelled:
		why := ""
		if r.Reason != "" && !w.Contains(r.Reason) {
			why = ": " + r.Reason
		}
		return t.standing(fault.Errorf(fault.KindConflict, "the task %s was cancelled%s", id, why).WithHint("`skillet task show %s` says how far it came", id))
	default:
		if r.State == work.Paused && r.Phase == work.PhaseAct {
			t.showSteps(r)
		}
		if err := ctx.Err(); err != nil {
			t.note("the task %s is paused: `skillet task resume %s` continues it", id, id)
			return err
		}
		t.note("the task %s is %s: `skillet task resume %s` goes on with it", id, r.State, id)
		return nil
	}
	w.printAnswer(r)
	return nil
}

// goOn says how a task goes on that waits for a person, with what was allowed before.
func goOn(id string, allow []string) string {
	if len(allow) == 0 {
		return fmt.Sprintf("then `skillet task approve %s`, and `skillet task resume %s`", id, id)
	}
	words := []string{"skillet task approve", id}
	for _, c := range allow {
		words = append(words, "--allow", singleQuoted(c))
	}
	return fmt.Sprintf("then `%s` lets it be done, and goes on", strings.Join(words, " "))
}

// showSteps prints the steps of a plan of which none was begun.
func (t *terminal) showSteps(r work.Run) {
	if t.json || slices.ContainsFunc(r.Steps, func(s work.Step) bool { return s.State != work.StepPending }) {
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
		t.say("risk: %s%s", r.Risk, because(plain(r.RiskReason)))
	}
}

// standing is an error that JSON was printed for already.
func (t *terminal) standing(e *fault.Error) error {
	if t.json {
		return reported{e.Kind}
	}
	return e
}

// printAnswer prints the answer of a task, and what a person should know besides it.
func (w *watcher) printAnswer(r work.Run) {
	t := w.t
	if t.json || r.Report == nil {
		return
	}
	if answer := strings.TrimSpace(plainLines(r.Report.Answer)); answer != "" {
		t.say("%s", answer)
	}
	for _, line := range w.Notes(*r.Report) {
		t.note("%s", plain(line))
	}
}
