package wasmbin_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// addSeeds adds modules of every kind: whole ones, bombs and some of the corpus.
func addSeeds(f *testing.F) {
	for _, wasm := range [][]byte{nil, fullModule(), countModule(), fibModule(), bulkModule(), switchModule(), callTree(), thrower()} {
		f.Add(wasm)
	}
	for _, c := range forever {
		f.Add(c.build())
	}
	for _, b := range bombs() {
		if len(b.wasm) < 1000 {
			f.Add(b.wasm)
		}
	}
	if _, err := corpusDir(); err != nil {
		return
	}
	for i, m := range corpus(f) {
		if i%40 == 0 && len(m.wasm) < 4000 {
			f.Add(m.wasm)
		}
	}
}

// FuzzInspect: whatever the bytes, there is a module or an error with a place.
func FuzzInspect(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
		if (m == nil) != (err != nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if err == nil {
			return
		}
		e := err.(*wasmbin.Error)
		if e.Offset < 0 || e.Offset > len(wasm) || e.Section == "" || e.Message == "" {
			t.Errorf("error without a place: %v", e)
		}
	})
}

// FuzzInstrument: what is accepted can be written, is accepted again, and
// compiles when, and only when, the original does. One with exceptions may compile
// though the original does not, as an exnref is a v128, and the other way round
// when it looks whether one is null.
func FuzzInstrument(f *testing.F) {
	addSeeds(f)
	r := wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig())
	f.Cleanup(func() { r.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), options)
		if err != nil {
			return
		}
		if _, err := wasmbin.InspectOwn(i.Wasm, roomy()); err != nil {
			t.Errorf("what was written is refused: %v", err)
		}
		before, after := compiles(r, wasm), compiles(r, i.Wasm)
		if (before == nil) != (after == nil) && !wasmbin.HasExceptions(wasm) {
			t.Errorf("compiles: %v, after instrumentation: %v", before, after)
		}
		if err := compiles(r, stub(t, i.Wasm)); err != nil && after == nil {
			t.Errorf("the stub does not compile: %v", err)
		}
	})
}

// roomy are limits for what Instrument makes of a module within the default
// ones.
func roomy() wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	for _, n := range []*int{&l.ModuleBytes, &l.Types, &l.Functions, &l.Exports, &l.BodyBytes, &l.Locals, &l.Nesting, &l.Blocks, &l.LocalsTimesBlocks, &l.BranchTargets} {
		*n *= 20
	}
	l.FunctionWork, l.CompileWork = 100*l.FunctionWork, 100*l.CompileWork
	return l
}
