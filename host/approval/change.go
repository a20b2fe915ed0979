package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// The kinds of change this package owns.
const (
	kindProposed = "proposal.made"
	kindDecided  = "proposal.decided"
	kindGranted  = "grant.given"
	kindRevoked  = "grant.revoked"
	kindUsed     = "grant.used"
)

// NewID makes an id for a proposal or a grant: short enough to type, random
// enough that a home never has two (48 bits).
func NewID() string {
	id := uuid.New()
	return fmt.Sprintf("%x", id[:6])
}

// decided is the data of a proposal.decided change.
type decided struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	Notes  string `json:"notes,omitempty"`
}

// ended is the data of a grant.revoked and a grant.used change.
type ended struct {
	ID     string           `json:"id"`
	Digest manifests.Digest `json:"digest"`
	// Uses is the count after this use; only of grant.used.
	Uses int `json:"uses,omitempty"`
}

// Proposed is the change that records a proposal; its id must be new.
func Proposed(p Proposal) (ledger.Change, error) {
	p.Status = StatusPending
	return ledger.NewChange(kindProposed, p)
}

// Approved is the change that approves p. It does not install anything: the
// decision that holds it does, in the same journal entry.
func (h Human) Approved(p Proposal, notes string) (ledger.Change, error) {
	return h.decide(p, eventApprove, notes)
}

// Rejected is the change that rejects p.
func (h Human) Rejected(p Proposal, notes string) (ledger.Change, error) {
	return h.decide(p, eventReject, notes)
}

func (h Human) decide(p Proposal, e event, notes string) (ledger.Change, error) {
	if err := h.check(); err != nil {
		return ledger.Change{}, err
	}
	to, err := next(p, e)
	if err != nil {
		return ledger.Change{}, err
	}
	return ledger.NewChange(kindDecided, decided{p.ID, to, notes})
}

// Superseded is the change that makes p stale because another proposal for the
// same skill was approved. It is no decision of a person's about p.
func Superseded(p Proposal, by string) (ledger.Change, error) {
	to, err := next(p, eventSupersede)
	if err != nil {
		return ledger.Change{}, err
	}
	return ledger.NewChange(kindDecided, decided{p.ID, to, "superseded by " + by})
}

// Terms are the conditions of a grant. The zero value is a grant without end.
type Terms struct {
	// ExpiresAt is when the grant ends; zero for never.
	ExpiresAt time.Time
	// MaxUses is how many runs it is good for; 0 for any number.
	MaxUses int
	// Reason is shown wherever the grant is.
	Reason string
}

func (t Terms) scope() Scope {
	if t.MaxUses == 1 {
		return ScopeOnce
	}
	return ScopeAlways
}

// Grant is the change that gives a package a capability.
func (h Human) Grant(skill string, d manifests.Digest, c capability.Capability, t Terms) (ledger.Change, error) {
	if err := h.check(); err != nil {
		return ledger.Change{}, err
	}
	return ledger.NewChange(kindGranted, Grant{
		ID: NewID(), Skill: skill, Digest: d, Capability: c, Scope: t.scope(),
		ExpiresAt: t.ExpiresAt, MaxUses: t.MaxUses, Reason: t.Reason,
	})
}

// Revoked is the change that ends a grant. Taking away needs no person.
func Revoked(g Grant) (ledger.Change, error) {
	return ledger.NewChange(kindRevoked, ended{ID: g.ID, Digest: g.Digest})
}

// Used is the change that counts one use of a grant with a maximum.
func Used(g Grant) (ledger.Change, error) {
	return ledger.NewChange(kindUsed, ended{g.ID, g.Digest, g.Uses + 1})
}

// A Projection applies this package's changes to the store.
type Projection struct{}

var _ ledger.Projection = Projection{}

type applyFunc func(context.Context, store.KV, ledger.Stamp, json.RawMessage) error

func appliers() map[string]applyFunc {
	return map[string]applyFunc{
		kindProposed: applyProposed,
		kindDecided:  applyDecided,
		kindGranted:  applyGranted,
		kindRevoked:  applyRevoked,
		kindUsed:     applyUsed,
	}
}

// Owns reports whether this package applies changes of this kind.
func (Projection) Owns(kind string) bool { return appliers()[kind] != nil }

// Apply brings the store to the state after c.
func (Projection) Apply(ctx context.Context, kv store.KV, at ledger.Stamp, c ledger.Change) error {
	apply, ok := appliers()[c.Kind]
	if !ok {
		return fmt.Errorf("approval does not know changes of kind %q", c.Kind)
	}
	return apply(ctx, kv, at, c.Data)
}

func applyProposed(ctx context.Context, kv store.KV, at ledger.Stamp, data json.RawMessage) error {
	var p Proposal
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	p.CreatedAt = at.Time
	return put(ctx, kv, "proposal/"+p.ID, p)
}

func applyDecided(ctx context.Context, kv store.KV, at ledger.Stamp, data json.RawMessage) error {
	var d decided
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	p, err := get[Proposal](ctx, kv, "proposal/"+d.ID)
	if err != nil {
		return err
	}
	p.Status, p.Notes, p.DecidedAt, p.DecidedBy = d.Status, d.Notes, at.Time, at.Actor
	return put(ctx, kv, "proposal/"+p.ID, p)
}

func applyGranted(ctx context.Context, kv store.KV, at ledger.Stamp, data json.RawMessage) error {
	var g Grant
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	g.By, g.At = at.Actor, at.Time
	return put(ctx, kv, grantKey(g.Digest, g.ID), g)
}

func applyRevoked(ctx context.Context, kv store.KV, _ ledger.Stamp, data json.RawMessage) error {
	var e ended
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	err := kv.Delete(ctx, grantKey(e.Digest, e.ID), store.Any)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func applyUsed(ctx context.Context, kv store.KV, _ ledger.Stamp, data json.RawMessage) error {
	var e ended
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	g, err := get[Grant](ctx, kv, grantKey(e.Digest, e.ID))
	if errors.Is(err, store.ErrNotFound) { // revoked since
		return nil
	}
	if err != nil {
		return err
	}
	g.Uses = e.Uses
	return put(ctx, kv, grantKey(g.Digest, g.ID), g)
}

func grantKey(d manifests.Digest, id string) string { return "grant/" + d.Hex() + "/" + id }

func put[T any](ctx context.Context, kv store.KV, key string, v T) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, key, b, store.Any)
	return err
}

func get[T any](ctx context.Context, kv store.KV, key string) (T, error) {
	e, err := kv.Get(ctx, key)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("read %s: %w", key, err)
	}
	return decode[T](e)
}
