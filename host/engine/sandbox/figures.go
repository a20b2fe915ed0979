package sandbox

import "time"

// Figures say how an instance was found and put back, beside what the guest
// did. Results do not depend on them.
type Figures struct {
	// Pooled is true when the call found an instance waiting at its snapshot.
	Pooled bool
	// InstantiateTime is the time until the export could run: taking an instance
	// from the pool, or making and initialising one. Part of Result.Duration.
	InstantiateTime time.Duration
	// SnapshotTime is the time this call spent on taking the module's snapshot,
	// which happens once; part of InstantiateTime.
	SnapshotTime time.Duration
	// ResetTime is the time spent on bringing the instance back to its snapshot,
	// part of Result.Duration, and Strategy how it was done: StrategyNone when
	// the instance was thrown away, StrategyScan also when StrategyFaults had to
	// ask.
	ResetTime time.Duration
	Strategy  Strategy
	// DirtyPages is how many pages of 4 KiB had to be restored. A page that
	// any call of the instance wrote counts again.
	DirtyPages int
}
