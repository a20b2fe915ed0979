package wasmbin_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// withOwnTags makes the tags that a module imports tags of its own, which the
// gate takes.
func withOwnTags(wasm []byte) []byte {
	var tags [][]byte
	out := slices.Clone(wasm[:8])
	for rest := wasm[8:]; len(rest) > 0; {
		id := rest[0]
		var content []byte
		content, rest = vector(rest[1:])
		switch id {
		case 2:
			content, tags = withoutTags(content)
		case 13:
			n, k := binary.Uvarint(content)
			content = slices.Concat(w.U32(uint32(n)+uint32(len(tags))), slices.Concat(tags...), content[k:])
		}
		out = append(out, w.Section(id, content)...)
	}
	return out
}

// vector splits a vector of bytes from what is behind it.
func vector(b []byte) (content, rest []byte) {
	n, k := binary.Uvarint(b)
	return b[k : k+int(n)], b[k+int(n):]
}

// withoutTags takes tags out of an import section of functions and tags.
func withoutTags(section []byte) (content []byte, tags [][]byte) {
	n, k := binary.Uvarint(section)
	rest := section[k:]
	kept := uint32(0)
	for range n {
		from := rest
		_, rest = vector(rest)
		_, rest = vector(rest)
		if rest[0] == w.KindTag {
			tags = append(tags, rest[1:3])
			rest = rest[3:]
			continue
		}
		rest = rest[2:]
		content = append(content, from[:len(from)-len(rest)]...)
		kept++
	}
	return append(w.U32(kept), content...), tags
}

// thrower is a module of a function f(i32) i32 in which much is thrown: g
// recurses as often as its parameter says and throws the depth, every other frame
// catches all and throws it again, and f catches it by its tag and adds to it a
// local that was set since the try_table began.
func thrower() []byte {
	m := w.New()
	tag := m.Tag("i32")
	other := m.Tag("i32")
	exn := w.U32(uint32(m.Type(w.Sig("", "exnref"))))
	i32 := []byte{w.I32}
	g := m.Func(w.Sig("i32", "i32"), "i32 exnref",
		w.LocalGet(0), w.Op(0x45), w.If(w.Empty, w.I32Const(40), w.Throw(tag)),
		w.LocalGet(0), w.I32Const(1), w.Op(0x71), w.If(w.Empty, w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0), w.Return()),
		w.Op(0x02), exn,
		w.TryTable(i32, [][]byte{w.Catch(other, 1), w.CatchAllRef(0)}, w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0)),
		w.Return(), w.Op(0x0b),
		w.LocalSet(2), w.LocalGet(2), w.ThrowRef())
	_ = g
	f := m.Func(w.Sig("i32", "i32"), "i32",
		w.Op(0x02), i32,
		w.TryTable([]byte{w.Empty}, [][]byte{w.Catch(tag, 0)},
			w.TryTable([]byte{w.Empty}, nil, w.Op(0x01)),
			w.I32Const(2), w.LocalSet(1), w.LocalGet(0), w.Call(0), w.Drop()),
		w.I32Const(-1), w.Op(0x0b),
		w.LocalGet(1), w.Op(0x6a))
	m.ExportFunc("f", f)
	m.ExportFunc("g", g)
	return m.Bytes()
}

// TestExceptions runs what one compiler of wazero does wrong and another takes
// gigabytes for: locals that were set behind a try_table, one without clauses, and
// recursion with try_tables. Fuel is the same for every slice, and the features
// of the runtime are those that the host enables.
func TestExceptions(t *testing.T) {
	t.Parallel()
	used := int64(-1)
	for _, slice := range []int64{1, 100, 1 << 40} {
		g := metered(t, thrower(), newMeter(slice, plenty))
		for _, depth := range []uint64{0, 1, 2, 3, 10_000} {
			got, err := g.ExportedFunction("f").Call(t.Context(), depth)
			if err != nil || got[0] != 42 {
				t.Fatalf("f(%d): %v, %v", depth, got, err)
			}
		}
		if used >= 0 && g.used() != used {
			t.Errorf("slice %d used %d, another %d", slice, g.used(), used)
		}
		used = g.used()
		if _, err := g.ExportedFunction("g").Call(t.Context(), 3); cause(err) != "wasm error: unreachable" {
			t.Errorf("what nothing catches: %v", err)
		}
		if got, err := g.ExportedFunction("f").Call(t.Context(), 3); err != nil || got[0] != 42 {
			t.Errorf("after a trap: %v, %v", got, err)
		}
	}
}

// A recursion that ends by an exception is stopped as any other.
func TestExceptionsAreStopped(t *testing.T) {
	t.Parallel()
	g := metered(t, thrower(), newMeter(1_000, 100_000))
	if _, err := g.ExportedFunction("f").Call(t.Context(), 1<<30); err == nil || !strings.Contains(err.Error(), errOutOfFuel.Error()) {
		t.Errorf("%v", err)
	}
	if g.used() > 110_000 {
		t.Errorf("used %d", g.used())
	}
}

// What is instrumented has the exports of the original, and nothing of
// exceptions but numbers.
func TestExceptionsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	i, err := wasmbin.Instrument(thrower(), wasmbin.DefaultLimits(), snapshotOptions)
	if err != nil {
		t.Fatal(err)
	}
	if len(i.Pinned) > 0 || len(i.Globals) != 2 {
		t.Errorf("pinned by %v, globals %v", i.Pinned, i.Globals)
	}
	m := w.New()
	m.Global(w.ExnRef, true, w.Op(0xd0, w.ExnRef))
	if i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), snapshotOptions); err != nil || len(i.Pinned) != 1 {
		t.Errorf("a global of an exception: %v", err)
	}
	p, err := wasmbin.Parse(thrower(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := compiles(newRuntime(t, runtimeConfig()), p.Encode()); err != nil {
		t.Error(err)
	}
}

// Limits hold for what a module becomes.
func TestExceptionsWithinLimits(t *testing.T) {
	t.Parallel()
	m := w.New()
	tag := m.Tag("")
	m.Func(w.Sig("", ""), "", w.Throw(tag))
	calls := slices.Repeat(w.Call(0), 12_000)
	m.Func(w.Sig("", ""), "", calls)
	l := wasmbin.DefaultLimits()
	_, err := wasmbin.Inspect(m.Bytes(), l)
	if err == nil || !strings.Contains(err.Error(), "with its exceptions written as branches") || !strings.Contains(err.Error(), "work") {
		t.Errorf("%v", err)
	}
}

// interpreted is a runtime that knows exceptions and is right about them.
func interpreted(tb testing.TB) wazero.Runtime {
	return newRuntime(tb, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(coreFeatures()|experimental.CoreFeaturesExceptionHandling))
}

// TestRandomExceptionsBehaveTheSame compares random modules that throw with
// what wazero's interpreter makes of them.
func TestRandomExceptionsBehaveTheSame(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	d.plain, d.interpreted = interpreted(t), true
	n := uint64(40)
	if prove() {
		n = 3_000
	}
	first := rand.Uint64()
	for seed := first; seed < first+n; seed++ {
		d.check(t, w.RandomThrowing(rand.New(rand.NewPCG(seed, 0))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzRandomExceptions is the same with modules of a fuzzer's choice.
func FuzzRandomExceptions(f *testing.F) {
	addScripts(f, 500)
	d := newDiffer(f)
	d.plain, d.interpreted = interpreted(f), true
	f.Fuzz(func(t *testing.T, script []byte) {
		s := w.Script(script)
		d.check(t, w.RandomThrowing(&s))
	})
}

// TestCompiledExceptions runs modules that LLVM made of C++, and those by which
// wazero tests its own exceptions.
func TestCompiledExceptions(t *testing.T) {
	t.Parallel()
	dir, err := corpusDir()
	if err != nil {
		t.Skipf("no corpus: %v", err)
	}
	for _, c := range []struct {
		file string
		want map[string]int32
	}{
		{"../../experimental/testdata/cpp_exceptions.wasm", map[string]int32{
			"test_no_throw": 42, "test_catch_specific": -1, "test_catch_base": 1, "test_rethrow": -42}},
		{"engine/testdata/eh_cross_callnative.wasm", map[string]int32{"test_cross_frame_catch": 1, "test_rethrow_cross_frame": 2}},
		{"engine/testdata/eh_pdfium.wasm", map[string]int32{"test_one_level_rethrow": 1, "test_two_level_rethrow": 1}},
		{"engine/testdata/eh_br_orphan.wasm", map[string]int32{"test": 1}},
		{"engine/testdata/eh_br_stale_handler.wasm", map[string]int32{"test": 1}},
	} {
		wasm, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		g := metered(t, wasm, newMeter(1_000, plenty))
		if start := g.ExportedFunction("_initialize"); start != nil {
			if _, err := start.Call(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range c.want {
			got, err := g.ExportedFunction(name).Call(t.Context())
			if err != nil || int32(got[0]) != want {
				t.Errorf("%s: %s: %v, %v, want %d", c.file, name, got, err, want)
			}
		}
	}
}
