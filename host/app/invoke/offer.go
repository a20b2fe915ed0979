package invoke

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/capability"
)

// An Offer is what a person may allow so that a call that was refused works.
type Offer struct {
	// Skill is the installed skill that was refused something, which may be one that the
	// called skill calls; empty for a package that is not installed, which can be allowed
	// something for one call alone.
	Skill      string                `json:"skill,omitempty"`
	Capability capability.Capability `json:"capability"`
	// Words say what the capability allows.
	Words string `json:"words"`
}

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

// offerOf is what a remedy lets a person allow, if it does.
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
