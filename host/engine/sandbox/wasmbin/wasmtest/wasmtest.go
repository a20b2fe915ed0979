// Package wasmtest assembles small WebAssembly modules for tests.
//
// It writes what it is told to, valid or not: it checks nothing, so that tests
// can also build modules a decoder must refuse. It knows no host, no limit and
// no policy. Mistakes in its use are mistakes in a test, so they panic. Random
// makes valid modules by chance.
//
//	m := wasmtest.New()
//	log := m.ImportFunc("env", "log", wasmtest.Sig("i32", ""))
//	run := m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(7), wasmtest.Call(log), wasmtest.I32Const(0))
//	m.ExportFunc("run", run)
//	wasm := m.Bytes()
package wasmtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Value types as the binary format encodes them (core specification 5.3).
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
	ExnRef    byte = 0x69
)

// Kinds of imports and exports.
const (
	KindFunc   byte = 0
	KindTable  byte = 1
	KindMemory byte = 2
	KindGlobal byte = 3
	KindTag    byte = 4
)

// NoMax is the maximum of a memory or table without one.
const NoMax = -1

// Signature is a function type: its parameter and result value types.
type Signature struct {
	Params, Results []byte
}

// Sig reads a signature from two lists of type names separated by spaces:
// Sig("i32 i64", "i32"). It panics on a name it does not know.
func Sig(params, results string) Signature {
	return Signature{Params: Types(params), Results: Types(results)}
}

// Types reads value types separated by spaces: Types("i32 f64").
func Types(names string) []byte {
	var out []byte
	for _, n := range strings.Fields(names) {
		out = append(out, valueType(n))
	}
	return out
}

func valueType(name string) byte {
	names := []string{"i32", "i64", "f32", "f64", "v128", "funcref", "externref", "exnref"}
	i := slices.Index(names, name)
	if i < 0 {
		panic(fmt.Sprintf("wasmtest: unknown value type %q, known are %v", name, names))
	}
	return []byte{I32, I64, F32, F64, V128, FuncRef, ExternRef, ExnRef}[i]
}

// Module is a module under construction. The zero value is not ready: use New.
type Module struct {
	types    [][]byte
	imports  [][]byte
	funcs    [][]byte
	tables   [][]byte
	memories [][]byte
	tags     [][]byte
	globals  [][]byte
	exports  [][]byte
	start    []byte
	elems    [][]byte
	codes    [][]byte
	datas    [][]byte
	customs  [][]byte

	importedFuncs int
	dataCount     bool
}

// New returns an empty module.
func New() *Module { return &Module{} }

// Type adds a function type, or finds the equal one added before, and returns
// its index.
func (m *Module) Type(s Signature) int {
	t := slices.Concat([]byte{0x60}, vector(s.Params), vector(s.Results))
	for i := range m.types {
		if bytes.Equal(m.types[i], t) {
			return i
		}
	}
	m.types = append(m.types, t)
	return len(m.types) - 1
}

// ImportFunc imports a function and returns its function index. All imports
// come before the first Func.
func (m *Module) ImportFunc(module, name string, s Signature) int {
	if len(m.funcs) > 0 {
		panic("wasmtest: ImportFunc after Func would shift function indexes")
	}
	m.Import(module, name, KindFunc, U32(uint32(m.Type(s))))
	m.importedFuncs++
	return m.importedFuncs - 1
}

// Import adds an import of any kind with its encoded description.
func (m *Module) Import(module, name string, kind byte, desc []byte) {
	m.imports = append(m.imports, slices.Concat(Name(module), Name(name), []byte{kind}, desc))
}

// Func adds a function with the given local types ("i32 i64", may be empty)
// and code, ends the code and returns the function index.
func (m *Module) Func(s Signature, locals string, code ...[]byte) int {
	types := Types(locals)
	decl := U32(uint32(len(types)))
	for _, t := range types {
		decl = append(decl, 1, t)
	}
	return m.RawFunc(m.Type(s), slices.Concat(decl, Code(code...), []byte{0x0b}))
}

// RawFunc adds a function whose body (local declarations and code with its
// final end) is given as encoded, and returns the function index.
func (m *Module) RawFunc(typeIndex int, body []byte) int {
	m.funcs = append(m.funcs, U32(uint32(typeIndex)))
	m.codes = append(m.codes, vector(body))
	return m.importedFuncs + len(m.funcs) - 1
}

// Memory adds a memory of min to max pages of 64 KiB; max may be NoMax.
func (m *Module) Memory(min uint32, max int) {
	m.memories = append(m.memories, limits(min, max))
}

// Table adds a table of the element type FuncRef or ExternRef and returns its
// index; max may be NoMax.
func (m *Module) Table(elem byte, min uint32, max int) int {
	m.tables = append(m.tables, slices.Concat([]byte{elem}, limits(min, max)))
	return len(m.tables) - 1
}

// Tag adds a tag of exceptions that carry these values, and returns its index.
func (m *Module) Tag(carried string) int {
	m.tags = append(m.tags, slices.Concat([]byte{0}, U32(uint32(m.Type(Sig(carried, ""))))))
	return len(m.tags) - 1
}

// Global adds a global with an initialiser (such as I64Const(3)) and returns
// its index among the defined globals.
func (m *Module) Global(valueType byte, mutable bool, init []byte) int {
	mut := byte(0)
	if mutable {
		mut = 1
	}
	m.globals = append(m.globals, slices.Concat([]byte{valueType, mut}, init, []byte{0x0b}))
	return len(m.globals) - 1
}

// Export exports the item of a kind and index.
func (m *Module) Export(name string, kind byte, index int) {
	m.exports = append(m.exports, slices.Concat(Name(name), []byte{kind}, U32(uint32(index))))
}

// ExportFunc exports a function.
func (m *Module) ExportFunc(name string, index int) { m.Export(name, KindFunc, index) }

// ExportMemory exports memory 0.
func (m *Module) ExportMemory(name string) { m.Export(name, KindMemory, 0) }

// Start names the start function.
func (m *Module) Start(index int) { m.start = U32(uint32(index)) }

// Elem adds an active element segment that writes function indexes into table
// 0 at offset.
func (m *Module) Elem(offset int32, funcs ...int) {
	e := slices.Concat([]byte{0}, I32Const(offset), []byte{0x0b}, U32(uint32(len(funcs))))
	for _, f := range funcs {
		e = append(e, U32(uint32(f))...)
	}
	m.elems = append(m.elems, e)
}

// RawElem adds an element segment as encoded.
func (m *Module) RawElem(segment []byte) { m.elems = append(m.elems, segment) }

// Data adds an active data segment that writes content into memory 0 at offset.
func (m *Module) Data(offset int32, content []byte) {
	m.datas = append(m.datas, slices.Concat([]byte{0}, I32Const(offset), []byte{0x0b}, vector(content)))
}

// PassiveData adds a passive data segment, adds a data count section and
// returns the segment's index.
func (m *Module) PassiveData(content []byte) int {
	m.dataCount = true
	m.datas = append(m.datas, slices.Concat([]byte{1}, vector(content)))
	return len(m.datas) - 1
}

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, content []byte) {
	m.customs = append(m.customs, Section(0, Name(name), content))
}

// Bytes encodes the module. Empty sections are left out.
func (m *Module) Bytes() []byte {
	out := slices.Concat(Header(),
		items(1, m.types), items(2, m.imports), items(3, m.funcs), items(4, m.tables),
		items(5, m.memories), items(13, m.tags), items(6, m.globals), items(7, m.exports))
	if m.start != nil {
		out = append(out, Section(8, m.start)...)
	}
	out = append(out, items(9, m.elems)...)
	if m.dataCount {
		out = append(out, Section(12, U32(uint32(len(m.datas))))...)
	}
	out = slices.Concat(out, items(10, m.codes), items(11, m.datas))
	return slices.Concat(out, slices.Concat(m.customs...))
}

// Header is the magic number and version of a core module.
func Header() []byte { return []byte("\x00asm\x01\x00\x00\x00") }

// Section encodes a section with its id and size.
func Section(id byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat([]byte{id}, vector(body))
}

// Name encodes a name: its length and bytes.
func Name(s string) []byte { return vector([]byte(s)) }

func items(id byte, list [][]byte) []byte {
	if len(list) == 0 {
		return nil
	}
	return Section(id, U32(uint32(len(list))), slices.Concat(list...))
}

func vector(b []byte) []byte { return slices.Concat(U32(uint32(len(b))), b) }

func limits(min uint32, max int) []byte {
	if max < 0 {
		return slices.Concat([]byte{0}, U32(min))
	}
	return slices.Concat([]byte{1}, U32(min), U32(uint32(max)))
}
