package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// PreinitExport is the export that [Preinitialisable] adds.
const PreinitExport = "preinit"

// ErrPreinit is returned for modules whose state after their initialisation
// cannot be written down as a module, and for output that is not such a state.
var ErrPreinit = errors.New("module cannot be pre-initialised")

// preinitPrefix names the globals and the memory that are shared with the added
// code.
const (
	preinitPrefix = "preinit:global:"
	preinitMemory = "preinit:memory"
)

// Preinitialisable returns a reactor with one more export, PreinitExport: it
// calls the exports named in calls, which take nothing and return nothing or an
// i32, one after the other, and then writes the instance's state to the output.
// One that returns another number than 0 ends it, and its number is the result.
// What the module itself does at its start (start function, _initialize) comes
// before.
//
// That call runs anywhere a module runs, with the limits and the input of the
// caller. It needs Limits.OutputBytes for the whole memory. [ReadState] reads what
// it has written. Errors: [ErrRefused], and [ErrPreinit]
// for modules with state that is neither memory nor a global of a number, such
// as tables they write.
func Preinitialisable(wasm []byte, calls ...string) ([]byte, error) {
	m, err := wasmlink.Decode(wasm)
	if err != nil {
		return nil, fmt.Errorf("prepare a module for initialisation: %w: %w", ErrRefused, err)
	}
	if err := canPreinitialise(m, calls); err != nil {
		return nil, fmt.Errorf("prepare a module for initialisation: %w: %w", ErrPreinit, err)
	}
	exports := []string{PreinitExport}
	for _, e := range m.Exports {
		exports = append(exports, e.Name)
	}
	m.Exports = append(m.Exports, wasmbin.ExportedItem{Name: preinitMemory, Kind: wasmbin.MemoryKind})
	for i, g := range m.Globals {
		if g.Mutable {
			m.Exports = append(m.Exports, wasmbin.ExportedItem{Name: fmt.Sprint(preinitPrefix, i), Kind: wasmbin.GlobalKind, Index: uint32(i)})
		}
	}
	driver, err := wasmlink.Assemble(preinitDriver(m, calls))
	if err != nil {
		return nil, err
	}
	linked, err := wasmlink.Link(exports, wasmlink.Unit{Names: []string{"module"}, Module: m},
		wasmlink.Unit{Names: []string{"preinit"}, Module: driver})
	if err != nil {
		return nil, fmt.Errorf("prepare a module for initialisation: %w", err)
	}
	return linked.Encode(), nil
}

// canPreinitialise refuses what the state of an instance is not enough for.
func canPreinitialise(m *wasmlink.Module, calls []string) error {
	if len(m.Pinned) > 0 {
		return errors.New(strings.Join(m.Pinned, ", "))
	}
	if !m.HasMemory {
		return errors.New("it has no memory")
	}
	if _, ok := m.Export(PreinitExport); ok {
		return fmt.Errorf("it has an export %s already", PreinitExport)
	}
	for _, name := range calls {
		e, ok := m.Export(name)
		if !ok || e.Kind != wasmbin.Func {
			return fmt.Errorf("it exports no function %s", name)
		}
		t := m.TypeOf(e.Index)
		if len(t.Params) > 0 || len(t.Results) > 1 || len(t.Results) == 1 && t.Results[0] != wasmbin.I32 {
			return fmt.Errorf("%s takes parameters, or returns something else than an i32", name)
		}
	}
	return nil
}

// stateTrailer is what follows the globals: the size of the memory in pages and
// the number of globals, as little-endian i64.
const stateTrailer = 16

// preinitDriver writes the code of PreinitExport. The state is the memory, the
// mutable globals as i64, and the trailer. The globals are put where the memory
// begins once that is written: nothing reads it any more.
func preinitDriver(m *wasmlink.Module, calls []string) string {
	var b, run strings.Builder
	fmt.Fprintf(&b, "(module (import %q \"output_write\" (func $write (param i32 i32)))\n", bulkModule)
	fmt.Fprintf(&b, "(import \"module\" %q (memory 0))\n", preinitMemory)
	for i, name := range calls {
		e, _ := m.Export(name)
		result, after := "", ""
		if len(m.TypeOf(e.Index).Results) > 0 {
			result, after = "(result i32)", "local.tee $code if local.get $code return end"
		}
		fmt.Fprintf(&b, "(import \"module\" %q (func $call%d %s))\n", name, i, result)
		fmt.Fprintf(&run, "call $call%d %s\n", i, after)
	}
	run.WriteString("(local.set $pages (memory.size))\n(call $write (i32.const 0) (i32.mul (local.get $pages) (i32.const 65536)))\n")
	n := 0
	for i, g := range m.Globals {
		if !g.Mutable {
			continue
		}
		fmt.Fprintf(&b, "(import \"module\" \"%s%d\" (global $g%d (mut %v)))\n", preinitPrefix, i, n, g.Type)
		fmt.Fprintf(&run, "(i64.store (i32.const %d) %s)\n", 8*n, fmt.Sprintf(asBits[g.Type], n))
		n++
	}
	fmt.Fprintf(&run, "(i64.store (i32.const %d) (i64.extend_i32_u (local.get $pages)))\n", 8*n)
	fmt.Fprintf(&run, "(i64.store (i32.const %d) (i64.const %d))\n", 8*n+8, n)
	fmt.Fprintf(&run, "(call $write (i32.const 0) (i32.const %d))\n", 8*n+stateTrailer)
	fmt.Fprintf(&b, "(func (export %q) (result i32) (local $code i32) (local $pages i32)\n%si32.const 0))", PreinitExport, run.String())
	return b.String()
}

// asBits is how the value of a global becomes an i64.
var asBits = map[wasmbin.ValueType]string{
	wasmbin.I32: "(i64.extend_i32_u (global.get $g%d))",
	wasmbin.I64: "(global.get $g%d)",
	wasmbin.F32: "(i64.extend_i32_u (i32.reinterpret_f32 (global.get $g%d)))",
	wasmbin.F64: "(i64.reinterpret_f64 (global.get $g%d))",
}

// PreinitLimits are the limits of an initialisation with so much memory, which
// leave room for its state.
func PreinitLimits(memory uint64) Limits {
	return Limits{MemoryBytes: memory, OutputBytes: int64(min(2*memory, MaxMemoryBytes))}
}

// Preinitialise loads a module that was made preinitialisable, runs its
// initialisation and returns where that ended. Errors: those of [Runtime.Load],
// [Module.Call] and [ReadState].
func (r *Runtime) Preinitialise(ctx context.Context, wasm []byte, c Call) (s *State, err error) {
	m, err := r.Load(ctx, wasm)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	c.Export = PreinitExport
	result, err := m.Call(ctx, c)
	if err != nil {
		return nil, err
	}
	return ReadState(wasm, result.Output)
}
