package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/manifests/semver"
)

// preferences are the candidates to try first, by closure and name.
type preferences map[[2]string]preferred

type preferred struct {
	version  semver.Version // of the skill, or of the interface
	provider string         // of an interface
}

func preferencesOf(req Request) preferences {
	p := preferences{}
	if req.Prefer == nil || req.RenewAll {
		return p
	}
	for key, choice := range req.Prefer.choices() {
		if !slices.Contains(req.Renew, key[1]) && !slices.Contains(req.Renew, choice.provider) {
			p[key] = choice
		}
	}
	return p
}

// next returns the first slot that is wanted and not decided. It depends on
// nothing but the decisions, so that what was learned on the way does not change
// the answer.
func (s *solver) next() (slot int, ok bool) {
	for _, slot := range s.wanted {
		if s.decided(slot) < 0 {
			return slot, true
		}
	}
	return 0, false
}

// decided returns the candidate that was chosen for a slot, or -1.
func (s *solver) decided(slot int) int { return s.picked[slot] }

// decide chooses a candidate for a slot, or learns that it cannot be chosen.
func (s *solver) decide(ctx context.Context, slot int) error {
	if err := s.step(ctx); err != nil {
		return err
	}
	c := s.first(s.known(slot), s.order(slot))
	if err := s.expand(ctx, slot, c); err != nil {
		return err
	}
	if s.isExcluded(slot, c) {
		return nil
	}
	s.level++
	s.chosen = append(s.chosen, decision{slot, c, s.level, len(s.wanted)})
	s.picked[slot] = c
	s.assign(slot, one(len(s.slots[slot].candidates), c), nil)
	for _, n := range s.slots[slot].candidates[c].needs {
		if !n.Optional {
			s.wanted = append(s.wanted, n.slot)
		}
	}
	return nil
}

// isExcluded reports whether a candidate is at odds with what is known. That it
// is will follow from the incompatibilities about its slot.
func (s *solver) isExcluded(slot, candidate int) bool {
	only := one(len(s.slots[slot].candidates), candidate)
	return slices.ContainsFunc(s.about[slot], func(i *incompatibility) bool {
		return !i.merged && !slices.ContainsFunc(i.terms, func(t term) bool {
			known := s.known(t.slot)
			if t.slot == slot {
				known = only
			}
			return !known.isSubset(t.value)
		})
	})
}

// first returns the first candidate in the order that a choice has.
func (s *solver) first(c choice, order []int) int {
	for _, i := range order {
		if c.has(i) {
			return i
		}
	}
	panic("resolve: nothing is left of what is wanted")
}

// order returns the candidates of a slot in the order in which they are tried:
// the preferred one; of an interface, the ones whose provider was chosen anyway;
// then the newest first.
func (s *solver) order(slot int) []int {
	at := s.slots[slot]
	p, preferring := s.prefer[[2]string{at.closure, at.name}]
	var first, second, rest []int
	for i, c := range at.candidates {
		switch {
		case preferring && c.version == p.version && c.provider == p.provider:
			first = append(first, i)
		case at.isInterface && s.isChosen(at.closure, c.provider):
			second = append(second, i)
		default:
			rest = append(rest, i)
		}
	}
	return slices.Concat(first, second, rest)
}

// isChosen reports whether a version of a name has been chosen in a closure.
func (s *solver) isChosen(closure, name string) bool {
	return slices.ContainsFunc(s.chosen, func(d decision) bool {
		return s.slots[d.slot].closure == closure && s.slots[d.slot].name == name
	})
}

// expand finds out what a candidate needs.
func (s *solver) expand(ctx context.Context, slot, candidate int) error {
	c := &s.slots[slot].candidates[candidate]
	if c.expanded {
		return nil
	}
	needs, err := s.needsOf(ctx, s.slots[slot], *c)
	if err != nil {
		return err
	}
	c.needs, c.expanded = needs, true
	kind := asNeed
	if s.slots[slot].isInterface {
		kind = asProvision
	}
	for _, n := range needs {
		s.addNeed(kind, slot, candidate, n)
	}
	return nil
}

// addNeed adds the fact that a candidate has a need. Where other candidates of
// the slot have the same, one fact says so of all of them.
func (s *solver) addNeed(kind causeKind, slot, candidate int, n need) {
	who := one(len(s.slots[slot].candidates), candidate)
	key := needKey(slot, n)
	last := s.facts[key]
	if last != nil && n.slot != slot {
		who = who.union(last.term(slot))
	}
	fact := s.factOf(kind, slot, who, n)
	s.add(fact)
	if fact == nil || n.slot == slot {
		return
	}
	if last != nil {
		last.merged = true
	}
	s.facts[key] = fact
}

// needKey is the same for needs that one fact can tell of.
func needKey(slot int, n need) string {
	return fmt.Sprint(slot, " ", n.slot, " ", n.Optional, n.Isolated, " ", n.Range.Text(), " ") + n.allow.key()
}
