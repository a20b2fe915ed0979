package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

const (
	// grace is how long a worker may take to end a call whose time is over
	// before it is killed.
	grace = time.Second
	// resultRoom is what a result takes beside output and log.
	resultRoom = 512 << 10
	// sessionRoom is what a packed session takes: packing may make it a little larger.
	sessionRoom = sandbox.MaxSessionBytes + sandbox.MaxSessionBytes/64
	// maxErrorText is how much of a host function's error the worker gets to see.
	maxErrorText = 8 << 10
)

// Call runs an export in a worker process, as [sandbox.Module.Call] does in
// this one: limits, results and errors are the same. Env, Config, Log, the
// files of FS and the code of host functions stay here.
//
// Errors beside those: [ErrDied], [ErrProtocol].
func (m *Module) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	return m.call(ctx, c, nil)
}

// call makes a call, in a session when s is not nil.
func (m *Module) call(ctx context.Context, c sandbox.Call, s *Session) (sandbox.Result, error) {
	start := time.Now()
	c.Limits = c.Limits.Filled()
	r, err := m.admit(ctx, c, s)
	r.Duration = time.Since(start)
	if err != nil {
		return r, fmt.Errorf("call %s: %w", c.Export, err)
	}
	return r, nil
}

// admit refuses calls that cannot work, waits for a slot, and makes the call.
func (m *Module) admit(ctx context.Context, c sandbox.Call, s *Session) (r sandbox.Result, err error) {
	if err := m.prepared.Check(c); err != nil {
		return r, err
	}
	if err := m.enter(); err != nil {
		return r, err
	}
	defer m.calls.Done()
	depth := sandbox.Nesting(ctx)
	if depth >= sandbox.MaxDepth {
		return r, tooDeep()
	}
	if depth == 0 {
		if err := m.runtime.takeSlot(ctx, c.Waits); err != nil {
			return r, err
		}
		defer func() { <-m.runtime.slots }()
	}
	p, err := m.acquire(ctx, m.overhead()+3*c.Limits.MemoryBytes)
	if err != nil {
		return r, err
	}
	t := &talk{module: m, proc: p, call: c, session: s}
	err = sandbox.Contain(func() (err error) {
		r, err = t.run(ctx)
		return err
	})
	p.worked += time.Since(t.start)
	m.release(p, t.broken == nil && !errors.Is(err, sandbox.ErrPanic))
	return r, err
}

// takeSlot waits for a slot, and tells of it.
func (r *Runtime) takeSlot(ctx context.Context, waits func(bool)) error {
	select {
	case r.slots <- struct{}{}:
		return nil
	default:
	}
	if waits != nil {
		waits(true)
		defer waits(false)
	}
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for one of %d running calls: %w", cap(r.slots), context.Cause(ctx))
	}
}

// limitError makes the error of a limit.
func limitError(kind, what, value, setting string) error {
	return (&sandbox.Failure{Kind: "limit", Is: []string{kind}, What: what, Limit: value, Setting: setting}).Err(nil)
}

func tooDeep() error {
	return limitError("depth", "call depth", fmt.Sprintf("%d calls", sandbox.MaxDepth), "")
}

// talk is one call as the parent sees it.
type talk struct {
	module *Module
	proc   *process
	call   sandbox.Call
	files  *fileServer
	start  time.Time

	session *Session // nil for a call in none

	functions int   // host functions called
	depth     int   // of them, how many have not returned
	hostErr   error // of the last one that failed
	broken    error // the process cannot be talked to any more
}

// run makes the call and serves the guest until it is done.
func (t *talk) run(ctx context.Context) (sandbox.Result, error) {
	t.start = time.Now()
	if t.files = newFileServer(&t.call); t.files != nil {
		defer t.files.close()
	}
	t.proc.next++
	stop := t.watch(ctx)
	hostCtx, cancel := context.WithDeadline(sandbox.WithNesting(ctx, sandbox.Nesting(ctx)+1), t.start.Add(t.call.Limits.Wall))
	defer cancel()
	var got result
	err := t.proc.wire.send(kindCall, t.proc.next, t.message())
	if err == nil {
		err = t.until(hostCtx, kindResult, &got)
	}
	stop()
	if err != nil {
		t.broken = err
		return sandbox.Result{}, t.lost(ctx, err)
	}
	t.log(got.Lines)
	if t.call.Output != nil {
		got.Result.Output = append(t.call.Output[:0], got.Result.Output...)
	}
	err = t.restore(ctx, got.Failure)
	if t.session != nil {
		t.session.keep(got.State, err)
	}
	return got.Result, err
}

// message is the call as it is sent.
func (t *talk) message() *call {
	m := &call{Call: t.call, Log: t.call.Log != nil}
	m.Call.FS, m.Call.Output = nil, nil
	if t.call.Tape != nil {
		m.Taped, m.Waits = true, t.call.Tape.Waits()
	}
	if t.session != nil {
		m.Session, m.State = true, t.session.packed
	}
	if t.files != nil {
		m.Files, m.Preopens = true, t.files.preopens()
	}
	return m
}

// watch tells the worker when ctx is done, and kills it when it does not end the
// call then, or long after it should have by itself. Call stop when it has.
func (t *talk) watch(ctx context.Context) (stop func()) {
	p, number := t.proc, t.proc.next
	wall := time.AfterFunc(t.call.Limits.Wall+grace, p.kill)
	told := make(chan struct{})
	tell := context.AfterFunc(ctx, func() {
		defer close(told)
		late := time.AfterFunc(grace, p.kill)
		_ = p.wire.send(kindCancel, number, &cancel{errors.Is(context.Cause(ctx), context.DeadlineExceeded)})
		wall.Reset(grace)
		late.Stop()
	})
	return func() {
		if !tell() {
			<-told
		}
		wall.Stop()
	}
}

// lost says why there is no result.
func (t *talk) lost(ctx context.Context, err error) error {
	over := time.Since(t.start) >= t.call.Limits.Wall+grace
	err = t.proc.explain(err)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, ErrProtocol):
		return err
	case errors.Is(cause, context.DeadlineExceeded):
		return limitError("time", "wall time", "the caller's deadline", "")
	case cause != nil:
		return fmt.Errorf("stopped: %w", cause)
	case over:
		return limitError("time", "wall time", t.call.Limits.WallSet.String(), "security.resource_limits.max_execution_time")
	}
	return err
}

// restore is the error of a call that ended by itself. What came from this
// process gets its identity back.
func (t *talk) restore(ctx context.Context, f *sandbox.Failure) error {
	if errors.Is(t.hostErr, sandbox.ErrPanic) {
		return t.hostErr // the worker took it for a trap
	}
	err := f.Err(t.hostErr)
	if cause := context.Cause(ctx); err != nil && cause != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped: %w", cause)
	}
	return err
}

// until serves what the worker asks for until it sends a message of a kind.
func (t *talk) until(ctx context.Context, k kind, message any) error {
	for {
		f, err := t.proc.wire.receive(t.most())
		switch {
		case err != nil:
			return err
		case f.call != t.proc.next:
			return fmt.Errorf("%w: a message of call %d in call %d", errMalformed, f.call, t.proc.next)
		case f.kind == k:
			return decode(f.body, message)
		case f.kind == kindHostCall:
			err = t.serveHost(ctx, f)
		case f.kind == kindFile && t.files != nil:
			err = t.serveFile(f)
		case f.kind == kindLook && t.call.Tape != nil:
			err = t.serveLook(f)
		default:
			err = fmt.Errorf("%w: kind %d, want kind %d", errMalformed, f.kind, k)
		}
		if err != nil {
			return err
		}
	}
}

// most is how long a message of the worker may be: one that moves what the
// guest can have in memory, or its result.
func (t *talk) most() int {
	l := t.call.Limits
	most := max(l.OutputBytes+2*l.LogBytes, int64(l.MemoryBytes), maxMoved) + resultRoom
	if t.session != nil {
		most += sessionRoom
	}
	return int(min(maxBody, most))
}

// log hands on lines of the guest.
func (t *talk) log(lines []line) {
	if t.call.Log == nil {
		return
	}
	for _, l := range lines {
		t.call.Log(sandbox.Level(l.Level), l.Text)
	}
}

func (t *talk) serveFile(f frame) error {
	var o fileOp
	if err := decode(f.body, &o); err != nil {
		return err
	}
	done, err := t.files.serve(&o)
	if err != nil {
		return err
	}
	return t.proc.wire.send(kindFileDone, f.call, done)
}

// serveLook asks the tape what the guest sees in place of what the worker read.
func (t *talk) serveLook(f frame) error {
	var l look
	if err := decode(f.body, &l); err != nil {
		return err
	}
	if len(l.Bytes) > wasi.MaxRandom || l.Clock > 1 {
		return fmt.Errorf("%w: a look at %d bytes, or at clock %d", errMalformed, len(l.Bytes), l.Clock)
	}
	var s seen
	var errno wasi.Errno
	if l.Random {
		s.Bytes = make([]byte, len(l.Bytes))
		errno = t.call.Tape.Random(s.Bytes, func(b []byte) { copy(b, l.Bytes) })
	} else {
		s.Now, errno = t.call.Tape.Clock(l.Clock, func() int64 { return l.Now })
	}
	s.Errno = uint16(errno)
	return t.proc.wire.send(kindSeen, f.call, &s)
}

// serveHost calls a host function for the guest.
func (t *talk) serveHost(ctx context.Context, f frame) error {
	var h hostCall
	if err := decode(f.body, &h); err != nil {
		return err
	}
	if err := t.mayCall(&h); err != nil {
		return err
	}
	t.functions++
	t.depth++
	defer func() { t.depth-- }()
	whileAlive, cancel := t.whileAlive(ctx)
	side := &remoteGuest{talk: t, ctx: whileAlive, fuel: min(h.Fuel, t.call.Limits.Fuel)}
	err := t.perform(whileAlive, &t.module.runtime.functions[h.Function], side, h.Stack)
	cancel()
	if t.broken != nil {
		return t.broken
	}
	done := &hostDone{Stack: h.Stack, TimeOver: ctx.Err() != nil, Answered: side.answered, Meta: side.meta, Body: side.body, Fuel: side.spent}
	if err != nil {
		t.hostErr = err
		done.Failure = describeHost(err)
	}
	return t.proc.wire.send(kindHostDone, f.call, done)
}

// whileAlive is a context that also ends with the worker: nobody waits for the
// host function then.
func (t *talk) whileAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-t.proc.ended:
			cancel(ErrDied)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// mayCall checks what a worker's own sandbox has made sure of, if it was not
// taken over.
func (t *talk) mayCall(h *hostCall) error {
	functions := t.module.runtime.functions
	if int64(h.Function) >= int64(len(functions)) {
		return fmt.Errorf("%w: host function %d", errMalformed, h.Function)
	}
	f := functions[h.Function]
	switch {
	case len(h.Stack) != max(len(f.Params), len(f.Results)):
		return fmt.Errorf("%w: %d values for %s.%s", errMalformed, len(h.Stack), f.Module, f.Name)
	case t.functions >= t.call.Limits.HostCalls:
		return fmt.Errorf("%w: more than %d host calls", errMalformed, t.call.Limits.HostCalls)
	case t.depth >= sandbox.MaxDepth:
		return fmt.Errorf("%w: host calls nest deeper than %d", errMalformed, sandbox.MaxDepth)
	}
	return nil
}

// perform runs a host function. A panic in it fails this call only, as in a
// sandbox of this process.
func (t *talk) perform(ctx context.Context, f *sandbox.HostFunc, side *remoteGuest, stack []uint64) error {
	g, end := sandbox.RemoteGuest(side)
	defer end()
	err := sandbox.Contain(func() error { return f.Call(ctx, g, stack) })
	if errors.Is(err, sandbox.ErrPanic) {
		return fmt.Errorf("host function %s.%s: %w", f.Module, f.Name, err)
	}
	return err
}

// describeHost is the error of a host function as the worker gets it: a limit
// that it ran into ends the call as such, anything else stays here.
func describeHost(err error) *sandbox.Failure {
	if limit, ok := err.(*sandbox.LimitError); ok { // a wrapped one is the function's own business
		return sandbox.Describe(limit)
	}
	text := err.Error()
	return &sandbox.Failure{Kind: "host", Text: text[:min(len(text), maxErrorText)]}
}
