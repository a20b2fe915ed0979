//go:build cgo && (linux || darwin || (windows && amd64)) && (amd64 || arm64)

package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/skillet-run/skillet/bench/guests"
)

// wasmtimeWay is wasmtime with epochs, which are its way to stop a guest that
// computes: warm keeps one store and instance from call to call, fresh makes
// both for each.
type wasmtimeWay struct {
	w     *Workshop
	fresh bool
}

const (
	epoch         = 10 * time.Millisecond
	epochsPerCall = 3000
)

// wasmtimeEngine is one engine with its compiled modules.
type wasmtimeEngine struct {
	*wasmtime.Engine
	modules map[string]*wasmtime.Module // by guest
	stop    chan struct{}               // ends the counting of epochs
}

func newWasmtimeEngine() *wasmtimeEngine {
	config := wasmtime.NewConfig()
	config.SetEpochInterruption(true)
	e := &wasmtimeEngine{wasmtime.NewEngineWithConfig(config), map[string]*wasmtime.Module{}, make(chan struct{})}
	go e.count()
	return e
}

func (e *wasmtimeEngine) count() {
	t := time.NewTicker(epoch)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			e.IncrementEpoch()
		case <-e.stop:
			return
		}
	}
}

// close leaves the engine itself to the garbage collector, as the counting may
// be at it.
func (e *wasmtimeEngine) close() {
	close(e.stop)
	for _, m := range e.modules {
		m.Close()
	}
}

func (e *wasmtimeEngine) compile(g guests.Guest, wasm []byte) (*wasmtime.Module, error) {
	if m, ok := e.modules[g.Name]; ok {
		return m, nil
	}
	m, err := wasmtime.NewModule(e.Engine, wasm)
	if err == nil {
		e.modules[g.Name] = m
	}
	return m, err
}

func (w wasmtimeWay) open(_ context.Context, g guests.Guest, wasm []byte) (Caller, error) {
	e := w.w.wasmtime
	c := &wasmtimeCaller{engine: e.Engine, linker: wasmtime.NewLinker(e.Engine), fresh: w.fresh}
	err := c.link()
	if err == nil {
		c.module, err = e.compile(g, wasm)
	}
	if err == nil && !c.fresh {
		c.warm, err = c.instantiate()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// wasmtimeCaller calls one module.
type wasmtimeCaller struct {
	engine *wasmtime.Engine
	linker *wasmtime.Linker
	module *wasmtime.Module
	host   state
	fresh  bool
	warm   wasmtimeInstance
}

type wasmtimeInstance struct {
	store    *wasmtime.Store
	instance *wasmtime.Instance
	export   string
	function *wasmtime.Func
}

// link offers WASI and both ABIs.
func (c *wasmtimeCaller) link() error {
	err := c.linker.DefineWasi()
	for module, list := range map[string][]wasmtimeFunction{"extism:host/env": c.host.wasmtimeExtism(), "skillet:host/v1": c.host.wasmtimeBulk()} {
		for _, f := range list {
			err = errors.Join(err, c.linker.FuncNew(module, f.name, wasmtime.NewFuncType(f.params, f.results), f.call))
		}
	}
	return err
}

func (c *wasmtimeCaller) instantiate() (w wasmtimeInstance, err error) {
	w.store = wasmtime.NewStore(c.engine)
	w.store.SetWasi(wasmtime.NewWasiConfig())
	w.store.SetEpochDeadline(epochsPerCall)
	if w.instance, err = c.linker.Instantiate(w.store, c.module); err != nil {
		return w, err
	}
	if init := w.instance.GetFunc(w.store, "_initialize"); init != nil {
		_, err = init.Call(w.store)
	}
	return w, err
}

// Call runs an export in the one instance, or in a new one.
func (c *wasmtimeCaller) Call(_ context.Context, export string, input []byte) ([]byte, error) {
	c.host.begin(input)
	if !c.fresh {
		return c.run(&c.warm, export)
	}
	w, err := c.instantiate()
	if err != nil {
		return nil, err
	}
	defer w.store.Close()
	return c.run(&w, export)
}

func (c *wasmtimeCaller) run(w *wasmtimeInstance, export string) ([]byte, error) {
	if w.export != export {
		w.export, w.function = export, w.instance.GetFunc(w.store, export)
	}
	w.store.SetEpochDeadline(epochsPerCall)
	result, err := w.function.Call(w.store)
	if err == nil && result != int32(0) {
		err = fmt.Errorf("the guest returned %v", result)
	}
	return c.host.output, err
}

// Close frees the instance. The module stays in the workshop.
func (c *wasmtimeCaller) Close(context.Context) error {
	if c.warm.store != nil {
		c.warm.store.Close()
	}
	c.linker.Close()
	return nil
}

// wasmtimeFunction is a function in wasmtime's terms.
type wasmtimeFunction struct {
	name            string
	params, results []*wasmtime.ValType
	call            func(*wasmtime.Caller, []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap)
}

// wasmtimeTypes makes types from letters: i for i32, I for i64.
func wasmtimeTypes(letters string) []*wasmtime.ValType {
	var list []*wasmtime.ValType
	for _, l := range letters {
		kind := wasmtime.KindI32
		if l == 'I' {
			kind = wasmtime.KindI64
		}
		list = append(list, wasmtime.NewValType(kind))
	}
	return list
}

type (
	wasmtimeValues = []wasmtime.Val
	wasmtimeGuest  = wasmtime.Caller
)

// wasmtimeExtism is the part of extism:host/env that the guests use.
func (s *state) wasmtimeExtism() []wasmtimeFunction {
	f := func(name, params, results string, call func(v wasmtimeValues) wasmtimeValues) wasmtimeFunction {
		return wasmtimeFunction{name, wasmtimeTypes(params), wasmtimeTypes(results),
			func(_ *wasmtimeGuest, v wasmtimeValues) (wasmtimeValues, *wasmtime.Trap) { return call(v), nil }}
	}
	i64 := func(n uint64) wasmtimeValues { return wasmtimeValues{wasmtime.ValI64(int64(n))} }
	return []wasmtimeFunction{
		f("input_length", "", "I", func(wasmtimeValues) wasmtimeValues { return i64(uint64(len(s.input))) }),
		f("input_load_u8", "I", "i", func(v wasmtimeValues) wasmtimeValues {
			return wasmtimeValues{wasmtime.ValI32(int32(s.input[v[0].I64()]))}
		}),
		f("input_load_u64", "I", "I", func(v wasmtimeValues) wasmtimeValues {
			return i64(binary.LittleEndian.Uint64(s.input[v[0].I64():]))
		}),
		f("alloc", "I", "I", func(v wasmtimeValues) wasmtimeValues { return i64(s.alloc(uint64(v[0].I64()))) }),
		f("store_u8", "Ii", "", func(v wasmtimeValues) wasmtimeValues {
			s.arena[v[0].I64()] = byte(v[1].I32())
			return nil
		}),
		f("store_u64", "II", "", func(v wasmtimeValues) wasmtimeValues {
			binary.LittleEndian.PutUint64(s.arena[v[0].I64():], uint64(v[1].I64()))
			return nil
		}),
		f("output_set", "II", "", func(v wasmtimeValues) wasmtimeValues {
			s.output = append(s.output, s.arena[v[0].I64():v[0].I64()+v[1].I64()]...)
			return nil
		}),
	}
}

// wasmtimeBulk is the part of skillet:host/v1 that the guests use.
func (s *state) wasmtimeBulk() []wasmtimeFunction {
	f := func(name, params, results string, call func(memory []byte, v wasmtimeValues) wasmtimeValues) wasmtimeFunction {
		return wasmtimeFunction{name, wasmtimeTypes(params), wasmtimeTypes(results),
			func(g *wasmtimeGuest, v wasmtimeValues) (wasmtimeValues, *wasmtime.Trap) {
				return call(g.GetExport("memory").Memory().UnsafeData(g), v), nil
			}}
	}
	u32 := func(v wasmtime.Val) uint32 { return uint32(v.I32()) }
	part := func(memory []byte, at, n wasmtime.Val) []byte { return memory[u32(at):][:u32(n)] }
	return []wasmtimeFunction{
		f("input_length", "", "I", func([]byte, wasmtimeValues) wasmtimeValues {
			return wasmtimeValues{wasmtime.ValI64(int64(len(s.input)))}
		}),
		f("input_read", "iIi", "i", func(memory []byte, v wasmtimeValues) wasmtimeValues {
			return wasmtimeValues{wasmtime.ValI32(int32(copy(part(memory, v[0], v[2]), s.input[v[1].I64():])))}
		}),
		f("output_write", "ii", "", func(memory []byte, v wasmtimeValues) wasmtimeValues {
			s.output = append(s.output, part(memory, v[0], v[1])...)
			return nil
		}),
		f("error_write", "iiii", "", func(memory []byte, v wasmtimeValues) wasmtimeValues {
			panic(string(part(memory, v[2], v[3])))
		}),
	}
}
