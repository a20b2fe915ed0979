package sandbox

import (
	"context"
	"sync"
	"time"
)

// callContext is the context of one call: it ends with the call, at the call's
// deadline, or with the context it came from. Most calls never wait for
// anything, so the timer behind Done is made when somebody first asks for it.
//
// A function that keeps it finds it ended, whatever its instance does by then.
type callContext struct {
	parent   context.Context
	in       *instance
	began    time.Time
	wallEnd  time.Time // the call's own deadline
	deadline time.Time // that, or the parent's when it is earlier

	mu     sync.Mutex
	timed  context.Context // ends at the deadline; nil until Done is asked for
	cancel context.CancelFunc
	ended  bool
}

type instanceKey struct{}

func newCallContext(parent context.Context, began time.Time, wall time.Duration) *callContext {
	wallEnd := began.Add(wall)
	c := &callContext{parent: parent, began: began, wallEnd: wallEnd, deadline: wallEnd}
	if d, ok := parent.Deadline(); ok && d.Before(wallEnd) {
		c.deadline = d
	}
	return c
}

// Deadline returns the call's, or the parent's when that is earlier.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done returns a channel that is closed when the call must end.
func (c *callContext) Done() <-chan struct{} { return c.timer().Done() }

func (c *callContext) timer() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.timed, c.cancel = context.WithDeadlineCause(c.parent, c.wallEnd, errWall)
		if c.ended {
			c.cancel()
		}
	}
	return c.timed
}

// now is the time, of one clock, where time.Now asks two: guests cause it to be asked
// for millions of times.
func (c *callContext) now() time.Time { return c.began.Add(time.Since(c.began)) }

// Err tells why the call must end, or nil.
func (c *callContext) Err() error { return c.errAt(c.now()) }

func (c *callContext) errAt(now time.Time) error {
	c.mu.Lock()
	timed, ended := c.timed, c.ended
	c.mu.Unlock()
	if timed != nil {
		return timed.Err()
	}
	switch err := c.parent.Err(); {
	case err != nil:
		return err
	case ended:
		return context.Canceled
	case now.After(c.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// errAt is the error of a context at a time that is now.
func errAt(ctx context.Context, now time.Time) error {
	if c, ok := ctx.(*callContext); ok {
		return c.errAt(now)
	}
	return ctx.Err()
}

// Value finds the instance, and otherwise what the parent has.
func (c *callContext) Value(key any) any {
	if key == (instanceKey{}) {
		return c.in
	}
	c.mu.Lock()
	timed := c.timed
	c.mu.Unlock()
	if timed != nil {
		return timed.Value(key)
	}
	return c.parent.Value(key)
}

// end is called when the call is over.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
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

// nesting is how many calls are around the one that ctx is for.
func nesting(ctx context.Context) int {
	if outer := instanceOf(ctx); outer != nil {
		return outer.depth + 1
	}
	return 0
}
