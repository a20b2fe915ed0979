package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

func TestGates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gs gates
		enter := func(patience time.Duration) (func(), error) {
			return gs.enter(t.Context(), new(chain), "d", 2, 1, patience)
		}
		first, err1 := enter(time.Hour)
		second, err2 := enter(time.Hour)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var third func()
		go func() { third, _ = enter(time.Hour) }()
		synctest.Wait()
		if _, err := enter(time.Hour); !errors.Is(err, ErrOverloaded) {
			t.Errorf("a second one waits: %v", err)
		}
		if other, err := gs.enter(t.Context(), new(chain), "e", 1, 0, time.Hour); err != nil {
			t.Errorf("another package is held up: %v", err)
		} else {
			other()
		}
		first()
		synctest.Wait()
		if third == nil {
			t.Fatal("nobody follows")
		}
		start := time.Now()
		if _, err := enter(time.Second); !errors.Is(err, ErrOverloaded) || time.Since(start) != time.Second {
			t.Errorf("impatient: %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := gs.enter(ctx, new(chain), "d", 2, 1, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		second()
		third()
		if len(gs.byWhat) > 0 {
			t.Errorf("left: %+v", gs.byWhat["d"])
		}
	})
}

func TestGatesUnderLoad(t *testing.T) {
	t.Parallel()
	var gs gates
	var now, most, through, refused atomic.Int32
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			done, err := gs.enter(t.Context(), new(chain), "d", 3, 100, time.Minute)
			if err != nil {
				refused.Add(1)
				return
			}
			for n := now.Add(1); n > most.Load(); {
				most.Store(n)
			}
			through.Add(1)
			now.Add(-1)
			done()
		})
	}
	wg.Wait()
	if most.Load() > 3 || through.Load()+refused.Load() != 200 || through.Load() < 103 || len(gs.byWhat) > 0 {
		t.Errorf("%d at once, %d through, %d refused, left %v", most.Load(), through.Load(), refused.Load(), gs.byWhat)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	limit := manifests.RateLimit{MaxCalls: 3, PerSeconds: 60}
	now := time.Unix(1_700_000_000, 0)
	var b bucket
	take := func(after time.Duration) time.Duration {
		var wait time.Duration
		now = now.Add(after)
		b, wait = b.take(now, limit)
		return wait
	}
	for i, row := range []struct{ after, want time.Duration }{
		{0, 0}, {0, 0}, {0, 0}, // the burst
		{0, 20 * time.Second}, {5 * time.Second, 15 * time.Second}, // refused calls cost nothing
		{15 * time.Second, 0}, {0, 20 * time.Second}, // one is back
		{40 * time.Second, 0}, {0, 0}, {0, 20 * time.Second}, // two are
		{time.Hour, 0}, {0, 0}, {0, 0}, {0, 20 * time.Second}, // never more than a burst
	} {
		if got := take(row.after).Round(time.Millisecond); got != row.want {
			t.Errorf("call %d: wait %s, want %s", i, got, row.want)
		}
	}
}
