package measure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/bench/measure"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := measure.Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

// Times are those of one run, whatever the batch; checks are not timed.
func TestJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		sleeper := func(d time.Duration) measure.Job {
			return measure.Job{
				Name:  d.String(),
				Run:   func(n int) error { time.Sleep(time.Duration(n) * d); return nil },
				Check: func() error { checks++; time.Sleep(time.Second); return nil },
			}
		}
		got, err := measure.Plan{Rounds: 5, Slot: 10 * time.Millisecond}.Jobs([]measure.Job{sleeper(time.Microsecond), sleeper(time.Second)})
		if err != nil || got[0] != 1e3 || got[1] != 1e9 {
			t.Errorf("got %v, %v; want 1 us and 1 s", got, err)
		}
		if checks != 5+2 {
			t.Errorf("%d checks, want one a round: 5, and 2 for the long one", checks)
		}
	})
}

func TestJobsFail(t *testing.T) {
	wrong := errors.New("wrong")
	right := func(int) error { return nil }
	for _, j := range []measure.Job{
		{Name: "run", Run: func(int) error { return wrong }},
		{Name: "check", Run: right, Check: func() error { return wrong }},
	} {
		if _, err := (measure.Plan{}).Jobs([]measure.Job{j}); !errors.Is(err, wrong) {
			t.Errorf("%s: got %v", j.Name, err)
		}
	}
}

// What sleeps uses no processor, and what computes does.
func TestProcessor(t *testing.T) {
	clock := measure.Processor()
	if clock == nil {
		t.Skip("not on this system")
	}
	spin := func(int) error {
		for begin := clock(); clock() < begin+5*time.Millisecond; {
		}
		return nil
	}
	sleep := func(int) error { time.Sleep(20 * time.Millisecond); return nil }
	got, err := measure.Plan{Rounds: 3, Clock: clock}.Jobs([]measure.Job{{Name: "spin", Run: spin}, {Name: "sleep", Run: sleep}})
	if err != nil || got[0] < 5e6 || got[1] > got[0] {
		t.Errorf("got %v, %v", got, err)
	}
}
