package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Narrowing ends a grant, and gives less in its place.
type Narrowing struct {
	// Skill is the version it was given to, as NAME@VERSION, and Digest that of its package.
	Skill  string
	Digest manifests.Digest
	// Grant is the id of the grant.
	Grant string
	// To are given on the terms of the grant, which allows each of them; none when it only
	// ends.
	To []capability.Capability
}

// Narrow narrows grants in one decision. It fails with a [fault.KindConflict] error when one
// of them is not there any more, and with one of [fault.KindUsage] when one would be given
// more than it has; then nothing is changed.
func (d *Store) Narrow(ctx context.Context, h Human, ns []Narrowing) error {
	if err := h.Check(); err != nil {
		return err
	}
	return d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) { return d.narrowing(ctx, h, ns) })
}

func (d *Store) narrowing(ctx context.Context, h Human, ns []Narrowing) (ledger.Decision, error) {
	dec := ledger.Decision{Kind: "narrow", Actor: h.Actor()}
	var refs, notes []string
	for _, n := range ns {
		now, err := d.Grants(ctx, n.Digest)
		if err != nil {
			return dec, err
		}
		at := slices.IndexFunc(now, func(g Grant) bool { return g.ID == n.Grant })
		if at < 0 {
			return dec, fault.Errorf(fault.KindConflict, "the grants of %s changed meanwhile", n.Skill).WithHint("look at the proposal again")
		}
		changes, err := n.changes(h, now[at])
		if err != nil {
			return dec, err
		}
		dec.Changes = append(dec.Changes, changes...)
		if !slices.Contains(refs, n.Skill) {
			refs = append(refs, n.Skill)
		}
		notes = append(notes, n.words(now[at].Capability))
	}
	dec.Subject, dec.Note = strings.Join(refs, ", "), strings.Join(notes, "; ")
	return dec, nil
}

// changes are those that narrow a grant. They take its terms from what was granted, and
// not from whoever asks.
func (n Narrowing) changes(h Human, was Grant) ([]ledger.Change, error) {
	if beyond := capability.NewSet(n.To...).Minus(capability.NewSet(was.Capability)); !beyond.IsEmpty() {
		return nil, fault.Errorf(fault.KindUsage, "narrow %s of %s: it does not allow %s", was.Capability, n.Skill, strings.Join(beyond.Strings(), ", "))
	}
	revoked, err := Revoked(was)
	if err != nil {
		return nil, err
	}
	changes := []ledger.Change{revoked}
	for _, c := range n.To {
		g := was
		g.Capability = c
		given, err := h.Regrant(g)
		if err != nil {
			return nil, err
		}
		changes = append(changes, given)
	}
	return changes, nil
}

func (n Narrowing) words(was capability.Capability) string {
	if len(n.To) == 0 {
		return "without " + was.String()
	}
	return was.String() + " to " + strings.Join(capability.NewSet(n.To...).Strings(), ", ")
}
