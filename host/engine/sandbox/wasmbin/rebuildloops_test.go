package wasmbin_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// switcher writes random functions that are one loop around a br_table.
type switcher struct {
	r     w.Choices
	parts int
	table []int // parts by number; the default last
	again bool  // it is in a loop that begins it again with the next there is
}

// Locals and globals of a switch: a hash of the way that was taken, and how
// many steps are left.
const (
	switchNext  = 0 // parameter
	switchHash  = 0 // global
	switchSteps = 1 // global
)

// module exports run(next), which returns the hash.
func (s *switcher) module() []byte {
	m := w.New()
	m.Global(w.I64, true, w.I64Const(1))
	m.Global(w.I64, true, w.I64Const(0))
	s.parts = 1 + s.r.IntN(12)
	s.table = nil
	for i := range s.parts { // every part has a number
		s.table = append(s.table, i)
	}
	for range s.r.IntN(6) {
		s.table = append(s.table, s.r.IntN(s.parts))
	}
	if s.r.IntN(2) == 0 {
		for i := range s.table {
			k := s.r.IntN(len(s.table))
			s.table[i], s.table[k] = s.table[k], s.table[i]
		}
	}
	code := w.Block(w.Empty, w.Block(w.Empty, s.loop(), s.mark(98), w.Br(1)), s.mark(99))
	if s.again = s.r.IntN(5) == 0; s.again {
		code = w.Loop(w.Empty, code, w.GlobalGet(switchSteps), w.I64Const(0), w.Op(0x55), w.BrIf(0))
	}
	f := m.Func(w.Sig("i32", "i64"), "i32", w.I64Const(300), w.GlobalSet(switchSteps), code, w.GlobalGet(switchHash))
	m.ExportFunc("run", f)
	return m.Bytes()
}

// mark adds n to the hash.
func (s *switcher) mark(n int) []byte {
	return w.Code(w.GlobalGet(switchHash), w.I64Const(1_000_003), w.Op(0x7e), w.I64Const(int64(n+1)), w.Op(0x7c), w.GlobalSet(switchHash))
}

func (s *switcher) loop() []byte {
	code := w.Code(w.LocalGet(switchNext), w.BrTable(s.table[:len(s.table)-1], s.table[len(s.table)-1]))
	for part := range s.parts {
		code = w.Code(w.Block(w.Empty, code), s.part(part))
	}
	return w.Loop(w.Empty, code)
}

// part is the code of a part: the loop is parts-1-part blocks away, and what is
// behind it one more.
func (s *switcher) part(part int) []byte {
	loop := s.parts - 1 - part
	code := w.Code(s.mark(part), w.GlobalGet(switchSteps), w.I64Const(1), w.Op(0x7d), w.GlobalSet(switchSteps),
		w.GlobalGet(switchSteps), w.I64Const(0), w.Op(0x53), w.BrIf(loop+1+s.r.IntN(2)))
	for range s.r.IntN(3) {
		code = w.Code(code, s.condition(), w.If(w.Empty, s.away(loop+1)))
	}
	if s.r.IntN(2) == 0 {
		code = w.Code(code, s.away(loop))
	}
	return code
}

// condition is one bit of the hash.
func (s *switcher) condition() []byte {
	return w.Code(w.GlobalGet(switchHash), w.I64Const(int64(s.r.IntN(20))), w.Op(0x88), w.Op(0xa7), w.I32Const(1), w.Op(0x71))
}

// away is code that leaves the part, mostly by a jump.
func (s *switcher) away(loop int) []byte {
	switch s.r.IntN(12) {
	case 0:
		return w.Br(loop + 1)
	case 1:
		return w.Code(s.condition(), w.BrTable([]int{loop + 2, loop + 1}, loop+2))
	case 2:
		return w.Code(w.I64Const(7), w.Return())
	case 3:
		return w.Code(w.Block(w.Empty, s.condition(), w.BrIf(0), s.mark(50)), s.jump(loop))
	case 4:
		return w.Block(w.Empty, s.jump(loop+1))
	}
	return s.jump(loop)
}

func (s *switcher) jump(loop int) []byte {
	return w.Code(w.I32Const(int32(s.r.IntN(len(s.table)+2))), w.LocalSet(switchNext), w.Br(loop))
}

// A loop around a br_table takes the same way when it is rebuilt,
// wherever it begins.
func TestDispatchLoopsBehaveTheSame(t *testing.T) {
	t.Parallel()
	n := uint64(200)
	if prove() {
		n = 10_000
	}
	d, first, straight := newDiffer(t), rand.Uint64(), 0
	for seed := first; seed < first+n; seed++ {
		s := &switcher{r: rand.New(rand.NewPCG(seed, 0))}
		wasm := s.module()
		rebuilt := wasmbin.Rebuilt(wasm)
		if (rebuilt == 0) != s.again {
			t.Errorf("seed %d: %d functions were rebuilt, within a loop: %v", seed, rebuilt, s.again)
		}
		straight += rebuilt
		if d.compareSwitch(t, wasm, len(s.table)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if straight < int(n)/2 {
		t.Errorf("only %d of %d functions were rebuilt", straight, n)
	}
}

// compareSwitch begins at each of the numbers of parts.
func (d *differ) compareSwitch(t *testing.T, wasm []byte, numbers int) {
	t.Helper()
	want, err := d.plain.Instantiate(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close(t.Context())
	d.meter = *newMeter(1000, plenty)
	got, err := d.fuel.Instantiate(t.Context(), instrument(t, wasm, options))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close(t.Context())
	for next := range numbers + 3 {
		a, b := mustCall(t, want, "run", uint64(next)), mustCall(t, got, "run", uint64(next))
		if a != b {
			t.Fatalf("run(%d) = %d, want %d", next, b, a)
		}
	}
}

// FuzzDispatch is TestDispatchLoopsBehaveTheSame with a fuzzer's choices.
func FuzzDispatch(f *testing.F) {
	addScripts(f, 300)
	d := newDiffer(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		script := w.Script(text)
		s := &switcher{r: &script}
		wasm := s.module()
		d.compareSwitch(t, wasm, len(s.table))
	})
}

// counting is a loop as Go's compiler writes it: entered at its condition, which
// is its last part. run(next, n) returns n if it begins with part 0.
func counting(table []int, fallback int) []byte {
	jump := func(part, loop int) []byte {
		next := slices.Index(append(table, part), part)
		return w.Code(w.I32Const(int32(next)), w.LocalSet(0), w.Br(loop))
	}
	parts := [][]byte{
		w.Code(w.I32Const(0), w.LocalSet(2), jump(2, 2)),
		w.Code(w.LocalGet(2), w.I32Const(1), w.Op(0x6a), w.LocalSet(2)),
		w.Code(w.LocalGet(2), w.LocalGet(1), w.Op(0x49), w.If(w.Empty, jump(1, 1)), w.LocalGet(2), w.Return()),
	}
	code := w.Code(w.LocalGet(0), w.BrTable(table, fallback))
	for _, part := range parts {
		code = w.Code(w.Block(w.Empty, code), part)
	}
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("i32 i32", "i32"), "i32", w.Loop(w.Empty, code), w.Unreachable()))
	return m.Bytes()
}

// A turn of a loop that is entered at its condition costs what is in it: it does
// not look where to begin. It begins right all the same, wherever that is.
func TestLoopEnteredAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		table    []int
		fallback int
	}{{[]int{0, 1, 2}, 0}, {[]int{0, 1, 2}, 1}, {[]int{0, 1, 2}, 2}, {[]int{0, 1, 2, 1, 2, 0}, 2}, {[]int{0, 1, 2, 2, 1}, 1}, {[]int{0, 2}, 1}} {
		wasm := counting(c.table, c.fallback)
		want := plain(t, wasm, runtimeConfig())
		used := func(next, n uint64) int64 {
			g := metered(t, wasm, newMeter(1000, plenty))
			if a, b := mustCall(t, want, "run", next, n), mustCall(t, g, "run", next, n); a != b {
				t.Errorf("%v: run(%d, %d) = %d, want %d", c, next, n, b, a)
			}
			return g.used()
		}
		for next := range uint64(8) {
			used(next, 10)
			used(next, 0)
		}
		const turns, turn = 80, 4 + 4 + 2 + 1 // body, condition, what is behind it, turn
		if got := used(0, 2*turns) - used(0, turns); got != turns*turn {
			t.Errorf("%v: %d turns cost %d, want %d", c, turns, got, turns*turn)
		}
	}
}

// What does not fit a dispatch loop is left alone.
func TestOddDispatchLoops(t *testing.T) {
	t.Parallel()
	head := func(code ...[]byte) []byte {
		return w.Loop(w.Empty, w.Block(w.Empty, w.Block(w.Empty, w.LocalGet(0), w.BrTable([]int{0}, 1)), w.Code(code...)), w.I32Const(0), w.LocalSet(0))
	}
	jump := w.Code(w.I32Const(1), w.LocalSet(0), w.Br(1))
	cases := []struct {
		name string
		code []byte
		want int
	}{
		{"jump ahead", head(jump), 1},
		{"no jump", head(), 1},
		{"next is read elsewhere", head(w.LocalGet(0), w.Drop(), jump), 0},
		{"next is read behind the loop", w.Code(head(jump), w.LocalGet(0), w.Drop()), 0},
		{"next is read after it was set", head(w.I32Const(3), w.LocalSet(0), w.LocalGet(0), w.Drop(), jump), 1},
		{"next is not set before the jump", head(w.Br(1)), 0},
		{"next is set to a sum", head(w.I32Const(1), w.I32Const(1), w.Op(0x6a), w.LocalSet(0), w.Br(1)), 0},
		{"another local is set", head(w.I32Const(1), w.LocalSet(1), w.Br(1)), 0},
		{"conditional branch to the loop", head(w.I32Const(0), w.BrIf(1)), 0},
		{"branch table to the loop", head(w.I32Const(0), w.BrTable([]int{1}, 1)), 0},
		{"branch to a part", head(w.Br(0)), 0},
		{"instruction in the head", w.Loop(w.Empty, w.Block(w.Empty, w.Op(1), w.LocalGet(0), w.BrTable([]int{0}, 0))), 0},
		{"a loop around it", w.Loop(w.Empty, head(jump)), 0},
		{"a loop around a block around it", w.Loop(w.Empty, w.Block(w.Empty, head(jump))), 0},
		{"a loop in front of it", w.Code(w.Loop(w.Empty, w.Block(w.Empty)), w.Block(w.Empty, head(jump))), 1},
		{"table out of the loop", w.Loop(w.Empty, w.Block(w.Empty, w.LocalGet(0), w.BrTable([]int{0}, 2))), 0},
	}
	for _, c := range cases {
		m := w.New()
		m.ExportFunc("run", m.Func(w.Sig("i32", ""), "i32", c.code))
		if got := wasmbin.Rebuilt(m.Bytes()); got != c.want {
			t.Errorf("%s: %d functions were rebuilt, want %d", c.name, got, c.want)
		}
		instrumented := instrument(t, m.Bytes(), options)
		if err := compiles(newRuntime(t, runtimeConfig()), m.Bytes()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := wasmbin.InspectOwn(instrumented, wasmbin.DefaultLimits()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Loops whose jumps nest deeper than is rebuilt still work: the innermost
// loop around takes the jump.
func TestDeeplyNestedJumps(t *testing.T) {
	t.Parallel()
	const parts = 60
	table := make([]int, parts)
	for i := range table {
		table[i] = i
	}
	code := w.Code(w.LocalGet(0), w.BrTable(table, parts-1))
	for part := range parts {
		// Each part of the second half jumps back once to its mirror image.
		body := w.Code(w.LocalGet(1), w.I64Const(int64(part+1)), w.Op(0x7c), w.LocalSet(1))
		if part >= parts/2 {
			body = w.Code(body, w.LocalGet(2), w.I64Const(1<<part), w.Op(0x83), w.Op(0x50), w.If(w.Empty,
				w.LocalGet(2), w.I64Const(1<<part), w.Op(0x84), w.LocalSet(2),
				w.I32Const(int32(parts-1-part)), w.LocalSet(0), w.Br(parts-part)))
		}
		code = w.Code(w.Block(w.Empty, code), body)
	}
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("i32", "i64"), "i64 i64", w.Loop(w.Empty, code), w.LocalGet(1)))
	want := plain(t, m.Bytes(), runtimeConfig())
	got := metered(t, m.Bytes(), newMeter(1000, plenty))
	for next := range uint64(parts + 1) {
		if a, b := mustCall(t, want, "run", next), mustCall(t, got, "run", next); a != b {
			t.Errorf("run(%d) = %d, want %d", next, b, a)
		}
	}
	if got := wasmbin.Rebuilt(m.Bytes()); got != 1 {
		t.Errorf("%d functions were rebuilt", got)
	}
}
