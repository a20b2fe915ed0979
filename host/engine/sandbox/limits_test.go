package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// limitCase is a guest that would go on without one limit.
type limitCase struct {
	name   string
	wasm   []byte
	call   sandbox.Call
	kind   error
	says   []string // what the error names: the value and the setting
	host   []sandbox.HostFunc
	refuse error // what else the error is
}

// short keeps a guest whose limit is not enforced from holding up the tests.
const short = 20 * time.Second

func limitCases() []limitCase {
	return slices.Concat(memoryCases(), fuelCases(), wallCases(), sizeCases(), countCases())
}

func memoryCases() []limitCase {
	grow := func(pages int32) []byte { return w.Code(w.I32Const(pages), w.MemoryGrow()) }
	return []limitCase{
		{
			name: "memory", kind: sandbox.ErrMemory, says: []string{"2 MiB", "max_memory_mb"}, refuse: sandbox.ErrTrap,
			// A guest grows until it is refused, and then traps, as allocators do.
			wasm: tool(w.Loop(w.Empty, grow(4), w.I32Const(-1), w.Op(0x46), w.If(w.Empty, w.Unreachable()), w.Br(0)), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 2 << 20}},
		},
		{
			name: "memory, reported by the guest", kind: sandbox.ErrMemory, says: []string{"1 MiB", "max_memory_mb"}, refuse: sandbox.ErrGuest,
			wasm: tool(grow(100), w.LocalSet(0), w.I32Const(12)),
			call: sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 1 << 20}},
		},
		{
			name: "memory at the start", kind: sandbox.ErrMemory, says: []string{"1 MiB", "2 MiB", "max_memory_mb"},
			wasm: newGuest().memory(32, w.NoMax).tool("run", zero()).Bytes(),
			call: sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 1 << 20}},
		},
	}
}

func fuelCases() []limitCase {
	return []limitCase{
		{
			name: "fuel in a loop", kind: sandbox.ErrFuel, says: []string{"5000000 units", "max_fuel"},
			wasm: tool(forever()),
			call: sandbox.Call{Limits: sandbox.Limits{Fuel: 5_000_000}},
		},
		{
			name: "fuel of bulk instructions", kind: sandbox.ErrFuel, says: []string{"max_fuel"},
			wasm: newGuest().memory(16, 16).tool("run", w.Loop(w.Empty, zero(), zero(), w.I32Const(1<<20), w.MemoryFill(), w.Br(0)), zero()).Bytes(),
			call: sandbox.Call{Limits: sandbox.Limits{Fuel: 5_000_000}},
		},
		{
			name: "fuel of host functions", kind: sandbox.ErrFuel, says: []string{"max_fuel"},
			wasm: hostLoop("dear"),
			host: []sandbox.HostFunc{{Module: "test", Name: "dear", Fuel: 1 << 40, Call: nothing}},
		},
	}
}

func wallCases() []limitCase {
	return []limitCase{
		{
			name: "wall in a loop", kind: sandbox.ErrTime, says: []string{"30ms", "max_execution_time"}, refuse: context.DeadlineExceeded,
			wasm: tool(forever()),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond, Fuel: 1 << 60}},
		},
		{
			name: "wall in recursion without loops", kind: sandbox.ErrTime, says: []string{"30ms"}, refuse: context.DeadlineExceeded,
			wasm: treeRecursion(),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond, Fuel: 1 << 60}},
		},
		{
			name: "wall in the start section", kind: sandbox.ErrTime, says: []string{"30ms"},
			wasm: startLoop(),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond, Fuel: 1 << 60}},
		},
		{
			name: "wall in _initialize", kind: sandbox.ErrTime, says: []string{"30ms"},
			wasm: newGuest().memory(1, 1).tool("run", zero()).initialize(forever(), w.Drop()).Bytes(),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond, Fuel: 1 << 60}},
		},
		{
			name: "wall in a host function", kind: sandbox.ErrTime, says: []string{"30ms"},
			wasm: hostLoop("wait"),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond}},
			host: []sandbox.HostFunc{{Module: "test", Name: "wait", Call: func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
				<-ctx.Done()
				return ctx.Err()
			}}},
		},
		{
			name: "wall in a sleep", kind: sandbox.ErrTime, says: []string{"30ms"},
			wasm: sleeper(time.Hour),
			call: sandbox.Call{Limits: sandbox.Limits{Wall: 30 * time.Millisecond}},
		},
	}
}

func sizeCases() []limitCase {
	return []limitCase{
		{
			name: "input", kind: sandbox.ErrInput, says: []string{"10 bytes", "11 bytes"},
			wasm: echo(),
			call: sandbox.Call{Input: make([]byte, 11), Limits: sandbox.Limits{InputBytes: 10}},
		},
		{
			name: "output", kind: sandbox.ErrOutput, says: []string{"10 bytes", "max_output_kb"},
			wasm: echo(),
			call: sandbox.Call{Input: make([]byte, 11), Limits: sandbox.Limits{OutputBytes: 10}},
		},
		{
			name: "output in pieces", kind: sandbox.ErrOutput, says: []string{"64 KiB", "max_output_kb"},
			wasm: tool(w.Loop(w.Empty, zero(), w.I32Const(1000), w.Call(2), w.Br(0)), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{OutputBytes: 64 << 10}},
		},
		{
			name: "output of Extism", kind: sandbox.ErrOutput, says: []string{"10 bytes"},
			wasm: extismTool(w.I64Const(11), w.Call(kAlloc), w.LocalTee(0), w.I64Const(11), w.Call(kOutput), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{OutputBytes: 10}},
		},
	}
}

func countCases() []limitCase {
	return []limitCase{
		{
			name: "host calls", kind: sandbox.ErrHostCalls, says: []string{"5 calls", "max_host_calls"},
			wasm: hostLoop("nothing"),
			call: sandbox.Call{Limits: sandbox.Limits{HostCalls: 5}},
			host: []sandbox.HostFunc{{Module: "test", Name: "nothing", Call: nothing}},
		},
		{
			name: "host calls of WASI", kind: sandbox.ErrHostCalls, says: []string{"5 calls"},
			wasm: pathLoop(),
			call: sandbox.Call{Limits: sandbox.Limits{HostCalls: 5}},
		},
		{
			name: "fuel of paths", kind: sandbox.ErrFuel, says: []string{"max_fuel"},
			wasm: wasiTool("path_unlink_file", w.Sig("i32 i32 i32", "i32"), nil,
				w.Loop(w.Empty, w.I32Const(3), zero(), w.I32Const(1<<20), w.Call(0), w.Drop(), w.Br(0)), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{Fuel: 5_000_000, HostCalls: 1000}},
		},
		{
			name: "table", kind: sandbox.ErrTable, says: []string{"10 elements"},
			wasm: tableGrower(100_000),
			call: sandbox.Call{Limits: sandbox.Limits{TableElems: 10}},
		},
		{
			name: "call stack", kind: sandbox.ErrStack, says: []string{"call stack"},
			wasm: deepRecursion(),
		},
		{
			name: "Extism blocks", kind: sandbox.ErrMemory, says: []string{"2 MiB", "max_memory_mb"},
			wasm: extismTool(w.Loop(w.Empty, w.I64Const(100_000), w.Call(kAlloc), w.LocalTee(0), w.I32Const(1), w.Call(kStore), w.Br(0)), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 2 << 20}},
		},
		{
			name: "Extism blocks of absurd size", kind: sandbox.ErrMemory, says: []string{"2 MiB"},
			wasm: extismTool(w.I64Const(-1), w.Call(kAlloc), w.LocalTee(0), w.I32Const(1), w.Call(kStore), zero()),
			call: sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 2 << 20}},
		},
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range limitCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := load(t, c.wasm, c.host...)
			ctx, cancel := context.WithTimeout(t.Context(), short)
			defer cancel()
			c.call.Export = "run"
			r, err := m.Call(ctx, c.call)
			wantLimit(t, err, c.kind, c.says...)
			if c.refuse != nil && !errors.Is(err, c.refuse) {
				t.Errorf("error %v is not %v", err, c.refuse)
			}
			if most := c.call.Limits.MemoryBytes; most > 0 && r.PeakMemoryBytes > most {
				t.Errorf("peak of %d bytes, limit %d", r.PeakMemoryBytes, most)
			}
			if most := c.call.Limits.Fuel; most > 0 && r.Fuel > most {
				t.Errorf("%d units spent, limit %d", r.Fuel, most)
			}
		})
	}
}

// TestEveryLimitIsReached sees that each limit has a case of a guest that reaches it.
func TestEveryLimitIsReached(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"WallSet": "it is only told", "LogBytes": "TestLog: the call goes on", "Files": "TestFileLimits: it takes a directory",
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sandbox.Limits]()) {
		reached := slices.ContainsFunc(limitCases(), func(c limitCase) bool { return !reflect.ValueOf(c.call.Limits).FieldByIndex(f.Index).IsZero() })
		if !reached && elsewhere[f.Name] == "" {
			t.Errorf("no case of TestLimits reaches Limits.%s", f.Name)
		}
	}
}

func nothing(context.Context, *sandbox.Guest, []uint64) error { return nil }

// initialize exports code as _initialize.
func (g guest) initialize(code ...[]byte) guest {
	g.ExportFunc("_initialize", g.Func(w.Sig("", ""), "", code...))
	return g
}

// hostLoop calls a host function without end.
func hostLoop(name string) []byte {
	m := w.New()
	f := m.ImportFunc("test", name, w.Sig("", ""))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.Loop(w.Empty, w.Call(f), w.Br(0)), zero()))
	return m.Bytes()
}

// treeRecursion calls itself twice for each of 60 levels: no loop, and no end.
func treeRecursion() []byte {
	m := w.New()
	down := w.Code(w.LocalGet(0), w.I32Const(1), w.Op(0x6b), w.Call(0))
	fib := m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.Op(0x45),
		w.IfElse(w.I32, w.I32Const(1), w.Code(down, down, w.Op(0x6a))))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(60), w.Call(fib), w.Drop(), zero()))
	return m.Bytes()
}

// deepRecursion calls itself until the stack ends.
func deepRecursion() []byte {
	m := w.New()
	f := m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.I32Const(1), w.Op(0x6a), w.Call(0), w.I32Const(1), w.Op(0x6a))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", zero(), w.Call(f), w.Drop(), zero()))
	return m.Bytes()
}

// startLoop never gets through its start section.
func startLoop() []byte {
	m := w.New()
	m.Start(m.Func(w.Sig("", ""), "", w.Loop(w.Empty, w.Br(0))))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", zero()))
	return m.Bytes()
}

// tableGrower grows a table step by step until it is refused, and then traps.
func tableGrower(step int32) []byte {
	m := w.New()
	m.Table(w.FuncRef, 0, w.NoMax)
	grow := w.Code(w.Op(0xd0, 0x70), w.I32Const(step), w.Op(0xfc, 15, 0))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "i32", w.Loop(w.Empty, grow, w.LocalTee(0), w.I32Const(-1), w.Op(0x47), w.BrIf(0)), zero()))
	return m.Bytes()
}

// Indexes of the kernel functions that extismTool imports.
const (
	kAlloc = iota
	kStore
	kLoad
	kOutput
	kInput
	kError
)

// extismTool is a plug-in with one export named run, with an i64 local.
func extismTool(code ...[]byte) []byte {
	m := w.New()
	m.ImportFunc(env, "alloc", w.Sig("i64", "i64"))
	m.ImportFunc(env, "store_u8", w.Sig("i64 i32", ""))
	m.ImportFunc(env, "load_u64", w.Sig("i64", "i64"))
	m.ImportFunc(env, "output_set", w.Sig("i64 i64", ""))
	m.ImportFunc(env, "input_load_u64", w.Sig("i64", "i64"))
	m.ImportFunc(env, "error_set", w.Sig("i64", ""))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "i64", code...))
	return m.Bytes()
}

const preview1 = "wasi_snapshot_preview1"

// wasiTool imports one function of WASI as function 0 and has a page of memory.
func wasiTool(name string, s w.Signature, data []byte, code ...[]byte) []byte {
	m := w.New()
	m.ImportFunc(preview1, name, s)
	m.Memory(16, 16)
	m.ExportMemory("memory")
	m.Data(0, data)
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", code...))
	return m.Bytes()
}

// sleeper waits with poll_oneoff for one relative clock subscription.
func sleeper(d time.Duration) []byte {
	sub := make([]byte, 48) // tag 0 at 8, clock id at 16, timeout at 24
	for i := range 8 {
		sub[24+i] = byte(d >> (8 * i))
	}
	return wasiTool("poll_oneoff", w.Sig("i32 i32 i32 i32", "i32"), sub, zero(), w.I32Const(100), w.I32Const(1), w.I32Const(200), w.Call(0))
}

// pathLoop looks for a file without end.
func pathLoop() []byte {
	return wasiTool("path_unlink_file", w.Sig("i32 i32 i32", "i32"), []byte("x"),
		w.Loop(w.Empty, w.I32Const(3), zero(), w.I32Const(1), w.Call(0), w.Drop(), w.Br(0)), zero())
}

// TestTableGrows shows the hard bound of tables: the guest sees its growth
// refused, and the host's memory does not.
func TestTableGrows(t *testing.T) {
	t.Parallel()
	r := mustCall(t, load(t, tableGrower(1000)), sandbox.Call{})
	if steps := r.Fuel / 1000; steps < 100 || steps > 130 {
		t.Errorf("the table grew for %d units of fuel, want about 100,000", r.Fuel)
	}
}

// TestLog keeps what fits and says once that more came.
func TestLog(t *testing.T) {
	t.Parallel()
	m := load(t, hostLoop("say"), sandbox.HostFunc{Module: "test", Name: "say", Call: func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
		g.Log(sandbox.LevelInfo, strings.Repeat("x", 100))
		return nil
	}})
	var lines []string
	c := sandbox.Call{Export: "run", Limits: sandbox.Limits{LogBytes: 250, HostCalls: 10}, Log: func(_ sandbox.Level, msg string) { lines = append(lines, msg) }}
	if _, err := call(t, m, c); !errors.Is(err, sandbox.ErrHostCalls) {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[2] != "log cut after 250 bytes" {
		t.Errorf("log %q", lines)
	}
}

func TestStandardStreams(t *testing.T) {
	t.Parallel()
	m := command(t)
	r, err := call(t, m, start("flood"))
	wantLimit(t, err, sandbox.ErrOutput, "1 MiB", "max_output_kb")
	if len(r.Output) > 1<<20 {
		t.Errorf("output of %d bytes was kept", len(r.Output))
	}
	r = mustCall(t, m, start("stderr", "1000"))
	if n := len(r.Stderr); n < 64<<10 || n > 65<<10 || !strings.HasSuffix(string(r.Stderr), "\n[cut after 64 KiB]\n") {
		t.Errorf("standard error of %d bytes, ends in %q", n, r.Stderr[n-20:])
	}
}

// TestMemoryOfRuntime runs a real allocator into the limit.
func TestMemoryOfRuntime(t *testing.T) {
	t.Parallel()
	c := start("grow")
	c.Limits.MemoryBytes = 24 << 20
	r, err := call(t, command(t), c)
	wantLimit(t, err, sandbox.ErrMemory, "24 MiB", "max_memory_mb")
	if !strings.Contains(string(r.Stderr), "out of memory") || r.PeakMemoryBytes > 24<<20 {
		t.Errorf("peak %d, stderr %.60q", r.PeakMemoryBytes, r.Stderr)
	}
}

// TestRandomHuge asks for a megabyte of randomness again and again.
func TestRandomHuge(t *testing.T) {
	t.Parallel()
	m := load(t, wasiTool("random_get", w.Sig("i32 i32", "i32"), nil,
		w.Loop(w.Empty, zero(), w.I32Const(1<<20), w.Call(0), w.Drop(), w.Br(0)), zero()))
	for _, granted := range []bool{false, true} {
		_, err := call(t, m, sandbox.Call{Random: granted, Limits: sandbox.Limits{Fuel: 1 << 60, Wall: 30 * time.Millisecond}})
		wantLimit(t, err, sandbox.ErrTime)
		_, err = call(t, m, sandbox.Call{Random: granted, Limits: sandbox.Limits{Fuel: 1_000_000}})
		wantLimit(t, err, sandbox.ErrFuel)
	}
}

// TestFileLimits has quotas of the call, and of the tree.
func TestFileLimits(t *testing.T) {
	t.Parallel()
	m := command(t)
	for _, c := range []struct {
		args  string
		quota jail.Quota
		want  string
		says  []string
	}{
		{"openmany D/in/a.txt", jail.Quota{OpenFiles: 7}, "7", []string{"open files limit of 7"}},
		{"createmany D/out", jail.Quota{Files: 5}, "5", []string{"files created limit of 5"}},
		{"write D/out/x 123456", jail.Quota{FileBytes: 5}, "", []string{"file size limit of 5 bytes", "max_file_size_mb"}},
		{"write D/out/x 123456", jail.Quota{TotalBytes: 5}, "", []string{"bytes written limit of 5 bytes"}},
		{"truncate D/out/y 1000000", jail.Quota{FileBytes: 1000}, "", []string{"file size limit of 1000 bytes"}},
		{"walk D/in", jail.Quota{Entries: 1}, "", []string{"directory entries limit of 1"}},
	} {
		for _, ofCall := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, of the call %v", c.args, ofCall), func(t *testing.T) {
				t.Parallel()
				dir := newTree(t)
				call := start(strings.Fields(strings.ReplaceAll(c.args, "D/", dir+"/"))...)
				ofTree := c.quota
				if ofCall {
					call.Limits.Files, ofTree = c.quota, jail.Quota{}
				}
				roots := []jail.Root{{Path: filepath.Join(dir, "in")}, {Path: filepath.Join(dir, "out"), Write: true}}
				writeFile(t, filepath.Join(dir, "out/y"), "y")
				call.FS = openJail(t, ofTree, roots...)
				r, err := m.Call(t.Context(), call)
				wantLimit(t, err, sandbox.ErrFiles, c.says...)
				if c.want != "" && string(r.Output) != c.want {
					t.Errorf("%s files, want %s", r.Output, c.want)
				}
				if left := call.FS.Usage().OpenFiles; left != 0 {
					t.Errorf("%d files are still open", left)
				}
			})
		}
	}
}

// TestReentry calls back into the guest from a host function.
func TestReentry(t *testing.T) {
	t.Parallel()
	deep := 0
	again := sandbox.HostFunc{Module: "test", Name: "again", Call: func(ctx context.Context, g *sandbox.Guest, _ []uint64) error {
		deep++
		_, err := g.Call(ctx, "run")
		return err
	}}
	m := load(t, hostLoop("again"), again)
	_, err := call(t, m, sandbox.Call{})
	wantLimit(t, err, sandbox.ErrDepth, "16 calls")
	if deep != sandbox.MaxDepth {
		t.Errorf("%d calls deep, want %d", deep, sandbox.MaxDepth)
	}

	add := w.New()
	f := add.ImportFunc("test", "double", w.Sig("i32", "i32"))
	add.ExportFunc("plus", add.Func(w.Sig("i32 i32", "i32"), "", w.LocalGet(0), w.LocalGet(1), w.Op(0x6a)))
	add.ExportFunc("run", add.Func(w.Sig("", "i32"), "", w.I32Const(21), w.Call(f)))
	double := sandbox.HostFunc{Module: "test", Name: "double", Params: []byte{sandbox.I32}, Results: []byte{sandbox.I32},
		Call: func(ctx context.Context, g *sandbox.Guest, s []uint64) error {
			sum, err := g.Call(ctx, "plus", s[0], s[0])
			if err == nil {
				s[0] = sum[0]
			}
			return err
		}}
	r, err := call(t, load(t, add.Bytes(), double), sandbox.Call{})
	if r.ExitCode != 42 || !errors.Is(err, sandbox.ErrGuest) {
		t.Errorf("result %d, %v", r.ExitCode, err)
	}
}

// TestReentryEnds ends the whole call when the inner one exits or runs out of
// something, whatever the host function makes of it.
func TestReentryEnds(t *testing.T) {
	t.Parallel()
	m := w.New()
	exit := m.ImportFunc(preview1, "proc_exit", w.Sig("i32", ""))
	again := m.ImportFunc("test", "again", w.Sig("", ""))
	m.Memory(1, 1)
	m.ExportFunc("exit", m.Func(w.Sig("", "i32"), "", w.I32Const(5), w.Call(exit), zero()))
	m.ExportFunc("forever", m.Func(w.Sig("", "i32"), "", forever()))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.Call(again), zero()))
	for _, export := range []string{"exit", "forever"} {
		mod := load(t, m.Bytes(), sandbox.HostFunc{Module: "test", Name: "again", Call: func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			_, err := g.Call(context.Background(), export)
			if err == nil {
				t.Errorf("%s: the host function sees no error", export)
			}
			return nil
		}})
		r, err := call(t, mod, sandbox.Call{Limits: sandbox.Limits{Fuel: 1_000_000}})
		switch export {
		case "exit":
			if r.ExitCode != 5 || !errors.Is(err, sandbox.ErrGuest) {
				t.Errorf("exit: %d, %v", r.ExitCode, err)
			}
		case "forever":
			wantLimit(t, err, sandbox.ErrFuel)
		}
	}
}

// TestNestedModules runs into the same depth through modules that call each
// other, also when only one call may run at a time.
func TestNestedModules(t *testing.T) {
	t.Parallel()
	var m *sandbox.Module
	deepest := 0
	next := sandbox.HostFunc{Module: "test", Name: "next", Call: func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
		deepest++
		_, err := m.Call(ctx, sandbox.Call{Export: "run"})
		return err
	}}
	r := newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{next}, MaxConcurrent: 1})
	m = loadIn(t, r, hostLoop("next"))
	_, err := call(t, m, sandbox.Call{})
	wantLimit(t, err, sandbox.ErrDepth)
	if deepest != sandbox.MaxDepth {
		t.Errorf("%d calls deep, want %d", deepest, sandbox.MaxDepth)
	}
}

// TestLimitsAreChecked refuses limits above the ceilings.
func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	m := load(t, echo())
	for _, l := range []sandbox.Limits{
		{MemoryBytes: sandbox.MaxMemoryBytes + 1}, {MemoryBytes: 1}, {TableElems: sandbox.MaxTableElems + 1},
		{Fuel: 1<<63 - 1}, {Wall: -1}, {OutputBytes: -1}, {HostCalls: -1},
	} {
		if _, err := call(t, m, sandbox.Call{Limits: l}); err == nil {
			t.Errorf("limits %+v were accepted", l)
		}
	}
}
