package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
)

// end leaves the task as it has to be after the work, which stopped for the reason
// err, or is done.
func (w *work) end(err error) (task.Run, error) {
	switch {
	case err == nil:
		return w.now(), nil
	case errors.Is(err, errLost):
		return w.now(), fault.Errorf(fault.KindConflict, "task %s: another process took it over", w.task.ID)
	case errors.Is(err, errCancelled):
		return w.leave(w.cancelled)
	case errors.Is(err, errPaused):
		return w.leave(func(*task.Run) error { return nil })
	case errors.Is(err, errWaiting):
		return w.wait()
	case errors.Is(err, errPlanned):
		return w.hold()
	case errors.Is(err, errInterrupted):
		return w.leave(func(r *task.Run) error {
			if r.State != task.Running { // somebody paused or cancelled it meanwhile
				return nil
			}
			return r.Move(task.Release, "the process that worked on it ended")
		})
	}
	r, leaveErr := w.leave(func(r *task.Run) error {
		if r.State != task.Running {
			return nil
		}
		return r.Move(task.Release, line(err.Error()))
	})
	return r, errors.Join(err, leaveErr)
}

// leave writes what the work has come to. Steps that were under way begin again,
// with what is kept of them.
func (w *work) leave(fn func(*task.Run) error) (task.Run, error) {
	err := w.update(func(r *task.Run) error {
		w.account(r)
		for i := range r.Steps {
			if s := &r.Steps[i]; s.State == task.StepRunning && !r.State.Final() {
				if err := s.Move(task.StepPending); err != nil {
					return err
				}
			}
		}
		return fn(r)
	})
	return w.now(), err
}

// account adds up what the work took.
func (w *work) account(r *task.Run) {
	r.ActiveMS += msSince(w.began)
	w.began = time.Now()
	w.mu.Lock()
	r.Telemetry = w.log.telemetry()
	w.mu.Unlock()
	r.Telemetry.ActiveMS, r.Telemetry.Attempts = r.ActiveMS, r.Attempts
	if !r.StartedAt.IsZero() {
		r.Telemetry.DurationMS = msSince(r.StartedAt)
	}
}

func msSince(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// cancelled makes the report of a task anew with what was under way.
func (w *work) cancelled(r *task.Run) error {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.State == task.StepRunning {
			s.Error = fault.Errorf(fault.KindSkill, "cancelled")
			if err := s.Move(task.StepFailed); err != nil {
				return err
			}
		}
	}
	return w.o.report(w.hard, r, nil)
}

// wait has the task stand still until a person decided.
func (w *work) wait() (task.Run, error) {
	r, err := w.leave(func(r *task.Run) error {
		if r.State != task.Running {
			return nil
		}
		return r.Move(task.Wait, waitsFor(r))
	})
	if err != nil || r.State != task.WaitingApproval {
		return r, err
	}
	w.tell(event.TaskWaiting, r.Reason, nil)
	w.notice(r, r.Reason)
	return r, nil
}

// hold pauses the task, whose plan was made and is not to be followed yet.
func (w *work) hold() (task.Run, error) {
	r, err := w.leave(func(r *task.Run) error {
		if r.State != task.Running {
			return nil
		}
		return r.Move(task.Pause, errPlanned.Error())
	})
	if err == nil && r.State == task.Paused {
		w.tell(event.TaskPaused, r.Reason, nil)
	}
	return r, err
}

// waitsFor says what a task waits for.
func waitsFor(r *task.Run) string {
	for _, s := range r.Steps {
		switch {
		case s.State != task.StepWaiting:
		case s.Proposal != "":
			return "the step " + s.ID + " needs an approval: " + s.Proposal
		default:
			return "a person has to agree to the step " + s.ID + ": " + line(s.Title+callsOf(s.Calls))
		}
	}
	return "a person has to agree"
}

// callsOf names the calls that a step waits for.
func callsOf(calls []task.WaitingCall) string {
	if len(calls) == 0 {
		return ""
	}
	more := ""
	if n := len(calls) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf(" (%s with %s%s, %s)", calls[0].Tool, cut(calls[0].Input, 200), more, calls[0].Reason)
}

// notice tells the owner of the task, who may not be reached.
func (w *work) notice(r task.Run, text string) {
	if w.o.ports.Notifier == nil {
		return
	}
	ctx, done := w.closing()
	defer done()
	err := w.o.ports.Notifier.Notify(ctx, Notice{Task: r.TaskID, Owner: r.Owner, Title: r.Title, State: r.State, Text: text})
	if err != nil {
		w.o.log.Warn("the owner of a task was not told", "task", r.TaskID, "err", err)
	}
}

// closingTime bounds each thing that is done after a task has ended.
const closingTime = 30 * time.Second

// closing is a context for what is done whatever the task was stopped by.
func (w *work) closing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(w.hard), closingTime)
}

// late ends a task whose deadline has passed, in the middle of what it does.
func (w *work) late() error {
	_, err := w.leave(func(r *task.Run) error {
		for i := range r.Steps {
			if s := &r.Steps[i]; !s.State.Final() {
				s.State, s.Error = task.StepSkipped, fault.Errorf(fault.KindLimit, "%w", errDeadline)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.conclude(task.Failed, fault.Errorf(fault.KindLimit, "%w", errDeadline).WithHint("give the task more time"))
}

// conclude writes the report of a task that comes to its end as state says, because
// of err.
func (w *work) conclude(state task.State, err error) error {
	return w.update(func(r *task.Run) error {
		w.account(r)
		r.Phase = task.PhaseConsolidate
		ended := *r
		ended.State, ended.FinishedAt = state, time.Now().UTC()
		if err := w.o.report(w.hard, &ended, err); err != nil {
			return err
		}
		r.Report = ended.Report
		return nil
	})
}

// notify makes the end of the task its state, and tells.
func (w *work) notify() (task.Phase, error) {
	signal, t := task.Fail, event.TaskFailed
	if r := w.now(); r.Report != nil && r.Report.State == task.Completed {
		signal, t = task.Complete, event.TaskCompleted
	}
	err := w.update(func(r *task.Run) error {
		if err := r.Move(signal, ""); err != nil {
			return err
		}
		w.account(r)
		r.FinishedAt = time.Now().UTC()
		r.Report.FinishedAt, r.Report.Telemetry = r.FinishedAt, r.Telemetry
		if r.Report.Error != nil {
			r.Reason = line(r.Report.Error.Message)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	r := w.now()
	w.tell(t, r.Report.Summary, event.Ended{Partial: r.Report.Partial, Confidence: r.Report.Confidence, Telemetry: r.Telemetry})
	w.o.meter.count(r)
	w.notice(r, r.Report.Summary)
	return "", nil
}
