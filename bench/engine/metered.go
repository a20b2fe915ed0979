package engine

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// metered is wazero warm with a module that package wasmbin instrumented, and
// a tick that looks at a budget and a deadline: what fuel costs by itself.
func (w *Workshop) metered() Way { return Way{Metered, w.openMetered} }

// slice is the fuel a guest gets at once.
const slice = 1_000_000

func (w *Workshop) openMetered(ctx context.Context, _ guests.Guest, wasm []byte) (Caller, error) {
	out, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), wasmbin.Options{
		MaxMemoryPages: 65536, MaxTableElems: 100_000, Fuel: true,
	})
	if err != nil {
		return nil, err
	}
	m := &meter{global: out.FuelGlobal}
	c := &bareCaller{runtime: wazero.NewRuntimeWithConfig(ctx, w.config()), host: state{tick: m.tick}}
	return c.open(ctx, out.Wasm)
}

// meter is a budget that never runs out, but is looked after as one that does.
type meter struct {
	global string
	left   int64
	end    time.Time
}

var errSpent = errors.New("out of fuel or time")

func (m *meter) tick(_ context.Context, mod api.Module, _ []uint64) {
	if m.left <= 0 {
		m.left, m.end = 1<<60, time.Now().Add(time.Hour)
	}
	if time.Now().After(m.end) {
		panic(errSpent)
	}
	cell := mod.ExportedGlobal(m.global).(api.MutableGlobal)
	m.left += int64(cell.Get()) - slice
	cell.Set(slice)
}
