package host

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/session"
)

// checkSessions looks for sessions that cannot go on.
func (h *Host) checkSessions(ctx context.Context) (string, error) {
	all, err := h.sessions.List(ctx)
	if err != nil {
		return "", err
	}
	ended := 0
	for _, i := range all {
		if i.Damaged {
			return "", fault.Errorf(fault.KindVerification, "session %s: %w", i.Key(), session.ErrDamaged).
				WithHint("delete it with `skillet session close %s`, or put the file back from a copy of the home", i.Key())
		}
		if i.Ended {
			ended++
		}
	}
	return fmt.Sprintf("%d open, %d ended and kept", len(all)-ended, ended), nil
}
