package host

import (
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
)

// A Cut is a limit of a manifest that a setting of this host makes smaller.
type Cut = review.Cut

// Enforced returns the limits of a manifest as they hold on this host, and
// those that its settings make smaller.
func (h *Host) Enforced(l manifests.ResolvedLimits) (manifests.ResolvedLimits, []Cut) {
	b := h.most().Bounds(l)
	return b.Limits, b.Cut
}

// most is what no call may exceed.
func (h *Host) most() review.Ceilings {
	s := h.ceilings()
	return review.Ceilings{MemoryMB: s.MaxMemoryMB, Seconds: s.MaxExecutionSeconds, Fuel: s.MaxFuel}
}
