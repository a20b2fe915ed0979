package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
)

func TestRecentKeepsTheLast(t *testing.T) {
	t.Parallel()
	for limit := 1; limit < 6; limit++ {
		r, want := recent{limit: limit}, []string{}
		for i := range 12 {
			subject := fmt.Sprintf("s%d@1.0.0", i%3)
			r.take(event{Subject: subject, Kind: fmt.Sprint(i)}, "s1", false)
			if i%3 == 1 {
				want = append(want, fmt.Sprint(i))
			}
			want = want[max(0, len(want)-limit):]
			var got []string
			for _, e := range r.list() {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, want) || len(r.ring) > limit {
				t.Fatalf("limit %d: got %v, want %v", limit, got, want)
			}
		}
	}
}

// longLog makes a home with n runs in its audit log, every tenth of which was
// refused something.
func longLog(tb testing.TB, n int) *host.Host {
	tb.Helper()
	h, err := host.Open(tb.Context(), host.Options{Home: tb.TempDir(), Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: io.Discard})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Close(tb.Context()) })
	for from := 0; from < n; from += 1000 {
		var records []journal.Record
		for i := from; i < min(n, from+1000); i++ {
			r := runner.Record{
				RunID: task.NewRunID(), Skill: fmt.Sprintf("skill-%d@1.0.0", i%7), Tool: "tool", OK: true, DurationMS: float64(i), Fuel: 1000,
				InputDigest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			}
			if i%10 == 0 {
				r.Denials = []task.Denial{{Request: "fs.read:/etc/passwd", Reason: "not granted", Count: 1}}
			}
			records = append(records, journal.Record{Kind: runner.KindRun, Actor: "human:ada", Data: r})
		}
		if _, err := h.Calls.Append(tb.Context(), records...); err != nil {
			tb.Fatal(err)
		}
	}
	return h
}

func TestCollect(t *testing.T) {
	t.Parallel()
	h := longLog(t, 2500)
	for _, c := range []struct {
		limit       int
		skill       string
		denied      bool
		n           int
		first, last float64
	}{
		{100, "", false, 100, 2400, 2499},
		{5000, "", false, 2500, 0, 2499},
		{10, "skill-3", false, 10, 2432, 2495},
		{10, "skill-3@1.0.0", false, 10, 2432, 2495},
		{3, "", true, 3, 2470, 2490},
		{1000, "skill-0", true, 36, 0, 2450},
		{10, "nobody", false, 0, 0, 0},
	} {
		events, err := collect(t.Context(), h, c.limit, c.skill, c.denied)
		if err != nil || len(events) != c.n {
			t.Fatalf("%+v: %d events, %v", c, len(events), err)
		}
		if c.n > 0 && (events[0].Run.DurationMS != c.first || events[c.n-1].Run.DurationMS != c.last) {
			t.Errorf("%+v: from %v to %v", c, events[0].Run.DurationMS, events[c.n-1].Run.DurationMS)
		}
		if !slices.IsSortedFunc(events, func(a, b event) int { return a.Time.Compare(b.Time) }) || events == nil {
			t.Errorf("%+v: not in order", c)
		}
	}
}

// BenchmarkAudit lists a log of 100,000 runs.
func BenchmarkAudit(b *testing.B) {
	h := longLog(b, 100_000)
	for _, c := range []struct {
		name, skill string
		denied      bool
	}{{"last", "", false}, {"skill", "skill-3", false}, {"denied", "", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				begun := time.Now()
				events, err := collect(b.Context(), h, 100, c.skill, c.denied)
				if err != nil || len(events) != 100 {
					b.Fatalf("%d events after %s: %v", len(events), time.Since(begun), err)
				}
			}
		})
	}
}
