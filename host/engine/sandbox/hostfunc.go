package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// ValueType is the type of a WebAssembly number, by its code in the binary
// format (WebAssembly core specification 5.3.1).
type ValueType = byte

// The number types a host function may take and return.
const (
	I32 ValueType = api.ValueTypeI32
	I64 ValueType = api.ValueTypeI64
	F32 ValueType = api.ValueTypeF32
	F64 ValueType = api.ValueTypeF64
)

// Level is the severity of a log line of the guest.
type Level int

// Levels in ascending order.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// String returns "trace", "debug", "info", "warn" or "error".
func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("level(%d)", int(l))
	}
	return names[l]
}

// A HostFunc is a function that guests may import. It counts against
// Limits.HostCalls, costs Fuel, and does not start when the call's context is
// done. Call must itself end when its context does.
type HostFunc struct {
	Module, Name    string
	Params, Results []ValueType
	// Fuel is charged before each call. Zero means [DefaultHostFuel].
	Fuel uint64
	// Call reads its parameters from stack, in order, and writes its results
	// there, from index 0. An error traps the guest: [Module.Call] returns an
	// error that errors.Is and errors.As see through to it.
	Call func(ctx context.Context, g *Guest, stack []uint64) error
}

// DefaultHostFuel is what a host function that declares nothing costs: about
// what the way out of the guest and back takes.
const DefaultHostFuel = 1000

// builtin is a function this package offers by itself. It works on the state
// of the instance alone, so it costs fuel and does not count as a host call.
type builtin struct {
	module, name    string
	params, results []ValueType
	fuel            uint64
	call            func(in *instance, stack []uint64) error
}

// qualified names a function among all that are offered.
func qualified(module, name string) string { return module + "." + name }

// offer builds the host modules that guests can import from.
func (r *Runtime) offer(ctx context.Context, functions []HostFunc) error {
	byModule := map[string][]hostEntry{}
	for _, b := range slices.Concat(kernelFunctions(), bulkFunctions()) {
		byModule[b.module] = append(byModule[b.module], b.entry())
	}
	for _, f := range functions {
		if f.Module == wasiModule || f.Module == "" || f.Name == "" || f.Call == nil {
			return fmt.Errorf("offer %q: a host function needs a name, code, and a module other than %q", qualified(f.Module, f.Name), wasiModule)
		}
		byModule[f.Module] = append(byModule[f.Module], f.entry())
	}
	r.offered = map[string]FuncType{}
	for module, entries := range byModule {
		if err := r.offerModule(ctx, module, entries); err != nil {
			return err
		}
	}
	return r.offerWASI(ctx)
}

// hostEntry is a function in the form wazero takes.
type hostEntry struct {
	FuncType
	run api.GoModuleFunc
}

func (r *Runtime) offerModule(ctx context.Context, module string, entries []hostEntry) error {
	b := r.engine.NewHostModuleBuilder(module)
	for _, e := range entries {
		key := qualified(module, e.Name)
		if _, ok := r.offered[key]; ok {
			return fmt.Errorf("offer %q: the function exists already", key)
		}
		r.offered[key] = e.FuncType
		b.NewFunctionBuilder().WithGoModuleFunction(e.run, e.Params, e.Results).Export(e.Name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("offer module %q: %w", module, err)
	}
	return nil
}

func (b builtin) entry() hostEntry {
	run := func(ctx context.Context, _ api.Module, stack []uint64) {
		in := running(ctx)
		in.charge(b.fuel)
		in.effects = in.effects || b.name != wasmbin.TickName
		if err := b.call(in, stack); err != nil {
			in.fail(b.name, err)
		}
	}
	return hostEntry{FuncType{b.module, b.name, b.params, b.results}, run}
}

func (f HostFunc) entry() hostEntry {
	cost := f.Fuel
	orElse(&cost, DefaultHostFuel)
	name := qualified(f.Module, f.Name)
	run := func(ctx context.Context, _ api.Module, stack []uint64) {
		in := running(ctx)
		in.effects, in.bound.shared = true, true
		in.unobserved()
		in.countHostCall()
		in.charge(cost)
		in.checkTime()
		g := &Guest{in: in}
		defer g.end()
		err := contain(func() error { return f.Call(ctx, g, stack) })
		in.afterHost(name, err)
	}
	return hostEntry{FuncType{f.Module, f.Name, f.Params, f.Results}, run}
}

// unresolved explains the imports that nobody offers, or nil.
func (r *Runtime) unresolved(imports []FuncType) error {
	var missing []error
	for _, want := range imports {
		have, ok := r.offered[qualified(want.Module, want.Name)]
		switch {
		case !ok:
			missing = append(missing, fmt.Errorf("%w %s: no host function has this name", ErrImport, want))
		case !have.same(want):
			missing = append(missing, fmt.Errorf("%w %s: the host offers %s", ErrImport, want, have))
		}
	}
	return errors.Join(missing...)
}
