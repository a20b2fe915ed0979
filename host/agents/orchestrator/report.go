package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
)

// report makes the report of a task from what is kept of it, whatever it was ended by.
func (o *Orchestrator) report(ctx context.Context, r *task.Run, cause error) error {
	ctx = context.WithoutCancel(ctx)
	log, err := o.transcript(ctx, r.TaskID)
	if err != nil {
		return fmt.Errorf("report on task %s: %w", r.TaskID, err)
	}
	outs, err := o.outputs(ctx, r.TaskID, r.Steps, log)
	if err != nil {
		return fmt.Errorf("report on task %s: %w", r.TaskID, err)
	}
	r.Telemetry = totals(r, log)
	rep := &task.Report{
		TaskID: r.TaskID, State: r.State, Partial: r.State != task.Completed, Recovery: r.Recovery, Telemetry: r.Telemetry,
		StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Denials: denials(log),
		Artifacts: []task.Artifact{}, Decisions: slices.Clone(r.Notes), NextSteps: []string{}, Steps: []task.StepReport{},
	}
	if cause != nil {
		rep.Error = shortened(fault.AsError(cause))
	}
	addSteps(rep, r, outs)
	rep.Answer, rep.Confidence = bestAnswer(r, outs)
	adviseOn(rep, r)
	rep.Summary = summary(rep, r)
	r.Report = bound(rep)
	return nil
}

// transcript reads what is kept of a task.
func (o *Orchestrator) transcript(ctx context.Context, id string) (transcript, error) {
	entries, err := o.kv.List(ctx, exchangeKey+id+"/")
	if err != nil {
		return nil, err
	}
	t := transcript{}
	for _, e := range entries {
		var k exchange
		if err := json.Unmarshal(e.Value, &k); err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Key, err)
		}
		t.put(k)
	}
	return t, nil
}

// totals is what a task cost.
func totals(r *task.Run, log transcript) task.Telemetry {
	sum := log.telemetry()
	sum.ActiveMS, sum.Attempts = r.ActiveMS, r.Attempts
	if !r.StartedAt.IsZero() {
		sum.DurationMS = msSince(r.StartedAt)
	}
	return sum
}

// addSteps says what was done, and what it left.
func addSteps(rep *task.Report, r *task.Run, outs map[string]output) {
	for _, s := range r.Steps {
		line := task.StepReport{ID: s.ID, Title: s.Title, Tool: s.Tool, Agent: s.Agent, State: s.State, Error: errorText(s.Error)}
		if !s.StartedAt.IsZero() && !s.FinishedAt.IsZero() {
			line.DurationMS = float64(s.FinishedAt.Sub(s.StartedAt).Microseconds()) / 1000
		}
		rep.Steps = append(rep.Steps, line)
		if s.OutputBytes > 0 && s.State == task.StepDone {
			rep.Artifacts = append(rep.Artifacts, task.Artifact{Kind: "step_output", Name: s.ID, Title: s.Title, Bytes: s.OutputBytes})
		}
		if a := outs[s.ID].Report; a != nil {
			for _, p := range a.Proposals {
				rep.Artifacts = append(rep.Artifacts, task.Artifact{Kind: "proposal", Name: p})
			}
			rep.Decisions = append(rep.Decisions, a.Decisions...)
			rep.NextSteps = append(rep.NextSteps, a.NextSteps...)
			for _, src := range a.Sources {
				if !slices.Contains(rep.Sources, src.Source) {
					rep.Sources = append(rep.Sources, src.Source)
				}
			}
		}
	}
	for _, d := range r.Approvals {
		verb := map[bool]string{true: "approved", false: "refused"}[d.Approved]
		rep.Decisions = append(rep.Decisions, fmt.Sprintf("%s %s the step %s", d.By, verb, d.Step))
	}
}

// bestAnswer is the answer of the last attempt when that was done, and of the attempt
// that was surest when it was not. Without any, it is what the steps answered.
func bestAnswer(r *task.Run, outs map[string]output) (string, float64) {
	last := lastAttempt(r)
	if n := len(last); n > 0 && last[n-1].State == task.StepDone && last[n-1].Agent != "" && outs[last[n-1].ID].Text != "" {
		return outs[last[n-1].ID].Text, last[n-1].Confidence
	}
	best := -1.0
	text := ""
	for _, s := range r.Steps {
		out := outs[s.ID]
		if s.Agent == "" || out.Text == "" || out.Report == nil || s.State == task.StepDone && s.Strategy == "" && !s.Always && len(r.Steps) > 1 {
			continue
		}
		if out.Report.Confidence > best {
			best, text = out.Report.Confidence, out.Text
		}
	}
	if best >= 0 {
		return text, best
	}
	return gathered(r, outs), 0
}

// gathered is what the steps answered that are done.
func gathered(r *task.Run, outs map[string]output) string {
	var b strings.Builder
	for _, s := range r.Steps {
		if s.State == task.StepDone && outs[s.ID].Text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n\n", cmp.Or(s.Title, s.ID), bounded(outs[s.ID].Text, 4<<10))
		}
	}
	return strings.TrimSpace(b.String())
}

// denials are the calls that were refused, the same ones once.
func denials(log transcript) []task.DeniedCall {
	var all []task.DeniedCall
	log.each(func(k exchange) {
		if k.Kind != askCall || k.Result == nil || k.Result.Kind != string(fault.KindDenied) || len(all) == 100 {
			return
		}
		d := task.DeniedCall{Step: k.Scope, Tool: cut(k.Subject, maxToolName), Reason: line(k.Result.Text), Hint: line(k.Hint), Remedies: k.Remedies}
		if !slices.ContainsFunc(all, func(o task.DeniedCall) bool { return o.Tool == d.Tool && o.Reason == d.Reason }) {
			all = append(all, d)
		}
	})
	return all
}

// adviseOn adds what a person could do now, besides what the failure and what was refused
// say by themselves.
func adviseOn(rep *task.Report, r *task.Run) {
	for _, s := range r.Steps {
		if s.State == task.StepUncertain {
			rep.NextSteps = append(rep.NextSteps, fmt.Sprintf("check whether %s of the step %s had its effect: that is not known, and it was not called again", s.Tool, s.ID))
		}
	}
	if n := rep.Telemetry.Uncertain; n > 0 && !slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.State == task.StepUncertain }) {
		rep.NextSteps = append(rep.NextSteps, fmt.Sprintf("%d calls of tools may or may not have had their effect, because the process that made them died; they were not made again", n))
	}
}

// summary says in a line what became of a task.
func summary(rep *task.Report, r *task.Run) string {
	done := 0
	for _, s := range r.Steps {
		if s.State == task.StepDone {
			done++
		}
	}
	text := map[task.State]string{task.Completed: "The goal is reached", task.Cancelled: "The task was cancelled", task.Failed: "The goal is not reached"}[rep.State]
	text = cmp.Or(text, "The task is "+string(rep.State))
	if len(r.Steps) > 0 {
		text += fmt.Sprintf(": %d of %d steps are done", done, len(r.Steps))
	}
	if rep.Error != nil {
		text += "; " + line(rep.Error.Message)
	}
	return text + "."
}

// bound keeps a report, which is part of the run, within what an entry of the store
// can hold.
func bound(rep *task.Report) *task.Report {
	rep.Answer = bounded(rep.Answer, maxAnswer)
	for _, list := range []*[]string{&rep.Decisions, &rep.NextSteps, &rep.Sources} {
		*list = (*list)[:min(len(*list), 40)]
		for i, text := range *list {
			(*list)[i] = bounded(text, maxShown)
		}
	}
	if rep.Decisions == nil {
		rep.Decisions = []string{}
	}
	if rep.NextSteps == nil {
		rep.NextSteps = []string{}
	}
	return rep
}
