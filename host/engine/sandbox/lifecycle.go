package sandbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// obtain returns an instance for the call, to be prepared as it says: one that
// waited, or a new one. There is one also with an error.
func (m *Module) obtain(ctx *callContext, c *Call) (*instance, start, error) {
	files := m.newFileTree(c)
	p := m.poolFor(c, files)
	how, err := p.startFor(ctx, c)
	in := how.waiting
	if in == nil {
		in = newInstance(m, c, files)
	} else {
		in.arm(c, files)
	}
	in.bind(ctx)
	if how.at != nil || how.takeSnapshot {
		in.pool = p
	}
	return in, how, err
}

// prepare brings the instance to where it runs the call's export: from where it
// waited, to the module's snapshot, or through its initialisation.
func (in *instance) prepare(how start) error {
	if how.waiting != nil {
		in.figures.Pooled = true
		return in.resume()
	}
	err := contain(func() error { return in.openAt(how.at) })
	if how.takeSnapshot {
		in.snapshotModule(err)
	}
	if err == nil && in.starting {
		in.begin()
	}
	return err
}

// openAt makes the instance, at a snapshot unless that is nil.
func (in *instance) openAt(s *snapshot) error {
	if err := in.open(); err != nil {
		return err
	}
	if s == nil {
		return in.firstStart()
	}
	if err := in.attach(s); err != nil {
		return err
	}
	return in.resume()
}

// startFor is take for any call. One of a session needs the snapshot, and waits
// while somebody takes it.
func (p *pool) startFor(ctx *callContext, c *Call) (start, error) {
	if p == nil {
		return start{}, nil
	}
	how := p.take(c, ctx.shard)
	for c.session != nil && how.waiting == nil && how.at == nil && !how.takeSnapshot && how.wait != nil {
		select {
		case <-how.wait:
		case <-ctx.Done():
			return start{}, fmt.Errorf("wait for the snapshot: %w", context.Cause(ctx))
		}
		if next := p.take(c, ctx.shard); next.wait == how.wait {
			return next, nil // it came to nothing
		} else {
			how = next
		}
	}
	return how, nil
}

// firstStart runs the initialisation on a new instance.
func (in *instance) firstStart() error {
	in.starting = !in.call.Restart
	if err := in.openWASI(wasi.Mark{}); err != nil {
		return err
	}
	return in.initialise()
}

// begin ends the initialisation: from here on time and randomness are the
// call's. Time goes on where it stood, so that it never goes back.
func (in *instance) begin() {
	in.starting = false
	in.wasi.Begin(in.call.Clock, in.call.Random, in.call.Seed)
	in.wasi.Pass(in.call.Later)
}

// snapshotModule takes the snapshot of the module after the initialisation and publishes
// it, or notes why it cannot be had. Then the call goes on as any first call does.
func (in *instance) snapshotModule(failed error) {
	began := time.Now()
	var s *snapshot
	var pinned string
	switch {
	case failed != nil || in.exited:
	case in.effects || !in.untouched():
		pinned = "its initialisation calls the host"
	default:
		if contain(func() error { s = in.settle(); return nil }) != nil || s == nil {
			pinned = "the system refused the memory for it"
		}
	}
	in.pool.publishSnapshot(s, pinned)
	if s == nil {
		in.pool = nil
	}
	in.figures.SnapshotTime = time.Since(began)
}

// settle takes a snapshot and puts the instance there itself.
func (in *instance) settle() *snapshot {
	s, err := in.takeSnapshot()
	if err == nil {
		if err = in.attach(s); err == nil {
			return s
		}
		s.image.close()
	}
	in.module.runtime.log.Warn("module gets a new instance for each call", "module", in.module.info.Digest, "reason", err)
	return nil
}

// untouched reports whether the initialisation left nothing but what a snapshot
// keeps, and had no influence on anything outside.
func (in *instance) untouched() bool {
	if in.hostCalls != 0 || !in.kernel.untouched() {
		return false
	}
	_, ok := in.wasi.Table()
	return ok && in.wasi.Used()&(wasi.UsedStdin|wasi.UsedOutput|wasi.UsedFiles) == 0
}

// giveBack puts the instance where the next call finds it, or frees it. err is
// how the call ended. The instance is not the caller's any more. It returns how
// long the call has taken.
func (m *Module) giveBack(in *instance, err error, bound *callContext, f *Figures) time.Duration {
	quiet := in.watch.end()
	p := in.pool
	if p == nil {
		in.close()
		f.Strategy = StrategyNone
		return bound.elapsed()
	}
	began := bound.elapsed()
	fit := in.reusable(err) && contain(func() error { return in.settleDown(quiet, f) }) == nil
	ended := bound.elapsed()
	f.ResetTime = ended - began
	if fit {
		p.put(in, bound.shard, bound.began+ended)
	} else {
		f.Strategy = StrategyNone
		p.drop(in)
	}
	return ended
}

// errNotKept is for an instance that is not worth keeping.
var errNotKept = errors.New("the instance is too large to keep")

// settleDown brings the instance to where it waits for the next call.
func (in *instance) settleDown(quiet bool, f *Figures) error {
	done, err := in.goBack(quiet)
	f.Strategy, f.DirtyPages = done.how, done.pages
	if err == nil && !in.rest(done.pages) {
		err = errNotKept
	}
	return err
}

// reusable reports whether everything a call left behind can be put right.
func (in *instance) reusable(err error) bool {
	return in.at != nil && !errors.Is(err, ErrPanic) && !errors.Is(err, ErrStack)
}

const (
	// instanceBytes is about what an instance holds besides its memory and
	// stacks.
	instanceBytes = 32 << 10
	// stackKept is the largest stack a function keeps for its next call.
	stackKept = 256 << 10
	// growthKept is how much memory beyond the snapshot an instance keeps
	// where unused memory cannot be given back.
	growthKept = 1 << 20
)

// rest prepares the instance to wait: it lets go of the call, counts what it
// holds, and reports whether that is worth keeping.
func (in *instance) rest(pages int) bool {
	in.cost = instanceBytes + in.kernel.held()
	in.functions = slices.DeleteFunc(in.functions, func(f *guestFunc) bool {
		size := f.stackSize()
		in.cost += int64(size)
		return size > stackKept
	})
	held := in.linear.memory.held(pages, in.module.runtime.strategy)
	in.cost += int64(held)
	in.wasi.Close()
	in.call, in.own, in.ctx, in.bound, in.files, in.streams, in.response = nil, Call{}, nil, nil, nil, streams{}, response{}
	in.guestErr, in.fatal, in.kernel.input = nil, nil, nil
	return held <= in.at.size()+growthKept
}

// stackField finds the stack of a function. wazero lets it grow to 50 MB and
// never lets it shrink, and does not tell; it is a field of wazero's own.
func stackField(call api.Function) reflect.Value {
	engine := reflect.ValueOf(call)
	if engine.Kind() != reflect.Pointer || engine.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return engine.Elem().FieldByName("stack")
}

// stackSize is how large the stack is, in bytes. Where it is not found, the
// answer is one that gives the function up.
func (f *guestFunc) stackSize() int {
	if f.held.Kind() != reflect.Slice {
		return stackKept + 1
	}
	return f.held.Cap()
}
