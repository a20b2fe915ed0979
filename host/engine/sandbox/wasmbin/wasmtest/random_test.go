package wasmtest_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// Random modules are valid, the same choices make the same module, and their
// calls end.
func TestRandom(t *testing.T) {
	t.Parallel()
	features := api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features))
	defer r.Close(context.Background())
	ended := 0
	for seed := range uint64(400) {
		wasm := wasmtest.Random(rand.New(rand.NewPCG(seed, 0)))
		if again := wasmtest.Random(rand.New(rand.NewPCG(seed, 0))); !bytes.Equal(wasm, again) {
			t.Fatalf("seed %d: two modules", seed)
		}
		m, err := r.CompileModule(t.Context(), wasm)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		ended += runs(t, r, m)
		m.Close(context.Background())
	}
	if ended < 300 {
		t.Errorf("only %d of 400 ended without a trap", ended)
	}
}

func runs(t *testing.T, r wazero.Runtime, c wazero.CompiledModule) int {
	m, err := r.InstantiateModule(t.Context(), c, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return 0
	}
	defer m.Close(context.Background())
	if _, err = m.ExportedFunction(wasmtest.RandomRun).Call(t.Context()); err != nil {
		return 0
	}
	return 1
}

func TestScriptMakesAModuleOfAnything(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\x00", "some bytes", "\xff\xff\xff\xff\xff\xff\xff"} {
		s := wasmtest.Script(text)
		if len(wasmtest.Random(&s)) == 0 {
			t.Errorf("%q: no module", text)
		}
	}
}
