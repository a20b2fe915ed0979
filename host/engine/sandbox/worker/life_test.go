package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/internal/reexec"
)

// loadReactor loads the reactor in workers.
func loadReactor(t testing.TB, s Settings) *Module {
	t.Helper()
	_, r := runtimes(t, s, hostFunctions())
	m, err := r.Load(t.Context(), reactor())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mustEcho makes a call that works.
func mustEcho(t testing.TB, m *Module) {
	t.Helper()
	r, err := m.Call(t.Context(), sandbox.Call{Export: "echo", Input: []byte("x")})
	if err != nil || string(r.Output) != "x" {
		t.Fatalf("echo: %q, %v", r.Output, err)
	}
}

// busyProcess waits for the one process with a call.
func busyProcess(m *Module) *process {
	for {
		m.mu.Lock()
		for p := range m.busy {
			m.mu.Unlock()
			return p
		}
		m.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// TestKilled loses one call, and no other.
func TestKilled(t *testing.T) {
	t.Parallel()
	m := loadReactor(t, Settings{})
	mustEcho(t, m)
	for _, export := range []string{"spin", "waits"} {
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := m.Call(t.Context(), sandbox.Call{Export: export, Limits: sandbox.Limits{Fuel: 1 << 60, Wall: time.Minute}})
			var died *DiedError
			if !errors.As(err, &died) || died.How != "signal: killed" {
				t.Errorf("killed in %s: %v", export, err)
			}
		})
		p := busyProcess(m)
		mustEcho(t, m) // another process at the same time
		time.Sleep(20 * time.Millisecond)
		p.kill()
		calls.Wait()
		mustEcho(t, m)
	}
}

// TestCrash has the process of a module end by itself between calls, and be
// replaced.
func TestCrash(t *testing.T) {
	t.Parallel()
	m := loadReactor(t, Settings{})
	for _, how := range []string{"panic", "exit"} {
		mustEcho(t, m)
		p := onlyIdle(t, m)
		if _, err := try(p, how, "x"); !errors.Is(err, ErrDied) {
			t.Errorf("%s: %v", how, err)
		}
		mustEcho(t, m)
		if q := onlyLiving(m); q == p || q == nil {
			t.Errorf("after %s the process was not replaced", how)
		}
	}
}

func onlyLiving(m *Module) (p *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.idle {
		if w.proc.alive() {
			p = w.proc
		}
	}
	return p
}

// TestUnresponsive kills a worker that does not end its call in time.
func TestUnresponsive(t *testing.T) {
	t.Parallel()
	m := loadReactor(t, Settings{})
	mustEcho(t, m)
	p := onlyIdle(t, m)
	silence(p)
	_, err := m.Call(t.Context(), sandbox.Call{Export: "echo", Limits: sandbox.Limits{Wall: 50 * time.Millisecond}})
	if !errors.Is(err, sandbox.ErrTime) {
		t.Errorf("past its wall time: %v", err)
	}
	mustEcho(t, m)
	silence(onlyLiving(m))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Call(ctx, sandbox.Call{Export: "echo"}); !errors.Is(err, sandbox.ErrTime) {
		t.Errorf("past the caller's deadline: %v", err)
	}
}

// silence makes a worker one that hears nothing.
func silence(p *process) { p.wire.out = silent{} }

type silent struct{}

func (silent) Write(b []byte) (int, error) { return len(b), nil }

// TestIdle ends processes that nobody needs: those of modules, and the spare.
func TestIdle(t *testing.T) {
	t.Parallel()
	m := loadReactor(t, Settings{Spare: true, Idle: 50 * time.Millisecond})
	mustEcho(t, m)
	pool := m.runtime.pool
	for range 500 {
		pool.mu.Lock()
		n := len(pool.all)
		making := pool.making
		pool.mu.Unlock()
		if n == 0 && making == nil {
			mustEcho(t, m)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("processes stay for ever")
}

// TestSpare is there before it is needed.
func TestSpare(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{Spare: true})
	first, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	defer p.drop(first)
	for range 500 {
		p.mu.Lock()
		spare := p.spare
		p.mu.Unlock()
		if spare != nil {
			second, err := p.take()
			if err != nil || second != spare {
				t.Errorf("the spare one was not taken: %v", err)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no spare process was made")
}

// TestExpect: who says that a process will be needed is given that one.
func TestExpect(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{})
	p.Expect()
	p.Expect()
	first, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	defer p.drop(first)
	p.mu.Lock()
	n, spare := len(p.all), p.spare
	p.mu.Unlock()
	if n != 1 || spare != nil {
		t.Errorf("%d processes, spare %v: want the expected one alone", n, spare)
	}
	second, err := p.take()
	if err != nil || second == first {
		t.Fatalf("the second is the first: %v", err)
	}
	p.drop(second)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p.Expect()
	if p.making != nil {
		t.Error("a closed pool starts a process")
	}
}

// TestModuleClosed refuses calls, ends running ones when its context says so,
// and leaves no process.
func TestModuleClosed(t *testing.T) {
	t.Parallel()
	m := loadReactor(t, Settings{})
	mustEcho(t, m)
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := m.Call(context.Background(), sandbox.Call{Export: "spin", Limits: sandbox.Limits{Fuel: 1 << 60}}); !errors.Is(err, ErrDied) {
			t.Errorf("running call: %v", err)
		}
	})
	busyProcess(m)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
	calls.Wait()
	if _, err := m.Call(t.Context(), sandbox.Call{Export: "echo"}); !errors.Is(err, sandbox.ErrClosed) || !errors.Is(err, ErrClosed) {
		t.Errorf("call of a closed module: %v", err)
	}
	if err := m.runtime.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := m.runtime.Load(t.Context(), reactor()); !errors.Is(err, ErrClosed) {
		t.Errorf("load in a closed runtime: %v", err)
	}
}

// TestNesting bounds calls of modules by host functions of others.
func TestNesting(t *testing.T) {
	t.Parallel()
	var m *Module
	deepest := 0
	functions := []sandbox.HostFunc{{Module: "test", Name: "again", Call: func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
		deepest = max(deepest, sandbox.Nesting(ctx))
		_, err := m.Call(ctx, sandbox.Call{Export: "run"})
		return err
	}}}
	_, r := runtimes(t, Settings{}, functions)
	m, err := r.Load(t.Context(), again())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), sandbox.Call{Export: "run"}); !errors.Is(err, sandbox.ErrDepth) || deepest != sandbox.MaxDepth {
		t.Errorf("%d deep: %v", deepest, err)
	}
}

// TestLeftovers makes calls, good and bad ones, and looks for what is left.
func TestLeftovers(t *testing.T) { // not parallel: it counts
	t.Setenv("TMPDIR", t.TempDir())
	func() {
		p, err := NewPool(nil, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s := newSandbox(t, sandbox.Options{Functions: hostFunctions(), Compiler: p, CacheDir: filepath.Join(t.TempDir(), "c")})
		r := NewRuntime(nil, p, s, hostFunctions(), 0)
		defer r.Close(t.Context())
		before := resources(t)
		for turn := range 5 {
			m, err := r.Load(t.Context(), reactor())
			if err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			for i := range 4 {
				calls.Go(func() {
					for range 25 {
						mustEcho(t, m)
						_, _ = m.Call(t.Context(), sandbox.Call{Export: []string{"trap", "fails", "answer", "code"}[i], Env: 1})
					}
				})
			}
			calls.Wait()
			if turn%2 == 0 {
				onlyLiving(m).kill()
			}
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		after := resources(t)
		for range 100 { // goroutines and threads end soon after the processes
			if after.all() <= before.all()+8 {
				break
			}
			time.Sleep(50 * time.Millisecond)
			after = resources(t)
		}
		if after.all() > before.all()+8 || after.children > 0 {
			t.Errorf("after 1,000 calls %+v, before %+v", after, before)
		}
	}()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*")); len(left) != 0 {
		t.Errorf("directories are left: %v", left)
	}
}

type used struct{ goroutines, threads, descriptors, children int }

func (u used) all() int { return u.goroutines + u.threads + u.descriptors + u.children }

// resources counts what a leak would take; on Linux all of it.
func resources(t *testing.T) (u used) {
	t.Helper()
	u.goroutines = runtime.NumGoroutine()
	if runtime.GOOS != "linux" {
		return u
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		b, _ := os.ReadFile(filepath.Join("/proc/self/task", thread.Name(), "children"))
		for _, child := range strings.Fields(string(b)) {
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.Contains(string(line), reexec.Worker.Word) || len(line) == 0 {
				u.children++
			}
		}
	}
	descriptors, _ := os.ReadDir("/proc/self/fd")
	u.threads, u.descriptors = len(threads), len(descriptors)
	return u
}

// TestCompileMemory has a compilation run out of the memory it may have.
func TestCompileMemory(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{CompileBytes: 96 << 20})
	_, err := p.Compile(t.Context(), slow())
	if !errors.Is(err, ErrDied) || !errors.Is(err, sandbox.ErrCompile) {
		t.Errorf("compile: %v", err)
	}
}

// TestIdleProcesses keeps no more processes waiting than may, of whatever modules: those
// end that have waited longest.
func TestIdleProcesses(t *testing.T) {
	t.Parallel()
	_, r := runtimes(t, Settings{IdleProcesses: 2}, hostFunctions())
	var all []*Module
	for range 4 {
		m, err := r.Load(t.Context(), reactor())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	for range 3 {
		for _, m := range all {
			mustEcho(t, m)
		}
	}
	waits := func(m *Module) int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.idle)
	}
	for waits(all[0])+waits(all[1]) > 0 {
		time.Sleep(time.Millisecond)
	}
	if waits(all[2]) != 1 || waits(all[3]) != 1 {
		t.Errorf("%d and %d processes wait of those that were called last", waits(all[2]), waits(all[3]))
	}
}

// TestModulesApart has calls of two loaded modules with the same bytes in processes of
// their own: they are loaded for two skills.
func TestModulesApart(t *testing.T) {
	t.Parallel()
	_, r := runtimes(t, Settings{}, hostFunctions())
	seen := map[*process]bool{}
	for range 2 {
		m, err := r.Load(t.Context(), reactor())
		if err != nil {
			t.Fatal(err)
		}
		mustEcho(t, m)
		mustEcho(t, m)
		seen[onlyIdle(t, m)] = true
	}
	if len(seen) != 2 {
		t.Error("one process ran the calls of both")
	}
}

// TestOneInTheOther counts the calls in both kinds of runtime: the depth ends calls that
// make each other, and none of them waits for a turn while the first has it.
func TestOneInTheOther(t *testing.T) {
	t.Parallel()
	var next []caller
	functions := []sandbox.HostFunc{{Module: "test", Name: "again", Call: func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
		_, err := next[sandbox.Nesting(ctx)%2].Call(ctx, sandbox.Call{Export: "run"})
		return err
	}}}
	p := newPool(t, Settings{})
	s := newSandbox(t, sandbox.Options{Functions: functions, Compiler: p, MaxConcurrent: 1})
	inside, err := s.Load(t.Context(), again())
	if err != nil {
		t.Fatal(err)
	}
	outside, err := NewRuntime(hclog.NewNullLogger(), p, s, functions, 1).Load(t.Context(), again())
	if err != nil {
		t.Fatal(err)
	}
	next = []caller{inside, outside}
	var calls sync.WaitGroup
	for i := range 4 { // of each kind one has a turn
		calls.Go(func() {
			if _, err := next[i%2].Call(t.Context(), sandbox.Call{Export: "run"}); !errors.Is(err, sandbox.ErrDepth) {
				t.Errorf("%v", err)
			}
		})
	}
	calls.Wait()
}
