package work

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/runner"
)

// By hand: the nearest rank.
func TestLatency(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(i+1))
	}
	rand.Shuffle(100, func(i, j int) { hundred[i], hundred[j] = hundred[j], hundred[i] })
	for _, c := range []struct {
		took []float64
		want Latency
	}{
		{nil, Latency{}},
		{[]float64{7}, Latency{7, 7, 7, 7}},
		{[]float64{3, 1}, Latency{1, 3, 3, 3}},
		{[]float64{5, 1, 4, 2, 3}, Latency{3, 5, 5, 5}},
		{hundred, Latency{50, 90, 99, 100}},
	} {
		if got := latencyOf(slices.Clone(c.took)); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.took, got, c.want)
		}
	}
}

func TestSkillStatsAdd(t *testing.T) {
	s := SkillStats{Failures: map[fault.Kind]int{}}
	at := time.Now()
	for _, r := range []runner.Record{
		{OK: true, DurationMS: 2, Fuel: 10, PeakMemoryBytes: 100, HostCalls: 3},
		{OK: true, Cached: true},
		{OK: false, Error: &fault.Error{Kind: fault.KindLimit}, DurationMS: 4, Fuel: 5, PeakMemoryBytes: 50},
		{OK: false, Error: &fault.Error{Kind: fault.KindLimit}, Part: "call", Denials: make([]task.Denial, 2)},
		{OK: false},
	} {
		s.add(r, at)
	}
	if s.Calls != 4 || s.Parts != 1 || s.Failed() != 3 || s.Failures[fault.KindLimit] != 2 || s.Failures[fault.KindInternal] != 1 ||
		s.Denials != 2 || s.Cached != 1 || s.Fuel != 15 || s.PeakMemoryBytes != 100 || s.HostCalls != 3 || len(s.took) != 4 || s.Last != at {
		t.Errorf("%+v", s)
	}
}

// By hand: each way of adding up has everything in it, once.
func TestModelStatsSum(t *testing.T) {
	use := func(day, provider, model, tier string, calls, in, usd int64) llm.Use {
		return llm.Use{Day: day, Provider: provider, Model: model, Tier: llm.Tier(tier), Usage: llm.Usage{Calls: calls, InputTokens: in, MicroUSD: usd, TookMS: calls}}
	}
	var s ModelStats
	s.sum([]llm.Use{
		use("2026-11-20", "a", "x", "fast", 2, 100, 10),
		use("2026-11-20", "a", "y", "smart", 1, 50, 500),
		use("2026-11-21", "a", "x", "fast", 3, 70, 7),
		use("2026-11-21", "b", "x", "", 1, 1, 0),
	})
	if s.Total.Calls != 7 || s.Total.InputTokens != 221 || s.Total.MicroUSD != 517 || s.Total.TookMS != 7 {
		t.Errorf("%+v", s.Total)
	}
	for _, c := range []struct {
		got  []ModelUse
		want []string
		usd  []int64
	}{
		{s.Models, []string{"a/y", "a/x", "b/x"}, []int64{500, 17, 0}},
		{s.Tiers, []string{"fast", "none", "smart"}, []int64{17, 0, 500}},
		{s.Days, []string{"2026-11-20", "2026-11-21"}, []int64{510, 7}},
	} {
		for i, u := range c.got {
			if len(c.got) != len(c.want) || u.Name != c.want[i] || u.MicroUSD != c.usd[i] {
				t.Errorf("%+v, want %v", c.got, c.want)
				break
			}
		}
	}
}
