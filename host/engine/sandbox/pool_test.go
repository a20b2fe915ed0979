package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// scratch writes to n pages of 64 KiB of its memory.
func scratch(pages int32) []byte {
	g := newGuest().memory(1, w.NoMax)
	return g.tool("run", w.I32Const(pages), w.MemoryGrow(), w.Drop(),
		zero(), w.I32Const(1), w.I32Const(pages<<16), w.MemoryFill(), zero()).Bytes()
}

// TestBurst makes 10,000 calls at once. All are answered, no more instances
// wait than ran at once, and once closed nothing of them is left.
func TestBurst(t *testing.T) {
	t.Parallel()
	const calls, slots = 10_000, 8
	before := mappings(t)
	r := newRuntime(t, sandbox.Options{MaxConcurrent: slots, IdleTimeout: time.Hour})
	m := loadIn(t, r, echo())
	var wg sync.WaitGroup
	errs := make(chan error, calls)
	for i := range calls {
		wg.Go(func() {
			input := fmt.Sprint("call ", i)
			got, err := m.Call(t.Context(), sandbox.Call{Export: "run", Input: []byte(input)})
			if err == nil && string(got.Output) != input {
				err = fmt.Errorf("output %q for %q", got.Output, input)
			}
			errs <- err
		})
	}
	wg.Wait()
	for range calls {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Pool(); got.Idle == 0 || got.Idle > slots || got.IdleBytes <= 0 {
		t.Errorf("after the burst %+v wait", got)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Pool(); got != (sandbox.PoolStats{}) {
		t.Errorf("after closing %+v wait", got)
	}
	// Other tests run beside this one: a leak would be one for each call.
	if after := mappings(t); after > before+calls/10 {
		t.Errorf("%d memory mappings, %d before", after, before)
	}
}

// TestOneSlot makes calls at once that have to wait for each other: never do two
// run, and none waits for ever.
func TestOneSlot(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	look := sandbox.HostFunc{Module: "test", Name: "look", Results: []sandbox.ValueType{sandbox.I32}, Call: func(_ context.Context, _ *sandbox.Guest, s []uint64) error {
		s[0] = uint64(inside.Add(1) - 1)
		runtime.Gosched()
		inside.Add(-1)
		return nil
	}}
	g := newGuest()
	others := g.ImportFunc("test", "look", w.Sig("", "i32"))
	m := loadIn(t, newRuntime(t, sandbox.Options{MaxConcurrent: 1, Functions: []sandbox.HostFunc{look}}), g.tool("run", w.Call(others)).Bytes())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 250 {
				if _, err := m.Call(t.Context(), sandbox.Call{Export: "run"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestKeptContext has a host function keep the context of its call: it stays
// that of a call that is over, whatever is called next.
func TestKeptContext(t *testing.T) {
	t.Parallel()
	var kept []context.Context
	keep := sandbox.HostFunc{Module: "test", Name: "keep", Call: func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
		for i, old := range kept {
			if !errors.Is(old.Err(), context.Canceled) {
				t.Errorf("during call %d the context of call %d: %v", len(kept), i, old.Err())
			}
		}
		kept = append(kept, ctx)
		return nil
	}}
	g := newGuest()
	it := g.ImportFunc("test", "keep", w.Sig("", ""))
	m := loadIn(t, newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{keep}}), g.tool("run", w.Call(it), zero()).Bytes())
	other := loadIn(t, newRuntime(t, sandbox.Options{}), echo())
	for range 20 {
		mustCall(t, m, sandbox.Call{})
		mustCall(t, other, sandbox.Call{})
	}
}

// mappings counts the process's memory mappings, where the system tells.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	n := 0
	for _, c := range b {
		if c == '\n' {
			n++
		}
	}
	return n
}

// TestPoolBudget makes no more wait than the budget allows.
func TestPoolBudget(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]int64{"none": -1, "small": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, sandbox.Options{PoolBytes: budget})
			for i := range 40 {
				g := newGuest().memory(1, w.NoMax)
				g.Data(int32(i), []byte("a module of its own"))
				m := loadIn(t, r, g.tool("run", zero(), w.I32Const(1), w.I32Const(1<<16), w.MemoryFill(), zero()).Bytes())
				for range 3 {
					mustCall(t, m, sandbox.Call{})
				}
			}
			got := r.Pool()
			if got.IdleBytes > max(budget, 0) {
				t.Errorf("%+v wait with a budget of %d", got, budget)
			}
			if budget > 0 && got.Idle == 0 {
				t.Error("nothing waits")
			}
		})
	}
}

// TestIdle lets instances go that nobody has used for a while.
func TestIdle(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, sandbox.Options{IdleTimeout: 20 * time.Millisecond})
	m := loadIn(t, r, echo())
	for range 3 {
		mustCall(t, m, sandbox.Call{})
	}
	if got := r.Pool(); got.Idle != 1 {
		t.Fatalf("%+v wait", got)
	}
	for deadline := time.Now().Add(short); r.Pool().Idle > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v still wait", r.Pool())
		}
	}
	if got := mustCall(t, m, sandbox.Call{Input: []byte("again")}); got.Pooled || string(got.Output) != "again" {
		t.Errorf("after the time-out: %+v", got)
	}
}

// TestMemoryIsGivenBack makes a call that writes much, and then small ones:
// what waits does not hold what only the large call needed.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, s := range sandbox.Strategies() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, sandbox.Options{Reset: s})
			m := loadIn(t, r, scratch(500))
			for range 3 {
				mustCall(t, m, sandbox.Call{})
			}
			if got := r.Pool(); got.IdleBytes > 4<<20 {
				t.Errorf("%+v wait after calls that wrote 32 MB", got)
			}
		})
	}
}

// TestLimitsOfPooled gives each call its own limits, also on an instance that
// had others before.
func TestLimitsOfPooled(t *testing.T) {
	t.Parallel()
	m := load(t, tool(w.I32Const(100), w.MemoryGrow(), w.I32Const(-1), w.Op(0x46)))
	for i, c := range []struct {
		limit uint64
		fails bool
	}{{64 << 20, false}, {64 << 20, false}, {1 << 20, true}, {8 << 20, false}, {1 << 16, true}, {128 << 20, false}} {
		_, err := call(t, m, sandbox.Call{Limits: sandbox.Limits{MemoryBytes: c.limit}})
		if (err != nil) != c.fails {
			t.Errorf("call %d with %d bytes: %v", i, c.limit, err)
		}
	}
	m = load(t, spin())
	for i, fuel := range []uint64{1000, 2_000_000, 3000, 5000} {
		r, err := call(t, m, sandbox.Call{Limits: sandbox.Limits{Fuel: fuel}})
		wantLimit(t, err, sandbox.ErrFuel)
		if r.Fuel != fuel {
			t.Errorf("call %d with %d units used %d", i, fuel, r.Fuel)
		}
	}
}

// TestFilesOfPooled gives each call its own files, on instances whose
// initialisation has seen the directories there are.
func TestFilesOfPooled(t *testing.T) {
	t.Parallel()
	m := load(t, extismModule(t, "read_write.wasm"), extismFunctions()...)
	open := func(name, content string) (*jail.FS, string) {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := jail.Open([]jail.Root{{Path: dir}}, jail.GuardFunc(func(jail.Op, string) error { return nil }), jail.Quota{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f, file
	}
	a, fileA := open("a", "content of a")
	b, fileB := open("b", "content of b")
	for i := range 12 {
		fs, file, want := a, fileA, "content of a"
		if i%2 == 1 {
			fs, file, want = b, fileB, "content of b"
		}
		got, err := call(t, m, sandbox.Call{Export: "try_read", FS: fs, Config: map[string]string{"path": file}, Env: vars{}})
		if err != nil || string(got.Output) != want {
			t.Fatalf("call %d: %q, %v", i, got.Output, err)
		}
		if i > 3 && !got.Pooled {
			t.Errorf("call %d had a new instance", i)
		}
		other := fileB
		if i%2 == 1 {
			other = fileA
		}
		if got, err := call(t, m, sandbox.Call{Export: "try_read", FS: fs, Config: map[string]string{"path": other}, Env: vars{}}); err == nil {
			t.Fatalf("call %d read the other's file: %q", i, got.Output)
		}
	}
}

// TestHeartbeat keeps guests that only compute from holding up the process: the
// collector, forced all the while, never waits long until all of it stands
// still. A guest that is not interrupted would hold it up for as long as it
// runs, and so would one that leaves no processor to others. How long exactly is proved where nothing else runs: with SKILLET_PROVE
// set no stop takes more than 10 ms, otherwise half of them do not.
func TestHeartbeat(t *testing.T) {
	grown := w.Code(w.I32Const(900), w.MemoryGrow(), w.Drop())
	for name, wasm := range map[string][]byte{
		"loop":      spin(),
		"recursion": treeRecursion(),
		"fill":      tool(grown, w.Loop(w.Empty, zero(), zero(), w.I32Const(900<<16), w.MemoryFill(), w.Br(0)), zero()),
		"copy":      tool(grown, w.Loop(w.Empty, zero(), w.I32Const(1), w.I32Const(899<<16), w.MemoryCopy(), w.Br(0)), zero()),
	} {
		t.Run(name, func(t *testing.T) {
			m := load(t, wasm)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, runtime.GOMAXPROCS(0))
			for range cap(ended) {
				go func() {
					_, err := m.Call(ctx, sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 1 << 60, Wall: time.Minute, MemoryBytes: 64 << 20}})
					ended <- err
				}()
			}
			before := stops()
			rounds := 20
			if os.Getenv("SKILLET_PROVE") != "" {
				rounds = 200
			}
			var naps []time.Duration
			for range rounds {
				runtime.GC()
				nap := time.Now()
				time.Sleep(100 * time.Microsecond)
				naps = append(naps, time.Since(nap))
			}
			median, longest := before.since(stops())
			slices.Sort(naps)
			if got := naps[len(naps)/2]; got > 10*time.Millisecond {
				t.Errorf("a goroutine that sleeps for 100 µs gets its turn after %v", got)
			}
			cancel()
			for range cap(ended) {
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled guest: %v", err)
				}
			}
			t.Logf("proof: with a guest that computes (%s) the process stops for a collection within %v, at most %v", name, median, longest)
			if got := []time.Duration{median, longest}[min(len(os.Getenv("SKILLET_PROVE")), 1)]; got > 10*time.Millisecond {
				t.Errorf("stopping takes %v (median %v, longest %v)", got, median, longest)
			}
		})
	}
}

// stopTimes is how often it took how long to stop all goroutines for a
// collection.
type stopTimes metrics.Float64Histogram

func stops() *stopTimes {
	sample := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(sample)
	return (*stopTimes)(sample[0].Value.Float64Histogram())
}

// since returns the median and the longest time between two readings, rounded
// up to what the runtime tells apart.
func (s *stopTimes) since(now *stopTimes) (median, longest time.Duration) {
	total := uint64(0)
	for i, n := range now.Counts {
		total += n - s.Counts[i]
	}
	seen := uint64(0)
	for i, n := range now.Counts {
		if n -= s.Counts[i]; n == 0 {
			continue
		}
		longest = time.Duration(now.Buckets[i+1] * float64(time.Second))
		if seen < (total+1)/2 {
			median = longest
		}
		seen += n
	}
	return median, longest
}
