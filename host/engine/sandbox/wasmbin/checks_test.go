package wasmbin_test

import (
	"errors"
	"testing"

	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// adds is code that adds to a local n times, and costs 4n.
func adds(local, n int) []byte {
	var code [][]byte
	for range n {
		code = append(code, w.LocalGet(local), w.I32Const(3), w.Op(0x6a), w.LocalSet(local))
	}
	return w.Code(code...)
}

// repeat is code n times.
func repeat(n int, code ...[]byte) []byte {
	var all [][]byte
	for range n {
		all = append(all, code...)
	}
	return w.Code(all...)
}

// TestChecksWithoutLoops counts how often a guest without loops looks at a
// counter that every charge brings below zero.
func TestChecksWithoutLoops(t *testing.T) {
	t.Parallel()
	calling := func(n, leaf int) []byte {
		m := w.New()
		m.Func(w.Sig("", ""), "i32", adds(0, leaf))
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", repeat(n, w.Call(0))))
		return m.Bytes()
	}
	copies := w.New()
	copies.Memory(1, 1)
	copies.ExportFunc("run", copies.Func(w.Sig("", ""), "", repeat(3000, w.I32Const(0), w.I32Const(512), w.MemorySize(), w.I32Const(4), w.Op(0x74), w.MemoryCopy())))
	for _, c := range []struct {
		name        string
		wasm        []byte
		least, most int
	}{
		{"long code", oneLocal(adds(0, 50)), 0, 0},
		{"longer code", oneLocal(adds(0, 20_000)), 1, 5},
		{"longer code in an arm", oneLocal(w.I32Const(1), w.If(w.Empty, adds(0, 20_000))), 1, 5},
		{"longer code in both arms", oneLocal(w.I32Const(0), w.IfElse(w.Empty, adds(0, 20_000), adds(0, 20_000))), 1, 5},
		{"small leaves", calling(3_000, 50), 5, 20},
		{"leaf that is large", calling(100, 300), 100, 102},
		{"small copies", copies.Bytes(), 1, 20},
	} {
		g := metered(t, c.wasm, newMeter(0, plenty))
		mustCall(t, g, "run")
		if n := g.meter.ticks; n < c.least || n > c.most {
			t.Errorf("%s: %d checks, want %d to %d", c.name, n, c.least, c.most)
		}
	}
}

// TestChecksWhereFramesReturn has a recursion use up its fuel where it is
// deepest. It must not come back through all of its frames, each of which has
// paid for its tail already.
func TestChecksWhereFramesReturn(t *testing.T) {
	t.Parallel()
	const depth, tails = 100, 0
	count := w.Code(w.GlobalGet(tails), w.I32Const(1), w.Op(0x6a), w.GlobalSet(tails))
	for name, tail := range map[string][]byte{
		"at the end":     w.LocalGet(1),
		"by return":      w.Code(w.LocalGet(1), w.Return()),
		"by a branch":    w.Code(w.LocalGet(1), w.Br(0)),
		"out of a block": w.Code(w.Block(w.Empty, w.LocalGet(1), w.Br(1)), w.LocalGet(0)),
		"by a table":     w.Code(w.LocalGet(1), w.I32Const(0), w.BrTable([]int{0}, 0)),
		"by a condition": w.Code(w.LocalGet(1), w.I32Const(1), w.BrIf(0)),
	} {
		m := w.New()
		m.Export("tails", 3, m.Global(w.I32, true, w.I32Const(0)))
		m.Func(w.Sig("i32", "i32"), "i32", w.LocalGet(0), w.Op(0x45), w.If(w.Empty, adds(1, 100), w.LocalGet(1), w.Return()),
			w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0), w.LocalSet(1), count, adds(1, 10), tail)
		m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.I32Const(depth), w.Call(0), w.Drop()))
		g := metered(t, m.Bytes(), newMeter(plenty, plenty))
		mustCall(t, g, "run")
		if n := g.ExportedGlobal("tails").Get(); n != depth {
			t.Errorf("%s: %d tails ran with fuel for all", name, n)
		}
		g = metered(t, m.Bytes(), newMeter(plenty, g.used()-1))
		if _, err := g.ExportedFunction("run").Call(t.Context()); !errors.Is(err, errOutOfFuel) {
			t.Errorf("%s: %v", name, err)
		}
		if n := g.ExportedGlobal("tails").Get(); n > 1 {
			t.Errorf("%s: %d tails ran without fuel", name, n)
		}
	}
}

// oneLocal is module with a local.
func oneLocal(code ...[]byte) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", ""), "i32", code...))
	return m.Bytes()
}

// TestSmallBulk moves as many bytes as are moved at once, and one more, and
// checks what that costs.
func TestSmallBulk(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{0, 15, 256, 257, 1024, 40_000} {
		for name, op := range map[string][]byte{"copy": w.MemoryCopy(), "fill": w.MemoryFill()} {
			used := map[bool]int64{}
			for _, known := range []bool{true, false} {
				m := w.New()
				m.Memory(1, 1)
				m.ExportMemory("memory")
				length := w.LocalGet(0)
				if known {
					length = w.I32Const(n)
				}
				m.Data(0, []byte("some data"))
				m.ExportFunc("run", m.Func(w.Sig("i32", ""), "", w.I32Const(20_000), w.I32Const(0), length, op))
				g, p := metered(t, m.Bytes(), newMeter(1000, plenty)), plain(t, m.Bytes(), runtimeConfig())
				mustCall(t, g, "run", uint64(n))
				mustCall(t, p, "run", uint64(n))
				a, _ := g.Memory().Read(0, 1<<16)
				b, _ := p.Memory().Read(0, 1<<16)
				if string(a) != string(b) {
					t.Errorf("%s of %d bytes (%v): another memory", name, n, known)
				}
				used[known] = g.used()
			}
			want := int64(37)
			if n > 256 {
				want += int64(n) / 16
			}
			if used[true] != want || used[false] != want {
				t.Errorf("%s of %d bytes costs %v, want %d", name, n, used, want)
			}
		}
	}
}
