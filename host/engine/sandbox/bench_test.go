package sandbox_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
)

// benchCase is one module and call to measure.
type benchCase struct {
	name string
	wasm func(testing.TB) []byte
	call sandbox.Call
}

func benchCases() []benchCase {
	own := func(wasm []byte) func(testing.TB) []byte { return func(testing.TB) []byte { return wasm } }
	shipped := func(file string) func(testing.TB) []byte {
		return func(b testing.TB) []byte { return extismModule(b, file) }
	}
	text := []byte(strings.Repeat("the quick brown fox ", 50))
	return []benchCase{
		{name: "reactor/echo-1KB", wasm: own(echo()), call: sandbox.Call{Export: "run", Input: text}},
		{name: "extism/rust-count_vowels-1KB", wasm: shipped("count_vowels.wasm"), call: sandbox.Call{Export: "count_vowels", Input: text}},
		{name: "extism/tinygo-replace-1KB", wasm: shipped("replace.wasm"), call: sandbox.Call{Export: "run_test", Input: text}},
		{name: "extism/haskell-hello", wasm: shipped("hello_haskell.wasm"), call: sandbox.Call{Export: "testing", Input: []byte("John")}},
		{name: "extism/go-std_command", wasm: shipped("std_command.wasm"), call: sandbox.Call{Export: "_start", Input: []byte("ben")}},
		{name: "wasi/go-json", wasm: func(b testing.TB) []byte {
			wasm, err := wasip1()
			if err != nil {
				b.Fatal(err)
			}
			return wasm
		}, call: sandbox.Call{Export: "_start", Input: []byte(`{"text":"one two three"}`)}},
	}
}

// BenchmarkCall is one call in a fresh instance: here with every limit on, and
// on the Extism SDK with none, with its timeout, and in an instance that is
// used again and again and keeps what calls leave behind.
func BenchmarkCall(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name+"/ours", func(b *testing.B) {
			m := load(b, c.wasm(b), extismFunctions()...)
			c.call.Env = vars{}
			for b.Loop() {
				mustCall(b, m, c.call)
			}
		})
		if !strings.HasPrefix(c.name, "extism") {
			continue
		}
		b.Run(c.name+"/reference", func(b *testing.B) { benchReference(b, c, 0) })
		b.Run(c.name+"/reference-timeout", func(b *testing.B) { benchReference(b, c, 30*time.Second) })
	}
}

func benchReference(b *testing.B, c benchCase, timeout time.Duration) {
	ctx := b.Context()
	m, err := reference.Load(ctx, c.wasm(b), reference.Options{Timeout: timeout})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close(ctx)
	for b.Loop() {
		if _, err := m.Call(ctx, c.call.Export, c.call.Input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is gate, instrumentation and compiler, or the cache instead of
// the compiler.
func BenchmarkLoad(b *testing.B) {
	for _, c := range benchCases() {
		for _, warm := range []bool{false, true} {
			name := c.name + "/cold"
			o := sandbox.Options{Functions: extismFunctions()}
			if warm {
				name = c.name + "/cached"
				o.CacheDir, o.CacheKey = filepath.Join(b.TempDir(), "c"), []byte("key")
			}
			b.Run(name, func(b *testing.B) {
				wasm := c.wasm(b)
				r := newRuntime(b, o)
				loadIn(b, r, wasm).Close(b.Context())
				b.SetBytes(int64(len(wasm)))
				for b.Loop() {
					m := loadIn(b, r, wasm)
					if m.Info().FromCache != warm {
						b.Fatalf("from cache: %v", !warm)
					}
					m.Close(b.Context())
				}
			})
		}
	}
}

// BenchmarkInstantiate is the part of a call before its export runs.
func BenchmarkInstantiate(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			m := load(b, c.wasm(b), extismFunctions()...)
			c.call.Env = vars{}
			var total time.Duration
			for b.Loop() {
				total += mustCall(b, m, c.call).InstantiateTime
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "instantiate-ns/op")
		})
	}
}

// BenchmarkHostCall is the way out of the guest and back, a thousand times.
func BenchmarkHostCall(b *testing.B) {
	m := load(b, hostLoop("nothing"), sandbox.HostFunc{Module: "test", Name: "nothing", Call: nothing})
	for b.Loop() {
		r, _ := call(b, m, sandbox.Call{Limits: sandbox.Limits{HostCalls: 1000}})
		if r.HostCalls != 1000 {
			b.Fatal(r.HostCalls)
		}
	}
}
