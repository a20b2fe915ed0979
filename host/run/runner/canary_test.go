package runner

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/registry"
)

// arm makes n calls of which some failed; the others cost that, a little more or
// less.
func arm(n, failed int, ms, fuel float64) Arm {
	var a Arm
	for i := range n {
		res := task.Result{OK: i >= failed, DurationMS: ms * (0.9 + 0.05*float64(i%5)), Figures: task.Figures{Fuel: uint64(fuel) + uint64(i%7)}}
		if !res.OK {
			res.Error = fault.Errorf(fault.KindSkill, "it fails")
		}
		a.count(res)
	}
	return a
}

func TestTrialIsJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stable, candidate Arm
		verdict           registry.Verdict
		reason            string
	}{
		"nothing known":                {Arm{}, Arm{}, "", ""},
		"too few calls":                {arm(4, 0, 1, 1e6), arm(4, 4, 1, 1e6), "", ""},
		"every call fails":             {arm(45, 0, 1, 1e6), arm(5, 5, 1, 1e6), registry.VerdictRolledBack, "5 of its 5 calls failed (before: 0 of 45)"},
		"one call fails":               {arm(90, 0, 1, 1e6), arm(10, 1, 1, 1e6), "", ""},
		"both fail the same":           {arm(90, 45, 1, 1e6), arm(30, 15, 1, 1e6), "", ""},
		"it fails less":                {arm(90, 45, 1, 1e6), arm(30, 0, 1, 1e6), "", ""},
		"it fails more often":          {arm(300, 3, 1, 1e6), arm(40, 8, 1, 1e6), registry.VerdictRolledBack, "8 of its 40 calls failed"},
		"twice the fuel":               {arm(90, 0, 1, 1e6), arm(20, 0, 1, 2e6), registry.VerdictRolledBack, "2.0 times the fuel"},
		"twice the fuel, of few":       {arm(90, 0, 1, 1e6), arm(19, 0, 1, 2e6), "", ""},
		"a little more fuel":           {arm(90, 0, 1, 1e6), arm(30, 0, 1, 1.4e6), "", ""},
		"less fuel":                    {arm(90, 0, 1, 2e6), arm(30, 0, 1, 1e6), "", ""},
		"three times the time":         {arm(90, 0, 20, 1e6), arm(20, 0, 60, 1e6), registry.VerdictRolledBack, "3.0 times the time: 59"},
		"three times nearly no time":   {arm(90, 0, 1, 1e6), arm(20, 0, 3, 1e6), "", ""},
		"enough good calls":            {arm(90, 0, 1, 1e6), arm(50, 0, 1, 1e6), registry.VerdictPromoted, "0 of its 50 calls failed"},
		"enough calls, one of them up": {arm(450, 1, 1, 1e6), arm(50, 1, 1, 1e6), registry.VerdictPromoted, "1 of its 50 calls failed"},
		"nobody calls the stable one":  {Arm{}, arm(50, 0, 1, 1e6), registry.VerdictPromoted, ""},
	} {
		v, reason := Figures{Stable: c.stable, Candidate: c.candidate}.judge(50)
		if v != c.verdict || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %q because %q, want %q because %q", name, v, reason, c.verdict, c.reason)
		}
	}
}

// Values that differ in nothing have no spread: then a difference is no chance.
func TestSpreadWithoutVariance(t *testing.T) {
	t.Parallel()
	var a, b Spread
	for range minCost {
		a.add(1000)
		b.add(3000)
	}
	if factor, worse := b.worse(a); !worse || math.Abs(factor-3) > 1e-9 {
		t.Errorf("three times as much: %v, %v", factor, worse)
	}
	if _, worse := a.worse(a); worse {
		t.Error("a value is worse than itself")
	}
	if got := (Spread{}).Mean(); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
}

// The values are those of the hypergeometric distribution, by hand: of 8 calls 4
// failed; that all 4 are among the 4 of one side has a chance of 1 in 70.
func TestChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, n, b, m int
		want       float64
	}{
		{4, 4, 0, 4, 1. / 70}, {3, 4, 1, 4, 17. / 70}, {0, 4, 4, 4, 1}, {0, 10, 0, 10, 1}, {1, 1, 0, 99, 1. / 100},
	} {
		if got := chance(c.a, c.n, c.b, c.m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d of %d against %d of %d: %v, want %v", c.a, c.n, c.b, c.m, got, c.want)
		}
	}
}

// Of each hundred calls in a row, so many go to the version on trial.
func TestRouteGivesItsShare(t *testing.T) {
	t.Parallel()
	s := store.Memory()
	defer s.Close()
	r := &Runner{kv: s.KV(), log: hclog.NewNullLogger()}
	for seq, percent := range []int{1, 10, 33, 50, 99} {
		c, n, last := registry.Canary{Percent: percent, Seq: uint64(seq)}, 0, 0
		for i := range 200 {
			candidate, err := r.Route(t.Context(), "a", c)
			if err != nil {
				t.Fatal(err)
			}
			if candidate {
				n++
				if gap := i - last; gap > 100/percent+1 {
					t.Errorf("%d%%: none of %d calls in a row", percent, gap)
				}
				last = i
			}
		}
		if n != 2*percent {
			t.Errorf("%d%%: %d of 200 calls", percent, n)
		}
	}
	report, err := r.Canary(t.Context(), "a", registry.Canary{Percent: 10, Seq: 1})
	if err != nil || report.Figures.Routed != 200 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// What is wrong with the request says nothing about the version.
func TestWhatCountsInATrial(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]bool{
		fault.KindSkill: true, fault.KindLimit: true, fault.KindDenied: true, fault.KindUsage: false, fault.KindInternal: false,
	} {
		if got := counts(task.Result{Error: fault.Errorf(kind, "e")}); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if counts(task.Result{Error: fault.Errorf(fault.KindLimit, "e: %w", ErrRate)}) {
		t.Error("a call that was not made counts")
	}
	var a Arm
	a.count(task.Result{OK: true, DurationMS: 30, Figures: task.Figures{CompileNS: int64(20 * time.Millisecond)}})
	if math.Abs(a.Time.Mean()-10) > 1e-9 {
		t.Errorf("compiling counts: %v ms", a.Time.Mean())
	}
}
