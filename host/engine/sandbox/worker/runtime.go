package worker

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// A Runtime runs modules in worker processes: each module in processes that
// have seen no other, one call at a time in each. It is safe for concurrent
// use.
type Runtime struct {
	log       hclog.Logger
	pool      *Pool
	sandbox   *sandbox.Runtime
	functions []sandbox.HostFunc
	offered   []function
	slots     chan struct{} // one token per running call

	mu      sync.Mutex
	modules map[*Module]bool
	closed  bool
}

// NewRuntime returns a runtime whose processes come from p. Modules are checked
// and compiled by s, which must offer the same functions; calls run functions
// in this process. MaxConcurrent is how many calls run at once, zero for two a
// processor. Close it before p and s.
func NewRuntime(log hclog.Logger, p *Pool, s *sandbox.Runtime, functions []sandbox.HostFunc, maxConcurrent int) *Runtime {
	if maxConcurrent <= 0 {
		maxConcurrent = 2 * runtime.GOMAXPROCS(0)
	}
	r := &Runtime{log: log, pool: p, sandbox: s, functions: functions,
		slots: make(chan struct{}, maxConcurrent), modules: map[*Module]bool{}}
	for _, f := range functions {
		r.offered = append(r.offered, function{f.Module, f.Name, f.Params, f.Results, f.Fuel})
	}
	return r
}

// Load checks and compiles a module, or takes its machine code from the cache.
// Nothing of it is loaded into this process. Errors: those of
// [sandbox.Runtime.Load], [ErrClosed].
func (r *Runtime) Load(ctx context.Context, wasm []byte) (*Module, error) {
	prepared, err := r.sandbox.Prepare(ctx, wasm)
	if err != nil {
		return nil, err
	}
	m := &Module{runtime: r, prepared: prepared, size: len(wasm)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("load module %.19s: %w", prepared.Info().Digest, ErrClosed)
	}
	r.modules[m] = true
	return m, nil
}

// Close refuses new calls, waits for running ones, and kills the processes; closing
// the pool waits until they are gone. If ctx is done first, running calls fail with
// [ErrDied].
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	var all []*Module
	for m := range r.modules {
		all = append(all, m)
	}
	r.mu.Unlock()
	var errs []error
	for _, m := range all {
		errs = append(errs, m.Close(ctx))
	}
	return errors.Join(errs...)
}

// A Status is a process that has a module.
type Status struct {
	PID  int
	Busy bool // it runs a call
}

// Processes are those that have modules, in no order.
func (r *Runtime) Processes() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Status
	for m := range r.modules {
		m.mu.Lock()
		for p := range m.busy {
			all = append(all, Status{p.proc.Pid, true})
		}
		for _, w := range m.idle {
			all = append(all, Status{w.proc.proc.Pid, false})
		}
		m.mu.Unlock()
	}
	return all
}

// A Module is a module that runs in worker processes. It is safe for
// concurrent use: each call has a process of its own while it lasts.
type Module struct {
	runtime  *Runtime
	prepared *sandbox.Prepared
	size     int // of its bytes

	mu     sync.Mutex
	idle   []*waiting
	busy   map[*process]bool
	calls  sync.WaitGroup
	closed bool
}

// waiting is a process without a call. Whoever stops its timer has it.
type waiting struct {
	module *Module
	proc   *process
	timer  *time.Timer
	place  *list.Element // among those of the pool
}

// idlers are the processes without a call, of all modules.
type idlers struct {
	mu  sync.Mutex
	all list.List // of *waiting, the last is the latest
}

// add adds one, and returns one that has to go when there are more than most then.
func (i *idlers) add(w *waiting, most int) (first *waiting) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.place = i.all.PushBack(w)
	if i.all.Len() <= most {
		return nil
	}
	first = i.all.Front().Value.(*waiting)
	i.all.Remove(first.place)
	return first
}

// remove does nothing for one that is not there.
func (i *idlers) remove(w *waiting) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all.Remove(w.place)
}

// Info describes the module. The caller must not change its slices.
func (m *Module) Info() sandbox.Info { return m.prepared.Info() }

// Close refuses new calls, waits for running ones and kills the module's
// processes. If ctx is done first, running calls fail with [ErrDied].
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	idle := m.idle
	m.idle = nil
	m.mu.Unlock()
	for _, w := range idle {
		if w.timer.Stop() {
			m.runtime.pool.idle.remove(w)
			w.proc.kill()
			go m.runtime.pool.drop(w.proc)
		}
	}
	stop := context.AfterFunc(ctx, m.killBusy)
	defer stop()
	m.calls.Wait()
	m.runtime.mu.Lock()
	defer m.runtime.mu.Unlock()
	delete(m.runtime.modules, m)
	return nil
}

func (m *Module) killBusy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.busy {
		p.kill()
	}
}

// enter counts a call, unless the module was closed.
func (m *Module) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("%w: %w", sandbox.ErrClosed, ErrClosed)
	}
	m.calls.Add(1)
	return nil
}

// acquire returns a process that has the module loaded and may have so much
// memory.
func (m *Module) acquire(ctx context.Context, memory uint64) (*process, error) {
	if p := m.reuse(memory); p != nil {
		return p, nil
	}
	p, err := m.runtime.pool.take()
	if err != nil {
		return nil, err
	}
	m.setBusy(p, true)
	stop := context.AfterFunc(ctx, p.kill)
	image, err := m.prepared.Image()
	if err == nil {
		err = p.setUp(setup{Memory: memory, CPU: callSeconds, Functions: m.runtime.offered})
	}
	if err == nil {
		err = p.request(kindLoad, &load{image}, kindLoaded, smallBody, &loaded{})
	}
	if !stop() && err == nil {
		err = context.Cause(ctx) // it was killed, or is about to be
	}
	if err == nil {
		return p, nil
	}
	if err = p.judge(err); ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	m.release(p, false)
	return nil, err
}

// reuse takes the process that waits since last, and lets go of those that
// have died.
func (m *Module) reuse(memory uint64) (found *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.idle) - 1; i >= 0 && found == nil; i-- {
		w := m.idle[i]
		dead := !w.proc.alive()
		if !dead && w.proc.memory < memory || !w.timer.Stop() {
			continue
		}
		m.idle = slices.Delete(m.idle, i, i+1)
		m.runtime.pool.idle.remove(w)
		if dead {
			go m.runtime.pool.drop(w.proc)
			continue
		}
		m.markBusy(w.proc)
		found = w.proc
	}
	return found
}

func (m *Module) setBusy(p *process, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.busy, p); busy {
		m.markBusy(p)
	}
}

// markBusy is called with mu held.
func (m *Module) markBusy(p *process) {
	if m.busy == nil {
		m.busy = map[*process]bool{}
	}
	m.busy[p] = true
}

// release lets a process wait for the next call, or ends it.
func (m *Module) release(p *process, healthy bool) {
	m.setBusy(p, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || !healthy || !p.alive() || p.worked > callSeconds/10*time.Second {
		go m.runtime.pool.drop(p)
		return
	}
	w := &waiting{module: m, proc: p}
	pool := m.runtime.pool
	w.timer = time.AfterFunc(pool.settings.Idle, w.expire) // which waits for mu
	m.idle = append(m.idle, w)
	first := pool.idle.add(w, pool.settings.IdleProcesses)
	if first != nil && first.timer.Stop() {
		go first.expire()
	}
}

// expire ends a process that has waited for too long.
func (w *waiting) expire() {
	m := w.module
	m.mu.Lock()
	m.idle = slices.DeleteFunc(m.idle, func(other *waiting) bool { return other == w })
	m.mu.Unlock()
	m.runtime.pool.idle.remove(w)
	m.runtime.pool.drop(w.proc)
}

// overhead is the data a process needs beside its guest: its heap, the pages
// of the program, the module and its code in several stages of loading.
func (m *Module) overhead() uint64 {
	const base = 512 << 20
	return base + 16*uint64(m.size) + 4*uint64(m.prepared.CodeBytes())
}
