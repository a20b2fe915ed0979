// Package reference runs the same modules as package sandbox on the Extism Go
// SDK, as the SDK does it: it is what results are compared with in tests and
// times in benchmarks.
//
// It is not a way to run untrusted code. The SDK's allow-lists stay empty, so a
// plug-in reaches no file and no host, but nothing stands in front of the
// compiler, recursion is not stopped by the timeout, and the input may arrive
// empty when memory is short. It refuses to know of anything but bytes,
// exports, configuration values and host functions.
package reference

import (
	"context"
	"fmt"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// Options configures a module. The zero value has no memory limit, no timeout
// and no functions.
type Options struct {
	// MemoryPages bounds the memory of the plug-in, and that of the SDK's
	// kernel, each, in pages of 64 KiB. Zero leaves both at 4 GiB.
	MemoryPages uint32
	// Timeout bounds a call. It makes every loop several times slower.
	Timeout   time.Duration
	Config    map[string]string
	Functions []Function
	// Libraries are modules whose functions the main one may import by name.
	Libraries map[string][]byte
	// Clock gives the real time instead of wazero's fixed one.
	Clock bool
}

// Function is a host function. Call reads parameters from stack and writes
// results there. An error traps.
type Function struct {
	Module, Name    string
	Params, Results []byte // value type codes, as in package sandbox
	Call            func(m Memory, stack []uint64) error
}

// Memory is what the plug-in that called has: blocks in the SDK's kernel, and the
// memory of its own module.
type Memory struct {
	p   *extism.CurrentPlugin
	own *linear
}

// Own returns the bytes from an address on of the module's own memory, of which
// host functions of other interfaces than Extism's are given addresses. They are
// valid until the call returns. It is false for what is not all in the memory.
func (m Memory) Own(at, n uint32) ([]byte, bool) {
	if m.own == nil || uint64(at)+uint64(n) > uint64(len(m.own.bytes)) {
		return nil, false
	}
	return m.own.bytes[at : at+n : at+n], true
}

// Block returns a copy of the block at an offset.
func (m Memory) Block(off uint64) ([]byte, error) { return m.p.ReadBytes(off) }

// NewBlock copies b into a new block and returns its offset.
func (m Memory) NewBlock(b []byte) (uint64, error) { return m.p.WriteBytes(b) }

// Result is what a call left behind.
type Result struct {
	Output []byte
	Code   uint32 // what the export returned, or its exit code
}

// A Module is a compiled plug-in.
type Module struct {
	plugin *extism.CompiledPlugin
	clock  bool
}

// Load compiles a module.
func Load(ctx context.Context, wasm []byte, o Options) (*Module, error) {
	manifest := extism.Manifest{
		Wasm:    modules(wasm, o.Libraries),
		Memory:  &extism.ManifestMemory{MaxPages: o.MemoryPages, MaxVarBytes: -1, MaxHttpResponseBytes: -1},
		Config:  o.Config,
		Timeout: uint64(o.Timeout.Milliseconds()),
	}
	p, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, functions(o.Functions))
	if err != nil {
		return nil, fmt.Errorf("load reference module: %w", err)
	}
	return &Module{p, o.Clock}, nil
}

// modules puts the main one last, as the SDK wants it.
func modules(main []byte, libraries map[string][]byte) (out []extism.Wasm) {
	for name, wasm := range libraries {
		out = append(out, extism.WasmData{Data: wasm, Name: name})
	}
	return append(out, extism.WasmData{Data: main, Name: "main"})
}

func functions(list []Function) []extism.HostFunction {
	var out []extism.HostFunction
	for _, f := range list {
		h := extism.NewHostFunctionWithStack(f.Name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			own, _ := ctx.Value(linearKey{}).(*linear)
			if err := f.Call(Memory{p, own}, stack); err != nil {
				panic(err)
			}
		}, types(f.Params), types(f.Results))
		h.SetNamespace(f.Module)
		out = append(out, h)
	}
	return out
}

func types(codes []byte) []extism.ValueType { return append([]extism.ValueType{}, codes...) }

// Close frees the compiled code and every instance.
func (m *Module) Close(ctx context.Context) error { return m.plugin.Close(ctx) }

// Call runs an export in an instance of its own.
func (m *Module) Call(ctx context.Context, export string, input []byte) (Result, error) {
	i, err := m.Instance(ctx)
	if err != nil {
		return Result{}, err
	}
	defer i.Close(ctx)
	return i.Call(ctx, export, input)
}

// An Instance is a plug-in that keeps its state from call to call.
type Instance struct {
	plugin *extism.Plugin
	own    *linear
}

// Instance makes an instance. Close it.
func (m *Module) Instance(ctx context.Context) (*Instance, error) {
	config := wazero.NewModuleConfig()
	if m.clock {
		config = config.WithSysWalltime().WithSysNanotime().WithSysNanosleep()
	}
	memories := &memories{}
	ctx = experimental.WithMemoryAllocator(ctx, memories)
	p, err := m.plugin.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, fmt.Errorf("open reference instance: %w", err)
	}
	p.SetLogger(func(extism.LogLevel, string) {})
	return &Instance{p, memories.last}, nil
}

// Call runs an export. A result other than 0 is in Code; it is not an error.
func (i *Instance) Call(ctx context.Context, export string, input []byte) (Result, error) {
	ctx = context.WithValue(ctx, linearKey{}, i.own)
	code, output, err := i.plugin.CallWithContext(ctx, export, input)
	return Result{output, code}, err
}

// Close frees the instance.
func (i *Instance) Close(ctx context.Context) error { return i.plugin.Close(ctx) }
