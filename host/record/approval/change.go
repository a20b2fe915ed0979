package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// The kinds of change this package owns.
const (
	kindProposed = "proposal.made"
	kindDecided  = "proposal.decided"
	kindGranted  = "grant.given"
	// kindBounded is a grant with conditions: a skillet that does not know them
	// must refuse it, and not give it without.
	kindBounded   = "grant.bounded"
	kindRevoked   = "grant.revoked"
	kindUsed      = "grant.used"
	kindLent      = "lease.given"
	kindConsumed  = "lease.used"
	kindReturned  = "lease.ended"
	kindLooped    = "loop.given"
	kindLoopUsed  = "loop.used"
	kindLoopEnded = "loop.ended"
)

// NewID makes an id for a proposal or a grant: short enough to type, random
// enough that a home never has two (48 bits).
func NewID() string {
	id := uuid.New()
	return fmt.Sprintf("%x", id[:6])
}

// decided is the data of a proposal.decided change.
type decided struct {
	ID string `json:"id"`
	// Status is the one the event leads to.
	Status Status `json:"status"`
	// Event and Party are empty in decisions of form 1.
	Event Event  `json:"event,omitempty"`
	Party Party  `json:"party,omitempty"`
	Notes string `json:"notes,omitempty"`
	// Before is only of events that lead to StatusApproved.
	Before *Before `json:"before,omitempty"`
}

// ended is the data of a grant.revoked and a grant.used change.
type ended struct {
	ID     string           `json:"id"`
	Digest manifests.Digest `json:"digest"`
	// Uses is the count after this use; only of grant.used.
	Uses int `json:"uses,omitempty"`
}

// Proposed is the change that records a proposal; its id must be new. Without
// an end of its own it expires after [Settings.Expiry]. It fails with
// a [fault.KindUsage] error for types that cannot be proposed.
func (d *Store) Proposed(p Proposal) (ledger.Change, error) {
	if err := p.Type.Check(); err != nil {
		return ledger.Change{}, err
	}
	p.Status = StatusPending
	if p.ExpiresAt.IsZero() {
		p.ExpiresAt = time.Now().Add(d.settings.Expiry).UTC()
	}
	return ledger.NewChange(kindProposed, p)
}

// Approved are the changes that approve p. They carry nothing out. A proposal in
// quarantine is released from it first.
func (h Human) Approved(p Proposal, notes string) ([]ledger.Change, error) {
	var changes []ledger.Change
	if p.Status == StatusQuarantined {
		c, err := h.decide(p, EventRelease, "")
		if err != nil {
			return nil, err
		}
		changes, p.Status = append(changes, c), StatusPending
	}
	approved, err := h.decide(p, EventApprove, notes)
	return append(changes, approved), err
}

// Enacted are the changes that approve p and say that it is in force: for a
// decision that holds all that p changes as well.
func (h Human) Enacted(p Proposal, notes string) ([]ledger.Change, error) {
	changes, err := h.Approved(p, notes)
	if err != nil {
		return nil, err
	}
	p.Status = StatusApproved
	applied, err := Applied(p)
	return append(changes, applied), err
}

// Given are the grants that the changes of a decision give.
func Given(changes []ledger.Change) ([]Grant, error) {
	var gs []Grant
	for _, c := range changes {
		if c.Kind != kindGranted && c.Kind != kindBounded {
			continue
		}
		var g Grant
		if err := json.Unmarshal(c.Data, &g); err != nil {
			return nil, fmt.Errorf("read a grant of a decision: %w", err)
		}
		gs = append(gs, g)
	}
	return gs, nil
}

// Ended are the ids of the grants that the changes of a decision end.
func Ended(changes []ledger.Change) ([]string, error) {
	var ids []string
	for _, c := range changes {
		if c.Kind != kindRevoked {
			continue
		}
		var e ended
		if err := json.Unmarshal(c.Data, &e); err != nil {
			return nil, fmt.Errorf("read the end of a grant of a decision: %w", err)
		}
		ids = append(ids, e.ID)
	}
	return ids, nil
}

// Rejected is the change that rejects p.
func (h Human) Rejected(p Proposal, notes string) (ledger.Change, error) {
	return h.decide(p, EventReject, notes)
}

// Reverted is the change that says that what p changed is put back, which the
// decision that holds it does.
func (h Human) Reverted(p Proposal, notes string) (ledger.Change, error) {
	return h.decide(p, EventRevert, notes)
}

func (h Human) decide(p Proposal, e Event, notes string) (ledger.Change, error) {
	if err := h.Check(); err != nil {
		return ledger.Change{}, err
	}
	return moved(p, e, PartyPerson, notes)
}

// Applied is the change that says that what p proposed, and a person approved,
// is in force.
func Applied(p Proposal) (ledger.Change, error) { return moved(p, EventApply, PartyHost, "") }

// Superseded is the change that makes p stale because by took its place.
func Superseded(p Proposal, by string) (ledger.Change, error) {
	return moved(p, EventSupersede, PartyHost, "superseded by "+by)
}

// Overtaken is the change that makes p stale for a reason in words.
func Overtaken(p Proposal, why string) (ledger.Change, error) {
	return moved(p, EventSupersede, PartyHost, why)
}

// Expired is the change that ends p because nobody decided in time.
func Expired(p Proposal) (ledger.Change, error) {
	return moved(p, EventExpire, PartyHost, "nobody decided by "+p.ExpiresAt.UTC().Format(time.RFC3339))
}

// Quarantined is the change that ends p because it was found to be bad, by the
// host or by rules of a person's.
func Quarantined(p Proposal, by Party, why string) (ledger.Change, error) {
	return moved(p, EventQuarantine, by, why)
}

// moved is the change of an event.
func moved(p Proposal, e Event, by Party, notes string) (ledger.Change, error) {
	to, err := next(p, e, by)
	if err != nil {
		return ledger.Change{}, err
	}
	d := decided{ID: p.ID, Status: to, Event: e, Party: by, Notes: notes}
	if to == StatusApproved {
		d.Before = p.Before
	}
	return ledger.NewChange(kindDecided, d)
}

// Grant is the change that gives a package a capability.
func (h Human) Grant(skill string, d manifests.Digest, c capability.Capability, t Terms) (ledger.Change, error) {
	if err := t.check(); err != nil {
		return ledger.Change{}, err
	}
	return h.give(Grant{
		ID: NewID(), Skill: skill, Digest: d, Capability: c, Scope: t.Scope(),
		Run: t.Run, Session: t.Session, For: t.For,
		ExpiresAt: t.ExpiresAt, MaxUses: t.MaxUses, Reason: t.Reason,
	})
}

// Regrant is the change that gives a grant again that was ended, as it was.
func (h Human) Regrant(g Grant) (ledger.Change, error) {
	g.ID, g.By, g.At = NewID(), "", time.Time{}
	return h.give(g)
}

func (h Human) give(g Grant) (ledger.Change, error) {
	if err := h.Check(); err != nil {
		return ledger.Change{}, err
	}
	if g.Conditional() {
		return ledger.NewChange(kindBounded, g)
	}
	return ledger.NewChange(kindGranted, g)
}

// Revoked is the change that ends a grant. Taking away needs no person.
func Revoked(g Grant) (ledger.Change, error) {
	return ledger.NewChange(kindRevoked, ended{ID: g.ID, Digest: g.Digest})
}

// Used is the change that counts one use of a grant with a maximum.
func Used(g Grant) (ledger.Change, error) {
	return ledger.NewChange(kindUsed, ended{g.ID, g.Digest, g.Uses + 1})
}

// Projection applies the changes of this package to the store.
func Projection() ledger.Projection {
	return ledger.Table{Name: "approval", State: []string{"proposal/", "grant/", "lease/"}, Kinds: map[string]ledger.Apply{
		kindProposed:  ledger.On(applyProposed),
		kindDecided:   ledger.On(applyDecided),
		kindGranted:   ledger.On(applyGranted),
		kindBounded:   ledger.On(applyGranted),
		kindRevoked:   ledger.On(applyRevoked),
		kindUsed:      ledger.On(applyUsed),
		kindLent:      ledger.On(applyLent),
		kindConsumed:  ledger.On(applyConsumed),
		kindReturned:  ledger.On(applyReturned),
		kindLooped:    ledger.On(applyLooped),
		kindLoopUsed:  ledger.On(applyLoopUsed),
		kindLoopEnded: ledger.On(applyLoopEnded),
	}}
}

func applyProposed(ctx context.Context, kv store.KV, at ledger.Stamp, p Proposal) error {
	p.CreatedAt = at.Time
	if p.ExpiresAt.IsZero() { // form 1
		p.ExpiresAt = at.Time.Add(DefaultExpiry)
	}
	return put(ctx, kv, "proposal/"+p.ID, p)
}

func applyDecided(ctx context.Context, kv store.KV, at ledger.Stamp, d decided) error {
	p, err := get[Proposal](ctx, kv, "proposal/"+d.ID)
	if err != nil {
		return err
	}
	if p.has(at.Seq, d.Event) { // applied before a crash
		return nil
	}
	if d.Event == "" {
		p.decideFormerly(d, at)
	} else if err := p.step(d, at); err != nil {
		return err
	}
	return put(ctx, kv, "proposal/"+p.ID, p)
}

// has reports whether an event of a decision was applied already.
func (p *Proposal) has(decision uint64, e Event) bool {
	for _, s := range p.Steps {
		if s.Decision == decision && s.Event == e && e != "" {
			return true
		}
	}
	return false
}

// decideFormerly applies a decision of form 1.
func (p *Proposal) decideFormerly(d decided, at ledger.Stamp) {
	p.Status, p.Notes, p.DecidedAt, p.DecidedBy = formerly(d.Status), d.Notes, at.Time, at.Actor
}

// step applies an event.
func (p *Proposal) step(d decided, at ledger.Stamp) error {
	to, err := next(*p, d.Event, d.Party)
	if err != nil {
		return err
	}
	if to != d.Status {
		return fmt.Errorf("proposal %s: %s leads to %s, and the decision says %s", p.ID, d.Event, to, d.Status)
	}
	by := at.Actor
	if d.Party == PartyPolicy { // whoever proposed what a scan looked at
		by = string(PartyPolicy) + ":approvals"
	}
	p.Status = to
	p.Steps = append(p.Steps, Step{d.Event, to, d.Party, by, at.Time, at.Seq, d.Notes})
	if d.Before != nil {
		p.Before = d.Before
	}
	if d.Event != EventApply { // which follows from a decision and is none
		p.Notes, p.DecidedAt, p.DecidedBy = d.Notes, at.Time, by
	}
	return nil
}

func applyGranted(ctx context.Context, kv store.KV, at ledger.Stamp, g Grant) error {
	g.By, g.At = at.Actor, at.Time
	return put(ctx, kv, grantKey(g.Digest, g.ID), g)
}

func applyRevoked(ctx context.Context, kv store.KV, _ ledger.Stamp, e ended) error {
	return ledger.Drop(ctx, kv, grantKey(e.Digest, e.ID))
}

func applyUsed(ctx context.Context, kv store.KV, _ ledger.Stamp, e ended) error {
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
