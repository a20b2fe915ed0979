package escape

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// body is a module of one function, given as encoded.
func body(locals []byte, code ...[]byte) []byte {
	m := w.New()
	m.ExportFunc("run", m.RawFunc(m.Type(w.Sig("", "")), w.Code(locals, w.Code(code...), w.Op(0x0b))))
	return m.Bytes()
}

// manyTimes is code over and over.
func manyTimes(n int, code ...byte) []byte { return bytes.Repeat(code, n) }

// bomb is an attempt whose module is to be refused before it is compiled.
func bomb(id, tries string, wasm func() []byte) attempt {
	return attempt{id, tries, func(l *lab) { l.wantRefused(wasm(), wasmbin.ErrTooLarge, wasmbin.ErrMalformed) }}
}

// bombAttempts are modules that harm whoever compiles them.
func bombAttempts() []attempt {
	four := []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 4,294,967,295
	none := []byte{0}
	return []attempt{
		// Fifteen bytes that declare four thousand million functions, and the like
		// in every section that has a count.
		{"count-lies", "make the compiler allocate room for billions of things that are not there", func(l *lab) {
			for _, id := range []byte{1, 2, 3, 4, 6, 7, 9, 10, 11} {
				l.wantRefused(w.Code(w.Header(), []byte{id, byte(len(four))}, four), wasmbin.ErrMalformed, wasmbin.ErrTooLarge)
			}
			l.wantRefused(w.Code(w.Header(), w.Section(1, w.U32(1), []byte{0x60}, four)), wasmbin.ErrMalformed, wasmbin.ErrTooLarge)
		}},
		bomb("locals-lie", "make the compiler allocate room for billions of locals", func() []byte { return body(w.Code([]byte{1}, four, []byte{w.I64})) }),
		bomb("locals-and-loops", "make the compiler carry thousands of locals through thousands of loops", func() []byte {
			return body(w.Code([]byte{1}, w.U32(3000), []byte{w.I64}), manyTimes(3000, 0x03, 0x40), manyTimes(3000, 0x0b))
		}),
		bomb("wide-branch", "make the compiler compile a branch to a million places", func() []byte {
			return body(none, num(0), w.Op(0x0e), w.U32(1_000_000), make([]byte, 1_000_001))
		}),
		bomb("deep-nesting", "make the compiler recurse through a hundred thousand blocks", func() []byte {
			return body(none, manyTimes(100_000, 0x02, 0x40), manyTimes(100_000, 0x0b))
		}),
		bomb("many-loops", "make the compiler compile tens of thousands of nested loops", func() []byte {
			return body(none, manyTimes(30_000, 0x03, 0x40), manyTimes(30_000, 0x0b))
		}),
		bomb("many-functions", "make the compiler compile a million functions", func() []byte {
			const n = 1_000_000
			return w.Code(w.Header(), w.Section(1, w.U32(1), []byte{0x60, 0, 0}), w.Section(3, w.U32(n), make([]byte, n)), w.Section(10, w.U32(n), manyTimes(n, 2, 0, 0x0b)))
		}),
		bomb("huge-function", "make the compiler compile one function of megabytes", func() []byte { return body(none, manyTimes(700_000, 0x41, 0, 0x1a)) }),
		bomb("many-tables", "make the host allocate tables of gigabytes", func() []byte {
			m := w.New()
			for range 64 {
				m.Table(w.FuncRef, 1<<27, w.NoMax)
			}
			return m.Bytes()
		}),
		bomb("memory-lie", "declare more memory than addresses reach", func() []byte {
			m := w.New()
			m.Memory(1<<16+1, w.NoMax)
			return m.Bytes()
		}),
		// Compilers read debug names, to say who trapped.
		{"name-bombs", "make the compiler read names that are missing, or endless", func(l *lab) {
			for _, content := range [][]byte{
				w.Section(1, four), w.Section(2, four), w.Section(2, w.U32(1), w.U32(0), four), w.Section(1, w.U32(1), w.U32(0), four),
			} {
				m := w.New()
				m.Custom("name", content)
				m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0)))
				l.refusedOrHarmless(m.Bytes())
			}
			m := w.New()
			m.Custom("x", make([]byte, 17<<20))
			l.wantRefused(m.Bytes(), wasmbin.ErrTooLarge)
		}},
		bomb("huge-exports", "make the host hold tens of thousands of exports", func() []byte {
			m := w.New()
			f := m.Func(w.Sig("", ""), "")
			for i := range 20_000 {
				m.ExportFunc("f"+string(rune('a'+i%26))+strings.Repeat("x", i%40)+string(w.U32(uint32(i&0x7f))), f)
			}
			return m.Bytes()
		}),
		bomb("export-names", "make the host hold names of megabytes", func() []byte {
			m := w.New()
			m.ExportFunc(strings.Repeat("n", 2<<20), m.Func(w.Sig("", ""), ""))
			return m.Bytes()
		}),
	}
}

// refusedOrHarmless judges that a module is refused, or runs like any other.
func (l *lab) refusedOrHarmless(wasm []byte) {
	m, err := l.compile(wasm)
	if err != nil {
		l.wantRefused(wasm, wasmbin.ErrMalformed, wasmbin.ErrTooLarge, sandbox.ErrRefused)
		return
	}
	defer m.Close(l.ctx)
	if _, err := m.Call(l.ctx, sandbox.Call{Export: "run", Limits: byFuel()}); err != nil {
		l.breach("it was loaded, and then: %s", cause(err))
		return
	}
	l.stopped("custom sections are dropped")
}

// malformedAttempts are modules that are none.
func malformedAttempts() []attempt {
	return []attempt{
		// A call of a function whose type does not exist: wazero's compiler panics.
		{"type-index", "make the compiler panic by a type that does not exist", func(l *lab) {
			m := w.New()
			t := m.Type(w.Sig("", ""))
			m.RawFunc(t, []byte{0, 0x10, 1, 0x0b})
			m.RawFunc(200, []byte{0, 0x0b})
			l.wantRefused(m.Bytes(), wasmbin.ErrMalformed)
		}},
		// A module that ends anywhere.
		{"truncated", "confuse the compiler with a module that ends early", func(l *lab) {
			whole := l.sample()
			for n := range whole {
				l.survives(whole[:n])
			}
		}},
		// One byte is another one.
		{"mutated", "confuse the compiler with a module of which bytes were changed", func(l *lab) {
			whole := l.sample()
			for i := range whole {
				for _, b := range []byte{whole[i] ^ 0x80, whole[i] + 1} {
					l.survives(w.Code(whole[:i], []byte{b}, whole[i+1:]))
				}
			}
		}},
		// Numbers written longer than they have to be, and sections twice.
		{"odd-encoding", "make the gate and the compiler read the same bytes in two ways", func(l *lab) {
			one := w.Section(1, w.U32(1), []byte{0x60, 0, 0})
			for _, wasm := range [][]byte{
				w.Code(w.Header(), one, one), w.Code(w.Header(), w.Section(3, w.U32(0)), one), w.Code([]byte("\x00asm\x0d\x00\x01\x00"), one),
				w.Code(w.Header(), []byte{1, 0x84, 0x80, 0x80, 0x80, 0x80, 0x00, 1, 0x60, 0, 0}), w.Code(w.Header(), []byte{1, 0xff, 0x7f}, []byte{0x60, 0, 0}),
				w.Code(w.Header(), w.Section(1, w.U32(1), []byte{0x60, 0, 0}, []byte("more"))), w.Code(w.Header(), []byte{14, 0}),
				body([]byte{0}, w.Op(0xfd), []byte{0x8c, 0x80, 0x00}, make([]byte, 16), w.Drop()), []byte("\x7fELF"), nil,
			} {
				l.wantRefused(wasm, sandbox.ErrRefused)
			}
		}},
		// Code that takes a number for something else.
		{"type-confusion", "run code that takes a number for an address or a function", func(l *lab) {
			for _, code := range [][]byte{
				w.Code(long(0), w.Load(0x28, 0), w.Drop()), w.Code(num(0), w.Op(0x26, 0)), w.Code(w.Op(0x6a), w.Drop()), w.Code(num(0)),
				w.Code(w.Op(0xd0, 0x70), num(1), w.Op(0x6a), w.Drop()), w.Code(w.Br(7)), w.Code(w.LocalGet(3), w.Drop()), w.Code(w.Call(9)), w.Code(w.GlobalSet(2)),
			} {
				l.notCompiled(body([]byte{0}, code))
			}
		}},
		// Shared memory has other guests' timing in it.
		{"threads", "use shared memory and atomic instructions", func(l *lab) {
			m := w.Code(w.Header(), w.Section(5, w.U32(1), []byte{3, 1, 1}))
			l.wantRefused(m, wasmbin.ErrUnsupported)
			l.wantRefused(body([]byte{0}, num(0), num(0), w.Op(0xfe, 0x00, 2, 0), w.Drop()), wasmbin.ErrUnsupported)
		}},
	}
}

// sample returns a module with something in every section.
func sample() []byte {
	m := w.New()
	log := m.ImportFunc(bulk, "log", w.Sig("i32 i32 i32 i32", "i64"))
	m.Memory(1, 2)
	m.ExportMemory("memory")
	m.Table(w.FuncRef, 2, 4)
	g := m.Global(w.I32, true, num(3))
	f := m.Func(w.Sig("i32", "i32"), "i64", w.LocalGet(0), w.If(w.Empty, num(0), num(2), num(0), num(0), w.Call(log), w.Drop()), w.GlobalGet(g))
	run := m.Func(w.Sig("", "i32"), "", w.Block(w.Empty, num(1), w.BrTable([]int{0, 0}, 0)), num(0), num(1), w.CallIndirect(m.Type(w.Sig("i32", "i32")), 0), w.Drop(), num(0))
	m.Elem(0, run, f)
	m.Data(0, []byte("{}"))
	m.PassiveData([]byte("passive"))
	m.Start(m.Func(w.Sig("", ""), ""))
	m.ExportFunc("run", run)
	return m.Bytes()
}

// sample is that module, once it is seen to run.
func (l *lab) sample() []byte {
	wasm := sample()
	if t := l.run(wasm, l.env()); t.err != nil {
		l.breach("the module does not run as it is: %s", cause(t.err))
	}
	return wasm
}

// survives judges that a module of any bytes is refused or runs within its
// limits, and that nothing panics.
func (l *lab) survives(wasm []byte) {
	m, err := l.compile(wasm)
	if err != nil {
		l.noPanic(err)
		return
	}
	defer m.Close(l.ctx)
	for _, f := range m.Info().Exports {
		_, err := m.Call(l.ctx, sandbox.Call{Export: f.Name, Env: l.env(), Limits: sandbox.Limits{MemoryBytes: 1 << 20, Fuel: 100_000, Wall: time.Second, HostCalls: 10}})
		l.noPanic(err)
	}
}

// noPanic judges that an error is none of a panic.
func (l *lab) noPanic(err error) {
	if errors.Is(err, sandbox.ErrPanic) {
		l.breach("%v", err)
		return
	}
	l.stopped("every one is refused, or runs within its limits")
}

// notCompiled judges that a module is not compiled, by whoever refuses it.
func (l *lab) notCompiled(wasm []byte) {
	if l.bench.slack.module != nil {
		wasm = l.bench.slack.module
	}
	m, err := l.compile(wasm)
	switch {
	case err == nil:
		l.breach("the module was compiled")
		_ = m.Close(l.ctx)
	case errors.Is(err, sandbox.ErrPanic):
		l.breach("%v", err)
	case errors.Is(err, sandbox.ErrRefused):
		l.stopped("%s", refusal(err))
	default:
		l.stopped("the compiler's type check")
	}
}

// importAttempts ask for what is not offered.
func importAttempts() []attempt {
	importing := func(module, name string, kind byte, desc []byte) []byte {
		m := w.New()
		m.Import(module, name, kind, desc)
		return m.Bytes()
	}
	function := func(module, name, params, results string) []byte {
		m := w.New()
		m.ImportFunc(module, name, w.Sig(params, results))
		return m.Bytes()
	}
	memory, table, global := []byte{0, 1}, []byte{w.FuncRef, 0, 1}, []byte{w.I32, 1}
	return []attempt{
		// Functions that some host somewhere offers.
		{"unknown-import", "import functions that run programs or open sockets", func(l *lab) {
			for _, f := range [][2]string{{"env", "system"}, {"wasi_unstable", "path_open"}, {preview1, "sock_open"}, {"wasi:filesystem/types", "open-at"}, {"extism:host/user", "exec"}, {bulk, "process_spawn"}, {"", ""}, {"go", "syscall/js.valueCall"}} {
				l.wantRefused(function(f[0], f[1], "i32 i32", "i32"), sandbox.ErrImport)
			}
		}},
		// The right name with other types: the host would read other arguments.
		{"import-signature", "import host functions with other types than they have", func(l *lab) {
			for _, wasm := range [][]byte{
				function(bulk, "fs_read", "i64 i64", "i64"), function(bulk, "output_write", "i32 i32 i32", ""), function(bulk, "http_request", "", "i64"),
				function(preview1, "proc_exit", "i64", ""), function(preview1, "fd_write", "i32", "i32"), function(kernel, "alloc", "i32", "i32"), function(kernel, "var_set", "i64", ""),
			} {
				l.wantRefused(wasm, sandbox.ErrImport)
			}
		}},
		// The memory of another instance has another guest's data in it.
		{"sibling-import", "import the memory, table or globals of another instance", func(l *lab) {
			for _, module := range []string{"lib_1", bulk, kernel, preview1, ""} {
				l.wantRefused(importing(module, "memory", w.KindMemory, memory), wasmbin.ErrUnsupported)
				l.wantRefused(importing(module, "table", w.KindTable, table), wasmbin.ErrUnsupported)
				l.wantRefused(importing(module, "global", w.KindGlobal, global), wasmbin.ErrUnsupported)
			}
			l.wantRefused(function("lib_1", "put", "", "i32"), sandbox.ErrImport)
		}},
		// The function and the global that count fuel.
		{"reserved-names", "take hold of what counts its fuel", func(l *lab) {
			l.wantRefused(function(wasmbin.TickModule, wasmbin.TickName, "", ""), wasmbin.ErrUnsupported)
			m := w.New()
			m.Export(wasmbin.FuelGlobal, w.KindGlobal, m.Global(w.I64, true, long(1<<62)))
			l.wantRefused(m.Bytes(), wasmbin.ErrUnsupported)
			m = w.New()
			m.ExportFunc(wasmbin.FuelGlobal, m.Func(w.Sig("", ""), ""))
			l.wantRefused(m.Bytes(), wasmbin.ErrUnsupported)
		}},
		// A global of its own that guesses where the counter is.
		{"fuel-tampering", "write to every global there is, to get more fuel", func(l *lab) {
			m := w.New()
			var all []byte
			for range 8 {
				all = append(all, w.Code(long(1<<62), w.GlobalSet(m.Global(w.I64, true, long(0))))...)
			}
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", forever(all), num(0)))
			l.wantLimit(l.limited(m.Bytes(), nil, byFuel()), sandbox.ErrFuel)
			m = w.New()
			m.ExportFunc("run", m.Func(w.Sig("", ""), "", long(1), w.GlobalSet(0)))
			l.wantRefused(m.Bytes(), sandbox.ErrRefused)
		}},
	}
}

// segmentAttempts misuse data and element segments.
func segmentAttempts() []attempt {
	// traps judges a module that is well formed, and traps when it is made an
	// instance of or run.
	traps := func(l *lab, build func(m *w.Module)) {
		m := w.New()
		build(m)
		l.wantTrap(l.run(m.Bytes(), nil), "out of bounds")
	}
	return []attempt{
		{"data-segments", "write outside of memory by data segments", func(l *lab) {
			for _, at := range []int32{-1, 1<<16 - 1, 1 << 30} {
				traps(l, func(m *w.Module) {
					m.Memory(1, 1)
					m.Data(at, []byte("xx"))
					m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0)))
				})
			}
			traps(l, func(m *w.Module) {
				m.Memory(1, 1)
				s := m.PassiveData([]byte("xx"))
				m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0), num(1), num(-1), w.MemoryInit(s), num(0)))
			})
		}},
		{"element-segments", "write outside of a table by element segments", func(l *lab) {
			m := w.New()
			m.Table(w.FuncRef, 1, 1)
			f := m.Func(w.Sig("", "i32"), "", num(0))
			m.Elem(1, f)
			m.RawElem(w.Code([]byte{1, 0}, w.U32(1), w.U32(uint32(f)))) // passive
			call := func(n int32) []byte { return w.Code(num(n), w.CallIndirect(m.Type(w.Sig("", "i32")), 0)) }
			m.ExportFunc("beyond", m.Func(w.Sig("", "i32"), "", call(1)))
			m.ExportFunc("init", m.Func(w.Sig("", "i32"), "", num(1), num(0), num(1), w.Op(0xfc, 12, 1, 0), num(0)))
			m.ExportFunc("set", m.Func(w.Sig("", "i32"), "", num(-1), w.RefFunc(f), w.Op(0x26, 0), num(0)))
			mod := l.load(m.Bytes())
			for _, export := range []string{"beyond", "init", "set"} {
				if mod != nil {
					l.wantTrap(l.call(mod, nil, sandbox.Call{Export: export, Limits: usual()}), "table")
				}
			}
		}},
		// A call through a table goes by a number the guest chooses.
		{"indirect-call", "call what is not in a table, or has another type", func(l *lab) {
			for reason, at := range map[string]int32{"invalid table access": -1, "indirect call type mismatch": 0} {
				m := w.New()
				m.Table(w.FuncRef, 2, 2)
				f := m.Func(w.Sig("i64", ""), "")
				m.Elem(0, f)
				t := m.Type(w.Sig("", "i32"))
				m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(at), w.CallIndirect(t, 0)))
				l.wantTrap(l.run(m.Bytes(), nil), reason)
			}
		}},
	}
}
