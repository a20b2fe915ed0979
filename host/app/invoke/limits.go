package invoke

import (
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
)

// Limits lower or raise those of a manifest for one call, up to what the host allows. Zero
// is what holds without them.
type Limits struct {
	MemoryMB  uint64
	Fuel      uint64
	Timeout   time.Duration
	OutputKB  uint64
	HostCalls uint64
}

// A Cut is a limit that a setting of the host makes smaller.
type Cut = review.Cut

// maxMemoryMB is all that 32-bit WebAssembly can address.
const maxMemoryMB = 4096

// check refuses a limit that no call can have.
func (l Limits) check() error {
	switch {
	case l.MemoryMB > maxMemoryMB:
		return fault.Errorf(fault.KindUsage, "max_memory_mb %d is more than a module can use", l.MemoryMB).
			WithHint("32-bit WebAssembly has %d MB at most", maxMemoryMB)
	case l.OutputKB > manifests.CeilingOutputKB:
		return tooMuch(fault.FieldMaxOutputKB, l.OutputKB, manifests.CeilingOutputKB)
	case l.HostCalls > manifests.CeilingHostCalls:
		return tooMuch(fault.FieldMaxHostCalls, l.HostCalls, manifests.CeilingHostCalls)
	case l.Timeout < 0:
		return fault.Errorf(fault.KindUsage, "a timeout of %s has no meaning", l.Timeout).WithHint("give a time, or none")
	}
	return nil
}

func tooMuch(f fault.Field, n, most uint64) error {
	return fault.Errorf(fault.KindUsage, "%s %d is more than any call may have", f, n).WithHint("%d is the most", most)
}

// bounds are the limits as the runner takes them.
func (l Limits) bounds() runner.Limits {
	return runner.Limits{
		MemoryBytes: l.MemoryMB << 20, Fuel: l.Fuel, Wall: l.Timeout, OutputBytes: int64(l.OutputKB) << 10, HostCalls: int(l.HostCalls),
	}
}

// cuts are those of the limits that the ceilings of the host make smaller.
func (l Limits) cuts(c review.Ceilings) []Cut {
	return c.Bounds(manifests.ResolvedLimits{MemoryBytes: l.MemoryMB << 20, Fuel: l.Fuel, Seconds: l.Timeout.Seconds()}).Cut
}
