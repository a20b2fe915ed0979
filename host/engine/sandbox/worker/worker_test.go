package worker

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/internal/reexec"
)

func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		all := maps.Clone(tries)
		maps.Copy(all, linuxTries())
		os.Exit(serve(nil, all))
	}
	if len(os.Args) == 2 && os.Args[1] == jobMode {
		os.Exit(Serve(work))
	}
	if len(os.Args) == 2 && os.Args[1] == parentMode {
		beParent()
	}
	os.Exit(m.Run())
}

// newPool returns a pool that is closed with the test, and has left nothing
// behind then.
func newPool(t testing.TB, s Settings) *Pool {
	t.Helper()
	p, err := NewPool(hclog.NewNullLogger(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// within returns a process of the pool within its walls.
func within(t testing.TB, p *Pool, memory uint64) *process {
	t.Helper()
	proc, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.setUp(setup{Memory: memory, CPU: 60}); err != nil {
		t.Fatal(proc.explain(err))
	}
	return proc
}

// answers is a module whose export returns a number.
func answers(n int32) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(n)))
	return m.Bytes()
}

// newSandbox is a runtime that compiles in workers.
func newSandbox(t testing.TB, o sandbox.Options) *sandbox.Runtime {
	t.Helper()
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for _, spare := range []bool{false, true} {
		p := newPool(t, Settings{Spare: spare})
		r := newSandbox(t, sandbox.Options{Compiler: p, CacheDir: filepath.Join(t.TempDir(), "c")})
		for n := range int32(3) {
			m, err := r.Load(t.Context(), answers(n))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := m.Call(t.Context(), sandbox.Call{Export: "run"})
			if got.ExitCode != uint32(n) {
				t.Errorf("answer %d, want %d", got.ExitCode, n)
			}
		}
	}
}

// TestCompileFails gives the compiler bytes that are no module.
func TestCompileFails(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{})
	_, err := p.Compile(t.Context(), []byte("\x00asm\x01\x00\x00\x00junk"))
	if !errors.Is(err, sandbox.ErrCompile) || errors.Is(err, ErrDied) {
		t.Errorf("junk: %v", err)
	}
	// The stock compiler dies of this one; here it is the worker that does.
	lie := []byte("\x00asm\x01\x00\x00\x00\x03\x05\xff\xff\xff\xff\x0f")
	_, err = p.Compile(t.Context(), lie)
	if !errors.Is(err, sandbox.ErrCompile) || !errors.Is(err, ErrDied) {
		t.Errorf("count that lies: %v", err)
	}
	t.Logf("count that lies: %v", err)
	if _, err := p.Compile(t.Context(), answers(1)); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestCompileCancelled(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Compile(ctx, answers(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.Compile(ctx, slow()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("in the middle: %v", err)
	}
}

// slow is a module that takes seconds to compile.
func slow() []byte {
	m := w.New()
	var body []byte
	for range 3000 {
		body = append(body, w.Code(w.LocalGet(0), w.LocalGet(1), w.Op(0x6a), w.LocalSet(0))...)
	}
	for range 400 {
		m.Func(w.Sig("i32 i32", "i32"), "", body, w.LocalGet(0))
	}
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(1)))
	return m.Bytes()
}

func TestWalls(t *testing.T) {
	t.Parallel()
	walls, err := newPool(t, Settings{}).Walls()
	if err != nil {
		t.Fatal(err)
	}
	for _, wall := range walls {
		t.Logf("%-22s %-5v %s", wall.Name, wall.Holds, wall.Detail)
		if runtime.GOOS == "linux" && !wall.Holds {
			t.Errorf("%s: %s", wall.Name, wall.Detail)
		}
	}
}

// TestClosed refuses work, and ends what is under way.
func TestClosed(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{Spare: true})
	proc := within(t, p, 1<<30)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if proc.alive() {
		t.Error("a process outlived its pool")
	}
	if _, err := os.Stat(proc.dir); err == nil {
		t.Error("its directory is left")
	}
	if _, err := p.Compile(t.Context(), answers(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("compile: %v", err)
	}
}

// TestOtherProgram starts what is no worker.
func TestOtherProgram(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]error{"/bin/true": ErrDied, "/does/not/exist": os.ErrNotExist} {
		p := newPool(t, Settings{})
		p.program = program
		if _, err := p.take(); !errors.Is(err, want) {
			t.Errorf("%s: %v", program, err)
		}
	}
	if is := reexec.Worker.Is; is([]string{"skillet", "run"}) || is([]string{"skillet", reexec.Worker.Word, "x"}) || !is([]string{"skillet", reexec.Worker.Word}) {
		t.Error("arguments")
	}
}

// TestDied says how a process ended and what it wrote.
func TestDied(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{})
	proc := within(t, p, 1<<30)
	defer p.drop(proc)
	_, err := try(proc, "panic", "all is lost")
	var died *DiedError
	if !errors.As(err, &died) || died.How != "exit status 2" || !strings.Contains(died.Output, "panic: all is lost") {
		t.Errorf("panic: %v", err)
	}
}

// again is a module whose export calls a host function.
func again() []byte {
	m := w.New()
	f := m.ImportFunc("test", "again", w.Sig("", ""))
	m.ExportFunc("run", m.Func(w.Sig("", ""), "", w.Call(f)))
	return m.Bytes()
}
