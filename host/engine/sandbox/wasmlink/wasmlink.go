// Package wasmlink makes one WebAssembly module of several: a module somebody
// else built, taken apart, and small ones written in the text format that answer
// its imports and call its functions.
//
// It knows bytes and text only: no engine, no interpreter, no host interface. It
// does not check the types of values on the stack; a compiler does that with the
// result.
//
//	engine, err := wasmlink.Decode(wasm)          // checked as before compiling
//	driver, err := wasmlink.Assemble(`(module
//	  (import "engine" "malloc" (func $malloc (param i32) (result i32)))
//	  (import "engine" "memory" (memory 1))
//	  (import "skillet:host/v1" "output_write" (func $write (param i32 i32)))
//	  (func (export "abort") (param i32) unreachable)
//	  (func (export "run") (result i32) ...))`)
//	linked, err := wasmlink.Link([]string{"memory", "run"},
//	  wasmlink.Unit{Names: []string{"engine"}, Module: engine},
//	  wasmlink.Unit{Names: []string{"env"}, Module: driver})
//	wasm = linked.Encode()
//
// Here what the engine imports from "env" is answered by the driver's exports,
// and what the driver imports from "engine" by the engine's. Imports that name
// no unit stay imports of the result. Of all exports only those listed are left,
// custom sections are dropped, and so are functions that nothing can call.
//
// A function of a module that has no export is given one first, by its index:
// Module is [wasmbin.Parts] and may be changed in any way. To rewrite the code
// of functions, [wasmbin.Walk] reads the instructions of one and
// [wasmbin.Renumbering] writes them with other indexes:
//
//	for i := range m.Functions {
//	  f := &m.Functions[i]
//	  var code []byte
//	  err := wasmbin.Walk(f.Code, func(in *wasmbin.Instruction) {
//	    code = append(code, in.Bytes...)
//	    if in.Op == 0x10 { ... } // call in.X
//	  })
//	  f.Code = code
//	}
package wasmlink

import (
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Module is a module to be linked, and the result.
type Module struct {
	wasmbin.Parts
	// Shared are the memories, tables and globals the module imports. In the
	// spaces of their indexes they stand before its own, in this order. Only
	// assembled modules have them; [Link] resolves them all.
	Shared []Shared
}

// Shared is an import of a memory, a table or a global.
type Shared struct {
	Module, Name string
	Kind         wasmbin.Kind
	// Global is the type of a global.
	Global wasmbin.Global
	// Min is the least size of a memory in pages, or of a table in entries.
	Min uint32
}

// decodeFactor is how many times the usual limits a module may have that is taken apart:
// what is to be compiled is checked once more, by who compiles it.
const decodeFactor = 4

// Decode checks a module in the binary format within
// [wasmbin.DefaultLimits], so many times, and takes it apart. The error is a [*wasmbin.Error].
func Decode(wasm []byte) (*Module, error) {
	p, err := wasmbin.Parse(wasm, wasmbin.DefaultLimits().Times(decodeFactor))
	if err != nil {
		return nil, fmt.Errorf("decode module: %w", err)
	}
	return &Module{Parts: *p}, nil
}

// TypeIndex returns the index of a type, adding it if it is not there.
func (m *Module) TypeIndex(t wasmbin.FuncType) uint32 {
	i := slices.IndexFunc(m.Types, t.Equal)
	if i < 0 {
		i = len(m.Types)
		m.Types = append(m.Types, t)
	}
	return uint32(i)
}

// TypeOf returns the type of a function by its index, imported ones first.
func (m *Module) TypeOf(function uint32) wasmbin.FuncType {
	n := uint32(len(m.Imports))
	if function < n {
		return m.Types[m.Imports[function].Type]
	}
	return m.Types[m.Functions[function-n].Type]
}

// Export returns the export of that name.
func (m *Module) Export(name string) (wasmbin.ExportedItem, bool) {
	i := slices.IndexFunc(m.Exports, func(e wasmbin.ExportedItem) bool { return e.Name == name })
	if i < 0 {
		return wasmbin.ExportedItem{}, false
	}
	return m.Exports[i], true
}

// KeepExports drops all exports but those named, and fails when one is not there.
func (m *Module) KeepExports(names ...string) error {
	var kept []wasmbin.ExportedItem
	for _, name := range names {
		e, ok := m.Export(name)
		if !ok {
			return fmt.Errorf("keep exports: %s not found", name)
		}
		kept = append(kept, e)
	}
	m.Exports = kept
	return nil
}
