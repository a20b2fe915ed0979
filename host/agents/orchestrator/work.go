package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/manifests"
)

// Why the work on a task stops before its end.
var (
	errPaused      = errors.New("the task is paused")
	errCancelled   = errors.New("the task was cancelled")
	errLost        = errors.New("another process works on the task")
	errWaiting     = errors.New("the task waits for a person")
	errInterrupted = errors.New("the process that works on the task is to end")
	errDeadline    = errors.New("the deadline of the task has passed")
	errPlanned     = errors.New("the plan is made, and waits to be followed")
)

// work is what one process does on one task.
type work struct {
	o     *Orchestrator
	task  task.Task
	fence uint64

	// soft ends when nothing new may begin, hard when calls of tools are given up.
	soft, hard         context.Context
	stopSoft, stopHard context.CancelCauseFunc

	tools   []Tool
	lease   *budget.Lease
	began   time.Time
	opened  time.Time // when this process began with the task
	schemas schemas
	events  *publisher

	mu      sync.Mutex
	run     task.Run // as last written
	log     transcript
	answers map[string]output
}

// Run works on a task until it ends, is paused or waits for a person, and returns
// how it is then. It takes over a task whose process died, some seconds after that.
// When ctx ends, it stops in good order and the task is queued again.
//
// A task that another process works on, is paused, waits or has ended is a
// [fault.KindConflict] error. A task that failed is not an error: see its report.
func (o *Orchestrator) Run(ctx context.Context, id string) (_ task.Run, err error) {
	ctx, span := trace.Start(ctx, "task", trace.String("task", id))
	defer func() { span.End(err) }()
	t, err := o.Task(ctx, id)
	if err != nil {
		return task.Run{}, err
	}
	lock, err := o.acquire(ctx, id)
	if err != nil {
		return task.Run{}, err
	}
	w := &work{o: o, task: t, fence: lock.Fence(), began: time.Now(), opened: time.Now()}
	w.soft, w.stopSoft = context.WithCancelCause(context.WithoutCancel(ctx))
	w.hard, w.stopHard = context.WithCancelCause(context.WithoutCancel(ctx))
	w.events = newPublisher(func(e event.Event) { o.publish(w.hard, e) })
	var tending sync.WaitGroup
	defer func() {
		w.events.close()
		w.stopHard(errInterrupted)
		w.stopSoft(errInterrupted)
		tending.Wait()
		if err := lock.Release(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, store.ErrStale) {
			o.log.Warn("the lock of a task is not released", "task", id, "err", err)
		}
	}()
	if err := w.begin(ctx); err != nil {
		return w.run, named(id, err)
	}
	tending.Go(func() { w.renew(lock) })
	tending.Go(func() { w.watch(ctx) })
	tending.Go(func() { w.clock(ctx) })
	err = w.phases()
	return w.end(err)
}

// acquire takes the lock of a task. It waits as long as the lock of a process that
// died may be held.
func (o *Orchestrator) acquire(ctx context.Context, id string) (store.Lock, error) {
	until := time.Now().Add(o.settings.Lease + time.Second)
	for {
		lock, err := o.locks.Acquire(ctx, lockName(id), o.settings.Worker, o.settings.Lease)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, store.ErrHeld) {
			return nil, fmt.Errorf("run task %s: %w", id, err)
		}
		r, getErr := o.Get(ctx, id)
		if getErr == nil {
			_, getErr = r.State.Next(task.Start)
		}
		switch {
		case getErr != nil:
			return nil, named(id, getErr)
		case time.Now().After(until):
			return nil, fault.Errorf(fault.KindConflict, "task %s: %s works on it", id, r.Worker).WithHint("%s shows what it does", fault.FollowTask(id))
		}
		select {
		case <-time.After(min(o.settings.Lease/8, 250*time.Millisecond)):
		case <-ctx.Done():
			return nil, fmt.Errorf("run task %s: %w", id, ctx.Err())
		}
	}
}

// begin takes the task over and loads what is kept of it.
func (w *work) begin(ctx context.Context) error {
	r, err := w.o.change(ctx, w.task.ID, func(r *task.Run) error {
		if err := r.Move(task.Start, ""); err != nil {
			return err
		}
		if r.Held.From(w.o.settings.Worker) {
			return fault.Errorf(fault.KindConflict, "%s is about to work on it", r.Held.Worker).WithHint("%s shows what it does", fault.FollowTask(r.TaskID))
		}
		r.Held = nil
		r.Fence, r.Worker = w.fence, w.o.settings.Worker
		r.Attempts++
		if r.StartedAt.IsZero() {
			r.StartedAt = time.Now().UTC()
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.State == task.StepRunning || s.State == task.StepWaiting && s.Proposal != "" {
				if err := s.Move(task.StepPending); err != nil {
					return err
				}
				s.Proposal = ""
			}
		}
		return nil
	})
	w.run = r
	if err == nil {
		err = w.load(ctx)
	}
	if err != nil {
		return err
	}
	w.tell(event.TaskStarted, "", event.Started{Attempt: r.Attempts, Worker: r.Worker})
	return nil
}

// load reads what was kept of the task before.
func (w *work) load(ctx context.Context) error {
	var err error
	if w.log, err = w.o.transcript(ctx, w.task.ID); err != nil {
		return err
	}
	if w.answers, err = w.o.outputs(ctx, w.task.ID, w.run.Steps, w.log); err != nil {
		return err
	}
	if _, err := w.doc(ctx, "tools", &w.tools); err != nil {
		return err
	}
	return w.openBudget(ctx)
}

func (w *work) openBudget(ctx context.Context) error {
	if w.o.ports.Budget == nil {
		return nil
	}
	var err error
	w.lease, err = w.o.ports.Budget.Task(ctx, w.task.ID, budget.Amount{Tokens: w.run.Budget.Tokens, MicroUSD: w.run.Budget.MicroUSD})
	return err
}

// doc reads a document of the task; found is false when there is none.
func (w *work) doc(ctx context.Context, name string, into any) (found bool, err error) {
	raw, _, found, err := read[json.RawMessage](ctx, w.o.kv, docKey+w.task.ID+"/"+name)
	if err == nil && found {
		err = json.Unmarshal(raw, into)
	}
	return found, err
}

// keepDoc writes a document of the task.
func (w *work) keepDoc(name string, v any) error {
	return write(context.WithoutCancel(w.soft), w.o.kv, docKey+w.task.ID+"/"+name, v, store.AnyRevision)
}

// renew keeps the lock until the work ends.
func (w *work) renew(lock store.Lock) {
	every := time.NewTicker(max(w.o.settings.Lease/4, time.Millisecond))
	defer every.Stop()
	last := time.Now()
	for {
		select {
		case <-w.hard.Done():
			return
		case <-every.C:
		}
		err := lock.Renew(context.WithoutCancel(w.hard))
		switch {
		case err == nil:
			last = time.Now()
		case errors.Is(err, store.ErrStale), time.Since(last) > w.o.settings.Lease:
			w.stop(errLost)
			return
		default:
			w.o.log.Warn("the lock of a task is not renewed", "task", w.task.ID, "err", err)
		}
	}
}

// watch ends the work when another process changed the state of the task.
func (w *work) watch(ctx context.Context) {
	changes, err := w.o.kv.Watch(w.hard, runKey+w.task.ID)
	if err != nil {
		w.o.log.Warn("a task cannot be watched", "task", w.task.ID, "err", err)
		return
	}
	for {
		select {
		case <-ctx.Done():
			w.interrupt()
			return
		case <-w.hard.Done():
			return
		case e, ok := <-changes:
			if !ok {
				return
			}
			var r task.Run
			if e.Key == runKey+w.task.ID && json.Unmarshal(e.Value, &r) == nil {
				w.react(r)
			}
		}
	}
}

// react stops when the run is not this work's to go on with.
func (w *work) react(r task.Run) {
	switch {
	case r.Fence > w.fence:
		w.stop(errLost)
	case r.State == task.Cancelled:
		w.stop(errCancelled)
	case r.State == task.Paused && r.Fence == w.fence:
		w.stopSoft(errPaused)
	}
}

// interrupt stops in good order: nothing new begins, and calls of tools have the
// time that the settings give them.
func (w *work) interrupt() {
	w.stopSoft(errInterrupted)
	select {
	case <-time.After(w.o.settings.Grace):
		w.stopHard(errInterrupted)
	case <-w.hard.Done():
	}
}

// clock ends the work at the deadline.
func (w *work) clock(context.Context) {
	if w.task.Deadline.IsZero() {
		return
	}
	select {
	case <-time.After(time.Until(w.task.Deadline)):
		w.stop(errDeadline)
	case <-w.hard.Done():
	}
}

// stop ends everything at once.
func (w *work) stop(why error) {
	w.stopSoft(why)
	w.stopHard(why)
}

// stopped is why the work has to stop; nil as long as it may go on.
func (w *work) stopped() error {
	if w.soft.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(w.hard), errCancelled) || errors.Is(context.Cause(w.hard), errLost) {
		return context.Cause(w.hard)
	}
	return context.Cause(w.soft)
}

// update changes the run, unless another process works on the task now.
func (w *work) update(fn func(*task.Run) error) error {
	r, err := w.o.change(w.hard, w.task.ID, func(r *task.Run) error {
		if r.Fence != w.fence {
			return errLost
		}
		return fn(r)
	})
	if errors.Is(err, errLost) {
		w.stop(errLost)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.run = r
	w.mu.Unlock()
	w.react(r)
	return nil
}

// now is the run as last written. Its steps are not to be changed.
func (w *work) now() task.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.run
}

// tell publishes an event of the task.
func (w *work) tell(t event.Type, text string, data any) {
	w.events.tell(w.o.event(w.task.ID, t, "", text, data))
}

// A phase does a part of the work and says which one is next; none when the work is
// done.
type phase func(*work) (next task.Phase, err error)

// table is the phases. Each can be done again from its beginning.
func table() map[task.Phase]phase {
	return map[task.Phase]phase{
		task.PhaseIntake:      (*work).intake,
		task.PhaseRetrieve:    (*work).retrieve,
		task.PhasePlan:        (*work).plan,
		task.PhaseAct:         (*work).act,
		task.PhaseReflect:     (*work).reflect,
		task.PhaseConsolidate: (*work).consolidate,
		task.PhaseNotify:      (*work).notify,
	}
}

// phases goes through the table until the work is done or has to stop.
func (w *work) phases() error {
	for at := w.run.Phase; at != ""; {
		closing := at == task.PhaseConsolidate || at == task.PhaseNotify
		late := errors.Is(w.stopped(), errDeadline)
		if err := w.stopped(); err != nil && !(late && closing) {
			if !late {
				return err
			}
			if err := w.late(); err != nil {
				return err
			}
			at = task.PhaseConsolidate
			continue
		}
		w.tell(event.TaskPhase, string(at), nil)
		next, err := table()[at](w)
		if stop := w.stopped(); err != nil && stop != nil && !closing {
			continue
		}
		switch {
		case errors.Is(err, errWaiting) || errors.Is(err, errLost):
			return err
		case err != nil && closing:
			w.o.log.Warn("a task ends without all that follows", "task", w.task.ID, "phase", at, "err", err)
			next = map[task.Phase]task.Phase{task.PhaseConsolidate: task.PhaseNotify}[at]
		case err != nil:
			if err := w.conclude(task.Failed, err); err != nil {
				return err
			}
			next = task.PhaseConsolidate
		}
		if next != "" {
			if err := w.update(func(r *task.Run) error { r.Phase = next; return nil }); err != nil {
				return err
			}
		}
		if at == task.PhasePlan && next == task.PhaseAct && w.task.Planning == task.PlanOnly {
			return errPlanned
		}
		at = next
	}
	return nil
}

// schemas are those of tools, compiled when they are needed.
type schemas struct {
	mu    sync.Mutex
	known map[string]*manifests.ValueSchema
}

// check says what is wrong with an input of a tool.
func (s *schemas) check(t Tool, input string) error {
	if len(t.InputSchema) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[t.Name] == nil {
		compiled, err := manifests.CompileSchema(t.InputSchema)
		if err != nil {
			return fmt.Errorf("the schema of the tool %s: %w", t.Name, err)
		}
		if s.known == nil {
			s.known = map[string]*manifests.ValueSchema{}
		}
		s.known[t.Name] = compiled
	}
	return s.known[t.Name].Check(json.RawMessage(input))
}
