package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
)

// Status is how far a task is.
type Status struct {
	TaskID string     `json:"task_id"`
	Title  string     `json:"title"`
	State  task.State `json:"state"`
	Phase  task.Phase `json:"phase"`
	Reason string     `json:"reason,omitempty"`
	// Percent is from 0 to 100.
	Percent float64 `json:"percent"`
	// LeftMS is how much longer it will take, in milliseconds of work; nil when
	// nobody knows. Basis says what that is from: "steps" or "history".
	LeftMS *float64 `json:"left_ms,omitempty"`
	Basis  string   `json:"basis,omitempty"`
	// Steps is how many there are, and Done how many are over.
	Steps int `json:"steps"`
	Done  int `json:"done"`
	// Running are the titles of the steps that are being done.
	Running   []string       `json:"running,omitempty"`
	ActiveMS  float64        `json:"active_ms"`
	Telemetry task.Telemetry `json:"telemetry"`
}

// Status is how far a task is: a [fault.KindNotFound] error when there is none.
func (o *Orchestrator) Status(ctx context.Context, id string) (Status, error) {
	r, err := o.Get(ctx, id)
	if err != nil {
		return Status{}, err
	}
	log, err := o.transcript(ctx, id)
	if err != nil {
		return Status{}, fmt.Errorf("status of task %s: %w", id, err)
	}
	s := Status{
		TaskID: r.TaskID, Title: r.Title, State: r.State, Phase: r.Phase, Reason: r.Reason,
		Percent: percentOf(r), Steps: len(r.Steps), Done: countFinal(r.Steps), ActiveMS: r.ActiveMS, Telemetry: r.Telemetry,
	}
	if !r.State.Final() {
		s.Telemetry = totals(&r, log)
	}
	for _, st := range r.Steps {
		if st.State == task.StepRunning {
			s.Running = append(s.Running, st.Title)
		}
	}
	if ms, basis, ok := left(r, time.Now()); ok {
		s.LeftMS, s.Basis = &ms, basis
	}
	return s, nil
}

// The parts of the work before the steps, and up to their end, in percent.
const (
	percentPlanned = 10.0
	percentActed   = 90.0
)

// percentOf is how far a task is: the phases before the steps are the first tenth,
// those after it the last, and between them each step counts the same. A step that is
// being done counts with what its agent says.
func percentOf(r task.Run) float64 {
	switch {
	case r.State == task.Completed || r.State == task.Failed:
		return 100
	case r.Phase == task.PhaseIntake:
		return 0
	case r.Phase == task.PhaseRetrieve:
		return percentPlanned / 4
	case r.Phase == task.PhaseConsolidate || r.Phase == task.PhaseNotify:
		return 95
	case r.Phase == task.PhasePlan || len(r.Steps) == 0:
		return percentPlanned / 2
	}
	done := 0.0
	for _, s := range r.Steps {
		switch {
		case r.State == task.Cancelled && s.State != task.StepDone: // what was not done when it ended
		case s.State.Final():
			done++
		case s.Percent != nil:
			done += *s.Percent / 100
		}
	}
	return percentPlanned + (percentActed-percentPlanned)*done/float64(len(r.Steps))
}

// left is how many milliseconds of work a task still takes: the mean of its steps that
// are over for each that is not, less what those that run have had; before the first
// is over, what similar tasks took less what this one has had. ok is false when
// neither is known, or it takes longer than that already.
func left(r task.Run, now time.Time) (ms float64, basis string, ok bool) {
	if r.State.Final() {
		return 0, "steps", true
	}
	var took, had float64
	over, open := 0, 0
	for _, s := range r.Steps {
		switch {
		case s.State == task.StepDone || s.State == task.StepFailed:
			over++
			took += float64(s.FinishedAt.Sub(s.StartedAt).Microseconds()) / 1000
		case s.State.Final():
		default:
			open++
			if s.State == task.StepRunning {
				had += float64(now.Sub(s.StartedAt).Microseconds()) / 1000
			}
		}
	}
	if over > 0 {
		if ms = took/float64(over)*float64(open) - had; ms >= 0 {
			return ms, "steps", true
		}
		return 0, "", false
	}
	if ms = r.ExpectedMS - r.ActiveMS - had; r.ExpectedMS > 0 && ms >= 0 {
		return ms, "history", true
	}
	return 0, "", false
}

// Logs is what happened to a task, in order, with numbers above after.
func (o *Orchestrator) Logs(ctx context.Context, id string, after uint64) ([]event.Event, error) {
	r, err := o.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := o.bus.Read(ctx, "*", fromEvent(r, after), 0)
	if err != nil {
		return nil, fmt.Errorf("logs of task %s: %w", id, err)
	}
	var of []event.Event
	for _, e := range all {
		if e.Task == id {
			of = append(of, e)
		}
	}
	return of, nil
}

// Follow hands each event of a task with a number above after to fn, as it happens,
// until the task has ended, paused or waits, or ctx ends. An error of fn ends it.
func (o *Orchestrator) Follow(ctx context.Context, id string, after uint64, fn func(event.Event) error) error {
	first, err := o.Get(ctx, id)
	if err != nil {
		return err
	}
	ctx, done := context.WithCancelCause(ctx)
	defer done(nil)
	sub, err := o.bus.Subscribe(ctx, "task "+id, "*", fromEvent(first, after), func(_ context.Context, e event.Event) error {
		if e.Task != id || ctx.Err() != nil {
			return nil
		}
		if err := fn(e); err != nil {
			done(err)
			return nil
		}
		if endsFollowing(e.Type) {
			if r, err := o.Get(ctx, id); err != nil || r.State != task.Running && r.State != task.Queued {
				done(errFollowed)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("follow task %s: %w", id, err)
	}
	<-ctx.Done()
	sub.Close()
	if cause := context.Cause(ctx); !errors.Is(cause, errFollowed) {
		return cause
	}
	return nil
}

// fromEvent is the number after which events of a task are read: none is before its
// first.
func fromEvent(r task.Run, after uint64) uint64 {
	return max(after, max(r.FirstEvent, 1)-1)
}

func endsFollowing(t event.Type) bool {
	switch t {
	case event.TaskCompleted, event.TaskFailed, event.TaskCancelled, event.TaskPaused, event.TaskWaiting:
		return true
	}
	return false
}
