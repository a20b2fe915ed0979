package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// kernelFunction is a function of the Extism kernel as a guest imports it.
type kernelFunction struct{ name, params, results string }

func kernelFunctions() []kernelFunction {
	return []kernelFunction{
		{"alloc", "i64", "i64"}, {"free", "i64", ""}, {"length", "i64", "i64"}, {"length_unsafe", "i64", "i64"},
		{"load_u8", "i64", "i32"}, {"load_u64", "i64", "i64"}, {"store_u8", "i64 i32", ""}, {"store_u64", "i64 i64", ""},
		{"input_set", "i64 i64", ""}, {"input_length", "", "i64"}, {"input_offset", "", "i64"},
		{"input_load_u8", "i64", "i32"}, {"input_load_u64", "i64", "i64"},
		{"output_set", "i64 i64", ""}, {"output_length", "", "i64"}, {"output_offset", "", "i64"},
		{"error_set", "i64", ""}, {"error_get", "", "i64"}, {"reset", "", ""}, {"memory_bytes", "", "i64"},
		{"get_log_level", "", "i32"},
	}
}

// kernelGuest is a plug-in that imports them all, in order.
func kernelGuest(code func(call func(name string, params ...[]byte) []byte) []byte) []byte {
	m := w.New()
	for _, f := range kernelFunctions() {
		m.ImportFunc(env, f.name, w.Sig(f.params, f.results))
	}
	call := func(name string, params ...[]byte) []byte {
		i := slices.IndexFunc(kernelFunctions(), func(f kernelFunction) bool { return f.name == name })
		return w.Code(w.Code(params...), w.Call(i))
	}
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "i64 i64", code(call)))
	return m.Bytes()
}

type caller = func(name string, params ...[]byte) []byte

// n64 is an i64 constant.
func n64(v int64) []byte { return w.I64Const(v) }

// TestKernel runs what plug-ins do, and what they should not.
func TestKernel(t *testing.T) {
	t.Parallel()
	input := []byte("0123456789")
	at := w.LocalGet(0)
	newBlock := func(call caller, n int64) []byte { return w.Code(call("alloc", n64(n)), w.LocalSet(0)) }
	plus := func(n int64) []byte { return w.Code(at, n64(n), w.Op(0x7c)) }
	low := w.Op(0xa7) // the result as i32
	for _, c := range []struct {
		name string
		code func(call caller) []byte
		want uint32
		err  error
		out  string
	}{
		{name: "alloc nothing", code: func(call caller) []byte { return w.Code(call("alloc", n64(0)), low) }},
		{name: "length", want: 33, code: func(call caller) []byte { return w.Code(newBlock(call, 33), call("length", at), low) }},
		{name: "length_unsafe", want: 33, code: func(call caller) []byte { return w.Code(newBlock(call, 33), call("length_unsafe", at), low) }},
		{name: "length inside a block", code: func(call caller) []byte { return w.Code(newBlock(call, 33), call("length", plus(1)), low) }},
		{name: "length of nothing", code: func(call caller) []byte { return w.Code(call("length", n64(99)), low) }},
		{name: "store and load", want: 7, code: func(call caller) []byte {
			return w.Code(newBlock(call, 2), call("store_u8", plus(1), w.I32Const(0x107)), call("load_u8", plus(1)))
		}},
		{name: "store and load 8 bytes", want: 0x04030201, code: func(call caller) []byte {
			return w.Code(newBlock(call, 8), call("store_u64", at, n64(0x0807060504030201)), call("load_u64", at), low)
		}},
		{name: "freed", code: func(call caller) []byte { return w.Code(newBlock(call, 8), call("free", at), call("length", at), low) }},
		{name: "freed twice", code: func(call caller) []byte {
			return w.Code(newBlock(call, 8), call("free", at), call("free", at), call("free", n64(0)), call("free", n64(-1)), zero())
		}},
		{name: "used again", want: 1, code: func(call caller) []byte {
			return w.Code(newBlock(call, 100), call("free", at), call("alloc", n64(101)), at, w.Op(0x51))
		}},
		{name: "input", want: '0' + '9' + 10, code: func(call caller) []byte {
			return w.Code(call("input_load_u8", n64(0)), call("input_load_u8", n64(9)), w.Op(0x6a), call("input_length"), low, w.Op(0x6a))
		}},
		{name: "input of 8 bytes past the end", want: '9', code: func(call caller) []byte { return w.Code(call("input_load_u64", n64(9)), low) }},
		{name: "input just past the end", code: func(call caller) []byte {
			return w.Code(call("input_load_u8", n64(10)), call("input_load_u8", n64(17)), w.Op(0x72), call("input_load_u64", n64(10)), low, w.Op(0x72), call("input_load_u64", n64(17)), low, w.Op(0x72))
		}},
		{name: "input past the end", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(call("input_load_u8", n64(18)), w.Drop(), zero()) }},
		{name: "input far past the end", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(call("input_load_u64", n64(-1)), w.Drop(), zero()) }},
		{name: "input as a block", want: 10, code: func(call caller) []byte { return w.Code(call("length", call("input_offset")), low) }},
		{name: "input block twice", want: 1, code: func(call caller) []byte { return w.Code(call("input_offset"), call("input_offset"), w.Op(0x51)) }},
		{name: "input written to", want: 'x', code: func(call caller) []byte {
			return w.Code(call("store_u8", call("input_offset"), w.I32Const('x')), call("input_load_u8", n64(0)))
		}},
		{name: "input freed", code: func(call caller) []byte { return w.Code(call("free", call("input_offset")), call("input_length"), low) }},
		{name: "input set", want: 3, code: func(call caller) []byte {
			return w.Code(newBlock(call, 8), call("input_set", at, n64(3)), call("input_length"), low)
		}},
		{name: "input set outside", err: sandbox.ErrTrap, code: func(call caller) []byte {
			return w.Code(call("input_set", n64(1<<40), n64(3)), zero())
		}},
		{name: "output", out: "hi", code: func(call caller) []byte {
			return w.Code(newBlock(call, 2), call("store_u8", at, w.I32Const('h')), call("store_u8", plus(1), w.I32Const('i')), call("output_set", at, n64(2)),
				call("output_offset"), at, w.Op(0x52), call("output_length"), low, w.I32Const(2), w.Op(0x47), w.Op(0x72))
		}},
		{name: "output outside", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(call("output_set", n64(1<<40), n64(2)), zero()) }},
		{name: "output around the end", err: sandbox.ErrTrap, code: func(call caller) []byte {
			return w.Code(newBlock(call, 2), call("output_set", n64(-1), n64(20)), zero())
		}},
		{name: "load at 0", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(newBlock(call, 8), call("load_u8", n64(0))) }},
		{name: "load past the end", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(newBlock(call, 8), call("load_u64", n64(1<<20)), low) }},
		{name: "load around the end", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(newBlock(call, 8), call("load_u64", n64(-4)), low) }},
		{name: "store past the end", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(call("store_u64", n64(4096), n64(1)), zero()) }},
		{name: "error outside", err: sandbox.ErrTrap, code: func(call caller) []byte { return w.Code(call("error_set", n64(5)), zero()) }},
		{name: "error set", err: sandbox.ErrGuest, code: func(call caller) []byte {
			return w.Code(newBlock(call, 1), call("error_set", at), call("free", at), call("error_get"), at, w.Op(0x52))
		}},
		{name: "error taken back", code: func(call caller) []byte {
			return w.Code(newBlock(call, 1), call("error_set", at), call("error_set", n64(0)), zero())
		}},
		{name: "reset", code: func(call caller) []byte {
			return w.Code(newBlock(call, 1), call("output_set", at, n64(1)), call("error_set", at), call("reset"),
				call("input_length"), call("memory_bytes"), w.Op(0x84), call("output_length"), w.Op(0x84), low)
		}},
		{name: "log level without a log", want: 1<<31 - 1, code: func(call caller) []byte { return call("get_log_level") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := call(t, load(t, kernelGuest(c.code)), sandbox.Call{Input: input})
			if c.want != 0 {
				c.err = sandbox.ErrGuest
			}
			if !errors.Is(err, c.err) || r.ExitCode != c.want || string(r.Output) != c.out {
				t.Errorf("result %d, output %q, %v; want %d, %q, %v", r.ExitCode, r.Output, err, c.want, c.out, c.err)
			}
		})
	}
}

// TestKernelReusesBlocks makes and frees many more blocks than fit.
func TestKernelReusesBlocks(t *testing.T) {
	t.Parallel()
	m := load(t, kernelGuest(func(call caller) []byte {
		return w.Code(
			w.Loop(w.Empty,
				call("alloc", n64(10_000)), w.LocalSet(0), call("store_u8", w.LocalGet(0), zero()), call("free", w.LocalGet(0)),
				w.LocalGet(1), n64(1), w.Op(0x7c), w.LocalTee(1), n64(5_000), w.Op(0x53), w.BrIf(0)),
			zero())
	}))
	r := mustCall(t, m, sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 64 << 10}})
	if r.PeakMemoryBytes == 0 || r.PeakMemoryBytes > 64<<10 {
		t.Errorf("peak of %d bytes", r.PeakMemoryBytes)
	}
}

// TestKernelGrowsInSteps fills the memory of a plug-in that only makes blocks: they
// are not copied over and over, each call pays the same for what is, and all but
// a little of the memory can be used.
func TestKernelGrowsInSteps(t *testing.T) {
	const limit, block = 8 << 20, 1024
	m := w.New()
	alloc := m.ImportFunc(env, "alloc", w.Sig("i64", "i64"))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "i32",
		w.Loop(w.Empty, n64(block), w.Call(alloc), w.Op(0x50), w.Op(0x45), // i64.eqz; i32.eqz
			w.LocalGet(0), w.I32Const(1), w.Op(0x6a), w.LocalSet(0), w.BrIf(0)),
		w.LocalGet(0)))
	plugin := load(t, m.Bytes())
	var fuel uint64
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := call(t, plugin, sandbox.Call{Limits: sandbox.Limits{MemoryBytes: limit}})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, sandbox.ErrMemory) || r.ExitCode < limit/block*9/10 {
			t.Fatalf("%d blocks, %v", r.ExitCode, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 40*limit {
			t.Errorf("%d MiB were allocated for a memory of %d", made>>20, limit>>20)
		}
		if fuel != 0 && r.Fuel != fuel || r.Fuel < limit/16 {
			t.Errorf("it cost %d units, the call before %d", r.Fuel, fuel)
		}
		fuel = r.Fuel
	}
}

// FuzzKernel makes calls to the kernel in any order with any numbers. The guest
// may fail; the host must not.
func FuzzKernel(f *testing.F) {
	f.Add([]byte{}, []byte("input"))
	f.Add([]byte{0, 8, 1, 0, 1, 2, 0x80}, []byte{})
	f.Add([]byte{10, 1, 0x80, 8, 0x80, 3, 11, 0, 18, 9, 12, 2}, []byte("0123456789"))
	f.Add([]byte{0, 200, 13, 0x80, 100, 16, 0x80, 18, 13, 0x80, 1, 15}, []byte("x"))
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, program, input []byte) {
		if len(program) > 500 {
			return
		}
		m := loadIn(t, r, kernelGuest(func(caller) []byte { return w.Code(kernelProgram(program), zero()) }))
		defer m.Close(t.Context())
		result, err := m.Call(t.Context(), sandbox.Call{Export: "run", Input: input, Limits: sandbox.Limits{MemoryBytes: 1 << 20}})
		var limit *sandbox.LimitError
		if err != nil && !errors.As(err, &limit) && !errors.Is(err, sandbox.ErrTrap) && !errors.Is(err, sandbox.ErrGuest) {
			t.Fatal(err)
		}
		if result.PeakMemoryBytes > 1<<20 {
			t.Fatalf("peak of %d bytes", result.PeakMemoryBytes)
		}
	})
}

// kernelProgram reads calls and their numbers from bytes. The number 0x80 is
// the last result, 0x81 to 0x88 are extreme ones.
func kernelProgram(b []byte) (code []byte) {
	extreme := []int64{-1, -8, 1 << 32, 1<<63 - 1, -1 << 63, 1 << 20, 65536, 4095}
	next := func() byte {
		if len(b) == 0 {
			return 0
		}
		v := b[0]
		b = b[1:]
		return v
	}
	for len(b) > 0 {
		i := int(next()) % len(kernelFunctions())
		f := kernelFunctions()[i]
		for _, p := range w.Types(f.params) {
			v, push := next(), []byte(nil)
			switch {
			case v == 0x80:
				push = w.LocalGet(0)
			case v > 0x80 && int(v-0x81) < len(extreme):
				push = n64(extreme[v-0x81])
			default:
				push = n64(int64(binary.BigEndian.Uint16([]byte{0, v})))
			}
			if p == w.I32 {
				push = w.Code(push, w.Op(0xa7))
			}
			code = append(code, push...)
		}
		code = append(code, w.Call(i)...)
		switch f.results {
		case "i64":
			code = append(code, w.LocalSet(0)...)
		case "i32":
			code = append(code, w.Code(w.Op(0xad), w.LocalSet(0))...)
		}
	}
	return code
}

// TestArena makes sure that loads and stores do not leave WebAssembly: a host
// function would cost ten times the fuel.
func TestArena(t *testing.T) {
	t.Parallel()
	const turns = 1000
	turn := w.Code(w.LocalGet(0), w.I32Const('x'), w.Call(kStore), w.LocalGet(0), w.Call(kLoad), w.Drop())
	m := load(t, extismTool(w.I64Const(64), w.Call(kAlloc), w.LocalSet(0), bytes.Repeat(turn, turns), zero()))
	for range 3 {
		if r := mustCall(t, m, sandbox.Call{}); r.Fuel > 40*turns {
			t.Errorf("%d loads and stores cost %d units of fuel", 2*turns, r.Fuel)
		}
	}
}
