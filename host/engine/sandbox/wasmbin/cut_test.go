package wasmbin_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// parted is a module of which function 1 calls 2, and 3 to 5 are in the table.
const parted = `(module
  (import "env" "log" (func $log))
  (memory (export "memory") 1)
  (table 4 funcref)
  (elem (i32.const 0) $three $four $five $three)
  (func $one (export "one") (result i32) (call $two))
  (func $two (result i32) (i32.const 2))
  (func $three (result i32) (i32.const 3))
  (func $four (result i32) (call $log) (i32.const 4))
  (func $five (result i32) (i32.const 5))
  (func $six (param i32) (result i32) (call_indirect (result i32) (local.get 0)))
  (data (i32.const 8) "data"))`

func assembled(t *testing.T, text string) []byte {
	t.Helper()
	m, err := wasmlink.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	return m.Encode()
}

func TestCut(t *testing.T) {
	t.Parallel()
	wasm := assembled(t, parted)
	cutting := wasmbin.Cutting{
		Exports: []wasmbin.ExportedItem{{Name: "go", Index: 1}, {Name: "by", Index: 6}},
		Listed:  func(f uint32) bool { return f == 3 },
	}
	out, err := wasmbin.Cut(wasm, wasmbin.DefaultLimits(), cutting)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := wasmbin.Cut(wasm, wasmbin.DefaultLimits(), cutting); err != nil || !bytes.Equal(out, again) {
		t.Errorf("two are different, %v", err)
	}
	p, err := wasmbin.Parse(out, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, true, false, false, true} {
		if is := len(p.Functions[i].Code) > 2; is != want {
			t.Errorf("function %d: kept %v, want %v", i+1, is, want)
		}
	}
	ctx, r := context.Background(), interpreter(t)
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() {}).Export("log").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.ExportedFunction("go").Call(ctx); err != nil || got[0] != 2 {
		t.Errorf("what is called: %v, %v", got, err)
	}
	for slot, want := range []uint64{3, 0, 0, 3} {
		got, err := m.ExportedFunction("by").Call(ctx, uint64(slot))
		if want != 0 && (err != nil || got[0] != want) || want == 0 && err == nil {
			t.Errorf("slot %d: %v, %v", slot, got, err)
		}
	}
	if len(m.ExportedFunctionDefinitions()) != 2 || m.Memory() != nil && m.ExportedMemory("memory") != nil {
		t.Error("what was exported before is exported still")
	}
}

// A module of which all is wanted stays what it is; bytes that are none are refused.
func TestCutNothing(t *testing.T) {
	t.Parallel()
	wasm := assembled(t, parted)
	p, err := wasmbin.Parse(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	exports := append(p.Exports, wasmbin.ExportedItem{Name: "six", Index: 6})
	out, err := wasmbin.Cut(wasm, wasmbin.DefaultLimits(), wasmbin.Cutting{Exports: exports})
	if err != nil {
		t.Fatal(err)
	}
	p.Exports = exports
	if !bytes.Equal(out, p.Encode()) {
		t.Error("another module")
	}
	if _, err := wasmbin.Cut([]byte("no module"), wasmbin.DefaultLimits(), wasmbin.Cutting{}); err == nil {
		t.Error("bytes that are no module were cut")
	}
	l := wasmbin.DefaultLimits()
	l.Functions = 5
	if _, err := wasmbin.Cut(wasm, l, wasmbin.Cutting{}); err == nil || !strings.Contains(err.Error(), "functions") {
		t.Errorf("a module that is too large: %v", err)
	}
}

// Exceptions stay as they are: what throws and catches does so after a cut.
func TestCutKeepsExceptions(t *testing.T) {
	t.Parallel()
	m := w.New()
	tag := m.Tag("i32")
	throws := m.Func(w.Sig("", ""), "", w.I32Const(7), w.Throw(tag))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "",
		w.Block(0x7f, w.TryTable([]byte{0x40}, [][]byte{w.Catch(tag, 0)}, w.Call(throws)), w.I32Const(1))))
	m.Func(w.Sig("", ""), "", w.Unreachable())
	wasm := m.Bytes()
	out, err := wasmbin.Cut(wasm, wasmbin.DefaultLimits(), wasmbin.Cutting{Exports: []wasmbin.ExportedItem{{Name: "run", Index: 1}}})
	if err != nil || !wasmbin.HasExceptions(out) {
		t.Fatalf("exceptions are gone, %v", err)
	}
	lowered, err := wasmbin.Parse(out, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	r := interpreter(t)
	i, err := r.Instantiate(context.Background(), lowered.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := i.ExportedFunction("run").Call(context.Background()); err != nil || got[0] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}

// The digest of code is that of the code: data makes no difference, code does.
func TestCodeDigest(t *testing.T) {
	t.Parallel()
	of := func(text string) string { return wasmbin.CodeDigest(assembled(t, text)) }
	usual := of(parted)
	if of(strings.Replace(parted, `"data"`, `"other data"`, 1)) != usual {
		t.Error("other data")
	}
	for was, is := range map[string]string{"(i32.const 2))": "(i32.const 9))", `"log"`: `"ask"`} {
		if of(strings.Replace(parted, was, is, 1)) == usual {
			t.Errorf("%s in place of %s has the same digest", is, was)
		}
	}
	if nothing := wasmbin.CodeDigest(nil); nothing == usual || wasmbin.CodeDigest([]byte("\x00asm\x01\x00\x00\x00\x0a\xff\x01")) != nothing {
		t.Error("bytes that are no module")
	}
}
