package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// child is the worker's side: it does one thing after another.
type child struct {
	wire    *wire
	in      chan frame // what answers the question of the work that is being done
	turn    sync.Mutex // held by the work that is being done, for all but mu guards
	ended   chan error // why the process gives up
	setup   setup
	runtime *sandbox.Runtime
	module  *sandbox.Module
	lines   []line // of the log, to be sent with the next answer
	number  uint32 // of the frame that is being answered
	work    Work   // nil in a process that compiles and runs modules

	mu      sync.Mutex
	calling uint32 // number of the call that runs; 0 when none does
	stop    context.CancelCauseFunc
}

// attempts are what a test has a worker try.
type attempts map[string]func(text string) string

// serve is the life of a worker.
func serve(work Work, try attempts) int {
	if err := boundEarly(); err != nil {
		return complain(err)
	}
	receive, send := workerFiles()
	c := &child{wire: newWire(receive, send), in: make(chan frame), ended: make(chan error), work: work}
	if err := c.wire.send(kindHello, 0, &hello{Magic: magic, Protocol: protocol}); err != nil {
		return complain(err)
	}
	go c.listen(try)
	if err := <-c.ended; err != nil {
		return complain(err)
	}
	return 0
}

// listen receives for as long as there is a parent, and then ends the process,
// whatever it is doing. What begins work it does itself, while another goroutine
// listens: to hand it to one that waits would take as long as most calls do.
func (c *child) listen(try attempts) {
	for {
		f, err := c.wire.receive(maxBody)
		switch {
		case errors.Is(err, io.EOF):
			c.ended <- nil
			return
		case err != nil:
			c.ended <- err
			return
		case f.kind == kindCancel:
			c.cancel(f)
		case f.kind.answers():
			c.in <- f
		default:
			go c.listen(try)
			c.turn.Lock()
			defer c.turn.Unlock()
			if err := c.answer(f, try); err != nil {
				c.ended <- err
			}
			return
		}
	}
}

// answer does what a frame asks for. An error ends the process.
func (c *child) answer(f frame, try attempts) error {
	c.number = f.call
	switch f.kind {
	case kindSetup:
		return handle(f, c.setUp)
	case kindCompile:
		return handle(f, c.compile)
	case kindLoad:
		return handle(f, c.load)
	case kindCall:
		return handle(f, c.call)
	case kindJob:
		return handle(f, c.do)
	case kindAttempt:
		return handle(f, func(a *attempt) error {
			do, ok := try[a.Name]
			if !ok {
				return fmt.Errorf("%w: attempt %q", errMalformed, a.Name)
			}
			return c.reply(kindTried, &tried{do(a.Text)})
		})
	}
	return fmt.Errorf("%w: kind %d out of place", errMalformed, f.kind)
}

// handle decodes a message and does what it says.
func handle[T any](f frame, do func(*T) error) error {
	var message T
	if err := decode(f.body, &message); err != nil {
		return err
	}
	return do(&message)
}

func (c *child) reply(k kind, message any) error { return c.wire.send(k, c.number, message) }

// replyOr answers, or says what went wrong.
func (c *child) replyOr(err error, k kind, message any) error {
	if err != nil {
		return c.reply(kindFailed, &failed{sandbox.Describe(err)})
	}
	return c.reply(k, message)
}

func (c *child) setUp(s *setup) error {
	walls, err := boundLate(*s)
	if err != nil {
		return err
	}
	c.setup = *s
	return c.reply(kindReady, &ready{walls})
}

func (c *child) compile(m *compile) error {
	got, err := sandbox.CompileCode(context.Background(), m.Wasm, m.Workers)
	return c.replyOr(err, kindCode, &code{got.Name, got.Bytes})
}

// loadsOnly is the compiler of a worker that loads: the parent sends the code.
type loadsOnly struct{}

func (loadsOnly) Compile(context.Context, []byte) (sandbox.Code, error) {
	return sandbox.Code{}, fmt.Errorf("%w: this process only loads", sandbox.ErrCompile)
}

// worthFreeing is how large a module is, in bytes, of which no copies are left in memory
// while it waits for calls. To look for smaller ones takes longer than to load them.
const worthFreeing = 4 << 20

// load makes the runtime of this process, which is for one module only.
func (c *child) load(m *load) (err error) {
	if c.runtime != nil {
		return fmt.Errorf("%w: a second module", errMalformed)
	}
	size := len(m.Image.Stub) + len(m.Image.Code.Bytes)
	c.runtime, err = sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{Compiler: loadsOnly{}, Functions: c.functions(), MaxConcurrent: 1})
	if err == nil {
		c.module, err = c.runtime.LoadImage(m.Image)
	}
	m.Image = sandbox.Image{}
	if size > worthFreeing {
		debug.FreeOSMemory()
	}
	return c.replyOr(err, kindLoaded, &loaded{})
}

func (c *child) call(m *call) error {
	if c.module == nil {
		return fmt.Errorf("%w: a call before a module", errMalformed)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	c.mu.Lock()
	c.calling, c.stop = c.number, stop
	c.mu.Unlock()
	if m.Log {
		m.Call.Log = func(l sandbox.Level, text string) { c.lines = append(c.lines, line{int(l), text}) }
	}
	if m.Files {
		m.Call.Files = func(refused func(*jail.QuotaError)) wasi.FS { return &remoteTree{c.askFile, refused, m.Preopens} }
	}
	if m.Taped {
		m.Call.Tape = &remoteTape{c, m.Waits}
	}
	var answer result
	var err error
	if m.Session {
		answer.Result, answer.State, err = c.going(ctx, m)
	} else {
		answer.Result, err = c.module.Call(ctx, m.Call)
	}
	c.mu.Lock()
	c.calling = 0
	c.mu.Unlock()
	answer.Failure, answer.Lines = sandbox.Describe(errors.Unwrap(err)), c.takeLines()
	return c.reply(kindResult, &answer)
}

func (c *child) takeLines() []line {
	lines := c.lines
	c.lines = nil
	return lines
}

// cancel ends the call that runs, if it is the one that is meant.
func (c *child) cancel(f frame) {
	var m cancel
	if decode(f.body, &m) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calling != f.call || c.calling == 0 {
		return
	}
	if m.Deadline {
		c.stop(context.DeadlineExceeded)
	} else {
		c.stop(context.Canceled)
	}
}

// functions are the host functions, each of which asks the parent.
func (c *child) functions() (all []sandbox.HostFunc) {
	for i, f := range c.setup.Functions {
		all = append(all, sandbox.HostFunc{
			Module: f.Module, Name: f.Name, Params: f.Params, Results: f.Results, Fuel: f.Fuel,
			Call: func(ctx context.Context, g *sandbox.Guest, stack []uint64) error {
				return c.callHost(ctx, uint32(i), g, stack)
			},
		})
	}
	return all
}

// callHost asks the parent to call a function, and serves what the function asks of
// the guest until it returns.
func (c *child) callHost(ctx context.Context, function uint32, g *sandbox.Guest, stack []uint64) error {
	if err := c.reply(kindHostCall, &hostCall{function, stack, g.FuelLeft()}); err != nil {
		return err
	}
	for f := range c.in {
		switch f.kind {
		case kindOp:
			if err := handle(f, func(o *op) error { return c.reply(kindOpDone, c.perform(ctx, g, o)) }); err != nil {
				return err
			}
		case kindHostDone:
			return handle(f, func(d *hostDone) error {
				copy(stack, d.Stack)
				if d.TimeOver { // it is, or will be any moment, by this one's too
					<-ctx.Done()
				}
				g.Spend(d.Fuel)
				if d.Answered {
					g.SetResponse(d.Meta, d.Body)
				}
				return d.Failure.Err(nil)
			})
		default:
			os.Exit(complain(fmt.Errorf("%w: kind %d within a host call", errMalformed, f.kind)))
		}
	}
	return io.EOF
}

// askFile has the parent do something to a file.
func (c *child) askFile(o *fileOp) *fileDone {
	var d fileDone
	c.ask(kindFile, o, kindFileDone, &d)
	return &d
}

// ask asks the parent something in the middle of a call. Without an answer the
// process ends.
func (c *child) ask(k kind, message any, want kind, answer any) {
	err := c.reply(k, message)
	if err == nil {
		f := <-c.in
		if err = decode(f.body, answer); f.kind != want {
			err = fmt.Errorf("%w: kind %d in place of kind %d", errMalformed, f.kind, want)
		}
	}
	if err != nil {
		os.Exit(complain(err))
	}
}

// perform does one thing to the guest.
func (c *child) perform(ctx context.Context, g *sandbox.Guest, o *op) *opDone {
	d := &opDone{}
	var err error
	switch o.Method {
	case methodRead:
		d.Data, err = g.Read(uint32(o.Ptr), uint32(o.N))
	case methodView:
		d.Data, err = g.View(uint32(o.Ptr), uint32(o.N))
	case methodWrite:
		err = g.Write(uint32(o.Ptr), o.Data)
	case methodBlock:
		d.Data, err = g.Block(o.Ptr)
	case methodNewBlock:
		var off uint64
		off, err = g.NewBlock(o.Data)
		d.Words = []uint64{off}
	case methodFree:
		g.Free(o.Ptr)
	case methodLog:
		g.Log(sandbox.Level(o.N), o.Text)
	case methodCall:
		d.Words, err = g.Call(ctx, o.Text, o.Words...)
	default:
		err = fmt.Errorf("%w: method %d", errMalformed, o.Method)
	}
	d.Failure, d.Lines = sandbox.Describe(err), c.takeLines()
	return d
}
