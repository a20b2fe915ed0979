package approval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Found says why a proposal is in quarantine: which rules of a scan found
// something in it.
func Found(rules []string) string { return "a scan found " + strings.Join(rules, ", ") }

// Screened refuses to approve a proposal in which rules found something, unless the
// person named each of them: a [fault.KindDenied] error that says how.
func Screened(p Proposal, rules, despite []string) error {
	left := slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return slices.Contains(despite, r) })
	if len(left) == 0 {
		return nil
	}
	return InQuarantine(p, Found(left)).
		WithHint("%s shows where; to approve it all the same: %s", fault.ShowProposal(p.ID), fault.Approve(p.ID).With(fault.FieldDespite, left...))
}

// InQuarantine is the error for a proposal in which something was found.
func InQuarantine(p Proposal, why string) *fault.Error {
	return fault.Errorf(fault.KindDenied, "%s is in quarantine: %s: proposal %s", cmp.Or(p.Ref(), p.File().Name), why, p.ID).
		WithHint("%s shows where, %s why; %s refuses it", fault.ShowProposal(p.ID), fault.ShowRule(""), fault.Reject(p.ID))
}
