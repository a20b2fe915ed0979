package wasmbin_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// outcome is what can be seen of a random module's calls from outside.
type outcome struct {
	results []string // of instantiation and each call: values or trap
	memory  uint32   // checksum
	globals []uint64
}

func (o outcome) equal(p outcome) bool {
	return slices.Equal(o.results, p.results) && o.memory == p.memory && slices.Equal(o.globals, p.globals)
}

// overflows reports whether a call ran out of stack.
func (o outcome) overflows() bool {
	return slices.ContainsFunc(o.results, func(s string) bool { return strings.Contains(s, "stack overflow") })
}

// differ runs random modules in several forms.
type differ struct {
	plain, fuel wazero.Runtime
	interpreter wazero.Runtime // with fuel
	interpreted bool           // plain is an interpreter, which takes fewer frames
	meter       meter
}

func newDiffer(tb testing.TB) *differ {
	d := &differ{
		plain: wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig()),
		fuel:  wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig()),
		interpreter: wazero.NewRuntimeWithConfig(context.Background(),
			wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(coreFeatures())),
	}
	for _, r := range []wazero.Runtime{d.fuel, d.interpreter} {
		_, err := r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
			WithFunc(func(ctx context.Context, m api.Module) { d.meter.tick(ctx, m) }).
			Export(wasmbin.TickName).Instantiate(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		d.plain.Close(context.Background())
		d.fuel.Close(context.Background())
		d.interpreter.Close(context.Background())
	})
	return d
}

// run calls the module a few times, and its start function, where that was
// exported, before.
func run(ctx context.Context, tb testing.TB, r wazero.Runtime, wasm []byte, start string) (o outcome, mod api.Module) {
	tb.Helper()
	mod, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
	if err == nil && start != "" {
		_, err = mod.ExportedFunction(start).Call(ctx)
		if err != nil {
			err = fmt.Errorf("start function[%s] failed: %w", start, err)
		}
	}
	if err != nil {
		return outcome{results: []string{startCause(err)}}, mod
	}
	for range 3 {
		got, err := mod.ExportedFunction(w.RandomRun).Call(ctx)
		o.results = append(o.results, fmt.Sprint(got, trap(cause(err))))
	}
	if m := mod.ExportedMemory(w.RandomMemory); m != nil {
		b, _ := m.Read(0, m.Size())
		o.memory = crc32.ChecksumIEEE(b)
	}
	for i := range 16 {
		if g := mod.ExportedGlobal(fmt.Sprint(w.RandomGlobal, i)); g != nil && isNumber(g.Type()) {
			o.globals = append(o.globals, g.Get())
		}
	}
	return o, mod
}

func isNumber(t api.ValueType) bool {
	return t == api.ValueTypeI32 || t == api.ValueTypeI64 || t == api.ValueTypeF32 || t == api.ValueTypeF64
}

// startCause is the reason a start function failed, without its number.
func startCause(err error) string {
	text := cause(err)
	if i := slices.Index([]byte(text), ']'); i >= 0 {
		text = text[i+1:]
	}
	if start, ok := strings.CutPrefix(text, " failed: "); ok {
		text = " failed: " + trap(start)
	}
	return text
}

// check compares a module with its instrumented forms.
func (d *differ) check(tb testing.TB, wasm []byte) {
	tb.Helper()
	ctx := context.Background()
	want, plain := run(ctx, tb, d.plain, wasm, "")
	if plain != nil {
		plain.Close(ctx)
	}
	if d.interpreted && want.overflows() {
		return
	}
	used := int64(-1)
	for _, slice := range []int64{1, 1_000, 1 << 40} {
		got, fuel := d.metered(tb, wasm, options, slice)
		if !got.equal(want) {
			tb.Errorf("slice %d: got %+v, want %+v", slice, got, want)
		}
		if used >= 0 && fuel != used {
			tb.Errorf("slice %d used %d, another %d", slice, fuel, used)
		}
		used = fuel
	}
	got, fuel := d.metered(tb, wasm, snapshotOptions, 1_000)
	if !got.equal(want) {
		tb.Errorf("for a snapshot: got %+v, want %+v", got, want)
	}
	if fuel != used && len(got.results) > 1 {
		tb.Errorf("for a snapshot: used %d, otherwise %d", fuel, used)
	}
	d.checkCharge(tb, wasm, want, used)
}

// checkCharge checks that fuel is never less than the sum of the instructions
// that ran.
func (d *differ) checkCharge(tb testing.TB, wasm []byte, want outcome, used int64) {
	tb.Helper()
	exactly, err := wasmbin.InstrumentExactly(wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		tb.Fatal(err)
	}
	d.meter = *newMeter(1_000, plenty)
	got, mod := run(context.Background(), tb, d.fuel, exactly, "")
	if mod == nil {
		return
	}
	defer mod.Close(context.Background())
	if !got.equal(want) {
		d.checkInterpreted(tb, exactly, want)
		return
	}
	if g := (&guest{mod, &d.meter}); used < g.used() {
		tb.Errorf("charged %d for %d units of work", used, g.used())
	}
}

// checkInterpreted blames the engine's compiler for a form of a module that
// does something else than the module: its interpreter must not. Recursion is
// too deep for that sooner.
func (d *differ) checkInterpreted(tb testing.TB, wasm []byte, want outcome) {
	tb.Helper()
	d.meter = *newMeter(1_000, plenty)
	got, mod := run(context.Background(), tb, d.interpreter, wasm, "")
	if mod != nil {
		defer mod.Close(context.Background())
	}
	if !got.equal(want) && !got.overflows() {
		tb.Errorf("charged exactly: got %+v, want %+v", got, want)
	}
}

// metered runs an instrumented module and returns the fuel it used, 0 when it
// did not come to life.
func (d *differ) metered(tb testing.TB, wasm []byte, o wasmbin.Options, slice int64) (outcome, int64) {
	tb.Helper()
	i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, _ := withMaxPages(context.Background(), i)
	d.meter = *newMeter(slice, plenty)
	got, mod := run(ctx, tb, d.fuel, i.Wasm, i.Start)
	if mod == nil {
		return got, 0
	}
	defer mod.Close(ctx)
	g := &guest{mod, &d.meter}
	return got, g.used()
}

// TestRandomModulesBehaveTheSame compares random modules with their
// instrumented forms: results, traps, memory and globals are the same, and the
// fuel does not depend on the slice and is never less than the work.
func TestRandomModulesBehaveTheSame(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	n := uint64(25)
	if prove() {
		n = 3_000
	}
	first := rand.Uint64()
	for seed := first; seed < first+n; seed++ {
		d.check(t, w.Random(rand.New(rand.NewPCG(seed, 0))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzRandom is TestRandomModulesBehaveTheSame with modules of a fuzzer's
// choice.
func FuzzRandom(f *testing.F) {
	addScripts(f, 500)
	d := newDiffer(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		s := w.Script(script)
		d.check(t, w.Random(&s))
	})
}

// addScripts adds scripts of up to n choices.
func addScripts(f *testing.F, n int) {
	f.Add([]byte(nil))
	r, seeds := rand.New(rand.NewPCG(1, 2)), 20
	if testing.Short() {
		seeds = 3
	}
	for range seeds {
		script := make([]byte, 20+r.IntN(n))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		f.Add(script)
	}
}
