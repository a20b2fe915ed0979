package resolve

import (
	"cmp"
	"slices"
)

// An incompatibility is a list of terms that cannot all hold. Each slot occurs at
// most once, in ascending order. Without terms it says that nothing fits.
type incompatibility struct {
	terms []term
	why   cause
	// left and right are what it was concluded from; nil when it is a fact.
	left, right *incompatibility
	merged      bool // into one that says more
}

// A term says what a slot is one of.
type term struct {
	slot  int
	value choice
}

// A cause says which fact an incompatibility is. The zero value is a conclusion.
type cause struct {
	kind    causeKind
	subject int // the slot that has the need; not for roots
	need    need
}

type causeKind int

const (
	concluded   causeKind = iota
	asRoot                // a person asked for it
	asNeed                // a candidate depends on it
	asProvision           // a candidate for an interface is provided by it
	asOptional            // a candidate depends on it, if it is there
)

// isFact reports whether i was told rather than concluded.
func (i *incompatibility) isFact() bool { return i.left == nil }

// newIncompatibility puts terms in order. Those that always hold are left out. It
// returns nil when one can never hold, which says nothing.
func (u *universe) newIncompatibility(terms []term, why cause) *incompatibility {
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(a.slot, b.slot) })
	i := &incompatibility{why: why}
	for _, t := range terms {
		if n := len(i.terms); n > 0 && i.terms[n-1].slot == t.slot {
			i.terms[n-1].value = i.terms[n-1].value.intersect(t.value)
			continue
		}
		i.terms = append(i.terms, t)
	}
	if slices.ContainsFunc(i.terms, func(t term) bool { return t.value.isEmpty() }) {
		return nil
	}
	i.terms = slices.DeleteFunc(i.terms, func(t term) bool { return t.value.equal(u.slots[t.slot].all) })
	return i
}

// factOf says that the candidates who of a slot have a need.
func (u *universe) factOf(kind causeKind, slot int, who choice, n need) *incompatibility {
	unmet := u.slots[n.slot].all.minus(n.allow)
	if n.Optional {
		kind = asOptional
		unmet = unmet.minus(absent(len(u.slots[n.slot].candidates)))
	}
	return u.newIncompatibility([]term{{slot, who}, {n.slot, unmet}}, cause{kind, slot, n})
}

// rootFact says that a person needs something.
func (u *universe) rootFact(n need) *incompatibility {
	unmet := u.slots[n.slot].all.minus(n.allow)
	if n.Optional {
		unmet = unmet.minus(absent(len(u.slots[n.slot].candidates)))
	}
	return u.newIncompatibility([]term{{n.slot, unmet}}, cause{kind: asRoot, need: n})
}

func absent(n int) choice {
	c := none(n)
	c[0] = 1
	return c
}

// conclude resolves two incompatibilities over a slot: since it is one of all its
// possibilities, whatever else they say cannot hold.
func (u *universe) conclude(a, b *incompatibility, slot int) *incompatibility {
	var terms []term
	var pivot choice
	for _, t := range slices.Concat(a.terms, b.terms) {
		switch {
		case t.slot != slot:
			terms = append(terms, t)
		case pivot == nil:
			pivot = t.value
		default:
			pivot = pivot.union(t.value)
		}
	}
	i := u.newIncompatibility(append(terms, term{slot, pivot}), cause{})
	i.left, i.right = a, b
	return i
}

// term returns what i says about a slot.
func (i *incompatibility) term(slot int) choice {
	for _, t := range i.terms {
		if t.slot == slot {
			return t.value
		}
	}
	return nil
}
