package invoke

import (
	"strconv"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"
)

type (
	// Limits are those that a request asks for; a zero field asks for nothing.
	Limits = limit.Set
	// A Cut is a limit that a setting of the host makes smaller.
	Cut = limit.Cut
)

// checkLimits refuses limits that no call can have.
func checkLimits(s Limits) error {
	if s == (Limits{}) { // most calls
		return nil
	}
	for _, l := range limit.All() {
		switch v := l.Of(s); {
		case v != 0 && l.Request() == "":
			return fault.Errorf(fault.KindUsage, "a call cannot have a limit of its own on %s", l.What()).WithHint("change it in the manifest: %s", l.Path())
		case v < 0:
			return fault.Errorf(fault.KindUsage, "%s %s has no meaning", l.Request(), l.Text(v)).WithHint("give more than 0, or leave it out")
		case v > l.Most() && l.Why() != "":
			return fault.Errorf(fault.KindUsage, "%s %s is more than a module can use", l.Request(), numberOf(l, v)).WithHint("%s", l.Why())
		case v > l.Most() && l.Setting() == "": // others are cut, and the caller is told
			return fault.Errorf(fault.KindUsage, "%s %s is more than any call may have", l.Request(), numberOf(l, v)).WithHint("%s is the most", numberOf(l, l.Most()))
		}
	}
	return nil
}

// numberOf is a value as a request names it.
func numberOf(l limit.Limit, v int64) string {
	return strconv.FormatFloat(l.Number(v), 'f', -1, 64)
}
