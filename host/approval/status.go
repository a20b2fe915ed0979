package approval

import (
	"github.com/skillet-run/skillet/host/task"
)

// A Status is where a proposal stands.
type Status string

// The statuses of a proposal.
const (
	StatusPending  Status = "pending"  // waits for a person
	StatusApproved Status = "approved" // a person said yes, and the change is in force
	StatusRejected Status = "rejected" // a person said no
	StatusStale    Status = "stale"    // another proposal for the same skill was approved first
)

// An event moves a proposal from one status to the next.
type event string

const (
	eventApprove   event = "approve"
	eventReject    event = "reject"
	eventSupersede event = "supersede"
)

// transitions is the life of a proposal; what is not here cannot happen.
var transitions = map[Status]map[event]Status{
	StatusPending: {
		eventApprove:   StatusApproved,
		eventReject:    StatusRejected,
		eventSupersede: StatusStale,
	},
}

// next is the status after an event; a [task.KindConflict] error when the
// event cannot happen to a proposal in that status.
func next(p Proposal, e event) (Status, error) {
	to, ok := transitions[p.Status][e]
	if !ok {
		return p.Status, task.Errorf(task.KindConflict, "%s proposal %s: it is already %s", e, p.ID, p.Status).
			WithHint("`skillet approvals show %s` shows who decided", p.ID)
	}
	return to, nil
}
