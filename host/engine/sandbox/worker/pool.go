package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/internal/reexec"
)

// Settings configures a Pool. The zero value is usable.
type Settings struct {
	// Spare keeps one process ready that has done nothing yet, so that the next
	// compilation or module need not wait for it to start. It is made when the
	// first process was taken, and ends when it was not needed for Idle.
	Spare bool
	// Idle is how long a process waits for its next call. Zero means a minute.
	Idle time.Duration
	// IdleProcesses is how many processes wait for their next call, over all modules; of
	// more, those end that have waited longest. Zero means [DefaultProcesses].
	IdleProcesses int
	// CompileBytes bounds the data of a process that compiles. Zero means
	// [DefaultCompileBytes].
	CompileBytes uint64
	// CompileTime is the longest one compilation may take, not counting the wait for
	// others. Zero means [sandbox.DefaultCompileTime].
	CompileTime time.Duration
	// Compilers is how many processes compile at once; more wait. Zero means as
	// many as there are processors.
	Compilers int
}

// DefaultProcesses is as many calls as run at once in a sandbox.
const DefaultProcesses = sandbox.DefaultConcurrent

// DefaultCompileBytes is enough for the largest module that the gate of package
// wasmbin lets through: compiling takes about thirty times a module's size.
const DefaultCompileBytes = 2 << 30

const (
	defaultIdle = time.Minute
	// callSeconds is how much processor time a process gets for all its calls.
	// It gets no more calls when a tenth is over.
	callSeconds = 36_000
)

// compileSeconds is how much processor time one compilation may take: what several
// processors have in its time, and then some.
func (s Settings) compileSeconds() uint64 {
	return uint64(10 * max(s.CompileTime, time.Minute).Seconds())
}

// A Pool starts worker processes and is a [sandbox.Compiler] that compiles in
// them: each module in a process of its own, so that none can put its hands on
// the code of another. It is safe for concurrent use.
type Pool struct {
	log      hclog.Logger
	settings Settings
	program  string
	turns    chan struct{} // one token per compilation

	mu       sync.Mutex
	all      map[*process]bool // every process that was not waited for
	spare    *process
	making   chan struct{} // closed when the spare one is there, or none; nil when none is being made
	expiry   *time.Timer
	closed   bool
	starting sync.WaitGroup
	tidy     sync.Once
	idle     idlers
}

var _ sandbox.Compiler = (*Pool)(nil)

// errNoMain keeps a program that starts workers without being one when it is
// told to, such as a test without a TestMain, from starting itself for ever.
var errNoMain = errors.New("this process was started as a worker, and its main does not call worker.Main")

// NewPool returns a pool without any process. Close it.
func NewPool(log hclog.Logger, s Settings) (*Pool, error) {
	if reexec.Worker.Is(os.Args) {
		return nil, fmt.Errorf("open worker pool: %w", errNoMain)
	}
	program, err := confine.Executable()
	if err != nil {
		return nil, fmt.Errorf("open worker pool: %w: %w", ErrNoProgram, err)
	}
	if s.Idle == 0 {
		s.Idle = defaultIdle
	}
	if s.IdleProcesses == 0 {
		s.IdleProcesses = DefaultProcesses
	}
	if s.CompileBytes == 0 {
		s.CompileBytes = DefaultCompileBytes
	}
	if s.CompileTime == 0 {
		s.CompileTime = sandbox.DefaultCompileTime
	}
	if s.Compilers == 0 {
		s.Compilers = runtime.GOMAXPROCS(0)
	}
	return &Pool{log: log, settings: s, program: program, turns: make(chan struct{}, s.Compilers), all: map[*process]bool{}}, nil
}

// Close kills every process and waits until all are gone. What they were doing
// fails with [ErrDied].
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.stopExpiry()
	for proc := range p.all {
		proc.kill()
	}
	p.mu.Unlock()
	p.starting.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for proc := range p.all {
		proc.end()
	}
	p.all, p.spare = map[*process]bool{}, nil
	return nil
}

// take returns a process that has done nothing: the spare, or a new one.
func (p *Pool) take() (*process, error) {
	spare := p.takeSpare()
	if spare != nil && spare.alive() {
		p.prepare()
		return spare, nil
	}
	if spare != nil {
		p.drop(spare)
	}
	proc, err := p.start(reexec.Worker.Word)
	p.prepare()
	return proc, err
}

// takeSpare takes the spare process, also one that is being made; nil when there is none.
func (p *Pool) takeSpare() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if making := p.making; making != nil {
		p.mu.Unlock()
		<-making
		p.mu.Lock()
	}
	spare := p.spare
	p.spare = nil
	p.stopExpiry()
	return spare
}

// Expect says that a process will be needed soon: one is started, as a spare one is, while
// the caller goes on with what comes before.
func (p *Pool) Expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.makeSpare()
}

// start makes a process that is killed with the pool.
func (p *Pool) start(argument string) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.starting.Add(1)
	p.mu.Unlock()
	defer p.starting.Done()
	proc, err := startProcess(p.program, argument)
	p.tidy.Do(func() { // what other pools left, which nobody has to wait for
		p.starting.Go(func() { confine.RemoveStale("", dirPrefix) })
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.all[proc] = true
	if p.closed {
		proc.kill()
	}
	p.mu.Unlock()
	return proc, nil
}

// prepare makes the next spare one, without waiting for it.
func (p *Pool) prepare() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settings.Spare {
		p.makeSpare()
	}
}

// makeSpare starts a process without waiting for it, unless there is a spare one. It is
// called with mu held.
func (p *Pool) makeSpare() {
	if p.closed || p.making != nil || p.spare != nil {
		return
	}
	making := make(chan struct{})
	p.making = making
	go func() {
		var proc *process
		err := sandbox.Contain(func() (err error) {
			proc, err = p.start(reexec.Worker.Word)
			return err
		})
		if err != nil && !errors.Is(err, ErrClosed) {
			p.log.Warn("no spare worker", "error", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		defer close(making)
		p.making = nil
		if proc != nil && !p.closed {
			p.spare = proc
			p.expiry = time.AfterFunc(p.settings.Idle, p.dropSpare)
		}
	}()
}

// stopExpiry is called with mu held.
func (p *Pool) stopExpiry() {
	if p.expiry != nil {
		p.expiry.Stop()
	}
}

// dropSpare ends the spare process.
func (p *Pool) dropSpare() {
	p.mu.Lock()
	spare := p.spare
	p.spare = nil
	p.mu.Unlock()
	if spare != nil {
		p.drop(spare)
	}
}

// drop ends a process for good.
func (p *Pool) drop(proc *process) {
	proc.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, proc)
}

// Compile compiles an instrumented module in a process that does nothing else.
// Errors: [sandbox.ErrCompile], with [ErrDied] or [ErrProtocol] when that was
// why; ctx's error; [ErrClosed].
func (p *Pool) Compile(ctx context.Context, wasm []byte) (sandbox.Code, error) {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return sandbox.Code{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.settings.CompileTime, sandbox.CompileTimeError(p.settings.CompileTime))
	defer cancel()
	proc, err := p.take()
	if err != nil {
		return sandbox.Code{}, err
	}
	defer p.drop(proc)
	stop := context.AfterFunc(ctx, proc.kill)
	defer stop()
	got, err := proc.compile(wasm, p.settings)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil && !errors.Is(err, sandbox.ErrCompile):
		err = fmt.Errorf("%w: %w", sandbox.ErrCompile, err)
	}
	return got, err
}

// compile bounds the process and compiles.
func (p *process) compile(wasm []byte, s Settings) (sandbox.Code, error) {
	var got code
	err := p.setUp(setup{Memory: s.CompileBytes, CPU: s.compileSeconds()})
	if err == nil {
		err = p.request(kindCompile, &compile{runtime.GOMAXPROCS(0), wasm}, kindCode, maxBody, &got)
	}
	if err != nil {
		return sandbox.Code{}, p.judge(err)
	}
	return sandbox.Code{Name: got.Name, Bytes: got.Bytes}, nil
}

// judge explains an error, unless it is one the worker reported.
func (p *process) judge(err error) error {
	if no := (*refusal)(nil); errors.As(err, &no) {
		return no.error
	}
	return p.explain(err)
}

// Walls starts a process and returns what bounds it.
func (p *Pool) Walls() ([]Wall, error) {
	proc, err := p.take()
	if err != nil {
		return nil, fmt.Errorf("look at the walls of a worker: %w", err)
	}
	defer p.drop(proc)
	if err := proc.setUp(setup{Memory: p.settings.CompileBytes, CPU: p.settings.compileSeconds()}); err != nil {
		return nil, fmt.Errorf("look at the walls of a worker: %w", proc.explain(err))
	}
	return proc.walls, nil
}
