package wasmbin_test

import (
	"math/rand/v2"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// exactSum is the sum over the instructions that a call of run executes.
func exactSum(t *testing.T, wasm []byte, args ...uint64) int64 {
	t.Helper()
	exact, err := wasmbin.InstrumentExactly(wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		t.Fatal(err)
	}
	g := started(t, exact, newMeter(1_000, plenty))
	mustCall(t, g, "run", args...)
	return g.used()
}

// small is a function without branches that is called n times.
func small(n int) []byte {
	m := w.New()
	m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.I32Const(3), w.Op(0x6a))
	m.ExportFunc("run", m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), repeat(n, w.Call(0))))
	return m.Bytes()
}

// even calls odd and the other way round, down to zero.
func even() []byte {
	m := w.New()
	other := func(of int, zero int32) {
		m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.Op(0x45), w.If(w.Empty, w.I32Const(zero), w.Return()),
			w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(of))
	}
	other(1, 1)
	other(0, 0)
	m.ExportFunc("run", m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.Call(0)))
	return m.Bytes()
}

// doors is a recursion that is exported, in a table and referred to.
func doors() []byte {
	m := w.New()
	m.Table(w.FuncRef, 2, w.NoMax)
	t := m.Type(w.Sig("i32", "i32"))
	f := m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.I32Const(2), w.Op(0x49), w.If(w.Empty, w.LocalGet(0), w.Return()),
		w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0), w.LocalGet(0), w.I32Const(2), w.Op(0x6b), w.Call(0), w.Op(0x6a))
	m.ExportFunc("fib", f)
	m.Elem(0, f)
	m.ExportFunc("run", m.Func(w.Sig("i32", "i32"), "",
		w.I32Const(1), w.Op(0xd2, byte(f)), w.Op(0x26, 0), // table.set 1 (ref.func fib)
		w.LocalGet(0), w.I32Const(0), w.CallIndirect(t, 0), w.LocalGet(0), w.I32Const(1), w.CallIndirect(t, 0), w.Op(0x6a)))
	return m.Bytes()
}

// Functions that are paid for where they are called cost what their
// instructions do, and the fuel does not depend on the slice.
func TestCallCosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		wasm             []byte
		arg              uint64
		callCosts, doors int
		more             int64 // than the exact sum
	}{
		{"small function", small(10), 1, 1, 0, 0},
		{"small function, often", small(3_000), 1, 1, 0, 0},
		{"two that call each other", even(), 50, 2, 0, 51 * 2},
		{"recursion", fibModule(), 15, 1, 1, 0},
		{"recursion through tables", doors(), 10, 1, 1, 2 * 2 * 88},
		{"large function", largeCallee(), 1, 0, 0, 0},
		{"start function", startCallee(), 1, 0, 0, 0},
	} {
		if callCosts, doors := wasmbin.CallCosts(c.wasm); callCosts != c.callCosts || doors != c.doors {
			t.Errorf("%s: %d call costs and %d doors, want %d and %d", c.name, callCosts, doors, c.callCosts, c.doors)
		}
		want := exactSum(t, c.wasm, c.arg)
		for _, slice := range []int64{1, 50, plenty} {
			g := metered(t, c.wasm, newMeter(slice, plenty))
			mustCall(t, g, "run", c.arg)
			if got := g.used(); got < want || got > want+c.more {
				t.Errorf("%s: slice %d used %d for %d units of work", c.name, slice, got, want)
			}
		}
	}
}

// largeCallee calls a function whose entry takes more than callers pay for.
func largeCallee() []byte {
	m := w.New()
	m.Func(w.Sig("i32", "i32"), "", adds(0, 30), w.LocalGet(0))
	m.ExportFunc("run", m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.Call(0)))
	return m.Bytes()
}

// startCallee calls its start function.
func startCallee() []byte {
	m := w.New()
	f := m.Func(w.Sig("", ""), "")
	m.Start(f)
	m.ExportFunc("run", m.Func(w.Sig("i32", "i32"), "", w.Call(f), w.LocalGet(0)))
	return m.Bytes()
}

// A budget that does not reach for a call of a small function stops the caller
// before it.
func TestCallCostsAreTakenBeforeTheCall(t *testing.T) {
	t.Parallel()
	m := w.New()
	calls := m.Global(w.I32, true, w.I32Const(0))
	m.Export("calls", 3, calls)
	f := m.Func(w.Sig("", ""), "", w.GlobalGet(calls), w.I32Const(1), w.Op(0x6a), w.GlobalSet(calls))
	m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.Loop(w.Empty, w.Call(f), w.Br(0))))
	const turn = 1 + 4 + 1 + 2 + 4 // loop, call, br, entry and four instructions
	for n := range int64(20) {
		g := metered(t, m.Bytes(), newMeter(1, 2+n*turn+turn/2))
		if _, err := g.ExportedFunction("run").Call(t.Context()); err == nil {
			t.Fatal("it returned")
		}
		if got := int64(g.ExportedGlobal("calls").Get()); got != n {
			t.Errorf("%d calls with fuel for %d", got, n)
		}
	}
}

// TestRandomModulesHaveCallCosts makes sure that what random modules prove is
// proved of call costs and doors too.
func TestRandomModulesHaveCallCosts(t *testing.T) {
	t.Parallel()
	var callCosts, doors int
	for seed := range uint64(300) {
		f, d := wasmbin.CallCosts(w.Random(rand.New(rand.NewPCG(seed, 1))))
		callCosts, doors = callCosts+f, doors+d
	}
	if callCosts < 30 || doors < 5 {
		t.Errorf("%d call costs and %d doors", callCosts, doors)
	}
}
