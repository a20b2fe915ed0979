package host

import (
	"fmt"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

// A Cut is a limit of a manifest's that a setting of this host makes smaller.
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

// Enforced returns the limits of a manifest as they hold on this host, and
// those that its settings make smaller.
func (h *Host) Enforced(l manifests.ResolvedLimits) (manifests.ResolvedLimits, []Cut) {
	s, cuts := h.ceilings(), []Cut{}
	if most := uint64(s.MaxMemoryMB) << 20; l.MemoryBytes > most {
		cuts = append(cuts, Cut{"max_memory_mb", fmt.Sprintf("%d MB", l.MemoryBytes>>20), fmt.Sprintf("%d MB", s.MaxMemoryMB), "max_memory_mb"})
		l.MemoryBytes = most
	}
	if most := s.MaxExecutionSeconds; l.Seconds > most {
		cuts = append(cuts, Cut{"max_execution_time", span(l.Seconds), span(most), "max_execution_seconds"})
		l.Seconds = most
	}
	if most := s.MaxFuel; l.Fuel > most {
		cuts = append(cuts, Cut{"max_fuel", fmt.Sprint(l.Fuel), fmt.Sprint(most), "max_fuel"})
		l.Fuel = most
	}
	return l, cuts
}

func span(s float64) string { return (time.Duration(s * float64(time.Second))).String() }
