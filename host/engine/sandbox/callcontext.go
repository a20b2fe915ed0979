package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// callContext is the context of one call: it ends with the call, at the call's
// deadline, or with the context it came from. Most calls never wait for
// anything, so the timer behind Done is made when somebody first asks for it.
//
// A function that keeps it finds it ended, whatever its instance does by then.
type callContext struct {
	parent context.Context
	in     *instance
	shard  *shard
	began  time.Duration // after epoch
	wall   time.Duration // the call's own deadline, after began
	most   time.Duration // that, or the parent's when it is earlier
	shared bool          // with what may keep it: host functions, the engine

	ended atomic.Bool
	timer atomic.Pointer[timer] // nil until Done is asked for
	mu    sync.Mutex            // held to make it
}

// timer is a context that ends at the deadline.
type timer struct {
	context.Context
	cancel context.CancelFunc
}

type instanceKey struct{}

// newCallContext returns the context of a call that began some time after epoch.
// Release it.
func newCallContext(parent context.Context, l *shard, began, wall time.Duration) *callContext {
	c := l.bound
	if c == nil {
		c = &callContext{shard: l}
	} else {
		l.bound = nil
		c.ended.Store(false)
	}
	c.parent, c.began, c.wall, c.most = parent, began, wall, wall
	if d, ok := parent.Deadline(); ok {
		c.most = min(wall, time.Until(d))
	}
	return c
}

// Deadline returns the call's, or the parent's when that is earlier.
func (c *callContext) Deadline() (time.Time, bool) { return time.Now().Add(c.most - c.elapsed()), true }

// Done returns a channel that is closed when the call must end.
func (c *callContext) Done() <-chan struct{} {
	if t := c.timer.Load(); t != nil {
		return t.Done()
	}
	return c.startTimer().Done()
}

func (c *callContext) startTimer() *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.timer.Load(); t != nil {
		return t
	}
	t := &timer{}
	t.Context, t.cancel = context.WithDeadlineCause(c.parent, time.Now().Add(c.wall-c.elapsed()), errWall)
	c.timer.Store(t)
	if c.ended.Load() {
		t.cancel()
	}
	return t
}

// elapsed is how long the call has run.
func (c *callContext) elapsed() time.Duration { return sinceEpoch() - c.began }

// epoch is what times are counted from. Counting asks one clock, where time.Now
// asks two: guests cause it to be asked for millions of times.
var epoch = time.Now()

func sinceEpoch() time.Duration { return time.Since(epoch) }

// Err tells why the call must end, or nil.
func (c *callContext) Err() error { return c.errAfter(c.elapsed()) }

func (c *callContext) errAfter(elapsed time.Duration) error {
	if t := c.timer.Load(); t != nil {
		return t.Err()
	}
	switch err := c.parent.Err(); {
	case err != nil:
		return err
	case c.ended.Load():
		return context.Canceled
	case elapsed > c.most:
		return context.DeadlineExceeded
	}
	return nil
}

// errAfter is the error of a context of a call that has run for so long.
func errAfter(ctx context.Context, elapsed time.Duration) error {
	if c, ok := ctx.(*callContext); ok {
		return c.errAfter(elapsed)
	}
	return ctx.Err()
}

// Value finds the instance, and otherwise what the parent has.
func (c *callContext) Value(key any) any {
	switch {
	case key == instanceKey{}:
		return c.in
	case key == nestingKey{} && c.in != nil:
		return c.in.depth + 1
	}
	if t := c.timer.Load(); t != nil {
		return t.Value(key)
	}
	return c.parent.Value(key)
}

// release ends the context when the call is over. The next call of the shard has
// it, unless somebody may have kept it.
func (c *callContext) release() {
	c.ended.Store(true)
	if t := c.timer.Load(); t != nil {
		t.cancel()
		return
	}
	if !c.shared {
		c.parent, c.in = nil, nil
		c.shard.bound = c
	}
}

// running finds the instance whose guest is calling a host function, and ends
// what carries on after the call was ended.
func running(ctx context.Context) *instance {
	in := instanceOf(ctx)
	in.carryOn()
	return in
}

func instanceOf(ctx context.Context) *instance {
	if c, ok := ctx.(*callContext); ok {
		return c.in
	}
	in, _ := ctx.Value(instanceKey{}).(*instance)
	return in
}

type nestingKey struct{}

// Nesting is how many calls are around the one that ctx is for, those in other processes
// included.
func Nesting(ctx context.Context) int {
	if c, ok := ctx.(*callContext); ok && c.in != nil {
		return c.in.depth + 1
	}
	n, _ := ctx.Value(nestingKey{}).(int)
	return n
}

// WithNesting returns the context of a host function of a call in another process, with
// so many calls around those it makes.
func WithNesting(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, nestingKey{}, n)
}
