package approval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/task"
)

// Every status against every event: what is not in the table cannot happen.
func TestTransitions(t *testing.T) {
	var b strings.Builder
	for _, from := range []Status{StatusPending, StatusApproved, StatusRejected, StatusStale} {
		for _, e := range []event{eventApprove, eventReject, eventSupersede} {
			to, err := next(Proposal{ID: "id", Status: from}, e)
			if err != nil {
				if task.AsError(err).Kind != task.KindConflict || to != from {
					t.Errorf("%s %s: %s, %v", from, e, to, err)
				}
				continue
			}
			fmt.Fprintf(&b, "%s %s -> %s\n", from, e, to)
		}
	}
	want := "pending approve -> approved\npending reject -> rejected\npending supersede -> stale\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// The zero Human, which is all that a caller without a person can have, makes
// no change that decides anything.
func TestZeroHumanDecidesNothing(t *testing.T) {
	var nobody Human
	p := Proposal{ID: "id", Status: StatusPending}
	if _, err := nobody.Approved(p, ""); err == nil {
		t.Error("approved")
	}
	if _, err := nobody.Rejected(p, ""); err == nil {
		t.Error("rejected")
	}
}
