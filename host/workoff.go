package host

import (
	"context"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/task"
)

// Work says how tasks that wait are done.
type Work struct {
	// Allow is as in [Host.RunTask], for every task.
	Allow approval.OneRun
	// Watch waits for more when nothing waits.
	Watch bool
	// Done is told of each task that is not worked on any more, one at a time; nil for
	// nobody.
	Done func(task.Run)
}

// watchEvery is how often a worker looks for tasks.
const watchEvery = 500 * time.Millisecond

// WorkOff does the tasks that wait, urgent ones first and as many at a time as the
// setting tasks.concurrency says, until nothing waits, or with Watch until ctx ends.
// A task that another process took meanwhile is left to it.
func (h *Host) WorkOff(ctx context.Context, w Work) error {
	o, err := h.Tasks(ctx)
	if err != nil {
		return err
	}
	f := &force{h: h, w: w, busy: map[string]bool{}, freed: make(chan struct{}, 1)}
	defer f.all.Wait()
	for {
		pending, err := o.Pending(ctx)
		if err != nil {
			return err
		}
		for _, r := range pending {
			f.take(ctx, r.TaskID, max(h.Config.Settings().Tasks.Concurrency, 1))
		}
		if f.idle() && len(pending) == 0 && !w.Watch {
			return f.err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.freed:
		case <-time.After(watchEvery):
		}
	}
}

// force is what works on tasks.
type force struct {
	h     *Host
	w     Work
	all   sync.WaitGroup
	freed chan struct{}

	mu     sync.Mutex
	busy   map[string]bool
	failed error
}

// take begins with a task, unless it is being worked on or too many are.
func (f *force) take(ctx context.Context, id string, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[id] || len(f.busy) >= most {
		return
	}
	f.busy[id] = true
	f.all.Go(func() { f.work(ctx, id) })
}

func (f *force) work(ctx context.Context, id string) {
	r, err := f.h.RunTask(ctx, id, f.w.Allow)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, id)
	switch e := task.AsError(err); {
	case err == nil && f.w.Done != nil:
		f.w.Done(r)
	case err != nil && e.Kind != task.KindConflict && ctx.Err() == nil:
		f.failed = err
	}
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

func (f *force) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.busy) == 0
}

func (f *force) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}
