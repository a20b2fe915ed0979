package wasmlink

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// The names of the host's interface, and of the code that is added.
const (
	hostModule     = "skillet:host/v1"
	responseRead   = "response_read"
	refusalsModule = "narrow:refusals"
	narrowedModule = "narrow:module"
	narrowedMemory = "narrow:memory"
)

// Narrow takes the host functions out of a module whose permission is lacking, so that the
// imports of what an interpreter made say again what it can ask for: what called them is
// answered with a refusal, as the host would give it. lacks returns the name of the
// permission in the manifest, and "" for a function that stays; manifest is false for a
// program that has none. The same module comes out when there are none. The error is that
// of a module that cannot be read, or has no memory.
//
// It knows the form of the host's functions, and not what any of them does.
func Narrow(wasm []byte, manifest bool, lacks func(name string) (permission string)) ([]byte, error) {
	m, err := Decode(wasm)
	if err != nil {
		return nil, fmt.Errorf("narrow the imports of a module: %w", err)
	}
	names := dropImports(m, func(name string) bool { return lacks(name) == "" })
	if len(names) == 0 {
		return wasm, nil
	}
	if !m.HasMemory {
		return nil, fmt.Errorf("narrow the imports of a module: it has no memory")
	}
	stub, err := Assemble(refusals(names, manifest, lacks))
	if err != nil {
		return nil, fmt.Errorf("narrow the imports of a module: %w", err)
	}
	var exports []string
	for _, e := range m.Exports {
		exports = append(exports, e.Name)
	}
	m.Exports = append(m.Exports, wasmbin.ExportedItem{Name: narrowedMemory, Kind: wasmbin.MemoryKind})
	out, err := Link(exports, Unit{Names: []string{narrowedModule}, Module: m}, Unit{Names: []string{refusalsModule}, Module: stub})
	if err != nil {
		return nil, fmt.Errorf("narrow the imports of a module: %w", err)
	}
	return out.Encode(), nil
}

// dropImports takes imports that are not wanted, and the one that reads responses, from the
// added code instead. It returns the names of the former.
func dropImports(m *Module, keep func(name string) bool) []string {
	var names []string
	for i, f := range m.Imports {
		if f.Module == hostModule && requests(m, f.Type) && !keep(f.Name) {
			m.Imports[i].Module = refusalsModule
			names = append(names, f.Name)
		}
	}
	for i, f := range m.Imports {
		if len(names) > 0 && f.Module == hostModule && f.Name == responseRead {
			m.Imports[i].Module = refusalsModule
		}
	}
	return names
}

// requests reports whether a function has the form of those that ask the host for
// something.
func requests(m *Module, typeIndex uint32) bool {
	i32, i64 := wasmbin.I32, wasmbin.I64
	return m.Types[typeIndex].Equal(wasmbin.FuncType{Params: []wasmbin.ValueType{i32, i32, i32, i32}, Results: []wasmbin.ValueType{i64}})
}

// refusals is the added code: each function notes its refusal, which is what the
// next response is.
func refusals(names []string, manifest bool, lacks func(name string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "(module (import %q %q (func $read (param i32 i32)))\n", hostModule, responseRead)
	fmt.Fprintf(&b, "(import %q %q (memory 0))\n(global $refused (mut i32) (i32.const 0))\n", narrowedModule, narrowedMemory)
	fmt.Fprintf(&b, "(func (export %q) (param $meta i32) (param $body i32)\n", responseRead)
	texts := map[int]string{}
	for i, name := range names {
		texts[i] = refusal(name, lacks(name), manifest)
		fmt.Fprintf(&b, "(i32.eq (global.get $refused) (i32.const %d)) if\n", i+1)
		for at := 0; at < len(texts[i]); at += 8 {
			fmt.Fprintf(&b, "(i64.store offset=%d (local.get $meta) (i64.const %d))\n", at, int64(binary.LittleEndian.Uint64([]byte(texts[i][at:at+8]))))
		}
		b.WriteString("(global.set $refused (i32.const 0)) return end\n")
	}
	b.WriteString("(call $read (local.get $meta) (local.get $body)))\n")
	for i, name := range names {
		fmt.Fprintf(&b, "(func (export %q) (param i32) (param i32) (param i32) (param i32) (result i64) (global.set $refused (i32.const %d)) (i64.const %d))\n",
			name, i+1, int64(len(texts[i]))<<32)
	}
	return b.String() + ")"
}

// refusal is the response, of a length that is a multiple of eight.
func refusal(name, permission string, manifest bool) string {
	wayOut := "the manifest does not ask for it; add " + permission + " under security.permissions, and build again"
	if !manifest {
		wayOut = "a script without a manifest can ask for nothing: make a directory with one, add " + permission + " under security.permissions there, and build that"
	}
	type failure struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	b, err := json.Marshal(struct {
		Error failure `json:"error"`
	}{failure{"denied", name + ": " + wayOut}})
	if err != nil {
		return `{ }     `
	}
	return string(b) + strings.Repeat(" ", (8-len(b)%8)%8)
}
