package resolve

import (
	"context"
)

// solveOptional satisfies what optional dependencies it can, one after the
// other, and changes no decision for it.
func (s *solver) solveOptional(ctx context.Context) error {
	for _, n := range s.roots {
		if err := s.wish(ctx, -1, n); err != nil {
			return err
		}
	}
	for i := 0; i < len(s.chosen); i++ {
		d := s.chosen[i]
		for _, n := range s.slots[d.slot].candidates[d.candidate].needs {
			if err := s.wish(ctx, i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// wish satisfies a need if it is optional and can be. By is the place of the
// decision that has it; -1 for a person's.
func (s *solver) wish(ctx context.Context, by int, n need) error {
	if !n.Optional || s.decided(n.slot) >= 0 {
		return nil
	}
	if s.req.OmitOptional {
		s.omit(by, n, "Optional dependencies are left out.")
		return nil
	}
	if n.allow.isEmpty() {
		s.omit(by, n, s.unmatched(n))
		return nil
	}
	if unmet := s.slots[n.slot].all.minus(n.allow); s.known(n.slot).isSubset(unmet) {
		s.omit(by, n, s.explain(s.trail[s.since(n.slot, unmet)].why))
		return nil
	}
	failed, err := s.try(ctx, n)
	if failed != nil {
		s.omit(by, n, s.explain(failed))
	}
	return err
}

// try satisfies a need on top of what was decided. It returns the reason why that
// cannot be, if there is one, with everything as it was.
func (s *solver) try(ctx context.Context, n need) (failed *incompatibility, err error) {
	wanted := len(s.wanted)
	s.floor = s.level
	s.level++
	s.assign(n.slot, n.allow, nil)
	s.wanted = append(s.wanted, n.slot)
	failed, err = s.complete(ctx, []int{n.slot})
	if failed == nil || err != nil {
		return failed, err
	}
	s.wanted = s.wanted[:wanted]
	s.floor = -1
	if open, holds := s.openTerm(failed); holds && open != nil {
		s.assign(open.slot, s.slots[open.slot].all.minus(open.value), failed)
		if _, err := s.propagate(ctx, []int{open.slot}); err != nil {
			return nil, err
		}
	}
	return failed, nil
}

func (s *solver) omit(by int, n need, reason string) {
	s.omitted = append(s.omitted, Omission{Dependency: n.Dependency, Reason: reason, by: by, slot: n.slot})
}

// unmatched says that nothing published satisfies a need.
func (s *solver) unmatched(n need) string {
	return n.Name + constraint(n.Range) + ": " + s.published(n.slot) + "."
}
