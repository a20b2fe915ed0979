package wasmbin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

var errOutOfFuel = errors.New("out of fuel")

// meter is the host's side of fuel: it refills the guest's counter in slices
// until the budget is used up.
type meter struct {
	slice, budget int64
	granted       int64
	ticks         int
	onTick        func() error
}

// guest is an instance of an instrumented module.
type guest struct {
	api.Module
	meter *meter
}

// refill sets the counter, which holds v, to the next slice. A deficit is paid
// from what is left of the budget.
func (m *meter) refill(v int64) (int64, error) {
	m.ticks++
	if m.onTick != nil {
		if err := m.onTick(); err != nil {
			return 0, err
		}
	}
	if left := m.budget - m.granted; v+left >= 0 {
		add := min(max(m.slice-v, 0), left)
		m.granted += add
		return v + add, nil
	}
	return 0, errOutOfFuel
}

// used is how much fuel was taken so far.
func (g *guest) used() int64 {
	return g.meter.granted - int64(g.ExportedGlobal(wasmbin.FuelGlobal).Get())
}

func (m *meter) tick(_ context.Context, mod api.Module) {
	c := mod.ExportedGlobal(wasmbin.FuelGlobal).(api.MutableGlobal)
	v, err := m.refill(int64(c.Get()))
	if err != nil {
		panic(err)
	}
	c.Set(uint64(v))
}

func newRuntime(tb testing.TB, c wazero.RuntimeConfig) wazero.Runtime {
	tb.Helper()
	r := wazero.NewRuntimeWithConfig(tb.Context(), c)
	tb.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func instrument(tb testing.TB, wasm []byte, o wasmbin.Options) []byte {
	tb.Helper()
	i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return i.Wasm
}

// metered instantiates a module with fuel in a runtime of its own.
func metered(tb testing.TB, wasm []byte, m *meter) *guest {
	tb.Helper()
	return started(tb, instrument(tb, wasm, options), m)
}

// started instantiates a module that was instrumented.
func started(tb testing.TB, wasm []byte, m *meter) *guest {
	tb.Helper()
	r := newRuntime(tb, runtimeConfig())
	_, err := r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithFunc(m.tick).Export(wasmbin.TickName).Instantiate(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	mod, err := r.Instantiate(tb.Context(), wasm)
	if err != nil {
		tb.Fatal(err)
	}
	return &guest{mod, m}
}

// plain instantiates a module as it is.
func plain(tb testing.TB, wasm []byte, c wazero.RuntimeConfig) api.Module {
	tb.Helper()
	mod, err := newRuntime(tb, c).Instantiate(tb.Context(), wasm)
	if err != nil {
		tb.Fatal(err)
	}
	return mod
}

// cause is an error's first line: what follows is the stack.
func cause(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, " (recovered")
	return line
}

const plenty = int64(1) << 60

func newMeter(slice, budget int64) *meter { return &meter{slice: slice, budget: budget} }
