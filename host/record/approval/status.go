package approval

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Status is where a proposal stands.
type Status string

// The statuses of a proposal.
const (
	StatusPending     Status = "pending"     // waits for a person
	StatusApproved    Status = "approved"    // a person said yes, and the change is not in force yet
	StatusRejected    Status = "rejected"    // a person said no
	StatusApplied     Status = "applied"     // the change came into force
	StatusStale       Status = "stale"       // what it would change, or changed, is another now
	StatusQuarantined Status = "quarantined" // it was found to be bad
	StatusExpired     Status = "expired"     // nobody decided in time
)

// Statuses are all of them, in the order in which they are explained.
func Statuses() []Status {
	return []Status{
		StatusPending, StatusApproved, StatusRejected, StatusApplied, StatusStale, StatusQuarantined, StatusExpired,
	}
}

// Waits reports whether a proposal in this status can still come into force.
func (s Status) Waits() bool { return s == StatusPending || s == StatusApproved }

// An Event moves a proposal from one status to the next.
type Event string

// The events of a proposal.
const (
	EventApprove    Event = "approve"    // somebody says yes
	EventReject     Event = "reject"     // somebody says no
	EventApply      Event = "apply"      // what was approved comes into force
	EventSupersede  Event = "supersede"  // what it would change was changed by something else
	EventExpire     Event = "expire"     // its time is over
	EventQuarantine Event = "quarantine" // it is found to be bad
	EventRelease    Event = "release"    // somebody looked at what was found, and lets it be decided
	EventRevert     Event = "revert"     // what it changed is put back
)

// Events are all of them.
func Events() []Event {
	return []Event{EventApprove, EventReject, EventApply, EventSupersede, EventExpire, EventQuarantine, EventRelease, EventRevert}
}

// A Party is who may cause an event.
type Party string

// The parties.
const (
	PartyPerson Party = "person" // a [Human]
	PartyHost   Party = "host"   // this program, which only finishes, ends or stops
	PartyPolicy Party = "policy" // rules that a person wrote: a scan, a list of revocations
)

// Parties are all of them.
func Parties() []Party { return []Party{PartyPerson, PartyHost, PartyPolicy} }

// causes says who may cause which event. Whatever lets something happen takes a
// person.
var causes = map[Event][]Party{
	EventApprove:    {PartyPerson},
	EventReject:     {PartyPerson},
	EventApply:      {PartyHost},
	EventSupersede:  {PartyHost},
	EventExpire:     {PartyHost},
	EventQuarantine: {PartyPerson, PartyHost, PartyPolicy},
	EventRelease:    {PartyPerson},
	EventRevert:     {PartyPerson},
}

// transitions is the life of a proposal; what is not here cannot happen.
var transitions = map[Status]map[Event]Status{
	StatusPending: {
		EventApprove:    StatusApproved,
		EventReject:     StatusRejected,
		EventSupersede:  StatusStale,
		EventExpire:     StatusExpired,
		EventQuarantine: StatusQuarantined,
	},
	StatusApproved: {
		EventApply:      StatusApplied,
		EventSupersede:  StatusStale,
		EventQuarantine: StatusQuarantined,
	},
	StatusApplied: {
		EventQuarantine: StatusQuarantined,
		EventRevert:     StatusStale,
	},
	StatusQuarantined: {
		EventReject:  StatusRejected,
		EventRelease: StatusPending,
	},
}

// Next is the status after an event that somebody causes; ok is false when that
// cannot happen, and then the status stays.
func Next(s Status, e Event, by Party) (next Status, ok bool) {
	next, ok = transitions[s][e]
	if !ok || !slices.Contains(causes[e], by) {
		return s, false
	}
	return next, true
}

// next is [Next] for a proposal; a [fault.KindConflict] error when the event
// cannot happen to it.
func next(p Proposal, e Event, by Party) (Status, error) {
	to, ok := Next(p.Status, e, by)
	if !ok {
		return p.Status, fault.Errorf(fault.KindConflict, "%s proposal %s: it is already %s", e, p.ID, p.Status).
			WithHint("%s shows who decided", fault.ShowProposal(p.ID))
	}
	return to, nil
}
