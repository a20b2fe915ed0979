package wasmbin_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// largest is the largest module of the corpus that the gate accepts.
func largest(b *testing.B) []byte {
	var best []byte
	for _, m := range corpus(b) {
		if _, err := wasmbin.Inspect(m.wasm, wasmbin.DefaultLimits()); err == nil && len(m.wasm) > len(best) {
			best = m.wasm
		}
	}
	return best
}

func BenchmarkInspect(b *testing.B) {
	wasm := largest(b)
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInstrument(b *testing.B) {
	wasm := largest(b)
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), options); err != nil {
			b.Fatal(err)
		}
	}
}

// countModule exports count(n), a loop of n turns.
func countModule() []byte {
	m := w.New()
	f := m.Func(w.Sig("i64", "i64"), "i64", w.Loop(w.Empty,
		w.LocalGet(1), w.I64Const(3), w.Op(0x7c), w.LocalSet(1), // sum += 3
		w.LocalGet(0), w.I64Const(1), w.Op(0x7d), w.LocalTee(0), // n--
		w.I64Const(0), w.Op(0x55), w.BrIf(0), // while n > 0
	), w.LocalGet(1))
	m.ExportFunc("run", f)
	return m.Bytes()
}

// fibModule exports run(n), the recursive Fibonacci numbers.
func fibModule() []byte {
	m := w.New()
	f := m.Func(w.Sig("i64", "i64"), "",
		w.LocalGet(0), w.I64Const(2), w.Op(0x53),
		w.IfElse(w.I64, w.LocalGet(0), w.Code(
			w.LocalGet(0), w.I64Const(1), w.Op(0x7d), w.Call(0),
			w.LocalGet(0), w.I64Const(2), w.Op(0x7d), w.Call(0),
			w.Op(0x7c))))
	m.ExportFunc("run", f)
	return m.Bytes()
}

// BenchmarkClose shows what fuel stands for: wazero's own way to stop a guest,
// in a million turns of a tight loop.
func BenchmarkClose(b *testing.B) { compareEngines(b, countModule(), 1_000_000) }

func compareEngines(b *testing.B, wasm []byte, arg uint64) {
	b.Run("plain", func(b *testing.B) {
		benchCall(b, plain(b, wasm, runtimeConfig()), arg)
	})
	b.Run("close-on-context-done", func(b *testing.B) {
		benchCall(b, plain(b, wasm, runtimeConfig().WithCloseOnContextDone(true)), arg)
	})
	b.Run("fuel", func(b *testing.B) {
		benchCall(b, metered(b, wasm, newMeter(1_000_000, plenty)), arg)
	})
}

func benchCall(b *testing.B, m api.Module, arg uint64) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	f := m.ExportedFunction("run")
	for b.Loop() {
		if _, err := f.Call(ctx, arg); err != nil {
			b.Fatal(err)
		}
	}
}
