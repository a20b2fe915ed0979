package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// A Condition returns an error for a task that is not to be changed as it stands. It is asked
// about the very state that is changed.
type Condition func(task.Run) error

func met(given []Condition, r task.Run) error {
	for _, check := range given {
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

// move makes a transition of a task, and tells it.
func (o *Orchestrator) move(ctx context.Context, id string, by task.Signal, actor, reason string, t event.Type, given []Condition) (task.Run, error) {
	r, err := o.change(ctx, id, func(r *task.Run) error {
		if err := met(given, *r); err != nil {
			return err
		}
		return r.Move(by, reason)
	})
	if err != nil {
		return r, named(id, err)
	}
	o.tell(ctx, id, t, actor, reason, nil)
	return r, nil
}

// named adds the task to an error.
func named(id string, err error) error {
	e := fault.AsError(err)
	if e.Kind == fault.KindNotFound {
		return err
	}
	return fmt.Errorf("task %s: %w", id, err)
}

// Pause has a task stand still. The process that works on it, if there is one, ends
// what it can end without harm and lets calls of tools come to their end. by is who
// wants it. A task that is not queued, running or waiting is a
// [fault.KindConflict] error.
func (o *Orchestrator) Pause(ctx context.Context, id, by string, given ...Condition) (task.Run, error) {
	return o.move(ctx, id, task.Pause, by, "paused by "+by, event.TaskPaused, given)
}

// Resume continues a task that is paused, or that waits for what a person may have
// approved elsewhere. It is queued then: [Orchestrator.Run] does it.
func (o *Orchestrator) Resume(ctx context.Context, id, by string, given ...Condition) (task.Run, error) {
	return o.move(ctx, id, task.Resume, by, "", event.TaskResumed, given)
}

// Cancel ends a task at once, also in the middle of a step: calls are given up. Its
// report says how far it was. A task that has ended is a [fault.KindConflict] error.
func (o *Orchestrator) Cancel(ctx context.Context, id, by, reason string, given ...Condition) (task.Run, error) {
	why := "cancelled by " + by
	if reason != "" {
		why += ": " + line(reason)
	}
	r, err := o.change(ctx, id, func(r *task.Run) error {
		if err := met(given, *r); err != nil {
			return err
		}
		if err := r.Move(task.Cancel, why); err != nil {
			return err
		}
		r.FinishedAt = time.Now().UTC()
		return o.report(ctx, r, nil)
	})
	if err != nil {
		return r, named(id, err)
	}
	o.tell(ctx, id, event.TaskCancelled, by, why, nil)
	o.meter.count(r)
	return r, nil
}

// Approve approves a step that waits for a person, or all such steps if step is
// empty. When nothing waits any more, the task is queued. It takes a person: no
// agent can make an [approval.Human]. A step that waits for a proposal is approved
// there, and is a [fault.KindConflict] error here.
func (o *Orchestrator) Approve(ctx context.Context, h approval.Human, id, step, notes string) (task.Run, error) {
	return o.decide(ctx, h, id, task.Decision{Step: step, Approved: true, Notes: notes})
}

// Refuse rejects a step that waits for a person, or all such steps if step is
// empty. The task goes on without it, and without what waits for it.
func (o *Orchestrator) Refuse(ctx context.Context, h approval.Human, id, step, notes string) (task.Run, error) {
	return o.decide(ctx, h, id, task.Decision{Step: step, Notes: notes})
}

func (o *Orchestrator) decide(ctx context.Context, h approval.Human, id string, d task.Decision) (task.Run, error) {
	if err := h.Check(); err != nil {
		return task.Run{}, err
	}
	d.By, d.At, d.Notes = h.Actor(), time.Now().UTC(), line(d.Notes)
	r, err := o.change(ctx, id, func(r *task.Run) error {
		if r.State != task.WaitingApproval {
			return fault.Errorf(fault.KindConflict, "it is %s, and waits for nobody", r.State)
		}
		if err := decideSteps(r, d); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.State == task.StepWaiting }) {
			return nil
		}
		if d.Approved {
			return r.Move(task.Approve, "")
		}
		return r.Move(task.Refuse, "")
	})
	if err != nil {
		return r, named(id, err)
	}
	t := map[bool]event.Type{true: event.TaskApproved, false: event.TaskDenied}[d.Approved]
	o.tell(ctx, id, t, d.By, d.Notes, d)
	return r, nil
}

// decideSteps says to the steps that wait what a person decided.
func decideSteps(r *task.Run, d task.Decision) error {
	found := false
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.State != task.StepWaiting || d.Step != "" && d.Step != s.ID {
			continue
		}
		if found = true; d.Approved && s.Proposal != "" {
			return fault.Errorf(fault.KindConflict, "the step %s waits for the proposal %s", s.ID, s.Proposal).
				WithHint("%s, then %s", fault.Approve(s.Proposal), fault.ResumeTask(r.TaskID))
		}
		one := d
		one.Step = s.ID
		for _, c := range s.Calls {
			one.Calls = append(one.Calls, c.Place)
		}
		r.Approvals = append(r.Approvals, one)
		if err := decideStep(s, d); err != nil {
			return err
		}
	}
	if !found {
		return fault.Errorf(fault.KindNotFound, "no step %s waits for a person", d.Step)
	}
	return nil
}

// decideStep makes the transition of one step. An agent whose call was refused goes
// on, and is told.
func decideStep(s *task.Step, d task.Decision) error {
	if d.Approved || len(s.Calls) > 0 && s.Agent != "" {
		s.Approved = s.Approved || len(s.Calls) == 0
		return s.Move(task.StepPending)
	}
	s.Error = fault.Errorf(fault.KindDenied, "refused by %s", d.By)
	s.FinishedAt = d.At
	return s.Move(task.StepDenied)
}
