package wasmbin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// options is how the tests instrument unless they say otherwise.
var options = wasmbin.Options{MaxMemoryPages: 65_536, MaxTableElems: 10_000_000, Fuel: true}

// coreFeatures is wasmbin.Features in wazero's terms.
func coreFeatures() api.CoreFeatures {
	return api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst
}

func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(coreFeatures()).WithDebugInfoEnabled(false)
}

// corpusDir is the folder of wazero's integration tests, which hold the
// specification's test suite and modules found by fuzzing.
var corpusDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		return "", fmt.Errorf("find the wazero module: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test")
	_, err = os.Stat(filepath.Join(dir, "spectest"))
	return dir, err
})

// prove reports whether the long proofs run.
func prove() bool { return os.Getenv("SKILLET_PROVE") != "" }

type corpusModule struct {
	name string
	wasm []byte
}

// corpus returns every module of the corpus, or skips the test.
func corpus(tb testing.TB) []corpusModule {
	tb.Helper()
	dir, err := corpusDir()
	if err != nil {
		tb.Skipf("no corpus: wazero's sources with their test data are not in the module cache: %v", err)
	}
	var list []corpusModule
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".wasm" {
			return err
		}
		wasm, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		list = append(list, corpusModule{name, wasm})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// compiles reports whether wazero compiles a module, which a panic of its
// compiler also says no to.
func compiles(r wazero.Runtime, wasm []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, err := r.CompileModule(context.Background(), wasm)
	if err == nil {
		m.Close(context.Background())
	}
	return err
}

// TestCorpusAgreesWithWazero compares the gate with wazero over its corpus:
// what wazero compiles is accepted here or refused as unsupported or too large,
// never as malformed; and what is instrumented compiles when, and only when,
// the original did.
func TestCorpusAgreesWithWazero(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, runtimeConfig())
	original := newRuntime(t, runtimeConfig().WithCoreFeatures(coreFeatures()|experimental.CoreFeaturesExceptionHandling))
	count := map[string]int{}
	for _, m := range corpus(t) {
		count[compare(t, original, r, m)]++
	}
	t.Logf("%v", count)
	if count["both accept"] < 2500 {
		t.Errorf("only %d modules were accepted by both", count["both accept"])
	}
}

func compare(t *testing.T, original, r wazero.Runtime, m corpusModule) string {
	compileErr := compiles(original, m.wasm)
	i, err := wasmbin.Instrument(m.wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		return refused(t, m, err, compileErr)
	}
	instrumentedErr := compiles(r, i.Wasm)
	if (instrumentedErr == nil) != (compileErr == nil) {
		t.Errorf("%s: compiles: %v, after instrumentation: %v", m.name, compileErr, instrumentedErr)
	}
	if _, err := wasmbin.InspectOwn(i.Wasm, wasmbin.DefaultLimits()); err != nil {
		t.Errorf("%s: instrumented module is refused: %v", m.name, err)
	}
	if compileErr != nil {
		return "wazero refuses"
	}
	return "both accept"
}

func refused(t *testing.T, m corpusModule, err, compileErr error) string {
	var e *wasmbin.Error
	if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(m.wasm) {
		t.Errorf("%s: error without a place: %v", m.name, err)
	}
	switch {
	case compileErr != nil:
		return "both refuse"
	case errors.Is(err, wasmbin.ErrMalformed):
		t.Errorf("%s: wazero compiles it, the gate says: %v", m.name, err)
	}
	if prove() {
		t.Logf("%s: %v", m.name, err)
	}
	return "gate refuses"
}
