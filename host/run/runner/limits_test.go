package runner

import (
	"errors"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

func TestCallersLimits(t *testing.T) {
	r := &Runner{}
	a := &run{manifest: &manifests.Manifest{}}
	a.call.Limits = limit.Set{OutputBytes: 5, HostCalls: 7}
	if l := r.limits(a); l.OutputBytes != 5 || l.HostCalls != 7 {
		t.Errorf("output %d, host calls %d; want 5 and 7", l.OutputBytes, l.HostCalls)
	}
	a.call.Limits = limit.Set{OutputBytes: 1 << 40, HostCalls: 1 << 30}
	if l := r.limits(a); l.OutputBytes != limit.Output.Ceiling() || int64(l.HostCalls) != limit.HostCalls.Ceiling() {
		t.Errorf("output %d, host calls %d; want the ceilings", l.OutputBytes, l.HostCalls)
	}
}

// Each limit reaches the sandbox, whose own default is that of the table, and a call that
// reaches it says which field of a request raises it.
func TestEveryLimitIsEnforced(t *testing.T) {
	if len(enforced) != len(limit.All()) {
		t.Fatalf("%d limits are enforced, the table has %d", len(enforced), len(limit.All()))
	}
	defaults := sandbox.DefaultLimits()
	for _, l := range limit.All() {
		e := enforced[l]
		if e.value.Get == nil {
			if l.Request() != "" || l != limit.KV {
				t.Errorf("the sandbox knows nothing of the limit on %s", l.What())
			}
			continue
		}
		if usual := e.value.Get(&defaults); usual != 0 && usual != l.Default() {
			t.Errorf("%s: the sandbox has %s when nothing is said, the table %s", l.What(), l.Text(usual), l.Text(l.Default()))
		}
		a := &run{manifest: &manifests.Manifest{}}
		l.Put(&a.call.Limits, l.Ceiling()-1)
		if got := l.Of(setOf((&Runner{}).limits(a))); got != l.Ceiling()-1 && l != limit.Time {
			t.Errorf("%s: %d was asked for, and %d holds", l.What(), l.Ceiling()-1, got)
		}
		if got, ok := reached(e.reached); ok != (l.Request() != "") || ok && got != l {
			t.Errorf("%s: its error is that of %s", l.What(), got.What())
		}
		if e := fault.AsError(explain(a, nil, e.reached)); e.Kind != fault.KindLimit {
			t.Errorf("%s: its error is of kind %s", l.What(), e.Kind)
		}
		if !errors.Is(sandbox.Describe(e.reached).Err(nil), e.reached) {
			t.Errorf("%s: its error is another one when it comes from a worker", l.What())
		}
		if v := Judge(e.reached); v.Class != fault.ClassLimit && v.Class != fault.ClassTransient {
			t.Errorf("%s: its error is judged %+v", l.What(), v)
		}
	}
}
