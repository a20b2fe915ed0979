package startheap

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// settings are those of the collector now.
func settings() (percent int, limit int64) {
	percent = debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

// collect waits until a collection has had its effect.
func collect(t *testing.T, percent int) {
	t.Helper()
	for range 200 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		if p, _ := settings(); p == percent {
			return
		}
	}
	t.Fatal("garbage is not collected as ever")
}

func TestRaise(t *testing.T) {
	none := func(string) string { return "" }
	collect(t, 100) // what importing this package has done is over
	for name, limit := range map[string]int64{"no other limit": math.MaxInt64, "a limit of the process": 20 << 20} {
		t.Run(name, func(t *testing.T) {
			if !raise(none) {
				t.Fatal("not raised")
			}
			if percent, now := settings(); percent != -1 || now != unswept {
				t.Errorf("percent %d, limit %d", percent, now)
			}
			if limit != math.MaxInt64 {
				debug.SetMemoryLimit(limit)
			}
			collect(t, 100)
			if _, now := settings(); now != limit {
				t.Errorf("limit %d, want %d", now, limit)
			}
			debug.SetMemoryLimit(math.MaxInt64)
		})
	}
}

// A percentage that is set meanwhile, as in a worker, is for the first collection alone.
func TestOtherBegin(t *testing.T) {
	var before, after runtime.MemStats
	collect(t, 100)
	raise(func(string) string { return "" })
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 40)
	defer debug.SetMemoryLimit(math.MaxInt64)
	runtime.ReadMemStats(&before)
	for range 1 << 10 {
		kept = make([]byte, 256<<10)
	}
	runtime.ReadMemStats(&after)
	if after.NumGC == before.NumGC {
		t.Error("nothing was collected")
	}
	collect(t, 100)
	if _, now := settings(); now != 1<<40 {
		t.Errorf("limit %d", now)
	}
}

// kept is what is allocated to be garbage, so that it is not left out.
var kept []byte

func TestWhoSetsItIsLeftAlone(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if raise(func(v string) string { return map[string]string{name: "50"}[v] }) {
			t.Errorf("%s is set, and was not kept to", name)
		}
	}
}

// The first collection comes by itself.
func TestItEnds(t *testing.T) {
	var before, after runtime.MemStats
	collect(t, 100)
	raise(func(string) string { return "" })
	runtime.ReadMemStats(&before)
	var keep [][]byte
	for range 3 * unswept >> 20 {
		keep = append(keep, make([]byte, 1<<20))
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	if after.NumGC == before.NumGC {
		t.Error("nothing was collected")
	}
	collect(t, 100)
}
