package wasmlink_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// asking is a module whose tools ask the host for something with an empty request,
// and answer with the response.
func asking(t *testing.T) []byte {
	t.Helper()
	m, err := wasmlink.Assemble(`(module
		(import "skillet:host/v1" "http_request" (func $http (param i32 i32 i32 i32) (result i64)))
		(import "skillet:host/v1" "kv_get" (func $kv (param i32 i32 i32 i32) (result i64)))
		(import "skillet:host/v1" "fs_read" (func $fs (param i32 i32 i32 i32) (result i64)))
		(import "skillet:host/v1" "response_read" (func $read (param i32 i32)))
		(import "skillet:host/v1" "output_write" (func $write (param i32 i32)))
		(memory (export "memory") 1 1)
		(func $answer (param $both i64)
			(call $read (i32.const 4096) (i32.const 8192))
			(call $write (i32.const 4096) (i32.wrap_i64 (i64.shr_u (local.get $both) (i64.const 32)))))
		(func (export "http") (call $answer (call $http (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
		(func (export "kv") (call $answer (call $kv (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
		(func (export "fs") (call $answer (call $fs (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
		(func (export "both")
			(call $answer (call $http (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
			(call $answer (call $fs (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
			(call $answer (call $kv (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))`)
	if err != nil {
		t.Fatal(err)
	}
	return m.Encode()
}

func imports(t *testing.T, wasm []byte) []string {
	t.Helper()
	m, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range m.Imports {
		names = append(names, i.Module+" "+i.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// answer is what a tool of a module answers on a host that grants nothing.
func answer(t *testing.T, wasm []byte, export string) string {
	t.Helper()
	r, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	m, err := r.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	env := hostfn.NewEnv(hostfn.Settings{})
	defer env.Close()
	got, err := m.Call(t.Context(), sandbox.Call{Export: export, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Output)
}

// permissionOf is what the manifest lacks for each function of the module but one.
var permissionOf = map[string]string{"http_request": "network", "kv_get": "kv"}

func TestWhatIsDroppedIsRefused(t *testing.T) {
	t.Parallel()
	wasm := asking(t)
	narrowed, err := wasmlink.Narrow(wasm, true, func(name string) string { return permissionOf[name] })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"skillet:host/v1 fs_read", "skillet:host/v1 output_write", "skillet:host/v1 response_read"}
	if got := imports(t, narrowed); !slices.Equal(got, want) {
		t.Errorf("it imports %q", got)
	}
	again, err := wasmlink.Narrow(wasm, true, func(name string) string { return permissionOf[name] })
	if err != nil || !bytes.Equal(again, narrowed) {
		t.Errorf("the second time it is another module: %v", err)
	}
	call := func(export string) string { return answer(t, narrowed, export) }
	http := `{"error":{"kind":"denied","message":"http_request: the manifest does not ask for it; add network under security.permissions, and build again"}}`
	kv := strings.NewReplacer("http_request", "kv_get", "add network", "add kv").Replace(http)
	if got := strings.TrimRight(call("http"), " "); got != http {
		t.Errorf("http: %q", got)
	}
	if got := strings.TrimRight(call("kv"), " "); got != kv {
		t.Errorf("kv: %q", got)
	}
	host := call("fs")
	if !strings.Contains(host, `"error"`) || strings.Contains(host, "manifest") {
		t.Errorf("fs: %q, and that is not the host's answer", host)
	}
	if got := call("both"); !strings.HasPrefix(got, http) || !strings.Contains(got, host) || !strings.HasSuffix(strings.TrimRight(got, " "), kv) {
		t.Errorf("one after the other: %q", got)
	}
}

// TestWithoutManifest is what a script that is built alone is told.
func TestWithoutManifest(t *testing.T) {
	t.Parallel()
	narrowed, err := wasmlink.Narrow(asking(t), false, func(name string) string { return permissionOf[name] })
	if err != nil {
		t.Fatal(err)
	}
	got := answer(t, narrowed, "http")
	for _, want := range []string{"http_request: a script without a manifest can ask for nothing", "make a directory with one", "add network under security.permissions"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nand not %q", got, want)
		}
	}
	if len(got)%8 != 0 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestNothingToDrop(t *testing.T) {
	t.Parallel()
	wasm := asking(t)
	got, err := wasmlink.Narrow(wasm, true, func(string) string { return "" })
	if err != nil || !bytes.Equal(got, wasm) {
		t.Errorf("it was changed: %v", err)
	}
	if _, err := wasmlink.Narrow([]byte("no module"), true, func(string) string { return "kv" }); err == nil {
		t.Error("it is taken for a module")
	}
}
