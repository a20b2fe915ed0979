package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// newRuntime returns a runtime that is closed with the test.
func newRuntime(t testing.TB, o sandbox.Options) *sandbox.Runtime {
	t.Helper()
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// load loads a module in a runtime of its own.
func load(t testing.TB, wasm []byte, functions ...sandbox.HostFunc) *sandbox.Module {
	t.Helper()
	return loadIn(t, newRuntime(t, sandbox.Options{Functions: functions}), wasm)
}

func loadIn(t testing.TB, r *sandbox.Runtime, wasm []byte) *sandbox.Module {
	t.Helper()
	m, err := r.Load(context.Background(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// guest is a module under construction with the imports the tests use most.
type guest struct {
	*w.Module
	length, read, write, fail int
}

// newGuest imports the bulk functions and has one page of memory.
func newGuest() guest {
	m := w.New()
	g := guest{Module: m}
	g.length = m.ImportFunc("skillet:host/v1", "input_length", w.Sig("", "i64"))
	g.read = m.ImportFunc("skillet:host/v1", "input_read", w.Sig("i32 i64 i32", "i32"))
	g.write = m.ImportFunc("skillet:host/v1", "output_write", w.Sig("i32 i32", ""))
	g.fail = m.ImportFunc("skillet:host/v1", "error_write", w.Sig("i32 i32 i32 i32", ""))
	return g
}

// tool exports code as a function without parameters that returns an i32.
func (g guest) tool(name string, code ...[]byte) guest {
	g.ExportFunc(name, g.Func(w.Sig("", "i32"), "i32 i32 i64", code...))
	return g
}

// memory gives the guest its memory. It comes after the imports.
func (g guest) memory(min uint32, max int) guest {
	g.Memory(min, max)
	g.ExportMemory("memory")
	return g
}

// zero ends a tool with success.
func zero() []byte { return w.I32Const(0) }

// tool is a module with one export named run.
func tool(code ...[]byte) []byte {
	return newGuest().memory(1, w.NoMax).tool("run", code...).Bytes()
}

// forever is a loop that only computes.
func forever() []byte {
	return w.Code(w.Loop(w.Empty, w.Br(0)), zero())
}

// call runs an export with small limits where the test sets none.
func call(t testing.TB, m *sandbox.Module, c sandbox.Call) (sandbox.Result, error) {
	t.Helper()
	if c.Export == "" {
		c.Export = "run"
	}
	return m.Call(context.Background(), c)
}

// mustCall is call for calls that are to succeed.
func mustCall(t testing.TB, m *sandbox.Module, c sandbox.Call) sandbox.Result {
	t.Helper()
	r, err := call(t, m, c)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	return r
}

// wantLimit checks that a call ended at a limit and says how to raise it.
func wantLimit(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	var limit *sandbox.LimitError
	if !errors.Is(err, kind) || !errors.As(err, &limit) {
		t.Fatalf("error %v, want a limit error that is %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

// echo copies its input to its output through linear memory.
func echo() []byte {
	g := newGuest().memory(2, w.NoMax)
	return g.tool("run",
		w.Call(g.length), w.Op(0xa7), w.LocalSet(0), // length as i32
		zero(), w.I64Const(0), w.LocalGet(0), w.Call(g.read), w.LocalSet(1),
		zero(), w.LocalGet(1), w.Call(g.write),
		zero()).Bytes()
}

// spin computes for ever.
func spin() []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", forever()))
	return m.Bytes()
}

// args pushes i32 constants.
func args(values ...int32) (code []byte) {
	for _, v := range values {
		code = append(code, w.I32Const(v)...)
	}
	return code
}

func TestEcho(t *testing.T) {
	t.Parallel()
	m := load(t, echo())
	for _, input := range []string{"", "x", "hello", strings.Repeat("abc", 20_000)} {
		r := mustCall(t, m, sandbox.Call{Input: []byte(input)})
		if string(r.Output) != input {
			t.Errorf("echo of %d bytes gave %d", len(input), len(r.Output))
		}
		if r.Fuel == 0 || r.PeakMemoryBytes != 2<<16 || r.Duration <= 0 || r.InstantiateTime <= 0 || r.InstantiateTime > r.Duration {
			t.Errorf("figures: %+v", r)
		}
	}
	if info := m.Info(); info.ABI != sandbox.ABIReactor || info.MemoryMinPages != 2 || len(info.Imports) != 4 ||
		!strings.HasPrefix(info.Digest, "sha256:") || len(info.Digest) != 71 || info.FromCache {
		t.Errorf("info: %+v", info)
	}
}
