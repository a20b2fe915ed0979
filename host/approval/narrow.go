package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Narrowing ends a grant, and gives less in its place.
type Narrowing struct {
	// Skill is the version it was given to, as NAME@VERSION.
	Skill string
	Grant Grant
	// To are given on the terms of Grant, which allows each of them; none when it only ends.
	To []capability.Capability
}

// Narrow narrows grants in one decision. It fails with a [fault.KindConflict] error when one
// of them is not there any more, and with one of [fault.KindUsage] when one would be given
// more than it has; then nothing is changed.
func (d *Desk) Narrow(ctx context.Context, h Human, ns []Narrowing) error {
	if err := h.Check(); err != nil {
		return err
	}
	for _, n := range ns {
		if beyond := capability.NewSet(n.To...).Minus(capability.NewSet(n.Grant.Capability)); !beyond.IsEmpty() {
			return fault.Errorf(fault.KindUsage, "narrow %s of %s: it does not allow %s", n.Grant.Capability, n.Skill, strings.Join(beyond.Strings(), ", "))
		}
	}
	return d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) { return d.narrowing(ctx, h, ns) })
}

func (d *Desk) narrowing(ctx context.Context, h Human, ns []Narrowing) (ledger.Decision, error) {
	dec := ledger.Decision{Kind: "narrow", Actor: h.Actor()}
	var refs, notes []string
	for _, n := range ns {
		now, err := d.Grants(ctx, n.Grant.Digest)
		if err != nil {
			return dec, err
		}
		if !slices.ContainsFunc(now, func(g Grant) bool { return g.ID == n.Grant.ID }) {
			return dec, fault.Errorf(fault.KindConflict, "the grants of %s changed meanwhile", n.Skill).WithHint("look at the proposal again")
		}
		changes, err := n.changes(h)
		if err != nil {
			return dec, err
		}
		dec.Changes = append(dec.Changes, changes...)
		if !slices.Contains(refs, n.Skill) {
			refs = append(refs, n.Skill)
		}
		notes = append(notes, n.words())
	}
	dec.Subject, dec.Note = strings.Join(refs, ", "), strings.Join(notes, "; ")
	return dec, nil
}

func (n Narrowing) changes(h Human) ([]ledger.Change, error) {
	revoked, err := Revoked(n.Grant)
	if err != nil {
		return nil, err
	}
	changes := []ledger.Change{revoked}
	for _, c := range n.To {
		g := n.Grant
		g.Capability = c
		given, err := h.Regrant(g)
		if err != nil {
			return nil, err
		}
		changes = append(changes, given)
	}
	return changes, nil
}

func (n Narrowing) words() string {
	if len(n.To) == 0 {
		return "without " + n.Grant.Capability.String()
	}
	return n.Grant.Capability.String() + " to " + strings.Join(capability.NewSet(n.To...).Strings(), ", ")
}
