package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/page"
)

func (t *terminal) showTask(v work.TaskView) {
	r := v.Run
	why := r.Reason
	if r.Report != nil || r.State == work.WaitingApproval { // the summary says it, or the steps that wait
		why = ""
	}
	t.say("%s  %s%s", shortID(r.TaskID), r.State, because(plain(why)))
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
		t.say("  risk:     %s%s", r.Risk, because(plain(r.RiskReason)))
	}
	c := v.Status.Telemetry
	t.say("  cost:     %d tokens in, %d out, %.4f USD; %s, %s", c.InputTokens, c.OutputTokens, float64(c.MicroUSD)/1e6, count(c.ModelCalls, "thought"), count(c.ToolCalls, "tool call"))
	shown := t.watcher()
	for _, s := range r.Steps {
		shown.step(s)
	}
	failed := shown.FailedStep(r)
	for _, tried := range work.Retries(r.Recovery) {
		why := ""
		if failed == "" {
			why = " because " + tried.Because
		}
		t.say("  tried:    %s%s: %s", strings.Join(tried.Strategies, ", "), plain(why), plain(tried.Outcome))
	}
	if r.Report != nil {
		if r.Report.Error != nil && failed != "" {
			t.say("  The goal is not reached: see the step %s.", plain(failed))
		} else {
			t.say("  %s", plain(r.Report.Summary))
		}
		shown.printAnswer(r)
		for _, n := range shown.NextSteps(*r.Report) {
			t.say("  next:     %s", plain(n))
		}
	}
	if r.State == work.WaitingApproval {
		t.note("`skillet task approve %s` or `refuse`, and `skillet task resume %s`; a task that was run with --allow takes it again: `skillet task approve %s --allow CAPABILITY` goes on with it", shortID(r.TaskID), shortID(r.TaskID), shortID(r.TaskID))
	}
}

// taskPage writes the page of a task.
func (t *terminal) taskPage(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
	d, err := h.Work().Tasks().Details(ctx, t.person(), id)
	if err != nil {
		return err
	}
	return t.savePage(ctx, c, h, savedPage{Task: d.Task.ID}, func(w io.Writer) error { return page.Task(w, d) })
}

// htmlFlags are those of commands that show all that is known of something.
func htmlFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "html", Usage: "write all that is known of it to `FILE`, as a page that needs no network; - for standard output"}, overFlag(),
	}
}

// savePage writes a page to where --html says.
func (t *terminal) savePage(ctx context.Context, c *cli.Context, h *host.Host, saved savedPage, write func(io.Writer) error) error {
	path := c.String("html")
	switch {
	case path == "":
		return fault.Errorf(fault.KindUsage, "--html is empty").WithHint("name a file, such as --html page.html")
	case path == standardOutput:
		return write(t.out)
	}
	saved.Path = path
	err := h.Work().Tasks().SavePage(ctx, t.person(), work.PageFile{Path: path, Over: c.Bool("force")}, write)
	return t.answered(saved, err, func() { t.note("wrote %s", plain(path)) })
}

// savedPage says where a page was written, and of what it is.
type savedPage struct {
	Path string `json:"path"`
	Task string `json:"task,omitempty"`
	Run  string `json:"run,omitempty"`
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
	took := ""
	if !s.FinishedAt.IsZero() && !s.StartedAt.IsZero() {
		took = fmt.Sprintf(", %s", s.FinishedAt.Sub(s.StartedAt).Round(time.Millisecond))
	}
	t.say("  %-17s %s: %s (%s%s)", s.State, plain(s.ID), plain(s.Title), plain(s.Tool+s.Agent), took)
	for _, line := range w.Failure(s) {
		t.say("      %s", plain(line))
	}
	if work.Undecided(s) {
		for _, line := range waitingWords(s) {
			t.say("      %s", line)
		}
	}
	if s.Proposal != "" {
		t.say("      waits for the proposal %s: `skillet approvals show %s`", plain(s.Proposal), plain(s.Proposal))
	}
}

// logEvent prints an event in a line.
func (t *terminal) logEvent(e work.Event) error {
	if t.json {
		return t.line(e)
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
