package wasmbin_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// forever are functions that never return, each by another way. Every one is
// exported as "run" and takes nothing.
var forever = []struct {
	name  string
	build func() []byte
}{
	{"loop", func() []byte { return module(w.Loop(w.Empty, w.Br(0))) }},
	{"loop through br_table", func() []byte {
		return module(w.Loop(w.Empty, w.I32Const(1), w.BrTable([]int{0, 0}, 0)))
	}},
	{"loop in a loop through br_if", func() []byte {
		return module(w.Loop(w.Empty, w.Loop(w.Empty, w.I32Const(0), w.BrIf(0)), w.I32Const(1), w.BrIf(0)))
	}},
	{"loop with a value", func() []byte {
		m := w.New()
		t := m.Type(w.Sig("i32", "i32"))
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(1), w.Op(0x03, byte(t)), w.Br(0), w.Op(0x0b), w.Drop()))
		return m.Bytes()
	}},
	{"loop behind code that is never reached", func() []byte {
		return module(w.Block(w.Empty, w.Br(0), w.Loop(w.Empty, w.Br(0))), w.Loop(w.Empty, w.Br(0)))
	}},
	{"loop of empty calls", func() []byte {
		m := w.New()
		leaf := m.Func(w.Sig("", ""), "")
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.Loop(w.Empty, w.Call(leaf), w.Br(0))))
		return m.Bytes()
	}},
	{"tree recursion without a loop", func() []byte {
		m := w.New()
		f := m.Func(w.Sig("i32", ""), "",
			w.LocalGet(0), w.If(w.Empty,
				w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0),
				w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0)))
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(200), w.Call(f)))
		return m.Bytes()
	}},
	{"tree of calls without recursion", callTree},
	{"recursion on the way to a trap", func() []byte {
		m := w.New()
		f := m.Func(w.Sig("i32", ""), "", w.Block(w.Empty, w.LocalGet(0), w.BrIf(0),
			w.I32Const(0), w.ReturnCall(0), w.Unreachable()))
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(0), w.Call(f)))
		return m.Bytes()
	}},
	{"small functions that call each other", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(1), w.Call(1)))
		m.Func(w.Sig("i32", ""), "", w.LocalGet(0), w.Op(0x45), w.If(w.Empty, w.Return()), w.I32Const(1), w.Call(2), w.I32Const(1), w.Call(2))
		m.Func(w.Sig("i32", ""), "", w.LocalGet(0), w.If(w.Empty, w.I32Const(1), w.ReturnCall(1)), w.I32Const(0), w.Call(1))
		return m.Bytes()
	}},
	{"recursion through a door", func() []byte {
		m := w.New()
		m.Table(w.FuncRef, 1, w.NoMax)
		t := m.Type(w.Sig("i32", ""))
		f := m.Func(w.Sig("i32", ""), "", w.LocalGet(0), w.IfElse(w.Empty,
			w.Code(w.I32Const(0), w.Call(0)), w.Code(w.I32Const(1), w.I32Const(0), w.ReturnCallIndirect(t, 0))))
		m.Elem(0, f)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(0), w.Call(f)))
		return m.Bytes()
	}},
	{"recursion behind a loop", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", w.Block(w.Empty, w.Loop(w.Empty,
			w.LocalGet(0), w.I32Const(1), w.Op(0x6a), w.LocalTee(0), w.I32Const(3), w.Op(0x46), w.BrIf(1), w.Br(0))), w.ReturnCall(0)))
		return m.Bytes()
	}},
	{"tail call of itself", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.ReturnCall(0)))
		return m.Bytes()
	}},
	{"mutual tail calls", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.ReturnCall(1)))
		m.Func(w.Sig("", ""), "", w.ReturnCall(0))
		return m.Bytes()
	}},
	{"tail calls through a table", func() []byte {
		m := w.New()
		m.Table(w.FuncRef, 1, w.NoMax)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(0), w.ReturnCallIndirect(0, 0)))
		m.Elem(0, 0)
		return m.Bytes()
	}},
	{"tree recursion through a table", func() []byte {
		m := w.New()
		m.Table(w.FuncRef, 1, w.NoMax)
		t := m.Type(w.Sig("i32", ""))
		f := m.Func(w.Sig("i32", ""), "", w.LocalGet(0), w.If(w.Empty,
			w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.I32Const(0), w.CallIndirect(t, 0),
			w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.I32Const(0), w.CallIndirect(t, 0)))
		m.Elem(0, f)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(200), w.Call(f)))
		return m.Bytes()
	}},
	{"dispatch loop", func() []byte {
		m := w.New()
		jump := func(to int32, label int) []byte { return w.Code(w.I32Const(to), w.LocalSet(0), w.Br(label)) }
		m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", w.Loop(w.Empty,
			w.Block(w.Empty, w.Block(w.Empty, w.Block(w.Empty, w.LocalGet(0), w.BrTable([]int{0, 1}, 2)),
				jump(2, 2)), jump(0, 1)), jump(1, 0))))
		return m.Bytes()
	}},
	{"dispatch loop of one part", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", w.Loop(w.Empty,
			w.Block(w.Empty, w.LocalGet(0), w.BrTable(nil, 0)), w.I32Const(7), w.LocalSet(0), w.Br(0))))
		return m.Bytes()
	}},
	{"unrolled loop", func() []byte {
		m := w.New()
		m.Memory(1, 1)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", w.Loop(w.Empty,
			w.I32Const(0), w.LocalGet(0), w.Store(0x36, 0), w.LocalGet(0), w.I32Const(1), w.Op(0x6a), w.LocalSet(0), w.Br(0))))
		return m.Bytes()
	}},
	{"recursion from a loop", func() []byte {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", w.Loop(w.Empty, w.LocalGet(0), w.I32Const(1), w.Op(0x6a), w.LocalTee(0),
			w.I32Const(3), w.Op(0x46), w.If(w.Empty, w.ReturnCall(0)), w.Br(0))))
		return m.Bytes()
	}},
	{"loop of memory.fill", func() []byte {
		m := w.New()
		m.Memory(16, w.NoMax)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.Loop(w.Empty,
			w.I32Const(0), w.I32Const(0), w.I32Const(1<<20), w.MemoryFill(), w.Br(0))))
		return m.Bytes()
	}},
	{"loop of table.grow", func() []byte {
		m := w.New()
		m.Table(w.FuncRef, 1, 100)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.Loop(w.Empty,
			w.Op(0xd0, 0x70), w.I32Const(50), w.Op(0xfc, 15, 0), w.Drop(), w.Br(0))))
		return m.Bytes()
	}},
}

// callTree is 60 functions, each calling the next one twice: 2^60 calls.
func callTree() []byte {
	m := w.New()
	for i := 0; i < 60; i++ {
		m.Func(w.Sig("", ""), "", w.Call(i+1), w.Call(i+1))
	}
	m.Func(w.Sig("", ""), "")
	m.ExportFunc("run", 0)
	return m.Bytes()
}

// module has one function, exported as "run", that takes and returns nothing.
func module(code ...[]byte) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", ""), "", code...))
	return m.Bytes()
}

func TestEndlessGuestsRunOutOfFuel(t *testing.T) {
	t.Parallel()
	for _, c := range forever {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := metered(t, c.build(), newMeter(10_000, 1_000_000))
			_, err := g.ExportedFunction("run").Call(t.Context())
			if !errors.Is(err, errOutOfFuel) {
				t.Fatalf("got error %v, want out of fuel", err)
			}
			if g.meter.ticks < 10 {
				t.Errorf("%d ticks for 100 slices", g.meter.ticks)
			}
		})
	}
}

// A start section runs at instantiation, before anybody can fill the counter.
func TestStartSectionIsMetered(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Start(m.Func(w.Sig("", ""), "", w.Loop(w.Empty, w.Br(0))))
	r := newRuntime(t, runtimeConfig())
	meter := newMeter(1_000, 100_000)
	_, err := r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithFunc(meter.tick).Export(wasmbin.TickName).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Instantiate(t.Context(), instrument(t, m.Bytes(), options)); !errors.Is(err, errOutOfFuel) {
		t.Errorf("got error %v, want out of fuel", err)
	}
}

// The same module and input use the same fuel, whatever the slice.
func TestFuelDoesNotDependOnTheSlice(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		wasm []byte
		arg  uint64
	}{
		{"loop", countModule(), 1000},
		{"fib", fibModule(), 15},
		{"bulk", bulkModule(), 1000},
		{"switch", switchModule(), 500},
	}
	for _, c := range cases {
		want := int64(-1)
		for _, slice := range []int64{1, 7, 100, 10_000, plenty} {
			g := metered(t, c.wasm, newMeter(slice, plenty))
			if _, err := g.ExportedFunction("run").Call(t.Context(), c.arg); err != nil {
				t.Fatal(err)
			}
			if want < 0 {
				want = g.used()
			}
			if g.used() != want {
				t.Errorf("%s: slice %d used %d, other slices %d", c.name, slice, g.used(), want)
			}
		}
	}
}

// bulkModule exports run(n): fills and copies n bytes, grows by 1 page.
func bulkModule() []byte {
	m := w.New()
	m.Memory(1, 10)
	seg := m.PassiveData([]byte(strings.Repeat("x", 5000)))
	m.ExportFunc("run", m.Func(w.Sig("i64", "i64"), "i32",
		w.LocalGet(0), w.Op(0xa7), w.LocalSet(1),
		w.I32Const(0), w.I32Const(7), w.LocalGet(1), w.MemoryFill(),
		w.I32Const(9000), w.I32Const(0), w.LocalGet(1), w.MemoryCopy(),
		w.I32Const(0), w.I32Const(0), w.LocalGet(1), w.MemoryInit(seg),
		w.I32Const(1), w.MemoryGrow(), w.Op(0xad)))
	return m.Bytes()
}

// switchModule exports run(n): n turns through a br_table whose cases are
// longer than the meter hoists.
func switchModule() []byte {
	m := w.New()
	work := func(n int) []byte {
		return []byte(strings.Repeat(string(w.Code(w.LocalGet(1), w.I64Const(3), w.Op(0x7c), w.LocalSet(1))), n))
	}
	m.ExportFunc("run", m.Func(w.Sig("i64", "i64"), "i64", w.Loop(w.Empty,
		w.Block(w.Empty, w.Block(w.Empty, w.Block(w.Empty,
			w.LocalGet(0), w.I64Const(3), w.Op(0x82), w.Op(0xa7), w.BrTable([]int{0, 1}, 2)),
			work(20), w.Br(1)), work(40)),
		w.LocalGet(0), w.I64Const(1), w.Op(0x7d), w.LocalTee(0), w.I64Const(0), w.Op(0x55), w.BrIf(0)),
		w.LocalGet(1)))
	return m.Bytes()
}

func fuelOf(t *testing.T, wasm []byte, args ...uint64) int64 {
	t.Helper()
	g := metered(t, wasm, newMeter(1_000, plenty))
	if _, err := g.ExportedFunction("run").Call(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
	return g.used()
}

// The figures of the price list in the package comment.
func TestPriceList(t *testing.T) {
	t.Parallel()
	const entry = 2
	drop := func(code ...[]byte) []byte { return w.Code(append(code, w.Drop())...) }
	memory := func(code ...[]byte) []byte {
		m := w.New()
		m.Memory(2, 4)
		m.Table(w.FuncRef, 100, 200)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", code...))
		return m.Bytes()
	}
	table := []struct {
		name string
		wasm []byte
		want int64
	}{
		{"empty function", module(), entry},
		{"nop, block, drop", module(w.Op(1), w.Block(w.Empty), drop(w.I32Const(1))), entry + 1},
		{"add", module(drop(w.I32Const(1), w.I32Const(1), w.Op(0x6a))), entry + 3},
		{"division", module(drop(w.I32Const(1), w.I32Const(1), w.Op(0x6d))), entry + 2 + 8},
		{"square root", module(drop(w.F64Const(1), w.Op(0x9f))), entry + 1 + 8},
		{"vector", module(drop(w.I32Const(1), w.Op(0xfd, 0x11))), entry + 1 + 2},
		{"one turn of a loop", module(w.Loop(w.Empty)), entry + 1},
		{"load", memory(drop(w.I32Const(0), w.Load(0x28, 0))), entry + 2},
		{"fill 256 bytes", memory(w.I32Const(0), w.I32Const(0), w.I32Const(256), w.MemoryFill()), entry + 3 + 32},
		{"fill 272 bytes", memory(w.I32Const(0), w.I32Const(0), w.I32Const(272), w.MemoryFill()), entry + 3 + 32 + 17},
		{"copy 64 KiB", memory(w.I32Const(0), w.I32Const(0), w.I32Const(1<<16), w.MemoryCopy()), entry + 3 + 32 + 4096},
		{"grow by 2 pages", memory(drop(w.I32Const(2), w.MemoryGrow())), entry + 1 + 64 + 2*4096},
		{"grow beyond the maximum", memory(drop(w.I32Const(-1), w.MemoryGrow())), entry + 1 + 64 + 4*4096},
		{"table.grow by 10", memory(drop(w.Op(0xd0, 0x70), w.I32Const(10), w.Op(0xfc, 15, 0))), entry + 2 + 64 + 10},
		{"table.grow beyond the maximum", memory(drop(w.Op(0xd0, 0x70), w.I32Const(-1), w.Op(0xfc, 15, 0))), entry + 2 + 64 + 200},
		{"table.fill of 30", memory(w.I32Const(0), w.Op(0xd0, 0x70), w.I32Const(30), w.Op(0xfc, 17, 0)), entry + 3 + 16 + 30},
		{"table.copy of 30", memory(w.I32Const(0), w.I32Const(0), w.I32Const(30), w.Op(0xfc, 14, 0, 0)), entry + 3 + 16 + 30},
		{"short code that is skipped", module(w.I32Const(0), w.If(w.Empty, drop(w.I32Const(1)))), entry + 2 + 1},
		{"long code that is skipped", module(w.I32Const(0), w.If(w.Empty, longCode())), entry + 2},
		{"long code that runs", module(w.I32Const(1), w.If(w.Empty, longCode())), entry + 2 + 100},
	}
	for _, c := range table {
		if got := fuelOf(t, c.wasm); got != c.want {
			t.Errorf("%s: %d units, want %d", c.name, got, c.want)
		}
	}
}

// longCode costs 100 units.
func longCode() []byte {
	return []byte(strings.Repeat(string(w.Code(w.I32Const(1), w.Drop())), 100))
}

// Fuel is taken before what it pays for: a budget that does not reach for a
// fill means that no byte is written.
func TestFuelIsTakenBeforeTheWork(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Memory(16, w.NoMax)
	m.ExportMemory("memory")
	m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(0), w.I32Const(7), w.I32Const(1<<20), w.MemoryFill()))
	g := metered(t, m.Bytes(), newMeter(100, 60_000)) // a fill of 1 MiB costs 65,536
	if _, err := g.ExportedFunction("run").Call(t.Context()); !errors.Is(err, errOutOfFuel) {
		t.Fatalf("got error %v, want out of fuel", err)
	}
	if b, _ := g.ExportedMemory("memory").ReadByte(0); b != 0 {
		t.Errorf("memory was written without fuel")
	}
}

// A guest that computes without calling out would freeze the process at the
// next garbage collection, were it not for tick.
func TestSpinningGuestLetsOthersRun(t *testing.T) {
	t.Parallel()
	m := newMeter(100_000, plenty)
	ctx, cancel := context.WithCancel(t.Context())
	m.onTick = func() error { runtime.Gosched(); return ctx.Err() }
	g := metered(t, module(w.Loop(w.Empty, w.Br(0))), m)
	beats := make(chan int)
	go func() {
		defer cancel()
		for i := range 20 {
			runtime.GC()
			time.Sleep(time.Millisecond)
			beats <- i
		}
		close(beats)
	}()
	done := make(chan error)
	go func() {
		_, err := g.ExportedFunction("run").Call(context.Background())
		done <- err
	}()
	for range beats {
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context canceled", err)
	}
}

// Counting what a module does must not change it.
func TestFuelGlobalIsLast(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Global(w.I64, true, w.I64Const(41))
	m.ExportFunc("run", m.Func(w.Sig("", "i64"), "", w.GlobalGet(0), w.I64Const(1), w.Op(0x7c)))
	g := metered(t, m.Bytes(), newMeter(1, plenty))
	got, err := g.ExportedFunction("run").Call(t.Context())
	if err != nil || got[0] != 42 {
		t.Errorf("got %v, %v, want 42", got, err)
	}
	if _, ok := g.ExportedGlobal(wasmbin.FuelGlobal).(api.MutableGlobal); !ok {
		t.Errorf("no mutable fuel counter")
	}
}
