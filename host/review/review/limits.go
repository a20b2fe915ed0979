package review

import (
	"fmt"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

// Bounds are the limits of a skill as they hold on a host.
type Bounds struct {
	Limits manifests.ResolvedLimits `json:"limits"`
	// Cut are those that the manifest has higher than the host allows.
	Cut []Cut `json:"limits_cut"`
}

// A Cut is a limit of a manifest that a setting of the host makes smaller.
type Cut struct {
	// Limit is the field of the manifest: "max_memory_mb".
	Limit string `json:"limit"`
	// Asked is what the manifest says, and Allowed what holds, with units.
	Asked   string `json:"asked"`
	Allowed string `json:"allowed"`
	// Setting is the setting that decides; the administrator may have set a lower
	// bound than it.
	Setting string `json:"setting"`
}

// Ceilings are what no call may exceed on a host. With the zero value, nothing may be
// used at all.
type Ceilings struct {
	MemoryMB int
	Seconds  float64
	Fuel     uint64
}

// Bounds are the limits of a manifest as they hold below the ceilings, and those that
// the ceilings make smaller.
func (c Ceilings) Bounds(l manifests.ResolvedLimits) Bounds {
	cuts := []Cut{}
	if most := uint64(c.MemoryMB) << 20; l.MemoryBytes > most {
		cuts = append(cuts, Cut{"max_memory_mb", fmt.Sprintf("%d MB", l.MemoryBytes>>20), fmt.Sprintf("%d MB", c.MemoryMB), "max_memory_mb"})
		l.MemoryBytes = most
	}
	if l.Seconds > c.Seconds {
		cuts = append(cuts, Cut{"max_execution_time", span(l.Seconds), span(c.Seconds), "max_execution_seconds"})
		l.Seconds = c.Seconds
	}
	if l.Fuel > c.Fuel {
		cuts = append(cuts, Cut{"max_fuel", fmt.Sprint(l.Fuel), fmt.Sprint(c.Fuel), "max_fuel"})
		l.Fuel = c.Fuel
	}
	return Bounds{l, cuts}
}

func span(s float64) string { return (time.Duration(s * float64(time.Second))).String() }
