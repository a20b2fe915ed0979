package install_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/registry"
)

// TestSameAtOnce installs the same package from plans that were all made before any
// of it was there: one of them is carried out, and everything is granted once.
func TestSameAtOnce(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "fetcher", "1.0.0", "https://x.example/*")
	var plans []install.Plan
	for range 8 {
		plans = append(plans, p.plan(t, pkg, registry.OriginUser))
	}
	since := p.state(t)
	var installed atomic.Int32
	var all sync.WaitGroup
	for i, plan := range plans {
		all.Go(func() {
			var out install.Outcome
			var err error
			if i%2 == 0 {
				out, err = p.Accept(t.Context(), ada, plan)
			} else {
				var outs []install.Outcome
				if outs, err = p.AcceptGroup(t.Context(), ada, install.Group{Kind: "install", Subject: "fetcher", Plans: []install.Plan{plan}, Since: since}); err == nil {
					out = outs[0]
				}
			}
			switch {
			case errors.Is(err, install.ErrMoved):
			case err != nil || out.Skill == nil || out.Skill.Digest != pkg.Digest() || !out.Skill.Active:
				t.Errorf("installed %+v, %v", out.Skill, err)
			default:
				installed.Add(1)
			}
		})
	}
	all.Wait()
	grants, err := p.approvals.Grants(t.Context(), pkg.Digest())
	if err != nil || len(grants) != 1 || installed.Load() != 1 {
		t.Errorf("%d grants, %d installed, %v", len(grants), installed.Load(), err)
	}
}

// TestSameAtOnceWithoutAPerson is the same for a package that nobody has to be
// asked about, and for other bytes.
func TestSameAtOnceWithoutAPerson(t *testing.T) {
	p := assemble(t)
	first, second := pack(t, "quiet", "1.0.0"), pack(t, "quiet", "2.0.0")
	plans := []install.Plan{p.plan(t, first, registry.OriginUser), p.plan(t, first, registry.OriginUser), p.plan(t, second, registry.OriginUser)}
	for i, want := range []string{"false <nil>", "false quiet changed since this was planned", "false quiet changed since this was planned"} {
		out, err := p.Accept(t.Context(), ada, plans[i])
		if got := fmt.Sprint(out.Unchanged, " ", err); got != want {
			t.Errorf("plan %d: %s, want %s", i, got, want)
		}
	}
}
