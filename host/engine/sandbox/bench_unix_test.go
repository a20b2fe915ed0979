//go:build unix

package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// BenchmarkKept is what each new process does with a module whose machine code is kept:
// a runtime, the module out of the cache, and one call. cpu-ns/op is the time of all
// processors, kept-bytes what is on disk of the module.
func BenchmarkKept(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			wasm := c.wasm(b)
			c.call.Env = vars{}
			o := sandbox.Options{CacheDir: filepath.Join(b.TempDir(), "c"), CacheKey: []byte("key"), Functions: extismFunctions()}
			startOnce(b, o, wasm, c.call)
			kept := keptBytes(b, o.CacheDir)
			begin := processorTime(b)
			for b.Loop() {
				if !startOnce(b, o, wasm, c.call) {
					b.Fatal("the module was compiled")
				}
			}
			b.ReportMetric(float64(processorTime(b)-begin)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(kept), "kept-bytes")
		})
	}
}

// startOnce reports whether the module came out of the cache.
func startOnce(b *testing.B, o sandbox.Options, wasm []byte, c sandbox.Call) bool {
	r, err := sandbox.New(b.Context(), hclog.NewNullLogger(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close(context.Background())
	m := loadIn(b, r, wasm)
	mustCall(b, m, c)
	return m.Info().FromCache
}

// keptBytes is what the files in a directory hold together.
func keptBytes(b *testing.B, dir string) (n int64) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// processorTime is what this process has taken of all processors.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
