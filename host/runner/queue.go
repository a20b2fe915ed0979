package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

// queued has a call wait until no more calls of the skill run than may, in this
// process.
func (r *Runner) queued(a *run, next work) work {
	running, waiting, ok := a.manifest.Queue()
	if !ok {
		return next
	}
	return func(ctx context.Context) error {
		start := time.Now()
		done, err := r.gates.enter(ctx, a.call.Target.Package.Digest(), running, waiting, a.patience())
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
	return task.Errorf(task.KindLimit, "%s is busy with %s: %w", a.call.Target.Label, count(running, "call"), err).
		WithHint("try again when they are done; performance.execution in its manifest says how many may run and wait").
		WithRetryAfter(time.Second)
}

// gates count the calls of each package that run and wait. The zero value is
// ready.
type gates struct {
	mu     sync.Mutex
	byWhat map[manifests.Digest]*gate
}

// A gate is where the calls of one package pass.
type gate struct {
	slots   chan struct{} // one token per running call
	waiting int
	users   int // running and waiting: nobody needs the gate without them
}

// enter lets a call through when no more than running do, has up to waiting more
// wait for up to patience, and refuses the others with [ErrOverloaded]. The call
// says with done that it is over.
func (gs *gates) enter(ctx context.Context, what manifests.Digest, running, waiting int, patience time.Duration) (done func(), err error) {
	g, through, err := gs.approach(what, running, waiting)
	if err != nil {
		return nil, err
	}
	if !through {
		err = g.wait(ctx, patience)
		gs.leave(what, g, func() { g.waiting-- }, err != nil)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		<-g.slots
		gs.leave(what, g, func() {}, true)
	}, nil
}

// approach takes a free slot, or a place in the queue.
func (gs *gates) approach(what manifests.Digest, running, waiting int) (g *gate, through bool, err error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g = gs.byWhat[what]; g == nil {
		g = &gate{slots: make(chan struct{}, running)}
	}
	select {
	case g.slots <- struct{}{}:
		through = true
	default:
		if g.waiting >= waiting {
			return g, false, fmt.Errorf("%w: %d more wait already", ErrOverloaded, g.waiting)
		}
		g.waiting++
	}
	if gs.byWhat == nil {
		gs.byWhat = map[manifests.Digest]*gate{}
	}
	gs.byWhat[what] = g
	g.users++
	return g, through, nil
}

// wait waits for a slot.
func (g *gate) wait(ctx context.Context, patience time.Duration) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return fmt.Errorf("%w: waited for %s", ErrOverloaded, patience)
	}
}

// leave changes a gate, and forgets it when its last user goes.
func (gs *gates) leave(what manifests.Digest, g *gate, change func(), gone bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	change()
	if gone {
		g.users--
	}
	if g.users == 0 {
		delete(gs.byWhat, what)
	}
}
