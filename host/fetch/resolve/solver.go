package resolve

import (
	"context"
	"fmt"
	"slices"
)

// A solver looks for a choice for every slot that is needed, or for the reason
// why there is none.
type solver struct {
	*universe
	req    Request
	prefer preferences
	roots  []need

	about [][]*incompatibility // by slot, in the order in which they were found
	facts map[string]*incompatibility

	trail   []assignment
	history [][]int // by slot: its assignments on the trail
	level   int
	floor   int // what was chosen up to this level stays

	chosen  []decision
	picked  []int // by slot: the candidate that was chosen, or -1
	wanted  []int // slots that were needed, in the order in which that was found
	steps   int
	omitted []Omission
}

// An assignment is one thing that became known of a slot.
type assignment struct {
	slot  int
	value choice           // what became known
	after choice           // all that is known since
	level int              // how many decisions it is under
	why   *incompatibility // what it follows from; nil for a decision
}

// A decision is a candidate that was chosen.
type decision struct {
	slot, candidate int
	level           int
	wanted          int // how many slots were wanted before
}

func newSolver(source Source, req Request) *solver {
	if req.MaxSteps == 0 {
		req.MaxSteps = DefaultMaxSteps
	}
	return &solver{
		universe: newUniverse(source), req: req, prefer: preferencesOf(req),
		facts: map[string]*incompatibility{}, floor: -1,
	}
}

// solve decides everything that is not optional.
func (s *solver) solve(ctx context.Context) (err error) {
	if s.roots, err = s.needs(ctx, "", s.req.Roots); err != nil {
		return err
	}
	var slots []int
	for _, n := range s.roots {
		fact := s.rootFact(n)
		if fact.isFinal(s) { // nothing published will do
			return s.conflict(fact)
		}
		s.add(fact)
		slots = append(slots, n.slot)
		if !n.Optional {
			s.wanted = append(s.wanted, n.slot)
		}
	}
	failed, err := s.complete(ctx, slots)
	if err == nil && failed != nil {
		return s.conflict(failed)
	}
	return err
}

// complete draws conclusions and decides until nothing is wanted any more. It
// returns the incompatibility that cannot be avoided, if there is one.
func (s *solver) complete(ctx context.Context, changed []int) (failed *incompatibility, err error) {
	for {
		if failed, err = s.propagate(ctx, changed); failed != nil || err != nil {
			return failed, err
		}
		slot, ok := s.next()
		if !ok {
			return nil, nil
		}
		if err := s.decide(ctx, slot); err != nil {
			return nil, err
		}
		changed = []int{slot}
	}
}

// step counts the work, and ends it.
func (s *solver) step(ctx context.Context) error {
	if s.steps++; s.steps > s.req.MaxSteps {
		return fmt.Errorf("%w after %d steps, with %d names looked at; ask for narrower constraints, or for less at once", ErrTooHard, s.req.MaxSteps, len(s.slots))
	}
	return ctx.Err()
}

// grow makes room for slots that have come up.
func (s *solver) grow() {
	for len(s.about) < len(s.slots) {
		s.about, s.history, s.picked = append(s.about, nil), append(s.history, nil), append(s.picked, -1)
	}
}

// add takes an incompatibility into account; nil is none.
func (s *solver) add(i *incompatibility) {
	s.grow()
	if i == nil {
		return
	}
	for _, t := range i.terms {
		s.about[t.slot] = append(s.about[t.slot], i)
	}
}

// known returns what is known of a slot.
func (s *solver) known(slot int) choice {
	if h := s.history[slot]; len(h) > 0 {
		return s.trail[h[len(h)-1]].after
	}
	return s.slots[slot].all
}

func (s *solver) assign(slot int, value choice, why *incompatibility) {
	s.history[slot] = append(s.history[slot], len(s.trail))
	s.trail = append(s.trail, assignment{slot, value, s.trailKnown(slot, value), s.level, why})
}

func (s *solver) trailKnown(slot int, value choice) choice {
	if h := s.history[slot]; len(h) > 1 {
		return s.trail[h[len(h)-2]].after.intersect(value)
	}
	return s.slots[slot].all.intersect(value)
}

// backtrack takes back everything above a level.
func (s *solver) backtrack(level int) {
	for len(s.trail) > 0 && s.trail[len(s.trail)-1].level > level {
		slot := s.trail[len(s.trail)-1].slot
		s.history[slot] = s.history[slot][:len(s.history[slot])-1]
		s.trail = s.trail[:len(s.trail)-1]
	}
	for len(s.chosen) > 0 && s.chosen[len(s.chosen)-1].level > level {
		undone := s.chosen[len(s.chosen)-1]
		s.wanted, s.picked[undone.slot] = s.wanted[:undone.wanted], -1
		s.chosen = s.chosen[:len(s.chosen)-1]
	}
	s.level = level
}

// propagate draws all conclusions from what changed: where all terms of an
// incompatibility hold but one, that one must not. It returns the
// incompatibility that cannot be avoided, if there is one.
func (s *solver) propagate(ctx context.Context, changed []int) (*incompatibility, error) {
	for len(changed) > 0 {
		slot := changed[len(changed)-1]
		changed = changed[:len(changed)-1]
		for _, i := range slices.Backward(s.about[slot]) {
			open, holds := s.openTerm(i)
			if !holds {
				continue
			}
			if open != nil {
				s.assign(open.slot, s.slots[open.slot].all.minus(open.value), i)
				changed = append(changed, open.slot)
				continue
			}
			learned, err := s.learn(ctx, i)
			if err != nil || learned.isFinal(s) {
				return learned, err
			}
			open, _ = s.openTerm(learned)
			s.assign(open.slot, s.slots[open.slot].all.minus(open.value), learned)
			changed = []int{open.slot}
			break
		}
	}
	return nil, nil
}

// openTerm returns the one term of i that may hold or not. Holds is false when
// there is more than one, or when one does not hold; without an open term, i is
// violated.
func (s *solver) openTerm(i *incompatibility) (open *term, holds bool) {
	if i.merged {
		return nil, false
	}
	for n, t := range i.terms {
		known := s.known(t.slot)
		switch {
		case known.isSubset(t.value):
		case open != nil || known.isDisjoint(t.value):
			return nil, false
		default:
			open = &i.terms[n]
		}
	}
	return open, true
}

// learn finds out why i is violated: which earlier decision it follows from
// already, and what has to hold because of that. It takes back what is above, so
// that all terms hold but one; or returns what is final.
func (s *solver) learn(ctx context.Context, i *incompatibility) (*incompatibility, error) {
	for given := i; !i.isFinal(s); {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
		last, before := s.satisfied(i)
		if last.why != nil && before == last.level {
			i = s.conclude(i, last.why, last.slot)
			continue
		}
		if i != given {
			s.add(i)
		}
		if last.level > s.floor+1 {
			s.backtrack(max(before, s.floor+1))
			return i, nil
		}
		s.backtrack(s.floor)
		return i, nil
	}
	return i, nil
}

// isFinal reports whether i rules out everything that may still be decided.
func (i *incompatibility) isFinal(s *solver) bool {
	return i != nil && (len(i.terms) == 0 || s.level == s.floor)
}

// satisfied returns the assignment since which all terms of i hold, and the
// level at which they held but for that assignment.
func (s *solver) satisfied(i *incompatibility) (last assignment, before int) {
	latest := -1
	var pivot term
	for _, t := range i.terms {
		at := s.since(t.slot, t.value)
		if at > latest {
			at, latest = latest, at
			pivot = t
		}
		if at >= 0 {
			before = max(before, s.trail[at].level)
		}
	}
	last = s.trail[latest]
	// The assignment may do only together with what was known of the slot before.
	alone := pivot.value.union(s.slots[pivot.slot].all.minus(last.value))
	if !alone.equal(s.slots[pivot.slot].all) {
		before = max(before, s.trail[s.since(pivot.slot, alone)].level)
	}
	return last, before
}

// since returns the place on the trail of the assignment since which the slot is
// within value.
func (s *solver) since(slot int, value choice) int {
	for _, at := range s.history[slot] {
		if s.trail[at].after.isSubset(value) {
			return at
		}
	}
	panic("resolve: a term that does not hold was taken for one that does")
}
