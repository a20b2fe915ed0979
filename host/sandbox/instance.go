package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"
)

// instance is one instantiated module together with everything its call owns:
// budgets, streams, blocks, open files. It is used by one goroutine.
type instance struct {
	module *Module
	mod    api.Module // nil until the guest first runs
	call   Call

	ctx     context.Context
	wallEnd time.Time

	memory    memoryBudget
	linear    allocator
	fuel      meter
	hostCalls int
	depth     int

	kernel   kernel
	streams  streams
	response response
	clock    clock
	files    files

	guestErr *GuestError // from error_set or error_write
	exited   bool        // by proc_exit
	exitCode uint32
	fatal    error // what ended the call before the guest was done
}

// newInstance returns an instance armed for a call. Close it.
func newInstance(m *Module, c Call) *instance {
	in := &instance{module: m}
	in.reset(c)
	return in
}

// reset arms every budget and forgets what an earlier call left behind.
func (in *instance) reset(c Call) {
	in.call = c
	in.memory = memoryBudget{limit: c.Limits.MemoryBytes &^ (pageBytes - 1)}
	in.linear.memory.budget = &in.memory
	in.fuel = meter{budget: int64(c.Limits.Fuel), left: int64(c.Limits.Fuel)}
	in.kernel = kernel{budget: &in.memory, input: c.Input}
	in.streams = newStreams(in)
	in.clock = newClock(c)
	in.files = files{limit: c.Limits.Files}
	in.response = response{}
	in.hostCalls, in.guestErr, in.exited, in.exitCode, in.fatal = 0, nil, false, 0, nil
}

// open instantiates the module and initialises the guest's runtime. ctx ends
// everything the instance does.
func (in *instance) open(ctx context.Context) error {
	in.depth = nesting(ctx)
	in.ctx = context.WithValue(ctx, instanceKey{}, in)
	config, err := in.config()
	if err != nil {
		return err
	}
	mod, err := in.module.runtime.instantiate(experimental.WithMemoryAllocator(in.ctx, &in.linear), in.module.code, config)
	if err != nil {
		return in.explain(err)
	}
	in.bind(mod)
	return in.initialise()
}

// instantiate runs the start section, and nothing else.
func (r *Runtime) instantiate(ctx context.Context, code wazero.CompiledModule, config wazero.ModuleConfig) (mod api.Module, err error) {
	err = contain(func() (err error) {
		mod, err = r.engine.InstantiateModule(ctx, code, config)
		return err
	})
	return mod, err
}

// config describes the surroundings of the guest. Without WASI there are none.
func (in *instance) config() (wazero.ModuleConfig, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if !in.module.wasi {
		return config, nil
	}
	return in.wasiConfig(config)
}

// initialise calls what the toolchains export for it: hs_init of Haskell after
// _initialize, otherwise _initialize of a reactor, otherwise
// __wasm_call_ctors. A command is initialised by its own _start.
func (in *instance) initialise() error {
	if in.call.Export == startExport || in.call.Export == "_initialize" {
		return nil
	}
	_, haskell := in.module.export("hs_init")
	for _, step := range []struct {
		name    string
		params  []uint64
		instead bool // skip it after an earlier step
	}{
		{"_initialize", nil, false},
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
		if step.name == "_initialize" && !haskell {
			break
		}
	}
	return nil
}

// invoke runs an export. The error is one of this package.
func (in *instance) invoke(export string, params ...uint64) (results []uint64, err error) {
	f := in.mod.ExportedFunction(export)
	if f == nil {
		return nil, fmt.Errorf("%w %q", ErrNoExport, export)
	}
	err = contain(func() (err error) {
		results, err = f.Call(in.ctx, params...)
		return err
	})
	if err != nil {
		err = in.explain(err)
	}
	if err == nil {
		err = in.fatal
	}
	return results, err
}

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

// close frees the instance: its memory, its files, its place in the engine. A
// start section that fails leaves the memory to us, and nothing else, because
// whoever opens a file calls out and is bound.
func (in *instance) close() {
	if in.mod != nil {
		_ = contain(func() error { return in.mod.Close(context.Background()) })
	}
	in.linear.memory.Free()
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

type instanceKey struct{}

// running finds the instance whose guest is calling a host function, and takes
// hold of it if this is the first time. It also ends what carries on after the
// call was ended.
func running(ctx context.Context, mod api.Module) *instance {
	in := ctx.Value(instanceKey{}).(*instance)
	in.bind(mod)
	in.carryOn()
	return in
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

// nesting is how many calls are around the one that ctx is for.
func nesting(ctx context.Context) int {
	if outer, ok := ctx.Value(instanceKey{}).(*instance); ok {
		return outer.depth + 1
	}
	return 0
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
	default:
		in.stop(&TrapError{Reason: fmt.Sprintf("host function %s: %v", name, err), cause: err})
	}
}

// result is what the call has left behind so far.
func (in *instance) result() Result {
	r := Result{
		Output:          in.output(),
		Stderr:          in.streams.stderr.bytes(),
		ExitCode:        in.exitCode,
		Fuel:            in.fuel.spent(),
		PeakMemoryBytes: in.memory.peak,
		HostCalls:       in.hostCalls,
	}
	if in.guestErr != nil {
		r.GuestError = in.guestErr.Message
	}
	return r
}

// output is what the guest gave by the means of its interface.
func (in *instance) output() []byte {
	switch {
	case in.command():
		return in.streams.stdout.data
	case in.kernel.outputSet:
		return in.kernel.output()
	}
	return in.streams.written.data
}
