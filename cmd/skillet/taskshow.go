package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
)

func (t *terminal) taskShow() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show how far a task is, its steps and its report", ArgsUsage: "ID",
		Description: "The beginning of an ID is enough.\n\nExamples:\n  skillet task show 3f2a\n  skillet task show 3f2a --json",
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			v, err := h.Work().Tasks().Show(ctx, t.person(), id)
			if err != nil {
				return err
			}
			return t.answer(v, func() { t.showTask(v) })
		}),
	}
}

func (t *terminal) showTask(v work.TaskView) {
	r := v.Run
	why := r.Reason
	if r.Report != nil || r.State == work.WaitingApproval { // the summary says it, or the steps that wait
		why = ""
	}
	t.say("%s  %s%s", shortID(r.TaskID), r.State, because(plain(why), nil))
	t.say("  goal:     %s", plain(short(v.Task.Goal, 500)))
	t.say("  done:     %.0f %%%s", v.Status.Percent, leftWords(v.Status))
	t.say("  begun:    %s by %s%s", when(r.CreatedAt), plain(r.Owner), agentWords(r))
	if len(v.Task.Roots) > 0 {
		t.say("  files in: %s", plain(strings.Join(v.Task.Roots, ", ")))
	}
	if v.Task.ApproveRisk != "" {
		t.say("  asks you: %s", askWords(v.Task.ApproveRisk))
	}
	if r.Risk != "" {
		t.say("  risk:     %s%s", r.Risk, because(plain(r.RiskReason), nil))
	}
	c := v.Status.Telemetry
	t.say("  cost:     %d tokens in, %d out, %.4f USD; %s, %s", c.InputTokens, c.OutputTokens, float64(c.MicroUSD)/1e6, count(c.ModelCalls, "thought"), count(c.ToolCalls, "tool call"))
	shown := watcher{t: t}
	for _, s := range r.Steps {
		shown.step(s)
	}
	failed := shown.shownFailure(r)
	t.showRecovery(r.Recovery, failed != "")
	if r.Report != nil {
		if r.Report.Error != nil && failed != "" {
			t.say("  The goal is not reached: see the step %s.", plain(failed))
		} else {
			t.say("  %s", plain(r.Report.Summary))
		}
		shown.printAnswer(r)
		for _, n := range t.filled(*r.Report).(work.Report).NextSteps {
			if !shown.knows(n) {
				t.say("  next:     %s", plain(n))
			}
		}
	}
	if r.State == work.WaitingApproval {
		t.note("`skillet task approve %s` or `refuse`; then `skillet task resume %s`, with the --allow that it was run with", shortID(r.TaskID), shortID(r.TaskID))
	}
}

// showRecovery shows what was tried in other ways, those together that came to the same.
// known says that the steps told why.
func (t *terminal) showRecovery(all []work.Recovery, known bool) {
	same := func(a, b work.Recovery) bool { return a.Because == b.Because && a.Outcome == b.Outcome }
	for len(all) > 0 {
		var names []string
		first := all[0]
		for len(all) > 0 && same(first, all[0]) {
			names, all = append(names, string(all[0].Strategy)), all[1:]
		}
		why := ""
		if !known {
			why = " because " + first.Because
		}
		t.say("  tried:    %s%s: %s", strings.Join(names, ", "), plain(why), plain(first.Outcome))
	}
}

func askWords(r work.Risk) string {
	if r == work.RiskNever {
		return "about no call"
	}
	return "about calls of " + string(r) + " risk or more"
}

func agentWords(r work.Run) string {
	if r.Agent == "" {
		return ""
	}
	return ", given to the agent " + plain(r.Agent)
}

func leftWords(s work.Status) string {
	if s.LeftMS == nil || s.State.Final() {
		return ""
	}
	return fmt.Sprintf(", about %s left, from its %s", time.Duration(*s.LeftMS*float64(time.Millisecond)).Round(time.Second), s.Basis)
}

// step shows a step.
func (w *watcher) step(s work.Step) {
	t := w.t
	what := plain(s.Tool + s.Agent)
	took := ""
	if !s.FinishedAt.IsZero() && !s.StartedAt.IsZero() {
		took = fmt.Sprintf(", %s", s.FinishedAt.Sub(s.StartedAt).Round(time.Millisecond))
	}
	t.say("  %-17s %s: %s (%s%s)", s.State, plain(s.ID), plain(s.Title), what, took)
	waits := s.State == work.StepWaiting && s.Proposal == "" // what for says more than the error
	if s.Error != nil && !waits {
		t.say("      %s", plain(s.Error.Message))
		w.said = append(w.said, plain(s.Error.Message))
		if hint := t.way(s.Error.Hint, s.Error.Remedies); hint != "" {
			t.say("      hint: %s", plain(hint))
			w.said = append(w.said, plain(hint))
		}
	}
	if waits {
		for _, line := range waitingWords(s) {
			t.say("      %s", line)
		}
	}
	if s.Proposal != "" {
		t.say("      waits for the proposal %s: `skillet approvals show %s`", plain(s.Proposal), plain(s.Proposal))
	}
}

func (t *terminal) taskLogs() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what happened to a task, in order", ArgsUsage: "ID",
		Description: "With --json, each event is a line.\n\nExamples:\n  skillet task logs 3f2a\n  skillet task logs 3f2a --follow\n  skillet task logs 3f2a --after 120 --json",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the task stands still"},
			&cli.Uint64Flag{Name: "after", Usage: "only events with a number above `N`"},
		},
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			return h.Work().Tasks().Logs(ctx, t.person(), work.LogsRequest{ID: id, After: c.Uint64("after"), Follow: c.Bool("follow"), Each: t.logEvent})
		}),
	}
}

// logEvent prints an event in a line.
func (t *terminal) logEvent(e work.Event) error {
	if t.json {
		line, err := json.Marshal(t.filled(e))
		if err == nil {
			t.say("%s", line)
		}
		return err
	}
	if e.Type == work.TaskPartial { // a piece of an answer
		return nil
	}
	d := e.Step()
	parts := []string{e.Time.Local().Format("15:04:05.000"), fmt.Sprintf("%-17s", e.Type)}
	for _, p := range []string{d.Step, d.Agent, d.Tool, e.Actor, e.Text} {
		if p != "" {
			parts = append(parts, plain(p))
		}
	}
	t.say("%6d  %s", e.Seq, strings.Join(parts, "  "))
	return nil
}

func (t *terminal) taskWork() *cli.Command {
	return &cli.Command{
		Name:  "work",
		Usage: "do the tasks that wait: urgent ones first, several at a time",
		Description: "Takes what `skillet task run --detach` took in, and what was interrupted: also tasks whose\n" +
			"process died. Ends when nothing waits any more, or with --watch when it is interrupted; what is\n" +
			"not done then waits again.\n\n" +
			"Examples:\n  skillet task work\n  skillet task work --watch --allow \"fs.read:$PWD/**\"",
		Flags:  []cli.Flag{allowFlag(), &cli.BoolFlag{Name: "watch", Usage: "wait for more"}},
		Action: t.withState(t.workOff),
	}
}

// workedOff is what --json prints of work.
type workedOff struct {
	Tasks []work.Run `json:"tasks"`
}

func (t *terminal) workOff(ctx context.Context, c *cli.Context, h *host.Host) error {
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	out := workedOff{Tasks: []work.Run{}}
	err = h.Work().Tasks().WorkOff(ctx, t.person(), work.WorkRequest{Allow: allow, Watch: c.Bool("watch"), Done: func(r work.Run) {
		out.Tasks = append(out.Tasks, r)
		if !t.json {
			t.note("%s is %s: %s", shortID(r.TaskID), r.State, plain(r.Title))
		}
	}})
	if err != nil && !(c.Bool("watch") && errors.Is(err, context.Canceled)) {
		return err
	}
	return t.answer(out, func() {
		if len(out.Tasks) == 0 {
			t.note("nothing waits")
		}
	})
}
