// Package approval keeps what people decided: proposals that wait for a
// decision, and the grants that follow from one. Both are bound to the content
// digest of a package, so that a changed byte voids them.
//
// A decision needs a [Human]. Nothing that runs on behalf of a model can make
// one, so a model cannot approve or grant, by type and not by convention. The
// package calls nobody back: whoever proposed looks at the outcome.
//
// # Keys in the store
//
//	proposal/ID            -> record
//	grant/DIGEST-HEX/ID    -> record
package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// ErrNotFound means that no proposal or grant has that id. Errors that wrap it
// are [task.Error]s of [task.KindNotFound].
var ErrNotFound = errors.New("not found")

// A Human is a person who decides. Only entry points where a person is present
// make one; a test lists them. The zero value decides nothing.
type Human struct{ name string }

// NewHuman makes a Human. Call it only where a person is at the other end: a
// terminal, or a request that was authenticated as a person's.
func NewHuman(name string) Human { return Human{name} }

// Actor is the name under which decisions are recorded: "human:ada".
func (h Human) Actor() string { return "human:" + h.name }

// check refuses the zero value.
func (h Human) check() error {
	if h.name == "" {
		return task.Errorf(task.KindDenied, "only a person can decide")
	}
	return nil
}

// A OneRun is what a person allowed for a single run, on top of the grants.
// The zero value allows nothing.
type OneRun struct {
	set capability.Set
	by  string
}

// Allow makes a OneRun of the person's.
func (h Human) Allow(set capability.Set) OneRun { return OneRun{set, h.Actor()} }

// Set is what is allowed.
func (o OneRun) Set() capability.Set { return o.set }

// Actor is who allowed it; empty for the zero value.
func (o OneRun) Actor() string { return o.by }

// A Type says what a proposal wants to change.
type Type string

// The types of proposal.
const (
	TypeNewSkill    Type = "new_skill"
	TypeModifySkill Type = "modify_skill"
)

// A Proposal is a change that waits for a person's decision.
type Proposal struct {
	ID     string `json:"id"`
	Type   Type   `json:"type"`
	Status Status `json:"status"`
	// Title is one line; Rationale is why, in the proposer's words.
	Title     string `json:"title"`
	Rationale string `json:"rationale,omitempty"`
	// Skill and Version name what would be installed.
	Skill   string `json:"skill"`
	Version string `json:"version"`
	// Digest is the content digest of the package that was proposed. An
	// approval holds for these bytes and no others.
	Digest manifests.Digest `json:"digest"`
	// Replaces is the version that was active when it was proposed; empty for
	// none. An approval holds only while that is so.
	Replaces string `json:"replaces,omitempty"`
	// Requested is what the package asks for, with the reasons it gives, and
	// Limits are the bounds of each call.
	Requested []Ask                    `json:"requested"`
	Limits    manifests.ResolvedLimits `json:"limits"`
	// Origin and Source say where the package came from; ProposedBy says who
	// brought it: "human:ada", "model:NAME".
	Origin     string `json:"origin"`
	Source     string `json:"source,omitempty"`
	ProposedBy string `json:"proposed_by"`
	// CreatedAt is set when it is recorded; DecidedAt is zero until decided.
	CreatedAt time.Time `json:"created_at,omitzero"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
	DecidedBy string    `json:"decided_by,omitempty"`
	Notes     string    `json:"notes,omitempty"`
}

// An Ask is one capability a package asks for.
type Ask struct {
	Capability capability.Capability `json:"capability"`
	Words      string                `json:"words"`
	Reason     string                `json:"reason,omitempty"`
	// New is true when an earlier version of the skill was not granted it.
	New bool `json:"new"`
	// Policies and Effect are what the policies say: "allow", "ask" or "deny".
	Effect   string   `json:"effect"`
	Policies []string `json:"policies,omitempty"`
}

// Capabilities is the set of what p asks for.
func (p Proposal) Capabilities() capability.Set {
	var cs []capability.Capability
	for _, a := range p.Requested {
		cs = append(cs, a.Capability)
	}
	return capability.NewSet(cs...)
}

// A Scope says how long a grant holds.
type Scope string

// The scopes of a grant.
const (
	ScopeAlways Scope = "always" // until it is revoked, expires or is used up
	ScopeOnce   Scope = "once"   // for the next run alone
)

// A Grant is a capability a person gave to one package, byte for byte.
type Grant struct {
	ID         string                `json:"id"`
	Skill      string                `json:"skill"`
	Digest     manifests.Digest      `json:"digest"`
	Capability capability.Capability `json:"capability"`
	Scope      Scope                 `json:"scope"`
	// ExpiresAt is zero for a grant without an end.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// MaxUses is the number of runs the grant is good for; 0 means any number.
	MaxUses int       `json:"max_uses,omitempty"`
	Uses    int       `json:"uses,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"granted_by"`
	At      time.Time `json:"granted_at,omitzero"`
}

// Live reports whether g still grants anything at the given time.
func (g Grant) Live(now time.Time) bool {
	return (g.ExpiresAt.IsZero() || now.Before(g.ExpiresAt)) && (g.MaxUses == 0 || g.Uses < g.MaxUses)
}

// A Desk is where proposals and grants are read and decided.
type Desk struct {
	ledger   *ledger.Ledger
	kv       store.KV
	policies *policies.Set
	home     string
}

// NewDesk makes a Desk for the home directory, which policies may speak of.
func NewDesk(l *ledger.Ledger, kv store.KV, p *policies.Set, home string) *Desk {
	return &Desk{ledger: l, kv: kv, policies: p, home: home}
}

// Proposals returns all proposals, oldest first.
func (d *Desk) Proposals(ctx context.Context) ([]Proposal, error) {
	entries, err := d.kv.List(ctx, "proposal/")
	if err != nil {
		return nil, fmt.Errorf("list proposals: %w", err)
	}
	ps := make([]Proposal, 0, len(entries))
	for _, e := range entries {
		p, err := decode[Proposal](e)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b Proposal) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return ps, nil
}

// Proposal finds a proposal by its id or an unambiguous beginning of it of at
// least four characters. It fails with [ErrNotFound].
func (d *Desk) Proposal(ctx context.Context, id string) (Proposal, error) {
	ps, err := d.Proposals(ctx)
	if err != nil {
		return Proposal{}, err
	}
	var found []Proposal
	for _, p := range ps {
		if p.ID == id {
			return p, nil
		}
		if len(id) >= 4 && strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Proposal{}, task.Errorf(task.KindNotFound, "proposal %s: %w", id, ErrNotFound).
			WithHint("`skillet approvals list --all` shows every proposal")
	}
	return Proposal{}, task.Errorf(task.KindUsage, "proposal %s: %d proposals begin so", id, len(found)).
		WithHint("give more of its id")
}

// maxPending is how many proposals may wait at a time: each keeps its package.
const maxPending = 100

// Pending finds a proposal that still waits and proposes the same as p: the
// same bytes from the same origin, asking for the same in place of the same
// version. ok is false when there is none; then it fails with a
// [task.KindLimit] error when too many wait already.
func (d *Desk) Pending(ctx context.Context, p Proposal) (found Proposal, ok bool, err error) {
	ps, err := d.Proposals(ctx)
	if err != nil {
		return Proposal{}, false, err
	}
	waiting := 0
	for _, o := range ps {
		if o.Status != StatusPending {
			continue
		}
		if o.same(p) {
			return o, true, nil
		}
		waiting++
	}
	if waiting >= maxPending {
		return Proposal{}, false, task.Errorf(task.KindLimit, "%d proposals wait already", waiting).
			WithHint("decide some of them first: `skillet approvals list`")
	}
	return Proposal{}, false, nil
}

func (p Proposal) same(o Proposal) bool {
	return p.Digest == o.Digest && p.Origin == o.Origin && p.Replaces == o.Replaces && p.Capabilities().Equal(o.Capabilities())
}

// Grants returns the grants of a package, also those that ended, oldest first.
func (d *Desk) Grants(ctx context.Context, digest manifests.Digest) ([]Grant, error) {
	entries, err := d.kv.List(ctx, "grant/"+digest.Hex()+"/")
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	gs := make([]Grant, 0, len(entries))
	for _, e := range entries {
		g, err := decode[Grant](e)
		if err != nil {
			return nil, err
		}
		gs = append(gs, g)
	}
	slices.SortFunc(gs, func(a, b Grant) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return gs, nil
}

// Granted is the set of what a package may do at the given time.
func (d *Desk) Granted(ctx context.Context, digest manifests.Digest, now time.Time) (capability.Set, error) {
	gs, err := d.Grants(ctx, digest)
	if err != nil {
		return capability.Set{}, err
	}
	return live(gs, now), nil
}

// live is the set of what gs grant at the given time.
func live(gs []Grant, now time.Time) capability.Set {
	var cs []capability.Capability
	for _, g := range gs {
		if g.Live(now) {
			cs = append(cs, g.Capability)
		}
	}
	return capability.NewSet(cs...)
}

// stored wraps a value with the version of its stored form.
type stored[T any] struct {
	V     int `json:"v"`
	Value T   `json:"value"`
}

const storedVersion = 1

func encode[T any](v T) ([]byte, error) { return json.Marshal(stored[T]{storedVersion, v}) }

func decode[T any](e store.Entry) (T, error) {
	var s stored[T]
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return s.Value, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	if s.V != storedVersion {
		return s.Value, fmt.Errorf("read %s: it has format %d, this skillet knows %d: use the skillet that wrote it, or a newer one", e.Key, s.V, storedVersion)
	}
	return s.Value, nil
}
