package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// BenchmarkWorker is what the second wall costs: the same calls here and in a
// worker, the same compilation, and the making of a process.
func BenchmarkWorker(b *testing.B) {
	inside, outside := both(b, reactor(), hostFunctions())
	for _, size := range []int{100, 10_000, 100_000} {
		c := sandbox.Call{Export: "echo", Input: []byte(strings.Repeat("x", size))}
		name := map[int]string{100: "100B", 10_000: "10kB", 100_000: "100kB"}[size]
		b.Run("call/echo-"+name+"/inside", func(b *testing.B) { benchCall(b, inside, c) })
		b.Run("call/echo-"+name+"/worker", func(b *testing.B) { benchCall(b, outside, c) })
	}
	c := sandbox.Call{Export: "answer"}
	b.Run("call/host-function/inside", func(b *testing.B) { benchCall(b, inside, c) })
	b.Run("call/host-function/worker", func(b *testing.B) { benchCall(b, outside, c) })
	b.Run("spawn", benchSpawn)
	b.Run("compile", benchCompile)
}

func benchCall(b *testing.B, m caller, c sandbox.Call) {
	b.SetBytes(int64(len(c.Input)))
	for b.Loop() {
		if _, err := m.Call(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// benchSpawn makes processes that are within their walls, and ends them.
func benchSpawn(b *testing.B) {
	p := newPool(b, Settings{})
	for b.Loop() {
		p.drop(within(b, p, 512<<20))
	}
}

// benchCompile compiles a small module, and with skills/*/main.wasm there the
// largest of them.
func benchCompile(b *testing.B) {
	cases := map[string][]byte{"small": answers(1), "3000-operations-x400": slow()}
	files, _ := filepath.Glob("../../../../skills/*/main.wasm")
	largest := 0
	for _, f := range files {
		if wasm, err := os.ReadFile(f); err == nil && len(wasm) > largest {
			largest = len(wasm)
			cases["largest-skill"] = wasm
		}
	}
	p := newPool(b, Settings{})
	for name, wasm := range cases {
		b.Run(name+"/inside", func(b *testing.B) {
			for b.Loop() {
				if _, err := sandbox.CompileCode(b.Context(), wasm, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/worker", func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Compile(b.Context(), wasm); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
