package govern_test

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
)

var ada = approval.NewHuman("ada")

// callsOf is the audit log of calls of a home, which an open one writes.
func callsOf(tb testing.TB, home string) *journal.Journal {
	tb.Helper()
	key := secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile, Marker: filepath.Join(home, hostfn.HomeMarker)})
	keys := audit.NewKeystore(filepath.Join(home, "keys"), key, secret.Open(filepath.Join(home, "secrets"), key))
	calls, err := journal.Open(filepath.Join(home, "journal", "calls"), journal.Options{Sync: true, Keys: keys, Log: audit.Runs})
	if err != nil {
		tb.Fatal(err)
	}
	return calls
}

// longLog makes a home with n runs in its audit log, every tenth of which was
// refused something.
func longLog(tb testing.TB, n int) *host.Host {
	tb.Helper()
	home := tb.TempDir()
	h, err := host.Open(tb.Context(), host.Options{Home: home, Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: io.Discard})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Close(tb.Context()) })
	calls := callsOf(tb, home)
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
		if _, err := calls.Append(tb.Context(), records...); err != nil {
			tb.Fatal(err)
		}
	}
	return h
}

func TestEvents(t *testing.T) {
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
		events, err := h.Govern().Audit.Events(t.Context(), ada, govern.EventsRequest{Limit: c.limit, Skill: c.skill, Denied: c.denied})
		if err != nil || len(events) != c.n {
			t.Fatalf("%+v: %d events, %v", c, len(events), err)
		}
		if c.n > 0 && (events[0].Run.DurationMS != c.first || events[c.n-1].Run.DurationMS != c.last) {
			t.Errorf("%+v: from %v to %v", c, events[0].Run.DurationMS, events[c.n-1].Run.DurationMS)
		}
		if !slices.IsSortedFunc(events, func(a, b govern.Event) int { return a.Time.Compare(b.Time) }) || events == nil {
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
				events, err := h.Govern().Audit.Events(b.Context(), ada, govern.EventsRequest{Skill: c.skill, Denied: c.denied})
				if err != nil || len(events) != 100 {
					b.Fatalf("%d events after %s: %v", len(events), time.Since(begun), err)
				}
			}
		})
	}
}
