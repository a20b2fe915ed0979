package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Submit takes a task in and keeps it: when it returns, the task is not lost any
// more. It is queued, and [Orchestrator.Run] does it. The ID and the time are set
// here; submitting an ID that is there already is a [fault.KindConflict] error, and
// a task that breaks a rule one of [fault.KindUsage]. One that has persons asked about
// less than the settings is a [fault.KindDenied] error, see [Orchestrator.SubmitBy].
func (o *Orchestrator) Submit(ctx context.Context, t task.Task) (task.Run, error) {
	if err := o.strict(t); err != nil {
		return task.Run{}, err
	}
	return o.submit(ctx, t, nil)
}

// SubmitBy takes in a task of by's, as [Orchestrator.Submit] does. Only a person may spare
// calls of the task an approval that the settings demand. With hold it is held, see
// [Orchestrator.Hold].
func (o *Orchestrator) SubmitBy(ctx context.Context, by approval.Principal, t task.Task, hold bool) (task.Run, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return task.Run{}, err
	}
	var held *task.Held
	if hold {
		held = o.hold()
	}
	t.Owner = by.Actor()
	if _, person := by.(approval.Human); !person {
		if err := o.strict(t); err != nil {
			return task.Run{}, err
		}
	}
	return o.submit(ctx, t, held)
}

// strict refuses a task that has persons asked about less than the settings.
func (o *Orchestrator) strict(t task.Task) error {
	if t.ApproveRisk != "" && laxer(t.ApproveRisk, o.settings.ApproveFrom) {
		return fault.Errorf(fault.KindDenied, "only a person can raise the risk from which a task asks to %s: here it is %s", t.ApproveRisk, o.settings.ApproveFrom)
	}
	return nil
}

// Hold keeps a task that is paused or waits for this process: until it runs the task, and for
// no longer than a lease, no other process begins with it when it is queued. Who decides about
// a task and then runs it, with what a person allows here, holds it before. Another task stays
// as it is.
func (o *Orchestrator) Hold(ctx context.Context, id string) error {
	r, err := o.Get(ctx, id)
	if err != nil || r.State != task.Paused && r.State != task.WaitingApproval {
		return err
	}
	_, err = o.change(ctx, id, func(r *task.Run) error {
		r.Held = o.hold()
		return nil
	})
	return err
}

func (o *Orchestrator) hold() *task.Held {
	return &task.Held{Worker: o.settings.Worker, Until: time.Now().Add(o.settings.Lease).UTC()}
}

// laxer reports whether asking from the risk a on asks about less than from b on.
func laxer(a, b task.Risk) bool {
	for _, r := range []task.Risk{task.RiskLow, task.RiskMedium, task.RiskHigh} {
		if b.Asks(r) && !a.Asks(r) {
			return true
		}
	}
	return false
}

func (o *Orchestrator) submit(ctx context.Context, t task.Task, held *task.Held) (task.Run, error) {
	t.ID, t.CreatedAt = cmp.Or(t.ID, task.NewID()), time.Now().UTC()
	if err := t.Check(); err != nil {
		return task.Run{}, err
	}
	if !isID(t.ID) {
		return task.Run{}, fault.Errorf(fault.KindUsage, "task: the id %.80q has to be 1 to 64 letters, digits, - and _", t.ID)
	}
	history, err := o.history(ctx)
	if err != nil {
		return task.Run{}, fmt.Errorf("submit task: %w", err)
	}
	r := task.Run{
		TaskID: t.ID, CreatedAt: t.CreatedAt, UpdatedAt: t.CreatedAt, Title: t.Title(), Type: t.Type, Owner: t.Owner, Priority: t.Priority,
		Envelope: task.NewID(), State: task.Queued, Phase: task.PhaseIntake, Held: held,
	}
	assess(&r, t, history, o.settings)
	if _, err := o.kv.Get(ctx, runKey+t.ID); err == nil {
		return task.Run{}, taken(t.ID)
	}
	if err = write(ctx, o.kv, envelopeOf(r), t, store.MustNotExist); err == nil {
		// Told first, so that the run knows where its events begin.
		r.FirstEvent = o.tell(ctx, r.TaskID, event.TaskCreated, t.Owner, r.Title, event.Created{Complexity: r.Complexity, Confidence: r.Confidence, Estimate: r.Estimate})
		err = write(ctx, o.kv, runKey+t.ID, r, store.MustNotExist)
	}
	switch {
	case errors.Is(err, store.ErrConflict):
		return task.Run{}, taken(t.ID)
	case err != nil:
		return task.Run{}, fmt.Errorf("submit task: %w", err)
	}
	o.tell(ctx, r.TaskID, event.TaskQueued, t.Owner, "", nil)
	return r, nil
}

func taken(id string) error {
	return fault.Errorf(fault.KindConflict, "there is a task %s already", id)
}

// isID reports whether s can be the ID of a task or a step.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// A Filter selects tasks. The zero value selects all.
type Filter struct {
	// State and Owner are empty for any.
	State task.State
	Owner string
	// Limit is how many are returned at most; zero for no limit.
	Limit int
}

// List is the tasks that f selects, the newest first.
func (o *Orchestrator) List(ctx context.Context, f Filter) ([]task.Run, error) {
	entries, err := o.kv.List(ctx, runKey)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	all := make([]task.Run, 0, len(entries))
	for _, e := range entries {
		var r task.Run
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fmt.Errorf("list tasks: %s: %w: %w", e.Key, store.ErrDamaged, err)
		}
		if (f.State == "" || r.State == f.State) && (f.Owner == "" || r.Owner == f.Owner) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b task.Run) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.TaskID, b.TaskID))
	})
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[:f.Limit]
	}
	return all, nil
}

// Find is the ID of the one task whose ID begins with prefix.
func (o *Orchestrator) Find(ctx context.Context, prefix string) (string, error) {
	if prefix == "" || !isID(prefix) {
		return "", missing(fmt.Sprintf("%.80q", prefix))
	}
	entries, err := o.kv.List(ctx, runKey+prefix)
	switch {
	case err != nil:
		return "", fmt.Errorf("find task %s: %w", prefix, err)
	case len(entries) == 0:
		return "", missing(prefix)
	case len(entries) > 1 && entries[0].Key != runKey+prefix:
		return "", fault.Errorf(fault.KindUsage, "%d tasks begin with %s", len(entries), prefix).WithHint("write more of the name")
	}
	return strings.TrimPrefix(entries[0].Key, runKey), nil
}

// Delete forgets a task that has ended, with all that was kept of it: a
// [fault.KindConflict] error when it has not.
func (o *Orchestrator) Delete(ctx context.Context, id string) error {
	r, err := o.Get(ctx, id)
	if err != nil {
		return err
	}
	if !r.State.Final() {
		return fault.Errorf(fault.KindConflict, "the task %s is %s", id, r.State).WithHint("%s ends it", fault.CancelTask(id))
	}
	if err := o.forget(ctx, id); err != nil {
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	if err := o.kv.Delete(ctx, runKey+id, store.AnyRevision); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	return nil
}

// forget deletes everything stored about a task except its run.
func (o *Orchestrator) forget(ctx context.Context, id string) error {
	for _, prefix := range []string{exchangeKey, docKey, outputKey, envelopeKey} {
		entries, err := o.kv.List(ctx, prefix+id+"/")
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := o.kv.Delete(ctx, e.Key, store.AnyRevision); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// Pending are the tasks that a worker should run: those that are queued and not held for
// another process, and those whose process died, urgent ones first, and then the oldest.
func (o *Orchestrator) Pending(ctx context.Context) ([]task.Run, error) {
	all, err := o.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	var pending []task.Run
	for _, r := range all {
		if r.State == task.Queued && !r.Held.From(o.settings.Worker) || r.State == task.Running && o.orphan(ctx, r.TaskID) {
			pending = append(pending, r)
		}
	}
	urgency := []task.Priority{task.PriorityHigh, task.PriorityNormal, task.PriorityLow}
	slices.SortFunc(pending, func(a, b task.Run) int {
		return cmp.Or(slices.Index(urgency, a.Priority)-slices.Index(urgency, b.Priority), a.CreatedAt.Compare(b.CreatedAt))
	})
	return pending, nil
}

// orphan reports whether no process holds the lock of a task.
func (o *Orchestrator) orphan(ctx context.Context, id string) bool {
	l, err := o.locks.Acquire(ctx, lockName(id), o.settings.Worker, time.Second)
	if err != nil {
		return false
	}
	if err := l.Release(ctx); err != nil {
		o.log.Warn("the lock of a task is not released", "task", id, "err", err)
	}
	return true
}
