package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// nested is a module with so many blocks within each other.
func nested(n int) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", bytes.Repeat([]byte{0x02, 0x40}, n), bytes.Repeat([]byte{0x0b}, n), w.I32Const(3)))
	return m.Bytes()
}

// TestModuleFactor refuses a module that passes a limit and says what accepts it;
// with that it runs, and what was kept of it is good for that factor alone.
func TestModuleFactor(t *testing.T) {
	t.Parallel()
	deep := nested(2*wasmbin.DefaultLimits().Nesting + 100)
	dir := filepath.Join(t.TempDir(), "c")
	strict := newRuntime(t, sandbox.Options{CacheDir: dir})
	wide := newRuntime(t, sandbox.Options{CacheDir: dir, ModuleFactor: 3})
	for range 2 {
		_, err := strict.Load(t.Context(), deep)
		var limit *sandbox.ModuleLimitError
		if !errors.As(err, &limit) || limit.Needs != 3 || !errors.Is(err, sandbox.ErrRefused) || !errors.Is(err, wasmbin.ErrTooLarge) ||
			!strings.Contains(err.Error(), "nests blocks more than 4096 deep") || !strings.Contains(err.Error(), "the setting module_limit_factor 3 accepts it") {
			t.Errorf("usual limits: %v", err)
		}
		if r, err := loadIn(t, wide, deep).Call(t.Context(), sandbox.Call{Export: "run"}); r.ExitCode != 3 {
			t.Errorf("three times those: %d, %v", r.ExitCode, err)
		}
	}
	_, err := strict.Load(t.Context(), nested(17*wasmbin.DefaultLimits().Nesting))
	if err == nil || strings.Contains(err.Error(), "module_limit_factor") {
		t.Errorf("more than any factor accepts: %v", err)
	}
	if _, err := sandbox.New(t.Context(), nil, sandbox.Options{ModuleFactor: 17}); err == nil {
		t.Error("a factor of 17 was accepted")
	}
}

// TestLarger takes a module past the usual limits whose code is known, with any data, and
// no other.
func TestLarger(t *testing.T) {
	t.Parallel()
	deep := nested(wasmbin.DefaultLimits().Nesting + 100)
	known := map[string]int{wasmbin.CodeDigest(deep): 2}
	r := newRuntime(t, sandbox.Options{Larger: known})
	if r, err := loadIn(t, r, deep).Call(t.Context(), sandbox.Call{Export: "run"}); r.ExitCode != 3 {
		t.Errorf("known code: %d, %v", r.ExitCode, err)
	}
	if _, err := r.Load(t.Context(), nested(wasmbin.DefaultLimits().Nesting+101)); !errors.Is(err, wasmbin.ErrTooLarge) {
		t.Errorf("other code: %v", err)
	}
	far := nested(3 * wasmbin.DefaultLimits().Nesting)
	r = newRuntime(t, sandbox.Options{Larger: map[string]int{wasmbin.CodeDigest(far): 2}})
	if _, err := r.Load(t.Context(), far); !errors.Is(err, wasmbin.ErrTooLarge) {
		t.Errorf("known code that needs more: %v", err)
	}
}

// TestCompileTime names the setting when a compilation takes too long, and does not
// count the wait for others.
func TestCompileTime(t *testing.T) {
	t.Parallel()
	err := sandbox.CompileTimeError(time.Second)
	for _, want := range []error{sandbox.ErrCompile, context.DeadlineExceeded} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if errors.Is(err, sandbox.ErrTime) || err.Error() != "compilation time limit of 1s reached (raise it with compile_timeout_seconds)" {
		t.Errorf("%v", err)
	}
	r := newRuntime(t, sandbox.Options{CompileTime: time.Nanosecond})
	if _, err := r.Load(t.Context(), echo()); !errors.Is(err, sandbox.ErrCompile) || !strings.Contains(err.Error(), "compile_timeout_seconds") {
		t.Errorf("load: %v", err)
	}
}
