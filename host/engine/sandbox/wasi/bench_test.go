package wasi_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// benchCall is one function and its parameters, as code. What it needs is in
// memory: see benchMemory. Descriptor 4 is a file of 5 bytes, 5 a directory.
type benchCall struct {
	name   string
	params []any // int32 and int64
}

func benchCalls() []benchCall {
	return []benchCall{
		{"clock_time_get", []any{int32(1), int64(0), int32(4096)}},
		{"random_get", []any{int32(4096), int32(32)}},
		{"args_sizes_get", []any{int32(4096), int32(4100)}},
		{"fd_fdstat_get", []any{int32(1), int32(4096)}},
		{"fd_prestat_get", []any{int32(3), int32(4096)}},
		{"fd_write", []any{int32(2), int32(2000), int32(1), int32(4096)}},
		{"fd_seek", []any{int32(4), int64(0), int32(0), int32(4096)}},
		{"fd_pread", []any{int32(4), int32(2000), int32(1), int64(0), int32(4096)}},
		{"fd_pwrite", []any{int32(4), int32(2000), int32(1), int64(0), int32(4096)}},
		{"fd_filestat_get", []any{int32(4), int32(4096)}},
		{"fd_readdir", []any{int32(5), int32(5000), int32(1000), int64(0), int32(4096)}},
		{"path_filestat_get", []any{int32(3), int32(1), int32(1000), int32(9), int32(4096)}},
		{"sched_yield", nil},
	}
}

// benchLoop makes a module that makes a call n times.
func benchLoop(c benchCall) []byte {
	m := w.New()
	f := table[c.name]
	names := map[wasi.ValueType]string{wasi.I32: " i32", wasi.I64: " i64"}
	params := ""
	for _, p := range f.Params {
		params += names[p]
	}
	call := m.ImportFunc(wasi.ModuleName, c.name, w.Sig(params, "i32"))
	open := m.ImportFunc(wasi.ModuleName, "path_open", w.Sig("i32 i32 i32 i32 i32 i64 i64 i32 i32", "i32"))
	m.Memory(1, 1)
	m.ExportMemory("memory")
	m.Data(1000, []byte("sub/b.txt"))
	m.Data(2000, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 3000), 5))
	var code []byte
	for _, p := range c.params {
		switch v := p.(type) {
		case int32:
			code = append(code, w.I32Const(v)...)
		case int64:
			code = append(code, w.I64Const(v)...)
		}
	}
	openStep := func(n int32, oflags int32, rights int64) []byte {
		return w.Code(w.I32Const(3), w.I32Const(1), w.I32Const(1000), w.I32Const(n), w.I32Const(oflags),
			w.I64Const(rights), w.I64Const(0), w.I32Const(0), w.I32Const(4096), w.Call(open), w.Drop())
	}
	m.ExportFunc("prepare", m.Func(w.Sig("", ""), "", openStep(9, 0, int64(rRead|rWrite)), openStep(3, oDirectory, 0)))
	m.ExportFunc("loop", m.Func(w.Sig("i32", "i32"), "i32",
		w.Loop(w.Empty, code, w.Call(call), w.LocalSet(1),
			w.LocalGet(0), w.I32Const(-1), w.Op(0x6a), w.LocalTee(0), w.BrIf(0)),
		w.LocalGet(1)))
	return m.Bytes()
}

// oursIn offers the functions on one state.
func oursIn(b *testing.B, r wazero.Runtime, g *guest) {
	builder := r.NewHostModuleBuilder(wasi.ModuleName)
	for _, f := range wasi.Functions() {
		run := func(_ context.Context, mod api.Module, stack []uint64) {
			m := mod.Memory()
			mem, _ := m.Read(0, m.Size())
			f.Call(&g.state, mem, stack)
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(run), f.Params, f.Results).Export(f.Name)
	}
	if _, err := builder.Instantiate(context.Background()); err != nil {
		b.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkWASI calls each function from a loop in WebAssembly: here, and in
// wazero with a directory mount, without and with a listener.
func BenchmarkWASI(b *testing.B) {
	for _, c := range benchCalls() {
		b.Run(c.name+"/ours", func(b *testing.B) {
			r := wazero.NewRuntime(context.Background())
			defer r.Close(context.Background())
			g := newGuest(b, settings(jailOf(b, jail.Quota{}, jail.Root{Path: tree(b), Write: true})))
			g.host.deaf = true
			oursIn(b, r, g)
			runLoop(b, r, c, wazero.NewModuleConfig())
		})
		stock := wazero.NewModuleConfig().WithArgs("skill").WithStderr(discard{})
		b.Run(c.name+"/wazero", func(b *testing.B) {
			r := wazero.NewRuntime(context.Background())
			defer r.Close(context.Background())
			wasi_snapshot_preview1.MustInstantiate(context.Background(), r)
			runLoop(b, r, c, stock.WithFSConfig(wazero.NewFSConfig().WithDirMount(tree(b), "/data")))
		})
		b.Run(c.name+"/wazero-listener", func(b *testing.B) {
			ctx := experimental.WithFunctionListenerFactory(context.Background(), listeners{})
			r := wazero.NewRuntime(ctx)
			defer r.Close(ctx)
			code, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
			if err == nil {
				_, err = r.InstantiateModule(ctx, code, wazero.NewModuleConfig())
			}
			if err != nil {
				b.Fatal(err)
			}
			runLoop(b, r, c, stock.WithFSConfig(wazero.NewFSConfig().WithDirMount(tree(b), "/data")))
		})
	}
}

// listeners stand in front of each function and do nothing: the least it takes
// to charge for wazero's functions.
type listeners struct{}

func (listeners) NewFunctionListener(api.FunctionDefinition) experimental.FunctionListener {
	return listeners{}
}
func (listeners) Before(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
}
func (listeners) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}
func (listeners) Abort(context.Context, api.Module, api.FunctionDefinition, error)    {}

func runLoop(b *testing.B, r wazero.Runtime, c benchCall, config wazero.ModuleConfig) {
	ctx := context.Background()
	mod, err := r.InstantiateWithConfig(ctx, benchLoop(c), config)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := mod.ExportedFunction("prepare").Call(ctx); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	out, err := mod.ExportedFunction("loop").Call(ctx, uint64(b.N))
	if err != nil || out[0] != 0 {
		b.Fatalf("%v, %v", out, err)
	}
}

// BenchmarkReset is what a call pays for its state.
func BenchmarkReset(b *testing.B) {
	var s wasi.State
	h := newHost("")
	args := []string{"skill"}
	b.Run("no files", func(b *testing.B) {
		for b.Loop() {
			if err := s.Reset(h, wasi.Settings{Args: args}); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("one root", func(b *testing.B) {
		f := jailOf(b, jail.Quota{}, jail.Root{Path: tree(b), Write: true})
		for b.Loop() {
			if err := s.Reset(h, settings(f)); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}
