package code_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/code"
)

// resident is how much memory this process has, in bytes; 0 where that is not known.
func resident(t testing.TB) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// crowd runs n scripts at once, and returns the most memory that was seen meanwhile.
func (h *home) crowd(n int) (most int64) {
	h.t.Helper()
	debug.FreeOSMemory()
	done, looked := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for most := resident(h.t); ; most = max(most, resident(h.t)) {
			select {
			case <-done:
				looked <- most
				return
			case <-tick.C:
			}
		}
	}()
	var wait sync.WaitGroup
	var failed atomic.Int64
	for i := range n {
		wait.Go(func() {
			res, err := h.h.Code().Execute(context.WithoutCancel(h.t.Context()), bot, code.Request{
				Code: "const a = new Uint8Array(4 << 20).fill(1);\nawait tools.net_work.say({ n: data + a[5] })", Data: fmt.Appendf(nil, "%d", i), May: all,
			})
			if err != nil || string(res.Value) != fmt.Sprintf(`{"n":%d}`, i+1) {
				failed.Add(1)
				h.t.Logf("%d: %s %v", i, outcome(res), err)
			}
		})
	}
	wait.Wait()
	close(done)
	if failed.Load() > 0 {
		h.t.Errorf("%d of %d failed", failed.Load(), n)
	}
	return <-looked
}

// Ten times as many scripts at once, each of which fills 4 MB, do not take more memory.
func TestCrowd(t *testing.T) {
	if resident(t) == 0 {
		t.Skip("how much memory a process has is not known here")
	}
	if testing.Short() {
		t.Skip("it runs many scripts")
	}
	few, many := 10, 100
	if os.Getenv("SKILLET_PROVE") != "" {
		few, many = 20, 1000
	}
	h := newHome(t, newServer(t))
	defer h.close()
	h.crowd(few) // which compiles what is needed
	a, began := h.crowd(few), time.Now()
	b := h.crowd(many)
	t.Logf("proof: %d scripts at once: %d MB; %d: %d MB, %.1f s on %d processors", few, a>>20, many, b>>20, time.Since(began).Seconds(), runtime.GOMAXPROCS(0))
	if b > a+a/4+64<<20 {
		t.Errorf("%d scripts take %d MB, and %d take %d MB", few, a>>20, many, b>>20)
	}
}

// BenchmarkFresh is a script from nothing to its value.
func BenchmarkFresh(b *testing.B) {
	h := newHome(b, newServer(b))
	defer h.close()
	took, inside := make([]time.Duration, 0, b.N), make([]float64, 0, b.N)
	for b.Loop() {
		began := time.Now()
		res := h.run(code.Request{Code: "1 + 1"})
		took, inside = append(took, time.Since(began)), append(inside, res.Took)
		if res.Status != code.Done {
			b.Fatal(outcome(res))
		}
	}
	slices.Sort(took)
	slices.Sort(inside)
	b.ReportMetric(inside[len(inside)/2]*1000, "p50-run-µs")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
