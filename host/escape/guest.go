package escape

import (
	"encoding/binary"
	"slices"

	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// The modules guests import from.
const (
	preview1 = "wasi_snapshot_preview1"
	bulk     = "skillet:host/v1"
	kernel   = "extism:host/env"
	own      = "skillet:escape" // what only this package offers: see labFunctions
)

// Where a guest keeps things in its memory.
const (
	atTrace  = 1 << 10  // results of its steps, an i32 each
	atSlots  = 8 << 10  // descriptors it opened
	atVector = 12 << 10 // buffers of WASI calls
	atLoot   = 16 << 10 // what it reads
	lootSize = 4 << 10
	atSpare  = 24 << 10  // what single attempts need
	atText   = 32 << 10  // its strings
	atAnswer = 512 << 10 // data of a response
	atBody   = 1 << 20   // body of a response
	pages    = 32        // of 64 KiB
)

// A program is a guest under construction: a module that imports one set of
// functions, has its strings in its memory, and does one step after the other.
type program struct {
	*w.Module
	imports map[string]int
	code    []byte
	steps   []string // names of the recorded steps, in order
	text    int32    // first free byte for strings
}

// newProgram imports functions of a module, and declares the memory.
func newProgram(module string, functions []function) *program {
	p := &program{Module: w.New(), imports: map[string]int{}, text: atText}
	p.use(module, functions)
	p.Memory(pages, w.NoMax)
	p.ExportMemory("memory")
	return p
}

// use imports functions. It comes before every other function.
func (p *program) use(module string, functions []function) *program {
	for _, f := range functions {
		p.imports[f.name] = p.ImportFunc(module, f.name, w.Sig(f.params, f.results))
	}
	return p
}

// function is an import by its name and types.
type function struct{ name, params, results string }

// then adds code.
func (p *program) then(code ...[]byte) *program {
	p.code = append(p.code, w.Code(code...)...)
	return p
}

// do adds code that calls an import.
func (p *program) do(name string, args ...[]byte) []byte {
	f, ok := p.imports[name]
	if !ok {
		panic("escape: a guest calls " + name + " and does not import it")
	}
	return append(w.Code(args...), w.Call(f)...)
}

// step adds a call whose i32 result is kept for the judge.
func (p *program) step(name string, args ...[]byte) *program {
	return p.record(name, p.do(name, args...))
}

// record keeps the i32 that code leaves for the judge.
func (p *program) record(name string, code []byte) *program {
	p.steps = append(p.steps, name)
	return p.then(num(int32(atTrace+4*(len(p.steps)-1))), code, w.Store(0x36, 0))
}

// str puts a text into memory and pushes its address and length.
func (p *program) str(text string) []byte {
	at := p.keep([]byte(text))
	return w.Code(num(at), num(int32(len(text))))
}

// keep puts bytes into memory and returns where.
func (p *program) keep(b []byte) int32 {
	at := p.text
	p.Data(at, b)
	p.text += int32(len(b)+15) &^ 15
	if p.text > atAnswer {
		panic("escape: the strings of a guest are too long")
	}
	return at
}

// locals of every exported function: two i32, then two i64.
const locals = "i32 i32 i64 i64"

// tool ends a reactor: the code becomes the export run, which returns 0.
func (p *program) tool() []byte { return p.export("run").Bytes() }

// export makes the code so far an export that returns 0, and begins anew.
func (p *program) export(name string) *program {
	p.ExportFunc(name, p.Func(w.Sig("", "i32"), locals, p.code, num(0)))
	p.code = nil
	return p
}

// num is a constant.
func num(v int32) []byte { return w.I32Const(v) }

// long is a 64-bit constant.
func long(v int64) []byte { return w.I64Const(v) }

// load32 pushes the number at an address.
func load32(at int32) []byte { return w.Code(num(at), w.Load(0x28, 0)) }

// store32 keeps the number that code leaves at an address.
func store32(at int32, code []byte) []byte { return w.Code(num(at), code, w.Store(0x36, 0)) }

// forever repeats code without end.
func forever(code ...[]byte) []byte { return w.Loop(w.Empty, w.Code(code...), w.Br(0)) }

// times repeats code n times, counting in local 0.
func times(n int32, code ...[]byte) []byte {
	return w.Code(num(n), w.LocalSet(0), w.Loop(w.Empty, w.Code(code...),
		w.LocalGet(0), num(1), w.Op(0x6b), w.LocalTee(0), w.BrIf(0)))
}

// words decodes little-endian i32 numbers.
func words(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// vector encodes little-endian i32 numbers.
func vector(numbers ...int32) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// plain is a module without imports whose export run has the code, which
// leaves an i32.
func plain(locals string, code ...[]byte) []byte {
	m := w.New()
	m.Memory(1, w.NoMax)
	m.ExportMemory("memory")
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), locals, code...))
	return m.Bytes()
}

// reactorFunctions are the functions of skillet:host/v1 that a reactor uses
// besides those it names.
func reactorFunctions(asks ...string) []function {
	all := []function{{"response_read", "i32 i32", ""}, {"output_write", "i32 i32", ""}}
	slices.Sort(asks)
	for _, name := range slices.Compact(asks) {
		all = append(all, function{name, "i32 i32 i32 i32", "i64"})
	}
	return all
}

// newReactor is a program that asks the host for things with the functions named.
func newReactor(asks ...string) *program { return newProgram(bulk, reactorFunctions(asks...)) }

// request is code that asks a host function and leaves the lengths of its
// response.
func (p *program) request(name, meta, body string) []byte {
	return p.do(name, p.str(meta), p.str(body))
}

// ask asks a host function and puts lengths, data and body of its response out.
func (p *program) ask(name, meta, body string) *program {
	get, lengths := w.LocalGet(2), int32(atSpare)
	return p.then(
		p.request(name, meta, body), w.LocalSet(2),
		p.do("response_read", num(atAnswer), num(atBody)),
		num(lengths), get, w.Store(0x37, 0), p.do("output_write", num(lengths), num(8)),
		p.do("output_write", num(atAnswer), get, long(32), w.Op(0x88), w.Op(0xa7)),
		p.do("output_write", num(atBody), get, w.Op(0xa7)),
	)
}

// out puts bytes at an address out.
func (p *program) out(at, n int32) *program { return p.then(p.do("output_write", num(at), num(n))) }

// extismFunctions are the functions of extism:host/env that plug-ins use here.
func extismFunctions() []function {
	return []function{
		{"alloc", "i64", "i64"}, {"length", "i64", "i64"}, {"free", "i64", ""},
		{"load_u8", "i64", "i32"}, {"load_u64", "i64", "i64"}, {"store_u8", "i64 i32", ""}, {"store_u64", "i64 i64", ""},
		{"output_set", "i64 i64", ""}, {"error_set", "i64", ""}, {"input_load_u8", "i64", "i32"}, {"input_length", "", "i64"},
		{"http_request", "i64 i64", "i64"}, {"http_status_code", "", "i32"},
		{"var_get", "i64", "i64"}, {"var_set", "i64 i64", ""}, {"config_get", "i64", "i64"},
	}
}

// A plugin is a program for the Extism ABI.
type plugin struct {
	*program
	copy int // function that copies bytes of linear memory into a new block
}

// newPlugin is a program that uses the Extism ABI.
func newPlugin() *plugin {
	p := &plugin{program: newProgram(kernel, extismFunctions())}
	get := w.LocalGet
	p.copy = p.Func(w.Sig("i32 i32", "i64"), "i64 i32",
		p.do("alloc", get(1), w.Op(0xad)), w.LocalSet(2),
		w.Block(w.Empty, w.Loop(w.Empty, get(3), get(1), w.Op(0x4f), w.BrIf(1),
			p.do("store_u8", get(2), get(3), w.Op(0xad), w.Op(0x7c), get(0), get(3), w.Op(0x6a), w.Load(0x2d, 0)),
			get(3), num(1), w.Op(0x6a), w.LocalSet(3), w.Br(0))),
		get(2))
	return p
}

// block pushes the offset of a new block with a text.
func (p *plugin) block(text string) []byte { return append(p.str(text), w.Call(p.copy)...) }

// emit makes the block whose offset code leaves the output.
func (p *plugin) emit(code []byte) *plugin {
	p.then(code, w.LocalSet(2), p.do("output_set", w.LocalGet(2), p.do("length", w.LocalGet(2))))
	return p
}
