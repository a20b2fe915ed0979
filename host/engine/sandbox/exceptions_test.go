//go:build linux || darwin

package sandbox_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// exceptionFrames is how deep exceptionRecursion goes.
const exceptionFrames = 3_000

// exceptionRecursion calls itself out of a try_table in each of its frames, and
// throws in the last. It sets a local in front of the call and returns it where it
// catches.
func exceptionRecursion() []byte {
	m := w.New()
	tag := m.Tag("")
	void := []byte{w.Empty}
	f := m.Func(w.Sig("i32", "i32"), "i32",
		w.LocalGet(0), w.Op(0x45), w.If(w.Empty, w.Throw(tag)),
		w.Block(w.Empty, w.TryTable(void, [][]byte{w.Catch(tag, 0)},
			w.I32Const(7), w.LocalSet(1), w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0), w.Return())),
		w.LocalGet(1))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(exceptionFrames), w.Call(f)))
	return m.Bytes()
}

// exceptionsStock runs it with wazero's own exceptions and one page of memory.
func exceptionsStock() {
	ctx := context.Background()
	features := api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features).WithMemoryLimitPages(1))
	m, err := r.Instantiate(ctx, exceptionRecursion())
	if err != nil {
		panic(err)
	}
	results, err := m.ExportedFunction("run").Call(ctx)
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	fmt.Println("ended:", results, err)
	if s.TotalAlloc > 200<<20 {
		fmt.Println("took more than 200 MB of the host")
	}
}

// TestHoleExceptions: wazero's compiler copies the whole stack at each try_table, so
// that a guest without memory takes gigabytes, and a handler sees locals as they
// were at the try_table. Here exceptions are branches.
func TestHoleExceptions(t *testing.T) {
	t.Parallel()
	out, _ := openHole(t, "exceptions", "", time.Minute)
	if !strings.Contains(out, "ended: [0] <nil>") || !strings.Contains(out, "took more than 200 MB") {
		t.Errorf("the hole is closed in wazero: %s", out)
	}
	m := load(t, exceptionReturns())
	for range 3 {
		mustCall(t, m, sandbox.Call{})
	}
}

// exceptionReturns is the same for the sandbox: run succeeds when what was
// caught is right.
func exceptionReturns() []byte {
	g := newGuest().memory(1, 1)
	tag := g.Tag("")
	self := g.fail + 1
	g.Func(w.Sig("i32", "i32"), "i32",
		w.LocalGet(0), w.Op(0x45), w.If(w.Empty, w.Throw(tag)),
		w.Block(w.Empty, w.TryTable([]byte{w.Empty}, [][]byte{w.Catch(tag, 0)},
			w.I32Const(7), w.LocalSet(1), w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(self), w.Return())),
		w.LocalGet(1))
	return g.tool("run", w.I32Const(exceptionFrames), w.Call(self), w.I32Const(7), w.Op(0x47)).Bytes()
}

// TestExceptionsAreReset ends calls by exceptions that nothing catches; the next
// finds the instance as new.
func TestExceptionsAreReset(t *testing.T) {
	t.Parallel()
	for _, s := range sandbox.Strategies() {
		g := newGuest().memory(1, w.NoMax)
		tag := g.Tag("i32")
		g.tool("run", zero(), w.Load(0x2d, 0), w.If(w.Empty, w.Unreachable()),
			zero(), w.I32Const(1), w.Store(0x3a, 0),
			w.Call(g.length), w.Op(0x50), w.Op(0x45), w.If(w.Empty, w.I32Const(5), w.Throw(tag)), zero())
		m := loadIn(t, newRuntime(t, sandbox.Options{Reset: s}), g.Bytes())
		for i := range 6 {
			got, err := call(t, m, sandbox.Call{Input: make([]byte, i%2)})
			if (err != nil) != (i%2 == 1) || s != sandbox.StrategyNone && i > 1 && !got.Pooled {
				t.Errorf("%s: call %d: %v, pooled %v", s, i, err, got.Pooled)
			}
		}
	}
}
