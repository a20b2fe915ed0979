package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// leftover is a piece of state a guest can reach. The guest looks whether it is
// as at first, makes it another, and returns 0 only if it was.
type leftover struct {
	what string
	wasm []byte
	// kept is true when the instance can be used again after it.
	kept bool
}

// leftovers is the inventory: everything a call could leave to the next.
func leftovers() []leftover {
	return append(append(memoryLeftovers(), globalLeftovers()...), append(tableLeftovers(), hostLeftovers()...)...)
}

func memoryLeftovers() []leftover {
	byteAt := func(addr int32) []byte {
		return w.Code(w.I32Const(addr), w.Load(0x2d, 0), w.I32Const(addr), w.I32Const(7), w.Store(0x3a, 0))
	}
	data := newGuest().memory(2, w.NoMax)
	data.Data(100, []byte("first"))
	start := newGuest().memory(1, w.NoMax)
	start.Start(start.Func(w.Sig("", ""), "", w.I32Const(8), w.I32Const(8), w.Load(0x28, 0), w.I32Const(1), w.Op(0x6a), w.Store(0x36, 0)))
	grown := w.Code(w.I32Const(3), w.MemoryGrow(), w.Drop(),
		w.I32Const(4<<16-1), w.Load(0x2d, 0), w.I32Const(4<<16-1), w.I32Const(9), w.Store(0x3a, 0))
	return []leftover{
		{what: "first byte of memory", wasm: tool(byteAt(0)), kept: true},
		{what: "last byte of memory", wasm: tool(byteAt(1<<16 - 1)), kept: true},
		{what: "a data segment", wasm: data.tool("run",
			w.I32Const(100), w.Load(0x2d, 0), w.I32Const('f'), w.Op(0x47), w.I32Const(100), w.I32Const('x'), w.Store(0x3a, 0)).Bytes(), kept: true},
		{what: "what the start function wrote", wasm: start.tool("run",
			w.I32Const(8), w.Load(0x28, 0), w.I32Const(1), w.Op(0x47), w.I32Const(8), w.I32Const(5), w.Store(0x36, 0)).Bytes(), kept: true},
		{what: "what _initialize wrote", wasm: newGuest().memory(1, w.NoMax).
			initialize(w.I32Const(8), w.I32Const(8), w.Load(0x28, 0), w.I32Const(1), w.Op(0x6a), w.Store(0x36, 0)).
			tool("run", w.I32Const(8), w.Load(0x28, 0), w.I32Const(1), w.Op(0x47), w.I32Const(8), w.I32Const(5), w.Store(0x36, 0)).Bytes(), kept: true},
		{what: "size of memory", wasm: tool(w.MemorySize(), w.I32Const(1), w.Op(0x47), w.I32Const(1), w.MemoryGrow(), w.Drop()), kept: true},
		{what: "memory that was grown", wasm: tool(grown), kept: true},
		{what: "memory at its maximum", wasm: newGuest().memory(1, 4).tool("run", w.MemorySize(), w.I32Const(1), w.Op(0x47), grown, w.Op(0x72)).Bytes(), kept: true},
		{what: "room to grow", wasm: newGuest().memory(1, 4).tool("run", w.I32Const(3), w.MemoryGrow(), w.I32Const(1), w.Op(0x47), w.I32Const(1), w.MemoryGrow(), w.I32Const(-1), w.Op(0x47), w.Op(0x72)).Bytes(), kept: true},
		{what: "a passive data segment", wasm: droppedData()},
	}
}

// droppedData drops a segment, after it has copied from it.
func droppedData() []byte {
	g := newGuest().memory(1, w.NoMax)
	seg := g.PassiveData([]byte("x"))
	return g.tool("run", zero(), zero(), w.I32Const(1), w.MemoryInit(seg), w.Op(0xfc, 9), w.U32(uint32(seg)), zero()).Bytes()
}

func globalLeftovers() (out []leftover) {
	f32 := func(b byte) []byte { return []byte{0x43, 0, 0, 0, b} }
	for _, c := range []struct {
		name        string
		first, then []byte
		differs     []byte // compares two values of the type
		kept        bool
	}{
		{"i32", w.I32Const(-3), w.I32Const(4), w.Op(0x47), true},
		{"i64", w.I64Const(-1 << 40), w.I64Const(4), w.Op(0x52), true},
		{"f32", f32(0x40), f32(0x41), w.Op(0x5c), true},
		{"f64", w.F64Const(1.5), w.F64Const(-2), w.Op(0x62), true},
		{"v128", v128(1), v128(2), w.Op(0xfd, 0x24, 0xfd, 0x53), false},
	} {
		g := newGuest().memory(1, 1)
		i := g.Global(w.Types(c.name)[0], true, c.first)
		code := w.Code(w.GlobalGet(i), c.first, c.differs, c.then, w.GlobalSet(i))
		out = append(out, leftover{what: "global of type " + c.name, wasm: g.tool("run", code).Bytes(), kept: c.kept})
	}
	g := newGuest().memory(1, 1)
	i := g.Global(w.FuncRef, true, w.Op(0xd0, 0x70))
	f := g.Func(w.Sig("", ""), "")
	g.RawElem(w.Code(w.Op(3, 0, 1), w.U32(uint32(f)))) // declares it
	g.tool("run", w.GlobalGet(i), w.Op(0xd1), w.Op(0x45), w.RefFunc(f), w.GlobalSet(i))
	return append(out, leftover{what: "global of type funcref", wasm: g.Bytes()})
}

// v128 is a vector of sixteen times b.
func v128(b byte) []byte {
	code := w.Op(0xfd, 12)
	for range 16 {
		code = append(code, b)
	}
	return code
}

func tableLeftovers() []leftover {
	table := func(code ...[]byte) []byte {
		g := newGuest().memory(1, 1)
		g.Table(w.FuncRef, 2, 10)
		f := g.Func(w.Sig("", ""), "")
		g.Elem(0, f)
		return g.tool("run", code...).Bytes()
	}
	dropped := newGuest().memory(1, 1)
	dropped.Table(w.FuncRef, 2, 10)
	dropped.RawElem(w.Code(w.Op(1, 0, 1), w.U32(uint32(dropped.Func(w.Sig("", ""), "")))))
	dropped.tool("run", zero(), zero(), w.I32Const(1), w.Op(0xfc, 12, 0, 0), w.Op(0xfc, 13, 0), zero())
	return []leftover{
		{what: "an entry of a table", wasm: table(zero(), w.Op(0x25, 0), w.Op(0xd1), zero(), w.Op(0xd0, 0x70), w.Op(0x26, 0))},
		{what: "size of a table", wasm: table(w.Op(0xfc, 16, 0), w.I32Const(2), w.Op(0x47), w.Op(0xd0, 0x70), w.I32Const(1), w.Op(0xfc, 15, 0), w.Drop())},
		{what: "a passive element segment", wasm: dropped.Bytes()},
	}
}

func hostLeftovers() []leftover {
	wasi := func(name string, s w.Signature, code ...[]byte) []byte { return wasiTool(name, s, nil, code...) }
	fd := func(n int32) []byte { return w.I32Const(n) }
	return []leftover{
		// The first block of a call is at 16, and holds nothing.
		{what: "an Extism block", kept: true, wasm: extismTool(w.I64Const(8), w.Call(kAlloc), w.LocalTee(0), w.I64Const(16), w.Op(0x52),
			w.LocalGet(0), w.I32Const(7), w.Call(kStore))},
		{what: "an error that was set", kept: true, wasm: newGuest().memory(1, 1).tool("run", zero()).Bytes()},
		{what: "a closed descriptor", kept: true, wasm: wasi("fd_close", w.Sig("i32", "i32"), fd(1), w.Call(0))},
		{what: "a renumbered descriptor", kept: true, wasm: wasi("fd_renumber", w.Sig("i32 i32", "i32"), fd(1), fd(0), w.Call(0))},
		{what: "flags of a descriptor", kept: true, wasm: flagsLeftover()},
		{what: "a flag that _initialize set", kept: true, wasm: flagged()},
		{what: "randomness", kept: true, wasm: wasi("random_get", w.Sig("i32 i32", "i32"), zero(), w.I32Const(8), w.Call(0), w.Drop(),
			zero(), w.Load(0x29, 0), w.I64Const(firstRandom()), w.Op(0x52))},
		{what: "time", kept: true, wasm: wasi("clock_time_get", w.Sig("i32 i64 i32", "i32"), w.I32Const(1), w.I64Const(0), w.I32Const(8), w.Call(0), w.Drop(),
			w.I32Const(8), w.Load(0x29, 0), w.I64Const(int64(time.Millisecond)), w.Op(0x52))},
	}
}

// flagsLeftover reads the flags of standard output and sets one.
func flagsLeftover() []byte {
	m := w.New()
	get := m.ImportFunc(preview1, "fd_fdstat_get", w.Sig("i32 i32", "i32"))
	set := m.ImportFunc(preview1, "fd_fdstat_set_flags", w.Sig("i32 i32", "i32"))
	m.Memory(1, 1)
	m.ExportMemory("memory")
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", args(1, 0), w.Call(get), args(1, 4), w.Call(set), w.Op(0x72),
		zero(), w.Load(0x2f, 2), w.Op(0x72)))
	return m.Bytes()
}

// flagged sets a flag of standard output when it begins, as the runtime of Go
// does. Its run finds the flag, takes it away, and closes the descriptor.
func flagged() []byte {
	g := newGuest()
	set := g.ImportFunc(preview1, "fd_fdstat_set_flags", w.Sig("i32 i32", "i32"))
	get := g.ImportFunc(preview1, "fd_fdstat_get", w.Sig("i32 i32", "i32"))
	end := g.ImportFunc(preview1, "fd_close", w.Sig("i32", "i32"))
	const nonblock = 4
	return g.memory(1, 1).
		initialize(w.I32Const(1), w.I32Const(nonblock), w.Call(set), w.Drop()).
		tool("run",
			w.I32Const(1), zero(), w.Call(get), zero(), w.Load(0x2f, 2), w.I32Const(nonblock), w.Op(0x47), w.Op(0x72),
			w.I32Const(1), zero(), w.Call(set), w.Op(0x72), w.I32Const(1), w.Call(end), w.Op(0x72)).Bytes()
}

// firstRandom is the first 8 bytes of the sequence of seed 0.
func firstRandom() int64 { return int64(rand.NewChaCha8([32]byte{}).Uint64()) }

// TestNothingIsLeft runs each guest of the inventory again and again, with
// every way of resetting: the state is always as at first.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, s := range sandbox.Strategies() {
		r := newRuntime(t, sandbox.Options{Reset: s, Functions: extismFunctions()})
		for _, c := range leftovers() {
			t.Run(fmt.Sprintf("%s/%s", s, c.what), func(t *testing.T) {
				t.Parallel()
				m := loadIn(t, r, c.wasm)
				for i := range 5 {
					got := mustCall(t, m, sandbox.Call{Env: vars{}})
					want := sandbox.StrategyNone
					if c.kept && i > 0 {
						want = s
					}
					if got.Strategy != want && (want != sandbox.StrategyFaults || got.Strategy != sandbox.StrategyScan) {
						t.Errorf("call %d: instance ended as %q, want %q (pinned: %q)", i, got.Strategy, want, m.Info().Pinned)
					}
				}
			})
		}
	}
}

// TestLeftoversAreSeen makes sure that the inventory could fail: guests that
// call their own run a second time find what the first run left.
func TestLeftoversAreSeen(t *testing.T) {
	t.Parallel()
	again := sandbox.HostFunc{Module: "test", Name: "again", Call: func(ctx context.Context, g *sandbox.Guest, _ []uint64) error {
		for range 2 {
			if code, err := g.Call(ctx, "check"); err != nil || code[0] != 0 {
				return errors.Join(fmt.Errorf("code %v", code), err)
			}
		}
		return nil
	}}
	g := w.New()
	f := g.ImportFunc("test", "again", w.Sig("", ""))
	i := g.Global(w.Types("i32")[0], true, zero())
	g.ExportFunc("check", g.Func(w.Sig("", "i32"), "", w.GlobalGet(i), w.I32Const(1), w.GlobalSet(i)))
	g.ExportFunc("run", g.Func(w.Sig("", "i32"), "", w.Call(f), zero()))
	if _, err := call(t, load(t, g.Bytes(), again), sandbox.Call{}); err == nil {
		t.Error("a second run in one call found nothing")
	}
}

// TestTrapIsReset ends calls in the middle of their work; the next finds the
// instance as new.
func TestTrapIsReset(t *testing.T) {
	t.Parallel()
	for _, s := range sandbox.Strategies() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			// Traps unless the byte at 0 is 0, after having written it when there is input.
			g := newGuest().memory(1, w.NoMax)
			g.tool("run", zero(), w.Load(0x2d, 0), w.If(w.Empty, w.Unreachable()),
				zero(), w.I32Const(1), w.Store(0x3a, 0), w.I32Const(2), w.MemoryGrow(), w.Drop(),
				w.Call(g.length), w.Op(0x50), w.Op(0x45), w.If(w.Empty, w.Unreachable()), zero())
			r := newRuntime(t, sandbox.Options{Reset: s})
			m := loadIn(t, r, g.Bytes())
			for i := range 6 {
				input := make([]byte, i%2)
				got, err := call(t, m, sandbox.Call{Input: input})
				if (err != nil) != (i%2 == 1) {
					t.Errorf("call %d: %v", i, err)
				}
				if s != sandbox.StrategyNone && i > 1 && !got.Pooled {
					t.Errorf("call %d had a new instance", i)
				}
			}
		})
	}
}

// TestRestart starts anew when a call asks for it.
func TestRestart(t *testing.T) {
	t.Parallel()
	g := newGuest()
	random := g.ImportFunc("wasi_snapshot_preview1", "random_get", w.Sig("i32 i32", "i32"))
	g = g.memory(1, 1).initialize(zero(), w.I32Const(8), w.Call(random), w.Drop()).
		tool("run", zero(), w.I32Const(8), w.Call(g.write), zero())
	m := load(t, g.Bytes())
	run := func(c sandbox.Call) string { return string(mustCall(t, m, c).Output) }
	frozen := run(sandbox.Call{Seed: 1})
	for range 3 {
		if got := run(sandbox.Call{Seed: 2, Random: true}); got != frozen {
			t.Errorf("randomness of the initialisation %x, at first %x", got, frozen)
		}
	}
	if a, b := run(sandbox.Call{Restart: true, Seed: 1}), run(sandbox.Call{Restart: true, Seed: 2}); a == b || a == frozen {
		t.Errorf("restarted with two seeds: %x and %x, else %x", a, b, frozen)
	}
	if a, b := run(sandbox.Call{Restart: true, Random: true}), run(sandbox.Call{Restart: true, Random: true}); a == b {
		t.Errorf("restarted twice with the system's randomness: %x", a)
	}
}

// outcome is what a caller can see of a call, whatever instance it had.
type outcome struct {
	output, stderr, err, message string
	code                         uint32
	fuel, peak                   uint64
	hostCalls                    int
}

func outcomeOf(r sandbox.Result, err error) outcome {
	return outcome{string(r.Output), string(r.Stderr), fmt.Sprint(err), r.GuestError, r.ExitCode, r.Fuel, r.PeakMemoryBytes, r.HostCalls}
}

// TestResetEqualsNew runs the modules of the Extism SDK on instances that are
// used again, and on new ones: nothing tells them apart.
func TestResetEqualsNew(t *testing.T) {
	t.Parallel()
	functions := extismFunctions()
	for _, u := range userFunctions() {
		functions = append(functions, u.ours())
	}
	byFile := map[string][]extismCase{}
	for _, c := range extismCases() {
		byFile[c.file] = append(byFile[c.file], c)
	}
	runtimes := map[sandbox.Strategy]*sandbox.Runtime{}
	for _, s := range sandbox.Strategies() {
		runtimes[s] = newRuntime(t, sandbox.Options{Reset: s, Functions: functions})
	}
	for file, cases := range byFile {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			wasm := extismModule(t, file)
			if testing.Short() && len(wasm) > 1<<20 {
				t.Skip("takes seconds to compile")
			}
			want := map[int]outcome{}
			for _, s := range []sandbox.Strategy{sandbox.StrategyNone, sandbox.StrategyCopy, sandbox.StrategyMadvise, sandbox.StrategyScan, sandbox.StrategyFaults} {
				if r := runtimes[s]; r != nil {
					compareRuns(t, loadIn(t, r, wasm), cases, want)
				}
			}
		})
	}
}

// compareRuns makes each call three times, in turns with the others.
func compareRuns(t *testing.T, m *sandbox.Module, cases []extismCase, want map[int]outcome) {
	for range 3 {
		for i, c := range cases {
			got := outcomeOf(m.Call(context.Background(), sandbox.Call{Export: c.export, Input: []byte(c.input), Config: c.config, Env: vars{}}))
			if _, ok := want[i]; !ok {
				want[i] = got
			}
			if got != want[i] {
				t.Errorf("%s with %.20q:\n got %.300v\nwant %.300v", c.export, c.input, got, want[i])
			}
		}
	}
}

// TestRandomModules does the same with modules that were made by chance: what
// they do to memory, globals and tables is nobody's idea.
func TestRandomModules(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	runtimes := map[sandbox.Strategy]*sandbox.Runtime{}
	for _, s := range sandbox.Strategies() {
		runtimes[s] = newRuntime(t, sandbox.Options{Reset: s})
	}
	modules := 60
	if os.Getenv("SKILLET_PROVE") != "" {
		modules = 5000
	}
	kept, ran := 0, 0
	for seed := range uint64(modules) {
		wasm := w.Random(rand.New(rand.NewPCG(seed, 1)))
		if seed%4 == 3 {
			wasm = w.RandomThrowing(rand.New(rand.NewPCG(seed, 1)))
		}
		var want outcome
		for i, s := range []sandbox.Strategy{sandbox.StrategyNone, sandbox.StrategyCopy, sandbox.StrategyMadvise, sandbox.StrategyScan, sandbox.StrategyFaults} {
			if runtimes[s] == nil {
				continue
			}
			m, err := runtimes[s].Load(t.Context(), wasm)
			if err != nil {
				t.Fatalf("module %d: %v", seed, err)
			}
			for n := range 4 {
				r, err := m.Call(t.Context(), sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 3_000_000}})
				got := outcomeOf(r, err)
				if i == 0 && n == 0 {
					want = got
				}
				if ran++; r.Pooled {
					kept++
				}
				if got != want {
					t.Fatalf("module %d, %s, call %d:\n got %.300v\nwant %.300v", seed, s, n, got, want)
				}
			}
			m.Close(t.Context())
		}
	}
	t.Logf("proof: %d calls of %d random modules, %d of them on used instances, all alike", ran, modules, kept)
	if kept < ran/10 {
		t.Errorf("only %d of %d calls were on used instances", kept, ran)
	}
}
