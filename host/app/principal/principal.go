// Package principal has who asks for something, for edges: each use case names one.
package principal

import "github.com/skillet-run/skillet/host/record/approval"

type (
	// A Principal is who asks for something.
	Principal = approval.Principal
	// A Human is a person, who alone may decide.
	Human = approval.Human
	// An EphemeralGrant is what a person allows for one call.
	EphemeralGrant = approval.EphemeralGrant
)

// NewHuman makes a Human. Call it only where a person is at the other end: a terminal, or a
// request that was authenticated as a person's.
func NewHuman(name string) Human { return approval.NewHuman(name) }
