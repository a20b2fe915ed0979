package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// bare is wazero used directly, without fuel: warm keeps one instance from
// call to call with whatever calls leave behind, fresh makes one for each.
type bare struct {
	w       *Workshop
	fresh   bool
	timeout bool // wazero's own check of the context at loop heads
}

func (b bare) open(ctx context.Context, _ guests.Guest, wasm []byte) (Caller, error) {
	config := b.w.config().WithCloseOnContextDone(b.timeout)
	c := &bareCaller{runtime: wazero.NewRuntimeWithConfig(ctx, config), fresh: b.fresh}
	return c.open(ctx, wasm)
}

// config is for a runtime that shares compiled code.
func (w *Workshop) config() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCompilationCache(w.wazero)
}

// bareCaller is one compiled module on a runtime of its own.
type bareCaller struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	host     state
	fresh    bool
	instance api.Module
	export   string
	function api.Function // of instance, for export
}

// open compiles the module, and instantiates it unless each call does.
func (c *bareCaller) open(ctx context.Context, wasm []byte) (Caller, error) {
	err := c.link(ctx)
	if err == nil {
		c.compiled, err = c.runtime.CompileModule(ctx, wasm)
	}
	if err == nil && !c.fresh {
		c.instance, err = c.instantiate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.runtime.Close(ctx))
	}
	return c, nil
}

// link offers WASI and both ABIs. What a module does not import costs nothing.
func (c *bareCaller) link(ctx context.Context) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, c.runtime); err != nil {
		return err
	}
	for module, list := range map[string][]hostFunction{"extism:host/env": c.host.extism(), "skillet:host/v1": c.host.bulk()} {
		b := c.runtime.NewHostModuleBuilder(module)
		for _, f := range list {
			b.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *bareCaller) instantiate(ctx context.Context) (api.Module, error) {
	return c.runtime.InstantiateModule(ctx, c.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
}

// Call runs an export in the one instance, or in a new one.
func (c *bareCaller) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	c.host.begin(input)
	if c.fresh {
		instance, err := c.instantiate(ctx)
		if err != nil {
			return nil, err
		}
		defer instance.Close(ctx)
		return c.run(ctx, instance.ExportedFunction(export))
	}
	if c.export != export {
		c.export, c.function = export, c.instance.ExportedFunction(export)
	}
	return c.run(ctx, c.function)
}

func (c *bareCaller) run(ctx context.Context, f api.Function) ([]byte, error) {
	results, err := f.Call(ctx)
	if err == nil && results[0] != 0 {
		err = fmt.Errorf("the guest returned %d", results[0])
	}
	return c.host.output, err
}

// Close frees the runtime and all that is in it.
func (c *bareCaller) Close(ctx context.Context) error { return c.runtime.Close(ctx) }

// hostFunction is a function in wazero's terms.
type hostFunction struct {
	name            string
	params, results []api.ValueType
	call            api.GoModuleFunc
}

// extism is the part of extism:host/env that the guests use.
func (s *state) extism() []hostFunction {
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	two, store8 := []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64, api.ValueTypeI32}
	f := func(name string, params, results []api.ValueType, call func(stack []uint64)) hostFunction {
		return hostFunction{name, params, results, func(_ context.Context, _ api.Module, stack []uint64) { call(stack) }}
	}
	return []hostFunction{
		f("input_length", nil, i64, func(st []uint64) { st[0] = uint64(len(s.input)) }),
		f("input_load_u8", i64, i32, func(st []uint64) { st[0] = uint64(s.input[st[0]]) }),
		f("input_load_u64", i64, i64, func(st []uint64) { st[0] = binary.LittleEndian.Uint64(s.input[st[0]:]) }),
		f("alloc", i64, i64, func(st []uint64) { st[0] = s.alloc(st[0]) }),
		f("store_u8", store8, nil, func(st []uint64) { s.arena[st[0]] = byte(st[1]) }),
		f("store_u64", two, nil, func(st []uint64) { binary.LittleEndian.PutUint64(s.arena[st[0]:], st[1]) }),
		f("output_set", two, nil, func(st []uint64) { s.output = append(s.output, s.arena[st[0]:st[0]+st[1]]...) }),
	}
}

// bulk is the part of skillet:host/v1 that the guests use.
func (s *state) bulk() []hostFunction {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	list := []hostFunction{
		{"input_length", nil, []api.ValueType{i64}, func(_ context.Context, _ api.Module, st []uint64) { st[0] = uint64(len(s.input)) }},
		{"input_read", []api.ValueType{i32, i64, i32}, []api.ValueType{i32}, func(_ context.Context, mod api.Module, st []uint64) {
			st[0] = uint64(copy(view(mod, st[0], st[2]), s.input[st[1]:]))
		}},
		{"output_write", []api.ValueType{i32, i32}, nil, func(_ context.Context, mod api.Module, st []uint64) {
			s.output = append(s.output, view(mod, st[0], st[1])...)
		}},
		{"error_write", []api.ValueType{i32, i32, i32, i32}, nil, func(_ context.Context, mod api.Module, st []uint64) {
			panic(errors.New(string(view(mod, st[2], st[3]))))
		}},
	}
	if s.tick != nil {
		list = append(list, hostFunction{wasmbin.TickName, nil, nil, s.tick})
	}
	return list
}

// view is n bytes of the guest's memory.
func view(mod api.Module, at, n uint64) []byte {
	b, ok := mod.Memory().Read(uint32(at), uint32(n))
	if !ok {
		panic(fmt.Errorf("%d bytes at %d are outside memory", n, at))
	}
	return b
}
