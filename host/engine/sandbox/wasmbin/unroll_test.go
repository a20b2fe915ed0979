package wasmbin_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// looper writes random functions with a small loop that is left in many ways.
type looper struct{ r w.Choices }

// module exports run(n, seed): up to n turns of a loop, in two blocks that it
// may leave for. It returns a hash of what was done.
func (l *looper) module() []byte {
	m := w.New()
	m.Memory(1, 1)
	body := w.Code(w.LocalGet(3), w.I32Const(1), w.Op(0x6b), w.LocalTee(3), w.Op(0x45), w.BrIf(1+l.r.IntN(2)))
	for range 1 + l.r.IntN(4) {
		body = w.Code(body, l.step())
	}
	if l.r.IntN(3) > 0 {
		body = w.Code(body, w.Br(0))
	} else {
		body = w.Code(body, l.bit(), w.BrIf(0))
	}
	loop := w.Block(w.Empty, w.Block(w.Empty, w.Loop(w.Empty, body), l.mix(5)), l.mix(6))
	outer := w.Loop(w.Empty, w.LocalGet(0), w.LocalSet(3), w.LocalGet(2), w.I32Const(1), w.Op(0x6b), w.LocalTee(2), w.I32Const(0), w.Op(0x4a), w.If(w.Empty, loop, w.Br(1)))
	m.ExportFunc("run", m.Func(w.Sig("i32 i64", "i64"), "i32 i32", w.I32Const(3), w.LocalSet(2), outer, w.LocalGet(1)))
	return m.Bytes()
}

// mix adds n to the hash.
func (l *looper) mix(n int) []byte {
	return w.Code(w.LocalGet(1), w.I64Const(6_364_136_223), w.Op(0x7e), w.I64Const(int64(n)), w.Op(0x7c), w.LocalSet(1))
}

// bit is one bit of the hash.
func (l *looper) bit() []byte {
	return w.Code(w.LocalGet(1), w.I64Const(int64(10+l.r.IntN(20))), w.Op(0x88), w.Op(0xa7), w.I32Const(3), w.Op(0x71), w.Op(0x45))
}

func (l *looper) step() []byte {
	switch l.r.IntN(8) {
	case 0:
		return w.Code(l.bit(), w.BrIf(l.r.IntN(3)))
	case 1:
		return w.Code(l.bit(), w.If(w.Empty, l.mix(1), w.Br(1+l.r.IntN(3))))
	case 2:
		return w.Code(l.bit(), w.If(w.Empty, l.mix(2)))
	case 3:
		return w.Block(w.Empty, l.bit(), w.BrIf(l.r.IntN(4)), l.mix(3))
	case 4:
		return w.Code(w.LocalGet(1), w.Op(0xa7), w.I32Const(0x1ffff), w.Op(0x71), w.Load(0x2d, 0), w.Drop()) // traps now and then
	}
	return l.mix(4)
}

// Small loops do the same when several turns are written out, and are charged
// for what they do: no less than for the instructions that ran, and not much
// more.
func TestUnrolledLoopsBehaveTheSame(t *testing.T) {
	t.Parallel()
	n := uint64(80)
	if prove() {
		n = 5_000
	}
	d, first, unrolled := newDiffer(t), rand.Uint64(), 0
	for seed := first; seed < first+n; seed++ {
		wasm := (&looper{rand.New(rand.NewPCG(seed, 0))}).module()
		unrolled += wasmbin.Unrolled(wasm)
		for _, turns := range []uint64{1, 2, 5, 9, 100} {
			d.compareLoops(t, wasm, turns)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if unrolled < int(n)/5 {
		t.Errorf("only %d of %d loops were unrolled", unrolled, n)
	}
}

func (d *differ) compareLoops(t *testing.T, wasm []byte, turns uint64) {
	t.Helper()
	exact, err := wasmbin.InstrumentExactly(wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := d.plain.Instantiate(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close(t.Context())
	want := callRun(t, plain, turns)
	var used [2]int64
	for k, form := range [][]byte{instrument(t, wasm, options), exact} {
		d.meter = *newMeter(50, 50_000_000)
		m, err := d.fuel.Instantiate(t.Context(), form)
		if err != nil {
			t.Fatal(err)
		}
		if got := callRun(t, m, turns); !got.same(want) {
			t.Errorf("%d turns: %v, want %v", turns, got, want)
		}
		used[k] = (&guest{m, &d.meter}).used()
		m.Close(t.Context())
	}
	if most := 3*used[1] + 500; used[0] < used[1] || used[0] > most {
		t.Errorf("%d turns: charged %d for %d units of work", turns, used[0], used[1])
	}
}

func callRun(t *testing.T, m api.Module, turns uint64) acted {
	t.Helper()
	values, err := m.ExportedFunction("run").Call(t.Context(), turns, turns*7919)
	return acted{values: values, trap: cause(err)}
}

// FuzzLoops is TestUnrolledLoopsBehaveTheSame with a fuzzer's choices.
func FuzzLoops(f *testing.F) {
	f.Add([]byte("a few choices"), uint16(3))
	f.Add([]byte("\x01\x03\x02\x05\x00\x01\x02\x00\x01\x07\x04\x02"), uint16(50))
	d := newDiffer(f)
	f.Fuzz(func(t *testing.T, text []byte, turns uint16) {
		script := w.Script(text)
		d.compareLoops(t, (&looper{&script}).module(), 1+uint64(turns))
	})
}
