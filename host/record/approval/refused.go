package approval

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// A Refused is a package that a person turned down: its proposal was rejected, or
// reverted after it had been approved. Or nobody has decided yet about one that a
// model wrote.
type Refused struct {
	// ID is the proposal.
	ID       string    `json:"proposal"`
	Reverted bool      `json:"reverted,omitempty"`
	Waits    bool      `json:"waits,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Notes    string    `json:"notes,omitempty"`
}

// Words say what was decided, when and by whom.
func (r Refused) Words() string {
	if r.Waits {
		return fmt.Sprintf("%s proposed exactly these bytes, and nobody has decided about that yet (proposal %s)", r.By, r.ID)
	}
	verb := "rejected"
	if r.Reverted {
		verb = "reverted"
	}
	words := fmt.Sprintf("exactly these bytes were proposed and %s by %s on %s", verb, r.By, r.At.UTC().Format(time.DateOnly))
	if r.Notes != "" {
		words += ": " + r.Notes
	}
	return words + fmt.Sprintf(" (proposal %s)", r.ID)
}

// minNamed is how much of an id names a proposal.
const minNamed = 4

// Named reports whether one of ids is the proposal's, or at least four characters of
// its beginning.
func (r Refused) Named(ids []string) bool {
	for _, id := range ids {
		if len(id) >= minNamed && strings.HasPrefix(r.ID, id) {
			return true
		}
	}
	return false
}

// Refused is the last decision about a package, by its digest, if that was against
// it, or what of a model waits for one; nil otherwise.
func (d *Store) Refused(ctx context.Context, digest manifests.Digest) (*Refused, error) {
	ps, err := d.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	var last *Refused
	var at time.Time
	for _, p := range ps {
		decided := p.DecidedAt
		if n := len(p.Steps); n > 0 {
			decided = p.Steps[n-1].At
		}
		if p.Digest != digest || !p.Type.Package() {
			continue
		}
		if undecided := p.Status == StatusPending || p.Status == StatusQuarantined; undecided && p.Origin == string(registry.OriginGenerated) {
			return &Refused{ID: p.ID, Waits: true, By: p.ProposedBy, At: p.CreatedAt}, nil
		}
		if decided.Before(at) {
			continue
		}
		switch {
		case p.Status == StatusApplied:
			last, at = nil, decided
		case p.Status == StatusRejected, p.Status == StatusStale && p.Before != nil: // which only what was applied has
			last, at = p.refusal(decided), decided
		}
	}
	return last, nil
}

func (p Proposal) refusal(at time.Time) *Refused {
	r := &Refused{ID: p.ID, Reverted: p.Status == StatusStale, By: p.DecidedBy, At: at, Notes: p.Notes}
	if n := len(p.Steps); n > 0 {
		r.By, r.Notes = p.Steps[n-1].By, p.Steps[n-1].Notes
	}
	return r
}
