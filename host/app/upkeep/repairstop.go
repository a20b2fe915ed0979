package upkeep

import (
	"slices"

	"github.com/skillet-run/skillet/host/record/registry"
)

// stopSkills disables versions again that the store knew as disabled: the
// decision that did it may be the one that is lost.
func (hs *holdings) stopSkills(r *AuditRepair, known *holdings) []made {
	if known == nil {
		return nil // without a grant they can do nothing but compute
	}
	var all []made
	for _, was := range known.skills {
		i := slices.IndexFunc(hs.skills, func(s registry.Skill) bool { return s.Name == was.Name && s.Digest == was.Digest })
		if was.Disabled == nil || i < 0 || hs.skills[i].Disabled != nil && hs.skills[i].Disabled.Quarantined == was.Disabled.Quarantined {
			continue
		}
		r.Ended = append(r.Ended, "that "+was.Ref()+" may be run")
		if was.Disabled.Quarantined {
			all = append(all, newMade(registry.Quarantined(was, was.Disabled.Reason)))
		} else {
			all = append(all, newMade(registry.Disabled(was.Name, was.Digest, was.Disabled.Reason)))
		}
	}
	return all
}
