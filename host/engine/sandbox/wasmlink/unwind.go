package wasmlink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Unwinding says how a module that was compiled by Emscripten calls longjmp
// and its garbage collector, so that [Module.Unwind] can make both work without
// an embedder that has exceptions or can look into frames.
type Unwinding struct {
	// Throw is the name of the function, imported from Module, that starts
	// unwinding and does not come back ("_emscripten_throw_longjmp").
	Module, Throw string
	// Catch is how the names of those functions of Module begin that call a
	// function of the table and stop an unwinding that comes out of it
	// ("invoke_"). All others are taken not to call back.
	Catch string
	// Flag is the name by which the global is exported that is not zero while
	// frames are being left, a mutable i32. What Throw is linked to has to set
	// it, and what the imports of Catch are linked to has to clear it.
	Flag string
	// Collector is the index of a function that reads the stack in memory to
	// find what is in use; 0 for none. What callers of it hold in locals and
	// operands is put there.
	Collector uint32
	// Stack is the index of the global that points to the stack in memory. It
	// is used only with a Collector.
	Stack uint32
}

// ErrUnwind is wrapped by the errors of [Module.Unwind].
var ErrUnwind = errors.New("rewrite calls that unwind")

// Unwind rewrites the functions of a module so that a longjmp leaves frames
// without the help of an embedder, and, with a Collector, so that pointers that
// a frame holds in locals can be found in memory.
//
// A longjmp never comes back, so nothing needs to be kept of the frames it
// leaves: behind each call that may unwind the flag is read, and while it is set
// the function returns zeros. The function that catches clears it and puts the
// stack pointer back. A call may unwind when the function it calls, or any that
// one calls, may call Throw; a call through the table always may.
//
// Functions that may reach the Collector get a frame on the stack in memory. In
// front of each call that may reach it they put those 32-bit locals there that
// are read again behind it, and 32-bit operands below the arguments.
//
// Indexes do not change. Functions that would have to be rewritten and have more
// than one result, tail calls, or, with a Collector, instructions for vectors and
// references or blocks with parameters are refused.
func (m *Module) Unwind(u Unwinding) error {
	w := &unwinder{Module: m, Unwinding: u, flag: uint32(len(m.Globals))}
	if err := w.check(); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.rewriteAll(); err != nil {
		return err
	}
	flag := wasmbin.Global{Type: wasmbin.I32, Mutable: true}
	m.Globals = append(m.Globals, wasmbin.GlobalPart{Global: flag, Init: []byte{codeConst, 0, codeEnd}})
	m.Exports = append(m.Exports, wasmbin.ExportedItem{Name: u.Flag, Kind: wasmbin.GlobalKind, Index: w.flag})
	return nil
}

// unwinder rewrites one module.
type unwinder struct {
	*Module
	Unwinding
	flag     uint32          // global
	unwinds  []bool          // by function: may unwind
	collects []bool          // by function: may reach the collector
	code     [][]instruction // by defined function
}

func unwindErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnwind, fmt.Sprintf(format, args...))
}

func (w *unwinder) check() error {
	defined := int64(w.Collector) >= int64(len(w.Imports)) && int64(w.Collector) < int64(len(w.Imports)+len(w.Functions))
	_, taken := w.Export(w.Flag)
	switch {
	case len(w.Shared) > 0:
		return unwindErrorf("the module imports memories, tables or globals")
	case w.Collector != 0 && !defined:
		return unwindErrorf("collector: no function %d is defined", w.Collector)
	case w.Collector != 0 && (int64(w.Stack) >= int64(len(w.Globals)) || w.Globals[w.Stack].Global != wasmbin.Global{Type: wasmbin.I32, Mutable: true}):
		return unwindErrorf("stack pointer: global %d is not a mutable i32", w.Stack)
	case w.Collector != 0 && !w.HasMemory:
		return unwindErrorf("no memory for a stack")
	case taken:
		return unwindErrorf("the export %q is taken", w.Flag)
	}
	return nil
}

// prepare decodes the code and finds out which functions may unwind or collect.
func (w *unwinder) prepare() error {
	n := len(w.Imports) + len(w.Functions)
	w.unwinds, w.collects = make([]bool, n), make([]bool, n)
	thrown := false
	for i, im := range w.Imports {
		w.unwinds[i] = im.Module == w.Unwinding.Module && im.Name == w.Throw
		thrown = thrown || w.unwinds[i]
		w.collects[i] = w.Collector != 0 && im.Module == w.Unwinding.Module && strings.HasPrefix(im.Name, w.Catch)
	}
	if !thrown {
		return unwindErrorf("the module does not import %q.%q", w.Unwinding.Module, w.Throw)
	}
	for i, f := range w.Functions {
		list, err := w.decode(f.Code)
		if err != nil {
			return fmt.Errorf("%w: function %d: %w", ErrUnwind, i+len(w.Imports), err)
		}
		w.code = append(w.code, list)
	}
	w.spread(w.unwinds)
	if w.Collector != 0 {
		w.collects[w.Collector] = true
		w.spread(w.collects)
	}
	return nil
}

// spread marks the functions that call marked ones or call through a table,
// until there are no more.
func (w *unwinder) spread(marked []bool) {
	callers := make([][]uint32, len(marked))
	var todo []uint32
	for f, yes := range marked {
		if yes {
			todo = append(todo, uint32(f))
		}
	}
	for i, list := range w.code {
		caller := uint32(i + len(w.Imports))
		for _, in := range list {
			if in.op == codeCall {
				callers[in.x] = append(callers[in.x], caller)
			} else if in.op == codeCallIndirect && !marked[caller] {
				marked[caller] = true
				todo = append(todo, caller)
			}
		}
	}
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, c := range callers[f] {
			if !marked[c] {
				marked[c] = true
				todo = append(todo, c)
			}
		}
	}
}

// reaches reports whether an instruction is a call of a marked function.
func reaches(in *instruction, marked []bool) bool {
	return in.op == codeCallIndirect || in.op == codeCall && marked[in.x]
}

func (w *unwinder) rewriteAll() error {
	for i := range w.Functions {
		index := uint32(i + len(w.Imports))
		if !w.unwinds[index] && !w.collects[index] {
			continue
		}
		r := &bodyRewriter{unwinder: w, index: index, function: &w.Functions[i], list: w.code[i]}
		if err := r.rewrite(); err != nil {
			return fmt.Errorf("%w, function %d", err, index)
		}
	}
	return nil
}
