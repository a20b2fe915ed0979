package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

var errOurs = errors.New("not today")

// counter adds one to a number in memory and a global, and returns their sum,
// or traps when its input is not empty.
func counter() []byte {
	g := newGuest().memory(1, w.NoMax)
	global := g.Global(w.I32, true, zero())
	return g.tool("run",
		zero(), zero(), w.Load(0x28, 0), w.I32Const(1), w.Op(0x6a), w.Store(0x36, 0),
		w.GlobalGet(global), w.I32Const(1), w.Op(0x6a), w.GlobalSet(global),
		w.Call(g.length), w.Op(0xa7), w.If(w.Empty, w.Unreachable()),
		zero(), w.Load(0x28, 0), w.GlobalGet(global), w.Op(0x6a)).Bytes()
}

// TestFresh starts each call from the same state, also after one that trapped.
func TestFresh(t *testing.T) {
	t.Parallel()
	m := load(t, counter())
	for i := range 6 {
		c := sandbox.Call{}
		if i%2 == 1 {
			c.Input = []byte("x")
		}
		r, err := call(t, m, c)
		switch {
		case i%2 == 1 && !errors.Is(err, sandbox.ErrTrap):
			t.Errorf("call %d: %v", i, err)
		case i%2 == 0 && r.ExitCode != 2:
			t.Errorf("call %d sees what call %d left: %d", i, i-1, r.ExitCode)
		}
	}
}

func TestTrap(t *testing.T) {
	t.Parallel()
	for reason, code := range map[string][]byte{
		"unreachable":                 w.Unreachable(),
		"integer divide by zero":      w.Code(w.I32Const(1), zero(), w.Op(0x6d)),
		"out of bounds memory access": w.Code(w.I32Const(-1), w.Load(0x28, 0)),
	} {
		_, err := call(t, load(t, tool(code)), sandbox.Call{})
		var trap *sandbox.TrapError
		if !errors.As(err, &trap) || trap.Reason != reason || len(trap.Stack) == 0 || !errors.Is(err, sandbox.ErrTrap) {
			t.Errorf("%s: %v, %+v", reason, err, trap)
		}
	}
}

func TestGuestError(t *testing.T) {
	t.Parallel()
	g := newGuest().memory(1, 1)
	g.Data(0, []byte("invalidno such page"))
	g.tool("told", args(0, 7, 7, 12), w.Call(g.fail), w.I32Const(3))
	g.tool("told but 0", args(0, 7, 7, 12), w.Call(g.fail), zero())
	g.tool("code", w.I32Const(9))
	m := load(t, g.Bytes())
	for e, want := range map[sandbox.GuestError]string{
		{Message: "no such page"}:                              "no such page",
		{Message: "no such page", Code: 1}:                     "no such page",
		{Message: "no such page", Code: 0xffffffff}:            "no such page",
		{Message: "no such page", Code: 7}:                     "no such page (it returned 7)",
		{Message: "no such page", Code: 0xfffffffe, Kind: "x"}: "no such page (it returned -2)",
		{Code: 9}: "guest returned 9 without a message",
	} {
		if got := e.Error(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	for export, want := range map[string]sandbox.GuestError{
		"told":       {Kind: "invalid", Message: "no such page", Code: 3},
		"told but 0": {Kind: "invalid", Message: "no such page"},
		"code":       {Code: 9},
	} {
		r, err := call(t, m, sandbox.Call{Export: export})
		var got *sandbox.GuestError
		if !errors.As(err, &got) || *got != want || !errors.Is(err, sandbox.ErrGuest) || r.GuestError != want.Message || r.ExitCode != want.Code {
			t.Errorf("%s: %v, result %+v", export, err, r)
		}
	}
}

func TestHostFunctionFails(t *testing.T) {
	t.Parallel()
	fails := sandbox.HostFunc{Module: "test", Name: "f", Call: func(context.Context, *sandbox.Guest, []uint64) error {
		return fmt.Errorf("read /x: %w", errOurs)
	}}
	_, err := call(t, load(t, hostLoop("f"), fails), sandbox.Call{})
	var trap *sandbox.TrapError
	if !errors.Is(err, errOurs) || !errors.As(err, &trap) || len(trap.Stack) == 0 || !strings.Contains(err.Error(), "host function test.f: read /x: not today") {
		t.Errorf("%v, %+v", err, trap)
	}
	panics := sandbox.HostFunc{Module: "test", Name: "f", Call: func(_ context.Context, _ *sandbox.Guest, s []uint64) error {
		s[5] = 1
		return nil
	}}
	m := load(t, hostLoop("f"), panics)
	if _, err := call(t, m, sandbox.Call{}); !errors.Is(err, sandbox.ErrPanic) {
		t.Errorf("panic of a host function: %v", err)
	}
}

// TestGuest uses what a host function can do with its guest.
func TestGuest(t *testing.T) {
	t.Parallel()
	var kept *sandbox.Guest
	f := sandbox.HostFunc{Module: "test", Name: "f", Params: []byte{sandbox.I32, sandbox.I32}, Results: []byte{sandbox.I64},
		Call: func(_ context.Context, g *sandbox.Guest, s []uint64) error {
			kept = g
			b, err := g.Read(uint32(s[0]), uint32(s[1]))
			if err != nil {
				return err
			}
			for _, bad := range [][2]uint32{{1 << 16, 1}, {0, 1<<16 + 1}, {1<<32 - 1, 1<<32 - 1}} {
				if _, err := g.View(bad[0], bad[1]); err == nil {
					return fmt.Errorf("view %v", bad)
				}
				if err := g.Write(bad[0], make([]byte, min(bad[1], 1<<17))); err == nil {
					return fmt.Errorf("write %v", bad)
				}
			}
			if g.Env() != "env" || g.Config()["k"] != "v" {
				return fmt.Errorf("env %v, config %v", g.Env(), g.Config())
			}
			meta, body := []byte(`{"n":1}`), []byte(strings.ToUpper(string(b)))
			g.SetResponse(meta, body)
			s[0] = uint64(len(meta))<<32 | uint64(len(body))
			return nil
		}}
	m := w.New()
	host := m.ImportFunc("test", "f", w.Sig("i32 i32", "i64"))
	respond := m.ImportFunc("skillet:host/v1", "response_read", w.Sig("i32 i32", ""))
	output := m.ImportFunc("skillet:host/v1", "output_write", w.Sig("i32 i32", ""))
	m.Memory(1, 1)
	m.Data(0, []byte("hello"))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", args(0, 5), w.Call(host), w.Drop(), args(100, 200), w.Call(respond),
		args(100, 7), w.Call(output), args(200, 5), w.Call(output), zero()))
	m.ExportFunc("twice", m.Func(w.Sig("", "i32"), "", args(0, 5), w.Call(host), w.Drop(), args(100, 200), w.Call(respond), args(100, 200), w.Call(respond), zero()))
	m.ExportFunc("beyond", m.Func(w.Sig("", "i32"), "", args(1<<16-1, 5), w.Call(host), w.Drop(), zero()))
	mod := load(t, m.Bytes(), f)
	c := sandbox.Call{Env: "env", Config: map[string]string{"k": "v"}}
	if r := mustCall(t, mod, c); string(r.Output) != `{"n":1}HELLO` || r.HostCalls != 1 {
		t.Errorf("output %q, %d host calls", r.Output, r.HostCalls)
	}
	if _, err := kept.Read(0, 1); err == nil {
		t.Error("a guest was read after its call")
	}
	for _, export := range []string{"twice", "beyond"} {
		c.Export = export
		if _, err := call(t, mod, c); !errors.Is(err, sandbox.ErrTrap) {
			t.Errorf("%s: %v", export, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{{Module: "test", Name: "f", Params: []byte{sandbox.I32}, Call: nothing}}})
	imports := w.New()
	imports.ImportFunc("test", "f", w.Sig("i64", ""))
	imports.ImportFunc("env", "missing", w.Sig("i32 f64", "i32"))
	imports.ImportFunc(preview1, "fd_nothing", w.Sig("", ""))
	_, err := r.Load(t.Context(), imports.Bytes())
	if !errors.Is(err, sandbox.ErrImport) {
		t.Fatal(err)
	}
	for _, part := range []string{"env.missing(i32, f64) -> i32: no host function", "test.f(i64): the host offers test.f(i32)", "fd_nothing"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	tick := w.New()
	tick.ImportFunc(wasmbin.TickModule, wasmbin.TickName, w.Sig("", ""))
	reserved := w.New()
	reserved.Global(w.I64, true, w.I64Const(1<<62))
	reserved.Export(wasmbin.FuelGlobal, w.KindGlobal, 0)
	types := w.New()
	types.ExportFunc("run", types.Func(w.Sig("", "i32"), "", w.I64Const(1)))
	for name, wasm := range map[string][]byte{"tick": tick.Bytes(), "reserved": reserved.Bytes(), "text": []byte("not wasm"), "empty": nil} {
		if _, err := r.Load(t.Context(), wasm); !errors.Is(err, sandbox.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Load(t.Context(), types.Bytes()); err == nil {
		t.Error("a function of the wrong type was compiled")
	}
}

func TestCallRefuses(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.ExportFunc("takes", m.Func(w.Sig("i32", "i32"), "", zero()))
	m.ExportFunc("gives", m.Func(w.Sig("", "i64"), "", w.I64Const(0)))
	m.ExportFunc("two", m.Func(w.Sig("", "i32 i32"), "", zero(), zero()))
	m.ExportFunc("none", m.Func(w.Sig("", ""), ""))
	mod := load(t, m.Bytes())
	for _, export := range []string{"takes", "gives", "two"} {
		if _, err := call(t, mod, sandbox.Call{Export: export}); !errors.Is(err, sandbox.ErrSignature) {
			t.Errorf("%s: %v", export, err)
		}
	}
	if _, err := call(t, mod, sandbox.Call{Export: "other"}); !errors.Is(err, sandbox.ErrNoExport) || !strings.Contains(err.Error(), "takes, gives, two, none") {
		t.Errorf("other: %v", err)
	}
	mustCall(t, mod, sandbox.Call{Export: "none"})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	f := sandbox.HostFunc{Module: "test", Name: "f", Call: nothing}
	for name, o := range map[string]sandbox.Options{
		"twice":    {Functions: []sandbox.HostFunc{f, f}},
		"built in": {Functions: []sandbox.HostFunc{{Module: env, Name: "alloc", Call: nothing}}},
		"tick":     {Functions: []sandbox.HostFunc{{Module: wasmbin.TickModule, Name: wasmbin.TickName, Call: nothing}}},
		"WASI":     {Functions: []sandbox.HostFunc{{Module: preview1, Name: "fd_write", Call: nothing}}},
		"no code":  {Functions: []sandbox.HostFunc{{Module: "test", Name: "f"}}},
		"negative": {MaxConcurrent: -1},
	} {
		if _, err := sandbox.New(t.Context(), hclog.NewNullLogger(), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestCancelled ends calls whose context is done, before and while they run.
func TestCancelled(t *testing.T) {
	t.Parallel()
	m := load(t, spin())
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(errOurs)
	c := sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 1 << 60}}
	if _, err := m.Call(ctx, c); !errors.Is(err, errOurs) || errors.Is(err, sandbox.ErrTime) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err := m.Call(ctx, c)
	wantLimit(t, err, sandbox.ErrTime, "the caller's deadline")
	<-ctx.Done() // the clock can be a little ahead of the timer
	if _, err := newRuntime(t, sandbox.Options{}).Load(ctx, spin()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("load: %v", err)
	}
}

// TestConcurrent has many goroutines call one module, each with its own input.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, sandbox.Options{MaxConcurrent: 4})
	m := loadIn(t, r, echo())
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 20 {
				want := strings.Repeat(fmt.Sprint(i, ",", j, ";"), 500)
				out, err := m.Call(t.Context(), sandbox.Call{Export: "run", Input: []byte(want)})
				if err != nil || string(out.Output) != want {
					t.Errorf("call %d of %d: %d bytes, %v", j, i, len(out.Output), err)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestSlots makes calls wait for their turn, and give up with their context.
func TestSlots(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}), make(chan struct{})
	wait := sandbox.HostFunc{Module: "test", Name: "wait", Call: func(context.Context, *sandbox.Guest, []uint64) error {
		inside <- struct{}{}
		<-leave
		return errOurs
	}}
	m := loadIn(t, newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{wait}, MaxConcurrent: 1}), hostLoop("wait"))
	first := make(chan error)
	go func() {
		_, err := m.Call(context.Background(), sandbox.Call{Export: "run"})
		first <- err
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := m.Call(ctx, sandbox.Call{Export: "run"}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for one of 1") {
		t.Errorf("second call: %v", err)
	}
	close(leave)
	if err := <-first; !errors.Is(err, errOurs) {
		t.Errorf("first call: %v", err)
	}
}

// TestClose waits for running calls and refuses later ones.
func TestClose(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}, 1), make(chan struct{})
	wait := sandbox.HostFunc{Module: "test", Name: "wait", Call: func(context.Context, *sandbox.Guest, []uint64) error {
		inside <- struct{}{}
		<-leave
		return errOurs
	}}
	r := newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{wait}})
	m, other := loadIn(t, r, hostLoop("wait")), loadIn(t, r, echo())
	done := make(chan error, 1)
	go func() {
		_, err := m.Call(context.Background(), sandbox.Call{Export: "run"})
		done <- err
	}()
	<-inside
	brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for _, closeIt := range []func(context.Context) error{m.Close, r.Close} {
		if err := closeIt(brief); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close while a call runs: %v", err)
		}
	}
	if _, err := other.Call(t.Context(), sandbox.Call{Export: "run"}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("call of a closed runtime: %v", err)
	}
	if _, err := r.Load(t.Context(), echo()); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("load in a closed runtime: %v", err)
	}
	close(leave)
	if err := errors.Join(m.Close(t.Context()), r.Close(t.Context()), other.Close(t.Context()), r.Close(t.Context())); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-done; !errors.Is(err, errOurs) {
		t.Errorf("the call that ran: %v", err)
	}
}

// TestCloseInBubble waits for a call that ends by itself.
func TestCloseInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, sleeper(time.Hour))
		done := make(chan error, 1)
		go func() {
			_, err := m.Call(context.Background(), sandbox.Call{Export: "run", Limits: sandbox.Limits{Wall: 2 * time.Hour}})
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if slept := time.Since(start); slept != time.Hour {
			t.Errorf("closed after %v", slept)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSleepInBubble ends a sleep when the call's time is over, and not later.
func TestSleepInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, sleeper(time.Hour))
		start := time.Now()
		_, err := call(t, m, sandbox.Call{Limits: sandbox.Limits{Wall: time.Minute}})
		wantLimit(t, err, sandbox.ErrTime, "1m0s")
		if slept := time.Since(start); slept != time.Minute {
			t.Errorf("ended after %v", slept)
		}
	})
}

// TestNothingLeaks makes 500 calls, good and bad, and looks at what is left.
func TestNothingLeaks(t *testing.T) {
	m := load(t, counter())
	loud := load(t, wasiTool("random_get", w.Sig("i32 i32", "i32"), nil, args(0, 64), w.Call(0)))
	broken := w.New()
	broken.Memory(1, w.NoMax)
	broken.Start(broken.Func(w.Sig("", ""), "", w.Unreachable()))
	broken.ExportFunc("run", broken.Func(w.Sig("", ""), ""))
	stillborn := load(t, broken.Bytes())
	run := func(n int) {
		for i := range n {
			c := sandbox.Call{Limits: sandbox.Limits{MemoryBytes: 8 << 20}}
			if i%3 == 0 {
				c.Input = []byte("x")
			}
			call(t, m, c)
			call(t, loud, sandbox.Call{})
			if _, err := call(t, stillborn, sandbox.Call{}); !errors.Is(err, sandbox.ErrTrap) {
				t.Fatal(err)
			}
		}
	}
	run(50)
	goroutines, space, heap := runtime.NumGoroutine(), mapped(), liveHeap()
	run(500)
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := mapped(); n > space+1<<30 {
		t.Errorf("%d bytes of address space, %d before", n, space)
	}
	if n := liveHeap(); n > heap+1<<20 {
		t.Errorf("%d bytes of heap, %d before", n, heap)
	}
}

// mapped is the address space the process uses, where it can be told. A call
// that leaked its memory would leave 64 MiB of it.
func mapped() (n int64) {
	b, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(b), &n)
	return n * int64(os.Getpagesize())
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestOutputRoom has calls give their output in room of the caller's, as far as
// it goes, with every way a guest has to give one.
func TestOutputRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	r := newRuntime(t, sandbox.Options{})
	reactor, command := loadIn(t, r, echo()), command(t)
	plugin := loadIn(t, r, extismTool(w.I64Const(8), w.Call(kAlloc), w.LocalTee(0), w.I32Const('x'), w.Call(kStore),
		w.LocalGet(0), w.I64Const(1), w.Call(kOutput), zero()))
	for _, c := range []struct {
		name string
		m    *sandbox.Module
		call sandbox.Call
	}{
		{"reactor", reactor, sandbox.Call{Export: "run", Input: []byte("in and out")}},
		{"plug-in", plugin, sandbox.Call{Export: "run"}},
		{"command", command, sandbox.Call{Export: "_start", Input: []byte(`{"text":"one two three"}`)}},
	} {
		want := mustCall(t, c.m, c.call).Output
		for _, room := range []int{0, len(want) - 1, len(want), 1000} {
			b := bytes.Repeat([]byte("!"), room+1)[:room]
			c.call.Output = b
			for range 3 {
				got := mustCall(t, c.m, c.call).Output
				if !bytes.Equal(got, want) {
					t.Errorf("%s, room for %d bytes: %q, want %q", c.name, room, got, want)
				}
				if in := room >= len(want) && len(got) > 0 && &got[0] == &b[0]; in != (room >= len(want)) {
					t.Errorf("%s, room for %d bytes: the output is in it: %v", c.name, room, in)
				}
			}
			if len(b) > len(want) && b[len(want)] != '!' {
				t.Errorf("%s: what is behind the output was written to", c.name)
			}
		}
	}
}
