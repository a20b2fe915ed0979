package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

// A Delivery is an item that is worked on.
type Delivery struct {
	Item
	// Attempt is 1 when it is begun for the first time.
	Attempt int
	// TakenOver says that another worker had it before and was lost: nobody knows
	// how far that one came.
	TakenOver bool
	// Pushed is when it was added.
	Pushed time.Time
}

// Work does what an item asks for. Its context ends when the item was cancelled or
// taken over (cause [ErrLost]) and when the queue is drained and has waited long
// enough (cause [ErrDraining]). What it returns decides what becomes of the item:
// nil means it is done; an error that it failed, which is tried again only when the
// item says so; see [Permanent] and [Later].
type Work func(ctx context.Context, d Delivery) error

var (
	// ErrLost is why the context of work ends whose item somebody else has now, or
	// nobody.
	ErrLost = errors.New("the item was cancelled or taken over")
	// ErrDraining is why the context of work ends when the queue shuts down.
	ErrDraining = errors.New("the queue shuts down")
	// ErrUndrained: work did not end though it was told to.
	ErrUndrained = errors.New("work did not end")
)

// verdict is an error that says what becomes of the item.
type verdict struct {
	error
	permanent bool
	after     time.Duration
}

func (v verdict) Unwrap() error { return v.error }

// Permanent is an error after which an item is not tried again.
func Permanent(err error) error { return verdict{error: err, permanent: true} }

// Later is an error of work that had no effect yet: it is tried again after a while,
// whatever the item says.
func Later(err error, after time.Duration) error { return verdict{error: err, after: max(after, 0)} }

// Run works on items until ctx ends. Then it begins nothing more, lets what is
// being worked on go on for [Settings].Drain, tells it to end, and gives back what
// did. The error wraps [ErrUndrained] when work did not end even then; those items
// are leased until the process ends.
func (q *Queue) Run(ctx context.Context, work Work) error {
	r := &run{Queue: q, work: work, running: map[string]bool{}}
	var cut context.CancelCauseFunc
	r.working, cut = context.WithCancelCause(context.WithoutCancel(ctx))
	q.bus.Tell(ctx, event.Event{Type: event.WorkerOnline, Text: "queue " + q.settings.Name})
	for range q.settings.Concurrency {
		r.workers.Go(func() { r.worker(ctx) })
	}
	<-ctx.Done()
	err := r.drain(cut)
	q.bus.Tell(ctx, event.Event{Type: event.WorkerOffline, Text: "queue " + q.settings.Name})
	return err
}

// run is one call of Run.
type run struct {
	*Queue
	work    Work
	working context.Context // of all work
	workers sync.WaitGroup

	mu      sync.Mutex
	running map[string]bool // items that are worked on here
}

// drain waits for work, first as long as it takes and then as long as it takes to
// notice that it shall end.
func (r *run) drain(cut context.CancelCauseFunc) error {
	ended := make(chan struct{})
	go func() {
		r.workers.Wait()
		close(ended)
	}()
	for range 2 {
		select {
		case <-ended:
			cut(ErrDraining)
			return nil
		case <-time.After(r.settings.Drain):
			cut(ErrDraining)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for id := range r.running {
		names = append(names, id)
	}
	return fmt.Errorf("drain queue %s: %w: %s", r.settings.Name, ErrUndrained, strings.Join(names, ", "))
}

const (
	// pullWait is how long a worker waits for an item before it looks again.
	pullWait = time.Minute
	// troubleWait is how long it waits when the store fails.
	troubleWait = time.Second
)

// worker works on one item after the other.
func (r *run) worker(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := r.jobs.PullIf(ctx, pullWait, r.takes)
		switch {
		case errors.Is(err, store.ErrEmpty) || ctx.Err() != nil && err != nil:
			continue
		case errors.Is(err, store.ErrClosed):
			return
		case err != nil:
			r.log.Warn("the queue cannot be read", "queue", r.settings.Name, "err", err)
			pause(ctx, troubleWait)
			continue
		}
		r.do(c)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// takes keeps the limits over all processes.
func (q *Queue) takes(j store.Job, claimed []store.Job) bool {
	if len(claimed) >= q.settings.Concurrency {
		return false
	}
	owner, same := ownerOf(j), 0
	for _, c := range claimed {
		if owner != "" && ownerOf(c) == owner {
			same++
		}
	}
	return q.settings.PerOwner <= 0 || same < q.settings.PerOwner
}

// do works on one item.
func (r *run) do(c store.Claim) {
	begun, counts := time.Now(), Totals{Begun: 1}
	item, head, err := itemOf(c.Job())
	if err != nil {
		r.settle(c, item, "give up", c.Bury(r.working, err.Error()))
		return
	}
	d := Delivery{Item: item, Attempt: c.Attempt(), TakenOver: c.TakenOver(), Pushed: head.Pushed}
	if d.TakenOver {
		counts.TakenOver++
		if item.Again == Never {
			r.bury(c, item, "its worker was lost, and nobody knows how far it came", &counts)
			r.count(r.working, counts.addTo)
			return
		}
		r.tell(r.working, event.QueueTakenOver, &item, "the worker of item "+item.ID+" was lost; another goes on")
	}
	err = r.guarded(c, d)
	wait := begun.Sub(head.Pushed) - head.Delay
	counts.WaitMS, counts.WorkMS = uint64(max(wait, 0).Milliseconds()), uint64(time.Since(begun).Milliseconds())
	r.end(c, d, err, &counts)
	r.count(r.working, counts.addTo)
}

// guarded calls the work while a heartbeat keeps the lease. A panic is an error, and
// what the work returned does not count when the lease was lost.
func (r *run) guarded(c store.Claim, d Delivery) (err error) {
	ctx, cancel := context.WithCancelCause(r.working)
	defer cancel(nil)
	r.note(d.ID, true)
	defer r.note(d.ID, false)
	beats, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { r.beat(beats, c, cancel) })
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		err = r.work(ctx, d)
	}()
	stop()
	beating.Wait()
	if context.Cause(ctx) == ErrLost {
		return ErrLost
	}
	return err
}

func (r *run) note(id string, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if running {
		r.running[id] = true
	} else {
		delete(r.running, id)
	}
}

// beat extends a lease until ctx ends or it is lost.
func (r *run) beat(ctx context.Context, c store.Claim, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(r.settings.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		switch err := c.Extend(ctx); {
		case errors.Is(err, store.ErrStale):
			cancel(ErrLost)
			return
		case err != nil && ctx.Err() == nil:
			r.log.Warn("a lease is not extended yet", "item", c.Job().ID, "err", err)
		}
	}
}

// end says what becomes of an item that was worked on.
func (r *run) end(c store.Claim, d Delivery, err error, counts *Totals) {
	ctx := context.WithoutCancel(r.working)
	var v verdict
	last := d.Attempt >= r.settings.attempts(d.Item)
	switch {
	case errors.Is(err, ErrLost):
		r.log.Warn("an item was cancelled or taken over while it was worked on", "item", d.ID)
	case err == nil:
		counts.Done++
		r.settle(c, d.Item, "finish", c.Done(ctx))
	case context.Cause(r.working) == ErrDraining && d.Again != Never && !errors.As(err, &v):
		r.settle(c, d.Item, "release", c.Release(ctx, 0))
	case errors.As(err, &v) && !v.permanent && !last:
		r.retry(c, d, v.after, err, counts)
	case d.Again == Always && !v.permanent && !last:
		r.retry(c, d, r.settings.backoff(d.Attempt), err, counts)
	default:
		counts.Failed++
		r.bury(c, d.Item, err.Error(), counts)
	}
}

// retry gives an item back that failed.
func (r *run) retry(c store.Claim, d Delivery, after time.Duration, err error, counts *Totals) {
	r.log.Info("an item is tried again", "item", d.ID, "attempt", d.Attempt, "after", after, "err", err)
	counts.Failed++
	counts.Retried++
	r.settle(c, d.Item, "give back", c.Retry(context.WithoutCancel(r.working), after))
}

// bury makes an item a dead letter.
func (r *run) bury(c store.Claim, i Item, why string, counts *Totals) {
	ctx := context.WithoutCancel(r.working)
	counts.Dead++
	if err := c.Bury(ctx, why); err != nil {
		r.settle(c, i, "give up", err)
		return
	}
	first, _, _ := strings.Cut(why, "\n")
	r.tell(ctx, event.QueueDead, &i, "item "+i.ID+" is given up: "+first)
}

// settle says what cannot be helped: the lease will end by itself.
func (r *run) settle(c store.Claim, i Item, op string, err error) {
	if err != nil {
		r.log.Warn("an item was worked on, and that is not noted", "op", op, "item", i.ID, "job", c.Job().ID, "err", err)
	}
}

// backoff is how long a failed item waits: twice as long after each attempt, less up
// to a half, so that what failed together is not tried together.
func (s Settings) backoff(attempt int) time.Duration {
	d := s.MaxBackoff
	if shift := attempt - 1; shift < 30 && s.Backoff<<shift < s.MaxBackoff {
		d = s.Backoff << shift
	}
	return d - rand.N(d/2+1)
}
