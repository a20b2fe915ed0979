package wasmbin_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

var update = flag.Bool("update", false, "write golden files")

// stub is that of an instrumented module.
func stub(tb testing.TB, wasm []byte) []byte {
	tb.Helper()
	h, err := wasmbin.Stub(wasm)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// TestStubDeclaresTheSame compares what stubs and modules declare, and that no
// two stubs are alike.
func TestStubDeclaresTheSame(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, runtimeConfig())
	for seed := range uint64(100) {
		wasm := instrument(t, w.Random(rand.New(rand.NewPCG(seed, 3))), snapshotOptions)
		h := stub(t, wasm)
		want, err := wasmbin.InspectOwn(wasm, roomy())
		if err != nil {
			t.Fatal(err)
		}
		got, err := wasmbin.InspectOwn(h, roomy())
		if err != nil {
			t.Fatal(err)
		}
		got.CodeBytes, got.CompileWork, got.WritesTables = want.CodeBytes, want.CompileWork, want.WritesTables
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: the stub declares\n%+v, the module\n%+v", seed, got, want)
		}
		if err := compiles(r, h); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	one, two := countFrom(t, 1), countFrom(t, 2)
	if bytes.Equal(stub(t, one), stub(t, two)) || len(stub(t, one)) != len(stub(t, two)) {
		t.Error("modules that differ in a constant have the same stub, or declare something else")
	}
}

// countFrom is a module that differs from others like it in its code alone.
func countFrom(tb testing.TB, n int32) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(n)))
	return instrument(tb, m.Bytes(), options)
}

func TestStubOfNoModule(t *testing.T) {
	t.Parallel()
	whole := countFrom(t, 1)
	for n := range whole {
		h, err := wasmbin.Stub(whole[:n])
		var e *wasmbin.Error
		if err != nil && (!errors.As(err, &e) || h != nil) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for _, wasm := range []string{"", "\x00asm", "\x00asm\x01\x00\x00\x00\x0a", "\x00asm\x01\x00\x00\x00\x0a\x09\x01", "\x00asm\x01\x00\x00\x00\x0a\x02\xff\x7f"} {
		if _, err := wasmbin.Stub([]byte(wasm)); !errors.Is(err, wasmbin.ErrMalformed) {
			t.Errorf("%q: %v", wasm, err)
		}
	}
}

// TestRevision fails when Instrument makes something else of a module than it
// did, and Revision says that it does not. What -update writes is good for the
// Revision there is: change that first.
func TestRevision(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	list := [][]byte{fullModule(), countModule(), fibModule(), bulkModule(), switchModule(), callTree()}
	for seed := range uint64(300) {
		list = append(list, w.Random(rand.New(rand.NewPCG(seed, 4))))
	}
	for _, wasm := range list {
		i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), snapshotOptions)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%x\n%+v\n%+v\n%v\n%v\n", sha256.Sum256(i.Wasm), *i.Module, i.Globals, i.Start, i.Pinned)
		h.Write(stub(t, i.Wasm))
	}
	got := fmt.Sprintf("revision %d: %x\n", wasmbin.Revision, h.Sum(nil))
	path := filepath.Join("testdata", "revision.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("instrumented modules are not what they were (%v)\n got %swant %s"+
			"add one to Revision, so that nothing kept of earlier ones is used, and run this test with -update", err, got, want)
	}
}

// memoryOf is what an exported memory begins with, or nil when there is no instance.
func memoryOf(t *testing.T, wasm []byte) []byte {
	t.Helper()
	m, err := newRuntime(t, runtimeConfig()).Instantiate(t.Context(), wasm)
	if err != nil {
		return nil
	}
	b, _ := m.Memory().Read(0, m.Memory().Size())
	return b
}

// TestStubLeavesTheSameMemory joins data segments, and leaves those alone that code
// can name or that are not where a constant says.
func TestStubLeavesTheSameMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 6))
	for seed := range 300 {
		m := w.New()
		m.Memory(1, -1)
		m.ExportMemory("memory")
		at := 0
		for range 1 + r.IntN(40) {
			switch r.IntN(20) {
			case 0:
				at = r.IntN(wasmPage + 100) // anywhere, over another one, or outside
			case 1:
				at += 1 + r.IntN(1000)
			default:
				at += r.IntN(12)
			}
			data := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, r.IntN(30))
			m.Data(int32(at), data)
			at += len(data)
		}
		wasm := instrument(t, m.Bytes(), snapshotOptions)
		if want, got := memoryOf(t, wasm), memoryOf(t, stub(t, wasm)); !bytes.Equal(got, want) {
			t.Fatalf("module %d: the stub begins with another memory of %d bytes, want %d", seed, len(got), len(want))
		}
	}
}

// wasmPage is how much a memory of one page holds.
const wasmPage = 64 << 10

func TestStubJoinsData(t *testing.T) {
	t.Parallel()
	spread := func(n, step int, more func(m *w.Module)) []byte {
		m := w.New()
		m.Memory(200, -1)
		for i := range n {
			m.Data(int32(i*step), []byte("data"))
		}
		if more != nil {
			more(m)
		}
		return m.Bytes()
	}
	size := func(wasm []byte) int { return len(stub(t, wasm)) }
	if n := size(spread(10_000, 6, nil)); n > 10_000*6+200 {
		t.Errorf("segments that are close to each other: a stub of %d bytes", n)
	}
	if n := size(spread(10_000, 250, nil)); n > 3*10_000*11 {
		t.Errorf("segments that are far from each other became a stub of %d bytes", n)
	}
	named := func(m *w.Module) {
		m.PassiveData([]byte("x"))
		m.Func(w.Sig("", ""), "", w.I32Const(0), w.I32Const(0), w.I32Const(0), w.MemoryInit(0))
	}
	if n := size(spread(1000, 5, named)); n < 1000*7 {
		t.Errorf("segments that code can name were joined to a stub of %d bytes", n)
	}
}
