package runner

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// A Use is something a guest was granted and did.
type Use struct {
	// Request is what was done: "fs.read:/data/a.csv". It is empty for what was
	// done beyond the number of requests that are kept.
	Request string `json:"request"`
	// Capability is the grant that allowed it; empty with Request when too many
	// were used to tell.
	Capability string `json:"capability"`
	// Count is how often; at least 1.
	Count int `json:"count"`
}

// Bounds on what is kept of a run with all its attempts, as the host functions
// have them for one attempt.
const (
	maxUses    = 256
	maxRest    = 65 // uses that are counted by their grant alone
	maxDenials = 100
)

// mergeUses adds what another attempt did.
func mergeUses(all []Use, more []hostfn.Use) []Use {
	for _, u := range more {
		all = addUse(all, Use{clip(u.Request, maxRequest), clip(u.Capability, maxRequest), u.Count})
	}
	return all
}

// addUse counts a use: with its request while there is room, then by its grant
// alone.
func addUse(all []Use, u Use) []Use {
	i := slices.IndexFunc(all, func(o Use) bool { return o.Request == u.Request && o.Capability == u.Capability })
	room := maxUses
	if u.Request == "" {
		room += maxRest
	}
	switch {
	case i >= 0:
		all[i].Count += u.Count
		return all
	case len(all) < room || u.Request == "" && u.Capability == "":
		return append(all, u)
	case u.Request != "":
		return addUse(all, Use{Capability: u.Capability, Count: u.Count})
	}
	return addUse(all, Use{Count: u.Count})
}

// mergeDenials adds what another attempt was denied.
func mergeDenials(all, more []task.Denial) []task.Denial {
	for _, d := range more {
		i := slices.IndexFunc(all, func(o task.Denial) bool { return o.Request == d.Request && o.Reason == d.Reason })
		switch {
		case i >= 0:
			all[i].Count += d.Count
		case len(all) < maxDenials:
			all = append(all, d)
		}
	}
	return all
}
