package govern

import (
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
)

// The words of grants; see package approval.
type (
	// A Grant is a capability that a person gave to one package, byte for byte.
	Grant = approval.Grant
	// A Scope says in one word how long a grant holds.
	Scope = approval.Scope
	// A Pattern says what one value of a call's input must be.
	Pattern = approval.Pattern
)

// The scopes of a grant.
const (
	ScopeAlways  = approval.ScopeAlways
	ScopeOnce    = approval.ScopeOnce
	ScopeRun     = approval.ScopeRun
	ScopeSession = approval.ScopeSession
	ScopeUntil   = approval.ScopeUntil
)

// ParsePattern reads PATH=GLOB. Errors are of [fault.KindUsage].
func ParsePattern(text string) (Pattern, error) { return approval.ParsePattern(text) }

// Terms say for which calls grants hold, and for how long. The zero value is the next run
// alone.
type Terms struct {
	// Scope may be left out where another field bounds the grants; without any bound it
	// then means [ScopeOnce]. [ScopeAlways] has to be said.
	Scope Scope
	// ID is the run or the session that the scope names.
	ID string
	// Until is when they end; zero for never.
	Until time.Time
	// Uses is how many runs they are good for; 0 for any number.
	Uses int
	// For restricts them to calls whose input fits all of the patterns.
	For []Pattern
	// Reason is shown wherever the grants are.
	Reason string
}

// bare reports whether the terms say nothing, or that there are none.
func (t Terms) bare() bool {
	return (t.Scope == "" || t.Scope == ScopeAlways) && t.ID == "" && t.Until.IsZero() && t.Uses == 0 && len(t.For) == 0
}

// read checks the terms, and is what package approval calls them.
func (t Terms) read(now time.Time) (approval.Terms, error) {
	out := approval.Terms{ExpiresAt: t.Until, MaxUses: t.Uses, For: t.For, Reason: t.Reason}
	if err := t.check(now); err != nil {
		return out, err
	}
	switch t.Scope {
	case ScopeRun:
		out.Run = t.ID
	case ScopeSession:
		out.Session = t.ID
	case ScopeOnce:
		out.MaxUses = 1
	case "":
		if t.Until.IsZero() && t.Uses == 0 {
			out.MaxUses = 1
		}
	}
	return out, nil
}

func (t Terms) check(now time.Time) error {
	named := t.Scope == ScopeRun || t.Scope == ScopeSession
	switch {
	case t.Scope == ScopeOnce && t.Uses > 1:
		return fault.Errorf(fault.KindUsage, "grants for one run cannot be for %d runs", t.Uses).WithHint("give one of the two")
	case t.Scope == ScopeUntil && t.Until.IsZero():
		return fault.Errorf(fault.KindUsage, "grants up to a time need the time")
	case named != (t.ID != ""):
		return fault.Errorf(fault.KindUsage, "grants for the calls of one run or one session name it, and others name none")
	case !t.known():
		return fault.Errorf(fault.KindUsage, "unknown scope %q", t.Scope).WithHint("it is one of: always, once, run, session, until")
	case !t.Until.IsZero() && !t.Until.After(now):
		return fault.Errorf(fault.KindUsage, "grants cannot end at %s: that time has passed", t.Until.Local().Format(time.DateTime)).WithHint("give a time in the future")
	}
	return nil
}

func (t Terms) known() bool {
	switch t.Scope {
	case "", ScopeAlways, ScopeOnce, ScopeRun, ScopeSession, ScopeUntil:
		return true
	}
	return false
}
