package runner

import (
	"errors"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/policies/limit"
)

// enforced says, for each limit, where the sandbox has its value and which error says that
// a call reached it; nothing for a limit that the sandbox does not enforce.
var enforced = [...]struct {
	value   limit.Column[sandbox.Limits]
	reached error
}{
	limit.Memory:    {limit.ColumnOf(func(l *sandbox.Limits) *uint64 { return &l.MemoryBytes }, 1), sandbox.ErrMemory},
	limit.Time:      {limit.ColumnOf(func(l *sandbox.Limits) *time.Duration { return &l.Wall }, 1), sandbox.ErrTime},
	limit.Fuel:      {limit.ColumnOf(func(l *sandbox.Limits) *uint64 { return &l.Fuel }, 1), sandbox.ErrFuel},
	limit.Output:    {limit.ColumnOf(func(l *sandbox.Limits) *int64 { return &l.OutputBytes }, 1), sandbox.ErrOutput},
	limit.HostCalls: {limit.ColumnOf(func(l *sandbox.Limits) *int { return &l.HostCalls }, 1), sandbox.ErrHostCalls},
	limit.FileSize:  {limit.ColumnOf(func(l *sandbox.Limits) *int64 { return &l.Files.FileBytes }, 1), sandbox.ErrFiles},
	limit.KV:        {}, // by the host functions of the store
}

// errLimit stands in tables for the error of each limit, those of the sandbox's own included.
var errLimit = errors.New("limit reached")

// isOf is [errors.Is], and for errLimit whether err is of any limit.
func isOf(err, target error) bool {
	if target != errLimit {
		return errors.Is(err, target)
	}
	for _, e := range enforced {
		if e.reached != nil && errors.Is(err, e.reached) {
			return true
		}
	}
	for _, own := range []error{sandbox.ErrInput, sandbox.ErrTable, sandbox.ErrStack, sandbox.ErrDepth} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// limits are the manifest's, changed as the caller asked, below the ceilings; for an exact
// replay, those of the recorded call below the ceilings.
func (r *Runner) limits(a *run) sandbox.Limits {
	l, asked := sandbox.DefaultLimits(), a.call.Limits.Or(a.manifest.Limits())
	if a.exactly() {
		l = a.call.play.As.Limits.Sandbox()
		asked = a.call.Limits.Or(setOf(l))
	}
	values := asked.Within(r.settings.Ceilings).Limits.Values()
	for i, e := range enforced {
		if v := values[i]; e.value.Put != nil && v > 0 {
			e.value.Put(&l, v)
		}
	}
	return l
}

// setOf is what the sandbox enforces, as a set.
func setOf(l sandbox.Limits) limit.Set {
	var s limit.Set
	for i, e := range enforced {
		if e.value.Get != nil {
			limit.Limit(i).Put(&s, e.value.Get(&l))
		}
	}
	return s
}

// reached is the limit that a call reached, if it is one that a request can change.
func reached(err error) (limit.Limit, bool) {
	for i, e := range enforced {
		if l := limit.Limit(i); e.reached != nil && l.Request() != "" && errors.Is(err, e.reached) {
			return l, true
		}
	}
	return 0, false
}

// lowered reports whether a call reached a limit that its caller had set lower than the
// manifest.
func (a *run) lowered(err error) bool {
	asked, usual := a.call.Limits, a.manifest.Limits()
	for i, e := range enforced {
		l := limit.Limit(i)
		if v := l.Of(asked); v > 0 && v < l.Of(usual) && errors.Is(err, e.reached) {
			return true
		}
	}
	return false
}

// total bounds all attempts together, with what comes between; 0 for no bound.
func (r *Runner) total(a *run) time.Duration {
	asked, top := a.call.Limits.Wall(), r.settings.Ceilings.Wall()
	if asked == 0 {
		asked = duration.OfSeconds(a.manifest.Resilience.Timeout)
	}
	if top > 0 && (asked == 0 || asked > top) {
		return top
	}
	return asked
}
