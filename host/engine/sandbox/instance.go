package sandbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/metrics"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// instance is one instantiated module together with everything its call owns:
// budgets, streams, blocks, open files. It serves one call after the other,
// each by one goroutine at a time.
type instance struct {
	module *Module
	mod    api.Module
	call   *Call // of this instance's own, a copy; nil between calls
	own    Call

	ctx   context.Context
	bound *callContext // of the call; ctx, or around it

	memory    memoryBudget
	linear    allocator
	globals   []api.MutableGlobal // in the order of wasmbin.Instrumented.Globals
	functions []*guestFunc
	active    int // functions of the guest that run, one within the other
	fuel      meter
	hostCalls int
	depth     int

	at       *snapshot // what it goes back to after the call; nil if it does not
	starting bool      // the module's own start and initialisation run
	effects  bool      // the guest called what a snapshot cannot keep
	figures  Figures
	watch    faultWatch // of what the guest does in this call
	busy     []metrics.Sample

	pool *pool // where it goes after the call; nil if nowhere
	poolEntry
	cost int64 // bytes it holds while it waits, about

	kernel   kernel
	streams  streams
	response response
	wasi     wasi.State
	files    *fileTree // of the call; nil without

	guestErr *GuestError // from error_set or error_write
	exited   bool        // by proc_exit
	exitCode uint32
	fatal    error // what ended the call before the guest was done
}

// newInstance returns an instance armed for a call. Close it.
func newInstance(m *Module, c *Call, files *fileTree) *instance {
	in := &instance{module: m}
	in.linear.memory.most = uint64(m.maxPages) * pageBytes
	in.linear.memory.budget = &in.memory
	in.arm(c, files)
	return in
}

// arm sets every budget and forgets what an earlier call left behind. Memory
// and globals are not its business: see pool.giveBack.
func (in *instance) arm(c *Call, files *fileTree) {
	in.own = *c
	in.call, in.files = &in.own, files
	in.memory = memoryBudget{limit: c.Limits.MemoryBytes &^ (pageBytes - 1)}
	in.fuel = meter{budget: int64(c.Limits.Fuel), left: int64(c.Limits.Fuel), cell: in.fuel.cell}
	in.kernel.renew(&in.memory, c.Input)
	in.streams.open(in.call, in.command())
	in.response, in.figures = response{}, Figures{}
	in.hostCalls, in.guestErr, in.exited, in.exitCode, in.fatal = 0, nil, false, 0, nil
	in.starting, in.effects = false, false
}

// bind makes ctx the context of everything the instance does.
func (in *instance) bind(ctx *callContext) {
	in.depth = Nesting(ctx.parent)
	ctx.in = in
	in.ctx, in.bound = ctx, ctx
}

// open instantiates the module. Nothing of the guest runs yet: its start
// function is called by initialise.
func (in *instance) open() error {
	r := in.module.runtime
	in.bound.shared = true
	ctx := experimental.WithMemoryAllocator(in.ctx, &in.linear)
	if in.module.arena {
		a, err := r.openArena(in.ctx)
		if err != nil {
			return err
		}
		in.kernel.memory = a
		ctx = experimental.WithImportResolver(ctx, a.resolve)
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	err := contain(func() (err error) {
		in.mod, err = r.engine.InstantiateModule(ctx, in.module.code, config)
		return err
	})
	if err != nil {
		return in.explain(err)
	}
	in.fuel.cell = in.mod.ExportedGlobal(in.module.fuelName).(api.MutableGlobal)
	for _, g := range in.module.globals {
		in.globals = append(in.globals, in.mod.ExportedGlobal(g.Name).(api.MutableGlobal))
	}
	return nil
}

// initialise brings the guest to where its exports can be called: the start
// function, and what the toolchains export for it. That is hs_init of Haskell
// after _initialize, otherwise _initialize of a reactor, otherwise
// __wasm_call_ctors. A command is initialised by its own _start.
//
// Unless the call asks for a restart, what runs here knows nothing of the call:
// time stands at its beginning and randomness comes from a fixed seed. So it is
// the same for each call, whether it runs again or not.
func (in *instance) initialise() error {
	if in.module.start != "" {
		if _, err := in.invoke(in.module.start); err != nil {
			return err
		}
	}
	if in.call.initialisesItself() {
		return nil
	}
	_, haskell := in.module.export("hs_init")
	for _, step := range []struct {
		name    string
		params  []uint64
		instead bool // skip it after an earlier step
	}{
		{initializeExport, nil, false},
		{"hs_init", []uint64{0, 0}, false},
		{"__wasm_call_ctors", nil, true},
	} {
		f, ok := in.module.export(step.name)
		if !ok || len(f.Params) != len(step.params) {
			continue
		}
		if step.instead && haskell {
			break
		}
		if _, err := in.invoke(step.name, step.params...); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if step.name == initializeExport && !haskell {
			break
		}
	}
	return nil
}

// guestFunc is an export that can be called, again and again.
type guestFunc struct {
	export string
	call   api.Function
	held   reflect.Value // the stack it runs on: see stackField
	stack  []uint64      // parameters, and then results
	n      int           // results
}

// function finds an export. The engine's side of it is kept for the next call,
// but a function that is running is not entered a second time.
func (in *instance) function(export string) (*guestFunc, error) {
	if i := slices.IndexFunc(in.functions, func(f *guestFunc) bool { return f.export == export }); i >= 0 && in.active == 0 {
		return in.functions[i], nil
	}
	call := in.mod.ExportedFunction(export)
	if call == nil {
		return nil, fmt.Errorf("%w %q", ErrNoExport, export)
	}
	d := call.Definition()
	f := &guestFunc{export: export, call: call, held: stackField(call), n: len(d.ResultTypes())}
	f.stack = make([]uint64, max(f.n, len(d.ParamTypes())))
	if in.active == 0 {
		in.functions = append(in.functions, f)
	}
	return f, nil
}

// invoke runs an export. The results are valid until it runs again. The error
// is one of this package.
func (in *instance) invoke(export string, params ...uint64) (results []uint64, err error) {
	f, err := in.function(export)
	if err != nil {
		return nil, err
	}
	copy(f.stack, params)
	if err := in.enter(f); err != nil {
		err = in.explain(err)
		if err != nil {
			return nil, err
		}
	}
	return f.stack[:f.n], in.fatal
}

// enter runs a function of the guest.
func (in *instance) enter(f *guestFunc) error {
	in.active++
	defer func() { in.active-- }()
	return f.call.CallWithStack(in.ctx, f.stack)
}

// observe watches which pages the call writes, as long as all of it happens on
// one thread and it is short: see unobserved.
func (in *instance) observe() {
	own := &in.linear.memory.own
	if in.module.runtime.strategy == StrategyFaults && own.known && in.files == nil && in.call.session == nil {
		in.watch.begin()
	}
}

// unobserved ends that: before anything that may wait, or is not this
// package's, and in calls so long that the kernel may as well be asked what they
// wrote.
func (in *instance) unobserved() { in.watch.stop() }

// run calls the export the caller asked for and judges how it ended.
func (in *instance) run() error {
	results, err := in.invoke(in.call.Export)
	if err != nil {
		return in.blame(err)
	}
	if len(results) > 0 && !in.exited {
		in.exitCode = api.DecodeU32(results[0])
	}
	return in.blame(in.verdict())
}

// verdict is what the guest says of itself once it is done: an error it set, or
// a code other than 0.
func (in *instance) verdict() error {
	switch {
	case in.guestErr != nil:
		in.guestErr.Code = in.exitCode
		return in.guestErr
	case in.exitCode != 0:
		return &GuestError{Code: in.exitCode}
	}
	return nil
}

// close frees the instance: its memory, its files, its place in the engine. If
// the engine did not get as far as to own it, the memory is left to us.
func (in *instance) close() {
	if in.mod != nil {
		_ = contain(func() error { return in.mod.Close(context.Background()) })
	}
	in.linear.memory.Free()
	if a := in.kernel.memory; a != nil {
		a.close()
	}
	in.wasi.Close()
}

// stop ends the call from within a host function. It does not return. Only the
// first reason counts.
func (in *instance) stop(err error) {
	if in.fatal == nil {
		in.fatal = err
	}
	panic(errStopped)
}

// errStopped unwinds the guest. What happened is in instance.fatal.
var errStopped = errors.New("stopped by the host")

// exit ends the guest as proc_exit does. It does not return.
func (in *instance) exit(code uint32) {
	in.exited, in.exitCode = true, code
	panic(sys.NewExitError(code))
}

// carryOn ends what goes on after the call was ended: a guest whose host
// function took no notice.
func (in *instance) carryOn() {
	if in.fatal != nil {
		in.stop(in.fatal)
	}
	if in.exited {
		in.exit(in.exitCode)
	}
}

// countHostCall counts a call that leaves the sandbox.
func (in *instance) countHostCall() {
	if in.hostCalls >= in.call.Limits.HostCalls {
		in.stop(in.limit("host call", fmt.Sprintf("%d calls", in.call.Limits.HostCalls), "max_host_calls", ErrHostCalls))
	}
	in.hostCalls++
}

// afterHost decides whether the guest goes on after a host function. A function
// that failed because time was over is not to blame.
func (in *instance) afterHost(name string, err error) {
	in.carryOn()
	in.checkTime()
	var limit *LimitError
	switch {
	case err == nil:
		in.charge(0) // what the function read and wrote is paid now
	case errors.As(err, &limit) && err == error(limit):
		in.stop(err)
	case errors.Is(err, ErrPanic):
		in.stop(fmt.Errorf("host function %s: %w", name, err))
	default:
		in.stop(&TrapError{Reason: fmt.Sprintf("host function %s: %v", name, err), cause: err})
	}
}

// result tells what the call has left behind so far.
func (in *instance) result(r *Result) {
	used := in.wasi.Used()
	r.Output = in.output()
	r.Stderr = in.streams.stderr.bytes()
	r.ExitCode = in.exitCode
	r.Fuel = in.fuel.spent()
	r.PeakMemoryBytes = in.memory.peak
	r.HostCalls = in.hostCalls
	r.Clock = in.call.Clock && used&wasi.UsedClock != 0
	r.Random = in.call.Random && used&wasi.UsedRandom != 0
	if in.guestErr != nil {
		r.GuestError = in.guestErr.Message
	}
	r.Figures = in.figures
}

// output is what the guest gave by the means of its interface.
func (in *instance) output() []byte {
	switch {
	case in.command():
		return in.streams.stdout.data
	case in.kernel.outputSet:
		return in.kernel.output(in.call.Output)
	}
	return in.streams.written.data
}
