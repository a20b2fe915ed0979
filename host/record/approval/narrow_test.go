package approval_test

import (
	"context"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/policies/capability"
)

// Narrowing takes away, only for a person, never gives more, and is made once.
func TestNarrow(t *testing.T) {
	p := assemble(t, 0)
	wide, within, beyond := capability.MustParse("fs.read:/data/**"), capability.MustParse("fs.read:/data/a.txt"), capability.MustParse("fs.read:/etc/hosts")
	err := p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		c, err := ada.Grant("net", digest, wide, approval.Terms{})
		return ledger.Decision{Kind: "grant", Actor: ada.Actor(), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	given, err := p.Grants(t.Context(), digest)
	if err != nil || len(given) != 1 {
		t.Fatalf("%d grants, %v", len(given), err)
	}
	narrowing := func(to ...capability.Capability) []approval.Narrowing {
		return []approval.Narrowing{{Skill: "net@1.0.0", Digest: digest, Grant: given[0].ID, To: to}}
	}
	for what, c := range map[string]struct {
		by   approval.Human
		to   []capability.Capability
		kind fault.Kind
	}{
		"nobody":        {approval.Human{}, []capability.Capability{within}, fault.KindDenied},
		"more":          {ada, []capability.Capability{beyond}, fault.KindUsage},
		"less and more": {ada, []capability.Capability{within, beyond}, fault.KindUsage},
	} {
		if e := fault.AsError(p.Narrow(t.Context(), c.by, narrowing(c.to...))); e == nil || e.Kind != c.kind {
			t.Errorf("%s: %+v, want %s", what, e, c.kind)
		}
	}
	has := func(want ...capability.Capability) {
		t.Helper()
		gs, err := p.Grants(t.Context(), digest)
		if err != nil {
			t.Fatal(err)
		}
		if got := approval.Capabilities(gs); !slices.Equal(got.Strings(), capability.NewSet(want...).Strings()) {
			t.Errorf("granted %v, want %v", got.Strings(), want)
		}
	}
	has(wide)
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- p.Narrow(t.Context(), ada, narrowing(within)) }()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) {
		t.Errorf("of two at once both or none were made: %v, %v", first, second)
	}
	for _, err := range []error{first, second} {
		if e := fault.AsError(err); e != nil && e.Kind != fault.KindConflict {
			t.Error(err)
		}
	}
	has(within)
}
