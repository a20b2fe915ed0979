package wasmbin_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// scripted is a module with much data, which starts with b, and a mutable global
// that starts with n.
func scripted(b byte, n int64, also func(*w.Module)) []byte {
	m := w.New()
	m.Memory(3, -1)
	g := m.Global(0x7e, true, w.Code(w.I64Const(n)))
	m.Global(0x7e, false, w.Code(w.I64Const(5)))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.GlobalGet(g), w.Op(0xa7), w.I32Const(0), w.Load(0x2d, 0), w.Op(0x6a)))
	if also != nil {
		also(m)
	}
	m.Data(0, bytes.Repeat([]byte{b}, 70<<10))
	return m.Bytes()
}

// Modules that differ in data and in what their globals start with have one
// skeleton, which declares what they do and compiles.
func TestSkeleton(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, runtimeConfig())
	skeleton := func(wasm []byte) []byte {
		t.Helper()
		s, ok := wasmbin.Skeleton(instrument(t, wasm, snapshotOptions))
		if !ok {
			t.Fatal("it has no skeleton")
		}
		return s
	}
	one, two := skeleton(scripted(1, 1, nil)), skeleton(scripted(2, -1<<62, nil))
	if !bytes.Equal(one, two) || len(one) > 10<<10 {
		t.Errorf("skeletons of %d and %d bytes", len(one), len(two))
	}
	other := bytes.Replace(scripted(1, 1, nil), []byte("\x03run\x00"), []byte("\x03jog\x00"), 1)
	if !bytes.Equal(skeleton(other), one) {
		t.Error("the name of an exported function makes another skeleton")
	}
	if larger := bytes.Replace(scripted(1, 1, nil), []byte("\x05\x03\x01\x00\x03"), []byte("\x05\x03\x01\x00\x04"), 1); !bytes.Equal(skeleton(larger), one) {
		t.Error("the size of the memory makes another skeleton")
	}
	passive := func(m *w.Module) { m.PassiveData([]byte("abc")) }
	uses := func(m *w.Module) {
		s := m.PassiveData([]byte("abc"))
		m.Func(w.Sig("", ""), "", w.I32Const(0), w.I32Const(0), w.I32Const(3), w.MemoryInit(s))
	}
	for name, wasm := range map[string][]byte{
		"another constant": scripted(1, 1, func(m *w.Module) { m.Func(w.Sig("", ""), "", w.I32Const(1), w.Drop()) }),
		"passive data":     scripted(1, 1, passive), "used passive data": scripted(1, 1, uses),
	} {
		s := skeleton(wasm)
		if bytes.Equal(s, one) && name != "passive data" {
			t.Errorf("%s: the skeleton is the same", name)
		}
		if err := compiles(r, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := compiles(r, one); err != nil {
		t.Error(err)
	}
}

func TestNoSkeleton(t *testing.T) {
	t.Parallel()
	small := w.New()
	small.Memory(1, -1)
	small.Data(0, []byte("abc"))
	for name, wasm := range map[string][]byte{
		"little data":         small.Bytes(),
		"a global of another": scripted(1, 1, func(m *w.Module) { m.Global(0x7f, true, w.Code(w.I32Const(1), w.I32Const(2), w.Op(0x6a))) }),
		"passive data behind active": scripted(1, 1, func(m *w.Module) {
			m.Data(0, []byte("x"))
			m.PassiveData([]byte("abc"))
		}),
	} {
		if _, ok := wasmbin.Skeleton(instrument(t, wasm, snapshotOptions)); ok {
			t.Errorf("%s: it has one", name)
		}
	}
}

func TestIsStub(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		wasm := instrument(t, w.Random(rand.New(rand.NewPCG(seed, 3))), snapshotOptions)
		if wasmbin.IsStub(wasm) || !wasmbin.IsStub(stub(t, wasm)) {
			t.Errorf("seed %d: module %v, stub %v", seed, wasmbin.IsStub(wasm), wasmbin.IsStub(stub(t, wasm)))
		}
	}
	m := w.New()
	m.Custom("skillet:stub", make([]byte, 32))
	if wasmbin.IsStub(instrument(t, m.Bytes(), snapshotOptions)) || wasmbin.IsStub(nil) {
		t.Error("a guest can pass for a stub")
	}
}

// FuzzSkeleton reads anything as an instrumented module, without harm.
func FuzzSkeleton(f *testing.F) {
	f.Add(instrument(f, scripted(1, 1, nil), snapshotOptions))
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x06\x06\x01\x7f\x01\x41\x00\x0b\x0b\x03\x01\x01\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if s, ok := wasmbin.Skeleton(wasm); ok && len(s) > len(wasm)+16 {
			t.Fatalf("%d bytes became %d", len(wasm), len(s))
		}
		wasmbin.IsStub(wasm)
	})
}
