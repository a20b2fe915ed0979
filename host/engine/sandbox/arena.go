package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Plug-ins move their data through the functions of extism:host/env a byte or
// eight at a time. As host functions in Go these take 40 to 60 ns each; as
// WebAssembly they take 2. So plug-ins that import them are linked to a small
// module that stands between them and the host: it has the Extism arena as its
// linear memory, answers these functions itself where the access is within
// bounds, and passes everything else on.

// quick is a function that the module answers itself: an access of size bytes.
type quick struct {
	name  string
	op    byte // memory instruction
	size  uint64
	store bool
	input bool // of the input instead of the arena
}

func quickFunctions() []quick {
	return []quick{
		{name: "load_u8", op: 0x2d, size: 1},
		{name: "load_u64", op: 0x29, size: 8},
		{name: "store_u8", op: 0x3a, size: 1, store: true},
		{name: "store_u64", op: 0x37, size: 8, store: true},
		{name: "input_load_u8", op: 0x2d, size: 1, input: true},
		{name: "input_load_u64", op: 0x29, size: 8, input: true},
	}
}

// The globals of the module: how many offsets an access may have, beyond where
// the arena or the input begins, and where the input begins. All are 0 until
// there is an arena, so that the host answers.
const (
	globalArena1 = iota
	globalArena8
	globalInput1
	globalInput8
	globalInputAt
	arenaGlobals
)

func (q quick) limit() int {
	i := globalArena1
	if q.input {
		i = globalInput1
	}
	if q.size == 8 {
		i++
	}
	return i
}

// arenaModule is compiled once for each runtime.
type arenaModule struct {
	once sync.Once
	code wazero.CompiledModule
	err  error
}

// usesArena reports whether a module imports a function that is answered there.
func usesArena(imports []FuncType) bool {
	return slices.ContainsFunc(imports, func(f FuncType) bool {
		return f.Module == kernelModule && slices.ContainsFunc(quickFunctions(), func(q quick) bool { return q.name == f.Name })
	})
}

// compileArena compiles the module when it is first needed.
func (r *Runtime) compileArena() error {
	r.arena.once.Do(func() {
		r.compile <- struct{}{}
		defer func() { <-r.compile }()
		r.arena.code, r.arena.err = r.compileNow(context.Background(), r.arenaWasm())
	})
	return r.arena.err
}

// arenaWasm is the module: for each function that the host offers under
// extism:host/env one of the same name, ours or the host's.
func (r *Runtime) arenaWasm() []byte {
	var w arenaWriter
	var names []string
	for key, f := range r.offered {
		if f.Module == kernelModule {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	for i, key := range names {
		f := r.offered[key]
		w.importFunc(f)
		if q := slices.IndexFunc(quickFunctions(), func(q quick) bool { return q.name == f.Name }); q >= 0 {
			w.define(f, len(names), i, quickFunctions()[q])
		} else {
			w.export(f.Name, 0, i)
		}
	}
	return w.bytes()
}

// arenaWriter writes the binary format (core specification 5.5) as far as the
// module needs it.
type arenaWriter struct{ types, imports, functions, exports, code [][]byte }

func u32(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func wasmName(s string) []byte { return append(u32(len(s)), s...) }

func wasmVector(b []byte) []byte { return append(u32(len(b)), b...) }

func wasmSection(id byte, entries [][]byte) []byte {
	return append([]byte{id}, wasmVector(append(u32(len(entries)), slices.Concat(entries...)...))...)
}

func (w *arenaWriter) export(name string, kind byte, index int) {
	w.exports = append(w.exports, slices.Concat(wasmName(name), []byte{kind}, u32(index)))
}

// importFunc imports a function of the host. Its type has the same index.
func (w *arenaWriter) importFunc(f FuncType) {
	w.types = append(w.types, slices.Concat([]byte{0x60}, wasmVector(f.Params), wasmVector(f.Results)))
	w.imports = append(w.imports, slices.Concat(wasmName(f.Module), wasmName(f.Name), []byte{0}, u32(len(w.types)-1)))
}

// define adds the function that answers for the host's, which has the given
// index: behind all imports.
func (w *arenaWriter) define(f FuncType, imports, host int, q quick) {
	w.export(f.Name, 0, imports+len(w.functions))
	w.functions = append(w.functions, u32(host))
	body := []byte{0x20, 0} // local.get 0
	if !q.input {
		body = append(body, 0x42, arenaStart, 0x7d) // i64.const arenaStart; i64.sub
	}
	body = append(body, 0x23, byte(q.limit()), 0x54) // global.get; i64.lt_u
	result := byte(0x40)
	if len(f.Results) > 0 {
		result = f.Results[0]
	}
	body = append(body, 0x04, result, 0x20, 0) // if; local.get 0
	if q.input {
		body = append(body, 0x23, globalInputAt, 0x7c) // global.get; i64.add
	}
	body = append(body, 0xa7) // i32.wrap_i64
	if q.store {
		body = append(body, 0x20, 1) // local.get 1
	}
	body = append(body, q.op, 0, 0, 0x05) // the access; else
	for i := range f.Params {
		body = append(body, 0x20, byte(i))
	}
	body = append(append(body, 0x10), u32(host)...) // call
	body = append(body, 0x0b, 0x0b)                 // end; end
	w.code = append(w.code, wasmVector(append([]byte{0}, body...)))
}

func (w *arenaWriter) bytes() []byte {
	var globals [][]byte
	for i := range arenaGlobals {
		globals = append(globals, []byte{I64, 1, 0x42, 0, 0x0b}) // mutable i64, 0
		w.export(arenaGlobal(i), 3, i)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		wasmSection(1, w.types), wasmSection(2, w.imports), wasmSection(3, w.functions),
		wasmSection(5, [][]byte{append([]byte{1, 0}, u32(MaxMemoryBytes/pageBytes)...)}),
		wasmSection(6, globals), wasmSection(7, w.exports), wasmSection(10, w.code))
}

func arenaGlobal(i int) string { return fmt.Sprintf("skillet:arena %d", i) }

// arenaMemory is an instance of the module, of one guest's instance.
type arenaMemory struct {
	mod     api.Module
	budget  memoryBudget // of its own: what the guest may have is counted by the kernel
	linear  allocator
	globals [arenaGlobals]api.MutableGlobal
	touched int // bytes of it that the system has given, about
}

// openArena makes one.
func (r *Runtime) openArena(ctx context.Context) (*arenaMemory, error) {
	if err := r.compileArena(); err != nil {
		return nil, err
	}
	a := &arenaMemory{budget: memoryBudget{limit: MaxMemoryBytes}}
	a.linear.memory.budget, a.linear.memory.most = &a.budget, MaxMemoryBytes
	err := contain(func() (err error) {
		config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
		a.mod, err = r.engine.InstantiateModule(experimental.WithMemoryAllocator(ctx, &a.linear), r.arena.code, config)
		return err
	})
	if err != nil {
		a.close()
		return nil, fmt.Errorf("make an Extism arena: %w", err)
	}
	for i := range a.globals {
		a.globals[i] = a.mod.ExportedGlobal(arenaGlobal(i)).(api.MutableGlobal)
	}
	return a, nil
}

func (a *arenaMemory) close() {
	if a.mod != nil {
		_ = contain(func() error { return a.mod.Close(context.Background()) })
	}
	a.linear.memory.Free()
}

// resolve is where a guest's imports from extism:host/env come from.
func (a *arenaMemory) resolve(module string) api.Module {
	if module != kernelModule {
		return nil
	}
	return a.mod
}

// resize makes the arena n bytes long, and lets the guest at them. It returns
// nil when the system has no memory for it.
func (a *arenaMemory) resize(n uint64) []byte {
	m := &a.linear.memory
	if n > m.size {
		pages := (n - m.size + pageBytes - 1) / pageBytes
		if _, ok := a.mod.Memory().Grow(uint32(pages)); !ok {
			return nil
		}
	}
	a.allow(globalArena1, max(n, arenaStart)-arenaStart)
	return m.bytes(m.size)[:n]
}

// allow sets how many offsets accesses of 1 and of 8 bytes may have.
func (a *arenaMemory) allow(one int, n uint64) {
	a.globals[one].Set(n)
	a.globals[one+1].Set(max(n, 7) - 7)
}

// setInput says where in the arena the input is: nowhere with n = 0.
func (a *arenaMemory) setInput(at, n uint64) {
	a.allow(globalInput1, n)
	a.globals[globalInputAt].Set(at)
}

// wipe makes the first n bytes zero, and the arena empty.
func (a *arenaMemory) wipe(n int) {
	if n == 0 {
		return
	}
	a.resize(0)
	a.setInput(0, 0)
	a.touched = max(a.touched, n)
	if n > arenaKept && dropMemory(&a.linear.memory) {
		a.touched = 0
	} else {
		clear(a.linear.memory.bytes(uint64(n)))
	}
}
