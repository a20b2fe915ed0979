package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const (
	wasiModule = wasi_snapshot_preview1.ModuleName

	// maxDescriptor is the largest file descriptor that fd_renumber may make.
	// wazero keeps descriptors in a table as long as the largest of them.
	maxDescriptor = 1023

	// argv0 is what every guest is called.
	argv0 = "skill"
)

// offerWASI builds WASI preview 1 from wazero's functions. A listener stands in
// front of each: it counts, charges, and ends calls whose time is over.
// proc_exit is our own, because wazero's closes the instance.
func (r *Runtime) offerWASI(ctx context.Context) error {
	b := r.engine.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(procExit), []ValueType{I32}, nil).Export("proc_exit")
	code, err := b.Compile(experimental.WithFunctionListenerFactory(ctx, wasiGate{}))
	if err != nil {
		return fmt.Errorf("offer module %q: %w", wasiModule, err)
	}
	if _, err := r.engine.InstantiateModule(ctx, code, wazero.NewModuleConfig()); err != nil {
		return fmt.Errorf("offer module %q: %w", wasiModule, err)
	}
	for name, def := range code.ExportedFunctions() {
		r.offered[qualified(wasiModule, name)] = FuncType{wasiModule, name, def.ParamTypes(), def.ResultTypes()}
	}
	return nil
}

func procExit(ctx context.Context, _ api.Module, stack []uint64) {
	running(ctx).exit(uint32(stack[0]))
}

// wasiGate makes the listeners.
type wasiGate struct{}

// NewFunctionListener returns the listener for one WASI function.
func (wasiGate) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	name := def.ExportNames()[0]
	path := strings.HasPrefix(name, "path_")
	cost := uint64(fuelWASI)
	if path {
		cost = fuelPath
	}
	return wasiListener{
		name: name, path: path, cost: cost, lengths: wasiLengths(name),
		effects:     !slices.Contains([]string{"clock_time_get", "clock_res_get", "random_get", "args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "fd_prestat_get", "fd_prestat_dir_name", "fd_fdstat_get", "sched_yield"}, name),
		descriptors: slices.Contains([]string{"fd_close", "fd_renumber", "fd_fdstat_set_flags", "path_open", "fd_readdir"}, name),
	}
}

// wasiLengths says which parameters of a function are a number of things it
// goes through: bytes of a path, buffers, subscriptions. Each costs a unit.
// Bytes that are read, written or made random are charged where that is done.
func wasiLengths(name string) []int {
	return map[string][]int{
		"fd_read": {2}, "fd_pread": {2}, "fd_write": {2}, "fd_pwrite": {2}, "poll_oneoff": {2},
		"path_create_directory": {2}, "path_filestat_get": {3}, "path_filestat_set_times": {3},
		"path_link": {3, 6}, "path_open": {3}, "path_readlink": {2}, "path_remove_directory": {2},
		"path_rename": {2, 5}, "path_symlink": {1, 4}, "path_unlink_file": {2},
	}[name]
}

// wasiListener stands in front of one WASI function.
type wasiListener struct {
	name    string
	path    bool
	cost    uint64
	lengths []int // see wasiLengths

	effects     bool // it does what a snapshot cannot keep
	descriptors bool // it changes the table of descriptors
}

// Before ends the call, or lets the function run.
func (l wasiListener) Before(ctx context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
	in := running(ctx)
	if l.path {
		in.countHostCall()
	}
	in.effects = in.effects || l.effects
	in.descriptors = in.descriptors || l.descriptors
	in.charge(l.cost)
	in.checkTime()
	if !in.module.declared.HasMemory && l.name != "proc_exit" && l.name != "sched_yield" {
		in.stop(&TrapError{Reason: l.name + ": a module without memory cannot use WASI"})
	}
	for _, i := range l.lengths {
		in.charge(uint64(uint32(params[i])))
	}
	if l.name == "fd_renumber" && uint32(params[1]) > maxDescriptor {
		in.stop(&TrapError{Reason: fmt.Sprintf("fd_renumber: descriptor %d is above %d", uint32(params[1]), maxDescriptor)})
	}
}

// After does nothing.
func (wasiListener) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

// Abort does nothing.
func (wasiListener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}

// wasiConfig gives the guest what the call grants, and fixed stand-ins for the
// rest.
func (in *instance) wasiConfig(config wazero.ModuleConfig) (wazero.ModuleConfig, error) {
	args := []string{argv0}
	if in.command() {
		args = append(args, in.call.Args...)
	}
	mounts, err := in.mounts()
	if err != nil {
		return nil, err
	}
	return config.
		WithArgs(args...).
		WithStdin(readerFunc(in.readStdin)).
		WithStdout(writerFunc(in.writeStdout)).
		WithStderr(writerFunc(in.writeStderr)).
		WithRandSource(readerFunc(in.readRandom)).
		WithWalltime(in.clock.wall, sys.ClockResolution(readingStep)).
		WithNanotime(in.clock.monotonic, sys.ClockResolution(1)).
		WithNanosleep(in.sleep).
		WithOsyield(in.checkTime).
		WithFSConfig(mounts), nil
}

// mounts shows each root of the call's file tree at its own path.
func (in *instance) mounts() (wazero.FSConfig, error) {
	config := wazero.NewFSConfig()
	for _, t := range in.trees() {
		config = config.(sysfs.FSConfig).WithSysFSMount(t, t.base)
	}
	return config, nil
}
