package host_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// callsOfEcho opens a home in which echo is installed, and returns what calls it as a person
// does: find it, spend its grants, run it, record the run.
func callsOfEcho(b testing.TB, o host.Options) func(input []byte) (invoke.Answer, error) {
	b.Helper()
	ada, dir := approval.NewHuman("ada"), filepath.Join(b.TempDir(), "echo")
	must(b, writeEcho(dir))
	h, err := host.Open(b.Context(), o)
	must(b, err)
	b.Cleanup(func() { must(b, h.Close(b.Context())) })
	plan, err := h.Admit().Plan(b.Context(), ada, admit.Install{Package: dir, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	must(b, err)
	_, err = h.Admit().Commit(b.Context(), ada, plan, admit.Shown)
	must(b, err)
	ref, err := manifests.ParseRef("echo")
	must(b, err)
	return func(input []byte) (invoke.Answer, error) {
		t, err := h.Invoke().Find(b.Context(), ada, invoke.Address{Ref: ref}, nil)
		if err != nil {
			return invoke.Answer{}, err
		}
		return h.Invoke().Invoke(b.Context(), invoke.Invocation{Target: t, By: ada, Input: input})
	}
}

// What another process decides is seen by the next call here, which finds its skill and
// its grants in memory.
func TestDecisionsElsewhereAreSeenByTheNextCall(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	h, other := open(t, home, &bytes.Buffer{}), open(t, home, &bytes.Buffer{})
	defer h.Close(t.Context())
	defer other.Close(t.Context())
	add(t, h, "calm", `,"security":{"permissions":{"clock":{"reason":"r"}}}`, 0)
	runs := func() bool { return makes(t, h, "calm", "").OK }
	granted := func() bool {
		skill, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "calm"})
		must(t, err)
		g, err := h.Parts().Approvals.ConsumeGrants(t.Context(), skill, approval.Use{})
		must(t, err)
		return len(g.Set().Strings()) > 0
	}
	for range 20 {
		for range 2 { // the second finds it in memory
			if !runs() || !granted() {
				t.Fatal("it does not run, or was granted nothing")
			}
		}
		_, err := other.Admit().Disable(t.Context(), ada, admit.EnableRequest{Skill: "calm", Reason: "to see"})
		must(t, err)
		if runs() {
			t.Fatal("it runs although it was disabled elsewhere")
		}
		_, err = other.Admit().Enable(t.Context(), ada, admit.EnableRequest{Skill: "calm"})
		must(t, err)
		if !runs() {
			t.Fatal("it does not run although it was enabled elsewhere")
		}
	}
	plan, err := other.Govern().Grants.PlanRevoke(t.Context(), ada, govern.RevokeRequest{Skill: manifests.Ref{Name: "calm"}, All: true})
	must(t, err)
	_, err = other.Govern().Grants.Revoke(t.Context(), ada, plan)
	must(t, err)
	if granted() {
		t.Error("it still has a grant that was taken back elsewhere")
	}
}

// A token that another process revokes lets nobody in from the next request on, although
// it was found in memory before.
func TestTokensRevokedElsewhereLetNobodyIn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	h, other := open(t, home, &bytes.Buffer{}), open(t, home, &bytes.Buffer{})
	defer h.Close(t.Context())
	defer other.Close(t.Context())
	for range 10 {
		made, err := other.Govern().Tokens.Create(t.Context(), ada, govern.CreateToken{Name: "mine", Role: govern.RoleCaller})
		must(t, err)
		for range 2 { // the second finds it in memory
			_, err := h.Govern().Tokens.Admit(t.Context(), made.Secret)
			must(t, err)
		}
		_, err = other.Govern().Tokens.Revoke(t.Context(), ada, "mine")
		must(t, err)
		if _, err := h.Govern().Tokens.Admit(t.Context(), made.Secret); !errors.Is(err, govern.ErrNotAdmitted) {
			t.Fatalf("Admit after it was revoked elsewhere = %v, want ErrNotAdmitted", err)
		}
	}
}

// With the records of calls written in groups, what was called is on record for whoever
// asks here, and elsewhere when the host is closed.
func TestServedCallsAreOnRecord(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	o := options(home, &bytes.Buffer{})
	o.Expect = host.ExpectMuch
	h, err := host.Open(t.Context(), o)
	must(t, err)
	add(t, h, "calm", "", 0)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if r := makes(t, h, "calm", ""); !r.OK {
				t.Errorf("%+v", r.Error)
			}
		})
	}
	all.Wait()
	count := func(h *host.Host) int {
		events, err := h.Govern().Audit.Events(t.Context(), ada, govern.EventsRequest{})
		must(t, err)
		n := 0
		for _, e := range events {
			if e.Run != nil {
				n++
			}
		}
		return n
	}
	if n := count(h); n != 50 {
		t.Errorf("%d calls are on record, want 50", n)
	}
	must(t, h.Close(t.Context()))
	other := open(t, home, &bytes.Buffer{})
	defer other.Close(t.Context())
	if n := count(other); n != 50 {
		t.Errorf("elsewhere %d calls are on record, want 50", n)
	}
}

// BenchmarkGoverned is a call as a user gets it in a process that stays: target, decision,
// sandbox and record.
func BenchmarkGoverned(b *testing.B) {
	for _, isolation := range []string{"shared", "process"} {
		b.Run("isolation/"+isolation, func(b *testing.B) { benchIsolation(b, isolation) })
	}
	var log bytes.Buffer
	o := options(b.TempDir(), &log)
	o.Expect = host.ExpectMuch
	call := callsOfEcho(b, o)
	for _, callers := range []struct {
		name string
		n    int
	}{{"one", 1}, {"two", 2}, {"many", 32}} {
		b.Run(callers.name, func(b *testing.B) {
			b.SetParallelism((callers.n + 1) / 2)
			one := func() {
				if a, err := call([]byte(`{"say":"hello"}`)); err != nil || !a.OK {
					b.Errorf("%v %+v", err, a.Error)
				}
			}
			if callers.n == 1 {
				timed(b, one)
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					one()
				}
			})
		})
	}
}

// timed makes calls one after another, and reports what half of them took.
func timed(b *testing.B, one func()) {
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		one()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns/op")
}

// benchIsolation is a call by one caller of a skill that is kept apart like that.
func benchIsolation(b *testing.B, isolation string) {
	var log bytes.Buffer
	o := options(b.TempDir(), &log)
	o.Expect, o.Flags = host.ExpectMuch, []string{"isolation=" + isolation}
	call := callsOfEcho(b, o)
	timed(b, func() {
		if a, err := call([]byte(`{"say":"hello"}`)); err != nil || !a.OK {
			b.Fatalf("%v %+v", err, a.Error)
		}
	})
}
