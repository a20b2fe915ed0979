package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// scripted answers with its first byte of data plus what its global starts with,
// and, when asked by the export "active", with bytes of an active segment.
func scripted(first byte, start int32, names bool) []byte {
	m := w.New()
	m.Memory(3, -1)
	g := m.Global(0x7f, true, w.Code(w.I32Const(start)))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.GlobalGet(g), w.I32Const(0), w.Load(0x2d, 0), w.Op(0x6a)))
	if names {
		m.Func(w.Sig("", ""), "", w.I32Const(0), w.I32Const(0), w.I32Const(0), w.MemoryInit(0))
		m.PassiveData(nil)
	}
	m.Data(0, bytes.Repeat([]byte{first}, 70<<10))
	return m.Bytes()
}

// sizes compiles, and keeps how many bytes it was given each time, with those of
// stubs as zero.
func sizes(given *[]int) compilerFunc {
	return func(ctx context.Context, wasm []byte) (sandbox.Code, error) {
		n := len(wasm)
		if wasmbin.IsStub(wasm) {
			n = 0
		}
		*given = append(*given, n)
		return sandbox.CompileCode(ctx, wasm, 1)
	}
}

// Programs that differ in their data alone are compiled once, whatever is in the
// data, and each answers from its own.
func TestSharedCode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	var given []int
	answer := func(wasm []byte, want uint32) sandbox.Info {
		t.Helper()
		r := newRuntime(t, sandbox.Options{CacheDir: dir, CacheKey: []byte("key"), Compiler: sizes(&given)})
		m := loadIn(t, r, wasm)
		if got, _ := call(t, m, sandbox.Call{}); got.ExitCode != want {
			t.Errorf("answer %d, want %d", got.ExitCode, want)
		}
		return m.Info()
	}
	answer(scripted(1, 10, false), 11)
	if len(given) != 2 || given[0] == 0 || given[0] > 10<<10 || given[1] != 0 {
		t.Fatalf("the first was compiled as %v bytes, want a skeleton and a stub", given)
	}
	answer(scripted(2, 20, false), 22)
	answer(scripted(3, -1, false), 2)
	if len(given) != 4 || given[2] != 0 || given[3] != 0 {
		t.Errorf("the others were compiled as %v bytes, want their stubs alone", given[2:])
	}
	if info := answer(scripted(2, 20, false), 22); !info.FromCache || len(given) != 4 {
		t.Errorf("what is kept was compiled again: %v", given)
	}
	// What is kept of any of them is worth nothing when a byte of it is another.
	files, err := filepath.Glob(filepath.Join(dir, "packed-*", "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	given = nil
	if info := answer(scripted(2, 20, false), 22); info.FromCache || len(given) != 2 || given[0] == 0 {
		t.Errorf("damaged: compiled as %v bytes", given)
	}
}

// The machine code of a module is that of its skeleton, to the byte.
func TestSkeletonHasTheSameCode(t *testing.T) {
	t.Parallel()
	for _, wasm := range [][]byte{scripted(1, 10, false), scripted(9, -5, true)} {
		made, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), wasmbin.Options{Fuel: true, Snapshot: true, MaxMemoryPages: 1 << 16, MaxTableElems: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		skeleton, ok := wasmbin.Skeleton(made.Wasm)
		if !ok {
			t.Fatal("it has no skeleton")
		}
		var code [2]sandbox.Code
		for i, b := range [][]byte{made.Wasm, skeleton} {
			if code[i], err = sandbox.CompileCode(t.Context(), b, 1); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(code[0].Bytes, code[1].Bytes) || code[0].Name == code[1].Name {
			t.Errorf("%d and %d bytes of code, names %.8s and %.8s", len(code[0].Bytes), len(code[1].Bytes), code[0].Name, code[1].Name)
		}
	}
}
