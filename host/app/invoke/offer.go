package invoke

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/policies/capability"
)

// An Offer is a grant that would allow a call that was refused.
type Offer struct {
	// Skill is the installed skill that was refused something, which may be one that the
	// called skill calls; empty for a package that is not installed, which can be allowed
	// something for one call alone.
	Skill      string                `json:"skill,omitempty"`
	Capability capability.Capability `json:"capability"`
	// Words say what the capability allows.
	Words string `json:"words"`
}

// A Retry holds the parameters with which a refused call is made again.
type Retry struct {
	// Run and Task are those that the call belongs to; empty for none.
	Run, Task string
	// Allow is what a person allows for this call alone, and ForTask what is allowed to the
	// calls of its task until the task ends.
	Allow, ForTask approval.EphemeralGrant
}

// An Ask asks a person what a call that failed may be allowed, and reports whether it is to be
// made again.
type Ask func(ctx context.Context, r *Retry, a Answer) (again bool, err error)

// Offers returns what a person may allow so that a call that failed works when it is made
// again; nothing for one that did not fail because of a missing grant. What policies forbid is
// not offered.
func (a Answer) Offers() []Offer {
	if a.OK || a.Error == nil || a.Error.Kind != fault.KindDenied {
		return nil
	}
	remedies := slices.Clone(a.Error.Remedies)
	for _, d := range a.Denials {
		remedies = append(remedies, d.Remedies...)
	}
	var offers []Offer
	for _, r := range remedies {
		o, ok := offerOf(r)
		if ok && !slices.Contains(offers, o) {
			offers = append(offers, o)
		}
	}
	return offers
}

// offerOf returns the grant that a remedy proposes, if it does.
func offerOf(r fault.Remedy) (Offer, bool) {
	text := r.Capability
	if r.Action != fault.Grant("", "").Action {
		text = ""
		for _, f := range r.Fields {
			if f.Field == fault.FieldAllow {
				text = f.Value
			}
		}
	}
	c, err := capability.Parse(text)
	if err != nil {
		return Offer{}, false
	}
	return Offer{r.Skill, c, c.Words()}, true
}
