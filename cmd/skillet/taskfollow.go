package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/base/task"
)

// follow works on a task, shows what happens, and prints what came out. On a terminal
// it asks about steps that wait for a person, and goes on.
func (t *terminal) follow(ctx context.Context, c *cli.Context, h *host.Host, q work.DoRequest) error {
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	w := watcher{t: t}
	q.Allow, q.Watch = allow, w.show
	for {
		r, err := h.Work().Tasks().Do(ctx, t.person(), q)
		if err != nil {
			return err
		}
		q.History = false
		again, err := t.decideSteps(ctx, h, &r)
		if err != nil {
			return err
		}
		if !again {
			return w.concluded(ctx, r)
		}
	}
}

// watcher shows the events of a task. What it said is not said again at the end.
type watcher struct {
	t    *terminal
	said []string // texts, as plain has them
}

// show prints an event: as a line of JSON, or in words.
func (w *watcher) show(e work.Event) error {
	if w.t.json {
		line, err := json.Marshal(w.t.filled(e))
		if err == nil {
			_, err = fmt.Fprintf(w.t.out, "%s\n", line)
		}
		return err
	}
	text := eventText(e)
	if e.Type == work.StepDenied && w.knows(text) { // of a call first, then of its step
		return nil
	}
	words := eventWords(e)
	if words == "" {
		return nil
	}
	w.t.note("%s", words)
	w.said = append(w.said, text)
	if err := e.Step().Error; err != nil {
		w.hint("    hint: %s", err.Way())
	}
	return nil
}

// hint shows what helps, unless it was shown.
func (w *watcher) hint(format string, h fault.Hint) {
	if text := w.t.way(h.Text, h.Remedies); text != "" && !w.knows(text) {
		w.t.note(format, plain(text))
		w.said = append(w.said, plain(text))
	}
}

// knows reports whether a text was shown.
func (w *watcher) knows(text string) bool {
	return text != "" && slices.Contains(w.said, plain(text))
}

// maxDone is how many characters of what a step answered are shown on the way.
const maxDone = 100

// eventText is the text of an event, or of the error that it tells of.
func eventText(e work.Event) string {
	if err := e.Step().Error; e.Text == "" && err != nil {
		return plain(err.Message)
	}
	return plain(e.Text)
}

// eventWords is an event in a line; empty for one that says nothing to a person, or what the
// end says.
func eventWords(e work.Event) string {
	d := e.Step()
	text := eventText(e)
	took := ""
	if d.TookMS > 0 {
		took = fmt.Sprintf(" (%s)", time.Duration(d.TookMS*float64(time.Millisecond)).Round(time.Millisecond))
	}
	by := plain(strings.Trim(d.Agent+" "+d.Tool, " "))
	switch e.Type {
	case work.TaskPlanned:
		return "plan: " + text
	case work.TaskProgress:
		return "  " + text
	case work.TaskRecovered:
		return "trying in another way: " + text
	case work.TaskPaused, work.TaskCancelled, work.TaskResumed:
		return strings.TrimRight(strings.TrimPrefix(string(e.Type), "task.")+": "+text, ": ")
	case work.StepStarted:
		return "> " + text
	case work.StepCompleted:
		if d.Tool == "" { // what an agent answers is the answer, or part of it
			return "  done" + took
		}
		return "  done" + took + ": " + short(text, maxDone)
	case work.StepFailed:
		return "  failed: " + text + took
	case work.StepDenied:
		return "  denied: " + by + ": " + text
	case work.StepUncertain:
		return "  nobody knows whether it happened: " + text
	case work.StepCalled:
		if d.OK != nil && !*d.OK {
			return "  " + by + " failed: " + text
		}
		return "  " + by
	}
	return ""
}

// decideSteps asks a person about the steps that wait for one, and reports whether the
// task goes on.
func (t *terminal) decideSteps(ctx context.Context, h *host.Host, r *work.Run) (again bool, err error) {
	if r.State != work.WaitingApproval || !t.canAsk() {
		return false, nil
	}
	for _, s := range r.Steps {
		if s.State != work.StepWaiting || s.Proposal != "" {
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
		if *r, err = h.Work().Tasks().Decide(ctx, t.person(), work.Decision{ID: r.TaskID, Step: s.ID, Approved: yes}); err != nil {
			return false, err
		}
	}
	return r.State == task.Queued, nil
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

// concluded prints what came out, and says by the exit code what that is.
func (w *watcher) concluded(ctx context.Context, r work.Run) error {
	t, id := w.t, shortID(r.TaskID)
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
	case work.Completed:
	case work.WaitingApproval:
		return t.standing(fault.Errorf(fault.KindApproval, "the task %s waits for you: %s", id, r.Reason).
			WithHint("`skillet task show %s` shows what for; then `skillet task approve %s` and `skillet task resume %s`, with the --allow that it was run with", id, id, id))
	case work.Failed:
		w.printAnswer(r)
		return t.standing(w.unreached(r))
	case work.Cancelled:
		return t.standing(fault.Errorf(fault.KindConflict, "the task %s was cancelled%s", id, w.unlessKnown(r.Reason)).WithHint("`skillet task show %s` says how far it came", id))
	default:
		if r.State == work.Paused && r.Phase == work.PhaseAct {
			t.showSteps(r)
		}
		if err := ctx.Err(); err != nil {
			t.note("the task %s stands: `skillet task resume %s` goes on with it", id, id)
			return err
		}
		t.note("the task %s is %s: `skillet task resume %s` goes on with it", id, r.State, id)
		return nil
	}
	w.printAnswer(r)
	return nil
}

// unlessKnown is a reason behind a colon; empty for one that was shown.
func (w *watcher) unlessKnown(reason string) string {
	if reason == "" || w.knows(reason) {
		return ""
	}
	return ": " + reason
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

// unreached says why a goal was not reached, unless that was shown with its step.
func (w *watcher) unreached(r work.Run) *fault.Error {
	t, id := w.t, shortID(r.TaskID)
	e := fault.Errorf(fault.KindSkill, "the goal of %s was not reached", id)
	if r.Report != nil && r.Report.Error != nil {
		why := ": " + r.Report.Error.Message
		if s := w.shownFailure(r); s != "" {
			why = ": see the step " + s
		}
		e = fault.Errorf(r.Report.Error.Kind, "the goal of %s was not reached%s", id, why)
	}
	if r.Report != nil {
		for _, next := range t.filled(*r.Report).(work.Report).NextSteps {
			if !w.knows(next) {
				return e.WithHint("%s", next)
			}
		}
	}
	return e.WithHint("`skillet task show %s` says how far it came", id)
}

// shownFailure is the first step that did not succeed, if why was shown.
func (w *watcher) shownFailure(r work.Run) string {
	for _, s := range r.Steps {
		if s.Error != nil && w.knows(s.Error.Message) {
			return s.ID
		}
	}
	return ""
}

// printAnswer prints the answer of a task, and what a person should know beside it.
func (w *watcher) printAnswer(r work.Run) {
	t := w.t
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
		if !w.knows(d.Reason) {
			t.note("denied: %s: %s", plain(d.Tool), plain(d.Reason))
			w.said = append(w.said, plain(d.Reason))
		}
		w.hint("  hint: %s", fault.Hint{Text: d.Hint, Remedies: d.Remedies})
	}
	for _, a := range r.Report.Artifacts {
		if a.Kind == "proposal" {
			t.note("proposed: %s; `skillet approvals show %s` shows it", plain(a.Title), plain(a.Name))
		}
	}
}
