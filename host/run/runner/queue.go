package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
)

// queued delays a call while as many calls of the skill run in this process as may.
func (r *Runner) queued(a *run, next work) work {
	running, waiting, ok := a.manifest.Queue()
	if !ok {
		return next
	}
	return func(ctx context.Context) error {
		start := time.Now()
		done, err := r.gates.enter(ctx, a.chain, a.call.Target.Package.Digest(), running, waiting, a.patience())
		waited := time.Since(start)
		a.queued += waited
		if err != nil {
			return overloaded(a, running, err)
		}
		defer done()
		return next(ctx)
	}
}

func overloaded(a *run, running int, err error) error {
	return fault.Errorf(fault.KindLimit, "%s is busy with %s: %w", a.call.Target.Label, count(running, "call"), err).
		WithHint("try again when they are done; performance.execution in its manifest says how many may run and wait").
		WithRetryAfter(time.Second)
}

// gates count the calls of each package that run and wait. The zero value is
// ready.
//
// A call that was made from within another one holds on to what that one has
// while it waits, so waiting could go in a circle. It cannot: such a call waits
// only where everybody in front of it is getting on, and is refused where one of
// those begins to wait for a place to run. Of all that wait, the one that began
// last waits for somebody who does not.
type gates struct {
	mu     sync.Mutex
	byWhat map[manifests.Digest]*gate
}

// A chain is a call with all the calls that are made from within it, of which
// one at a time is at work. Its fields belong to [gates].
type chain struct {
	holds   int  // places it has
	waiting bool // for another one
	stalled bool // until one of the running calls of the process ends
}

// A gate is where the calls of one package pass.
type gate struct {
	inside []*chain  // one for each running call
	queue  []*waiter // the first is let in first
}

// A waiter is a call that waits at a gate.
type waiter struct {
	chain *chain
	ready chan error // gets what became of it
}

// enter lets a call through when no more than running do, has up to waiting more
// wait for up to patience, and refuses the others with [ErrOverloaded]. The call
// says with done that it is over.
func (gs *gates) enter(ctx context.Context, c *chain, what manifests.Digest, running, waiting int, patience time.Duration) (done func(), err error) {
	w, err := gs.approach(c, what, running, waiting)
	if err == nil && w != nil {
		err = gs.wait(ctx, w, what, patience)
	}
	if err != nil {
		return nil, err
	}
	return func() { gs.leave(c, what) }, nil
}

// approach takes a free place; otherwise it takes one in the queue, and the
// waiter is not nil.
func (gs *gates) approach(c *chain, what manifests.Digest, running, waiting int) (*waiter, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.byWhat == nil {
		gs.byWhat = map[manifests.Digest]*gate{}
	}
	g := gs.byWhat[what]
	if g == nil {
		g = &gate{}
		gs.byWhat[what] = g
	}
	switch {
	case len(g.inside) < running:
		g.admit(c)
		return nil, nil
	case len(g.queue) >= waiting:
		return nil, fmt.Errorf("%w: %d more wait already", ErrOverloaded, len(g.queue))
	case c.holds > 0 && slices.ContainsFunc(g.inside, (*chain).stuck):
		return nil, errCircle
	}
	w := &waiter{c, make(chan error, 1)}
	g.queue, c.waiting = append(g.queue, w), true
	return w, nil
}

// errCircle refuses a call that would wait for some that wait themselves, perhaps
// for it.
var errCircle = fmt.Errorf("%w: those wait for others, and this call was made from within one that others may wait for", ErrOverloaded)

// stuck reports whether a chain waits for others.
func (c *chain) stuck() bool { return c.waiting || c.stalled }

func (g *gate) admit(c *chain) {
	g.inside = append(g.inside, c)
	c.holds++
	c.waiting = false
}

// wait waits to be let in.
func (gs *gates) wait(ctx context.Context, w *waiter, what manifests.Digest, patience time.Duration) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	var err error
	select {
	case err := <-w.ready:
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-t.C:
		err = fmt.Errorf("%w: waited for %s", ErrOverloaded, patience)
	}
	if !gs.giveUp(w, what) { // it was let in, or refused, at the same moment
		if refused := <-w.ready; refused != nil {
			return refused
		}
		gs.leave(w.chain, what)
	}
	return err
}

// giveUp takes a waiter out of the queue, if it is still there.
func (gs *gates) giveUp(w *waiter, what manifests.Digest) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byWhat[what]
	if g == nil || !slices.Contains(g.queue, w) {
		return false
	}
	g.queue = slices.DeleteFunc(g.queue, func(o *waiter) bool { return o == w })
	w.chain.waiting = false
	gs.forget(what, g)
	return true
}

// leave gives a place to the next in the queue.
func (gs *gates) leave(c *chain, what manifests.Digest) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byWhat[what]
	at := slices.Index(g.inside, c)
	g.inside = slices.Delete(g.inside, at, at+1)
	c.holds--
	if len(g.queue) > 0 {
		next := g.queue[0]
		g.queue = g.queue[1:]
		g.admit(next.chain)
		next.ready <- nil
	}
	gs.forget(what, g)
}

// forget lets go of a gate that nobody is at.
func (gs *gates) forget(what manifests.Digest, g *gate) {
	if len(g.inside)+len(g.queue) == 0 {
		delete(gs.byWhat, what)
	}
}

// stall notes whether a chain waits for a place to run. Those that hold something
// and wait for it are then refused.
func (gs *gates) stall(c *chain, waiting bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	c.stalled = waiting
	if !waiting || c.holds == 0 {
		return
	}
	for _, g := range gs.byWhat {
		if slices.Contains(g.inside, c) {
			g.queue = slices.DeleteFunc(g.queue, (*waiter).refuse)
		}
	}
}

// refuse ends the wait of a chain that holds something.
func (w *waiter) refuse() bool {
	if w.chain.holds == 0 {
		return false
	}
	w.chain.waiting = false
	w.ready <- errCircle
	return true
}
