package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/agents/queue"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// enqueue queues a task for [Tasks.RunWorkers]. When too many wait it is turned
// away, those of low priority first, with a [fault.KindLimit] error that says when to
// try again.
func (s *Service) enqueue(ctx context.Context, by approval.Principal, t task.Task) (task.Run, error) {
	q := s.queue()
	if err := q.Admit(ctx, queue.Item{Owner: by.Actor(), Priority: urgency(t.Priority)}); err != nil {
		return task.Run{}, turnedAway(err)
	}
	r, err := s.submit(ctx, by, t, false)
	if err != nil {
		return r, err
	}
	return r, push(ctx, q, r)
}

// turnedAway says what to do about a full queue.
func turnedAway(err error) error {
	full := (*queue.FullError)(nil)
	if !errors.As(err, &full) {
		return err
	}
	return fault.Wrap(fault.KindLimit, err).WithRetryAfter(full.RetryAfter).
		Hinted(fault.Hintf("%s does what waits; a higher priority has more room, and the setting tasks.queue_limit makes more", fault.WorkTasks()))
}

// urgency is a task's priority in the queue.
func urgency(p task.Priority) store.Priority {
	switch p {
	case task.PriorityHigh:
		return store.High
	case task.PriorityLow:
		return store.Low
	}
	return store.Normal
}

// taskOf is the entry of an item's metadata that names the task.
const taskOf = "task"

// push puts a task into the queue, unless it is there. Each time that somebody begins
// with a task it is another item. One that finds no room now is pushed by whoever
// looks next at what waits.
func push(ctx context.Context, q *queue.Queue, r task.Run) error {
	_, err := q.Push(ctx, queue.Item{
		ID: fmt.Sprintf("%s.%d", r.TaskID, r.Attempts), Owner: r.Owner, Priority: urgency(r.Priority),
		// A task finds out itself how far it came.
		Again: queue.TakeOver, Meta: map[string]string{taskOf: r.TaskID},
	})
	if errors.Is(err, queue.ErrFull) {
		return nil
	}
	return err
}

// A WorkRequest says how tasks that wait are done.
type WorkRequest struct {
	// Allow is as in [DoRequest], for every task.
	Allow approval.EphemeralGrant
	// Watch waits for more when nothing waits.
	Watch bool
	// Done is told of each task that is not worked on any more, one at a time; nil for
	// nobody.
	Done func(task.Run)
}

// Worked are the tasks that were worked on, in the order in which that ended.
type Worked struct {
	Tasks []Run `json:"tasks"`
}

// watchEvery is how often a worker looks for tasks that are not in the queue:
// those that were interrupted, resumed or approved.
const watchEvery = 500 * time.Millisecond

// RunWorkers does the tasks that wait, urgent ones first and as many at a time, over all
// processes, as the setting tasks.concurrency says, until nothing waits, or with
// Watch until ctx ends. A task that another process took meanwhile is left to it.
// One that cannot be worked on is a dead letter of the queue.
func (t *Tasks) RunWorkers(ctx context.Context, by approval.Human, w WorkRequest) error {
	if err := allows(by, w.Allow); err != nil {
		return err
	}
	o, err := t.s.open(ctx)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	f := &workerPool{s: t.s, w: w, ctx: ctx, q: t.s.queue(), freed: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- f.q.Run(working, f.work) }()
	err = f.feed(ctx, o)
	stop()
	err = errors.Join(err, <-ended, f.err())
	if w.Watch && errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// A workerPool works on the tasks of the queue.
type workerPool struct {
	s     *Service
	w     WorkRequest
	ctx   context.Context // whose end is that of the command
	q     *queue.Queue
	freed chan struct{}

	mu     sync.Mutex
	failed error
}

// feed puts what waits into the queue, until nothing does.
func (f *workerPool) feed(ctx context.Context, o *orchestrator.Orchestrator) error {
	for {
		pending, err := o.Pending(ctx)
		if err != nil {
			return err
		}
		for _, r := range pending {
			if err := push(ctx, f.q, r); err != nil {
				return err
			}
		}
		left, err := f.q.List(ctx)
		if err != nil || len(left) == 0 && !f.w.Watch {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.freed:
		case <-time.After(watchEvery):
		}
	}
}

// work works on the task of an item. When the command is to end, the task is told at
// once, and waits again.
func (f *workerPool) work(ctx context.Context, d queue.Delivery) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	defer f.free()
	r, err := f.s.run(ctx, d.Meta[taskOf], f.w.Allow)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := fault.AsError(err); {
	case err == nil && f.w.Done != nil:
		f.w.Done(r)
	case err != nil && e.Kind != fault.KindConflict && e.Kind != fault.KindNotFound && ctx.Err() == nil:
		f.failed = errors.Join(f.failed, err)
		return err
	}
	return nil
}

func (f *workerPool) free() {
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

func (f *workerPool) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}
