package wasmbin_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// goGuest is testdata/compute, compiled.
var goGuest = sync.OnceValues(func() ([]byte, error) {
	return w.BuildGo("host/engine/sandbox/wasmbin/testdata/compute", "-buildmode=c-shared")
})

// rustGuest is testdata/rust/compute.rs, compiled.
var rustGuest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "compute")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "compute.wasm")
	cmd := exec.Command("rustc", "--edition", "2021", "--target", "wasm32-unknown-unknown", "-O",
		"--crate-type", "cdylib", "-o", out, "testdata/rust/compute.rs")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
})

// workload is one call of a guest's export.
type workload struct {
	name, export string
	wasm         func(testing.TB) []byte
	arg          uint64
}

func workloads() []workload {
	built := func(guest func() ([]byte, error)) func(testing.TB) []byte {
		return func(tb testing.TB) []byte {
			wasm, err := guest()
			if err != nil {
				tb.Skipf("the guest does not build here: %v", err)
			}
			return wasm
		}
	}
	compute, rust := built(goGuest), built(rustGuest)
	hand := func(build func() []byte) func(testing.TB) []byte {
		return func(testing.TB) []byte { return build() }
	}
	return []workload{
		{"loop", "run", hand(countModule), 1_000_000},
		{"fib", "run", hand(fibModule), 25},
		{"go/sha256", "sha256", compute, 5},
		{"go/sort", "sort", compute, 1},
		{"go/matrix", "matrix", compute, 20},
		{"go/json", "json", compute, 1},
		{"go/regex", "regex", compute, 1},
		{"rust/fib", "fib", rust, 22},
		{"rust/sieve", "sieve", rust, 5},
		{"rust/sha256", "sha256", rust, 5},
		{"rust/sort", "sort", rust, 5},
		{"rust/matrix", "matrix", rust, 20},
		{"rust/json", "json", rust, 20},
		{"rust/regex", "regex", rust, 5},
	}
}

// benchCache keeps what the benchmarks compile, because they run it often.
var benchCache = sync.OnceValue(wazero.NewCompilationCache)

// reactor instantiates a module with what a Go program imports.
func reactor(tb testing.TB, wasm []byte, m *meter) api.Module {
	tb.Helper()
	r := newRuntime(tb, runtimeConfig().WithCompilationCache(benchCache()))
	wasi_snapshot_preview1.MustInstantiate(tb.Context(), r)
	_, err := r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithFunc(m.tick).Export(wasmbin.TickName).Instantiate(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(tb.Context(), wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	return mod
}

// BenchmarkFuel compares guests as they are with the same under fuel. The fuel
// row says how many times the time of the plain one it takes: the best of some
// calls of each in turn, so that what else the machine does reaches both.
func BenchmarkFuel(b *testing.B) {
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			wasm := w.wasm(b)
			plain := reactor(b, wasm, nil).ExportedFunction(w.export)
			fuel := reactor(b, instrument(b, wasm, options), newMeter(1_000_000, plenty)).ExportedFunction(w.export)
			b.Run("plain", func(b *testing.B) { benchWork(b, plain, w.arg) })
			b.Run("fuel", func(b *testing.B) {
				benchWork(b, fuel, w.arg)
				b.ReportMetric(ratio(b, fuel, plain, w.arg), "x-plain")
			})
		})
	}
}

func benchWork(b *testing.B, f api.Function, arg uint64) {
	for b.Loop() {
		timed(b, f, arg)
	}
}

// ratio compares the best times of two functions that are called in turn.
func ratio(b *testing.B, f, g api.Function, arg uint64) float64 {
	best := [2]time.Duration{time.Hour, time.Hour}
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		best[0] = min(best[0], timed(b, f, arg))
		best[1] = min(best[1], timed(b, g, arg))
	}
	return float64(best[0]) / float64(best[1])
}

func timed(b *testing.B, f api.Function, arg uint64) time.Duration {
	b.Helper()
	start := time.Now()
	if _, err := f.Call(context.Background(), arg); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
