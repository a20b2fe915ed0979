package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A ToolCall is one call of a tool of one package, byte for byte.
type ToolCall struct {
	Skill  string           `json:"skill"`
	Digest manifests.Digest `json:"digest"`
	Tool   string           `json:"tool"`
	// Input is the digest of the input in canonical form ([CanonicalDigest]), and
	// Shown its beginning, for people.
	Input manifests.Digest `json:"input"`
	Shown string           `json:"shown,omitempty"`
	// Script is the script that makes it; nil for another caller.
	Script *Script `json:"script,omitempty"`

	input []byte // whole
}

// maxShown bounds how much of an input is kept with a proposal, in bytes.
const maxShown = 16 << 10

// NewToolCall describes a call.
func NewToolCall(skill string, d manifests.Digest, tool string, input []byte) ToolCall {
	return ToolCall{Skill: skill, Digest: d, Tool: tool, Input: CanonicalDigest(input), Shown: string(input[:min(len(input), maxShown)]), input: input}
}

// leasesKey is the prefix of the keys of approvals of calls.
const leasesKey = "lease/"

// key is the key under which an approval of the call is stored.
func (c ToolCall) key() string {
	text := fmt.Appendf(nil, "%s\n%q\n%s", c.Digest, c.Tool, c.Input)
	if s := c.Script; s != nil { // another script, or another's, does not make the call that was shown
		text = fmt.Appendf(text, "\n%q\n%s\n%q", s.Language, s.Digest, s.Actor)
	}
	id := manifests.DigestOf(text)
	return leasesKey + id.Hex()
}

// A CallApproval lets one call be made once, although policies ask about what it does.
// Only [Store.TakeCallApproval] makes one that is good for anything; the zero value lifts
// nothing.
type CallApproval struct {
	id       string
	set      capability.Set
	policies []string
}

// ID is the proposal that a person approved; empty for the zero value.
func (l CallApproval) ID() string { return l.id }

// Set is what was asked about, and may be done.
func (l CallApproval) Set() capability.Set { return l.set }

// Policies are those that may not ask again; nil for any.
func (l CallApproval) Policies() []string { return l.policies }

// storedCallApproval is the stored form of a [CallApproval], and the data of a lease.given change.
type storedCallApproval struct {
	ID   string         `json:"id"` // of the proposal
	Call ToolCall       `json:"call"`
	Set  capability.Set `json:"set"`
	// ExpiresAt is when it ends unused.
	ExpiresAt time.Time `json:"expires_at"`
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

// returned is the data of lease.used and lease.ended changes.
type returned struct {
	ID   string   `json:"id"`
	Call ToolCall `json:"call"`
}

// Lend is the change that lets the call of p be made once.
func (h Human) Lend(p Proposal) (ledger.Change, error) {
	if err := h.Check(); err != nil {
		return ledger.Change{}, err
	}
	if p.Call == nil {
		return ledger.Change{}, fault.Errorf(fault.KindInternal, "proposal %s is about no call", p.ID)
	}
	c := p.Call.bare()
	return ledger.NewChange(kindLent, storedCallApproval{ID: p.ID, Call: c, Set: p.Capabilities(), ExpiresAt: p.ExpiresAt})
}

// Returned is the change that ends the approval of the call of p, if it was not used yet.
func Returned(p Proposal) (ledger.Change, error) {
	return ledger.NewChange(kindReturned, returned{p.ID, p.Call.bare()})
}

// bare is what makes it the same call, without how it is shown and where its script stands.
func (c ToolCall) bare() ToolCall {
	c.Shown, c.Script = "", c.Script.identity()
	return c
}

// IsApproved reports whether a call was approved and not made yet.
func (d *Store) IsApproved(ctx context.Context, c ToolCall) (bool, error) {
	l, err := get[storedCallApproval](ctx, d.kv, c.key())
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && time.Now().Before(l.ExpiresAt), err
}

// approvedKeys are the keys of the calls that were approved and not made yet, in an epoch; 0 for
// now. It looks into the store only when something was decided since it last did.
func (d *Store) approvedKeys(ctx context.Context, epoch uint64) (map[string]bool, error) {
	if all, ok := d.approved.Get(epoch, leasesKey); ok && epoch > 0 {
		return all, nil
	}
	if err := d.ledger.CatchUp(ctx); err != nil {
		return nil, err
	}
	entries, err := d.kv.List(ctx, leasesKey)
	if err != nil {
		return nil, fmt.Errorf("list approved calls: %w", err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		all[e.Key] = true
	}
	if epoch > 0 {
		d.approved.Add(epoch, leasesKey, all)
	}
	return all, nil
}

// TakeCallApproval uses up the approval of the call that call describes: it cannot be used again from then on,
// whatever becomes of the call. Without one it returns the zero value. g is what [Store.ConsumeGrants]
// granted to the call, when it looked whether anything was decided. Where nobody had approved
// any call then, call is not called.
func (d *Store) TakeCallApproval(ctx context.Context, g Granted, call func() ToolCall) (CallApproval, error) {
	approved, err := d.approvedKeys(ctx, g.epoch)
	if err != nil || len(approved) == 0 {
		return CallApproval{}, err
	}
	c := call()
	if !approved[c.key()] {
		if c.Script == nil {
			return CallApproval{}, nil
		}
		return d.takeLoop(ctx, c, approved)
	}
	if there, err := d.IsApproved(ctx, c); err != nil || !there {
		return CallApproval{}, err
	}
	var l storedCallApproval
	err = d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if l, err = get[storedCallApproval](ctx, d.kv, c.key()); err != nil {
			return ledger.Decision{}, err
		}
		change, err := ledger.NewChange(kindConsumed, returned{l.ID, l.Call})
		return ledger.Decision{
			Kind: "use", Actor: "skill:" + c.Skill, Subject: c.Skill, Note: "lease of proposal " + l.ID, Changes: []ledger.Change{change},
		}, err
	})
	if errors.Is(err, store.ErrNotFound) { // another call was first
		return CallApproval{}, nil
	}
	return CallApproval{id: l.ID, set: l.Set}, err
}

func applyLent(ctx context.Context, kv store.KV, at ledger.Stamp, l storedCallApproval) error {
	l.By, l.At = at.Actor, at.Time
	return put(ctx, kv, l.Call.key(), l)
}

func applyConsumed(ctx context.Context, kv store.KV, at ledger.Stamp, r returned) error {
	return applyReturned(ctx, kv, at, r)
}

func applyReturned(ctx context.Context, kv store.KV, _ ledger.Stamp, r returned) error {
	l, err := get[storedCallApproval](ctx, kv, r.Call.key())
	if errors.Is(err, store.ErrNotFound) || err == nil && l.ID != r.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return ledger.Drop(ctx, kv, r.Call.key())
}

// ProposeCall records that a call waits for a person, because policies ask about
// what it does. The same call waits once.
func (d *Store) ProposeCall(ctx context.Context, p Proposal) (Proposal, error) {
	var err error
	if p.Digest, err = DigestOf(p.Call.bare()); err != nil {
		return p, err
	}
	err = d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		waiting, ok, err := d.Pending(ctx, p)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ok {
			p = waiting
			return ledger.Decision{}, errKnown
		}
		c, err := d.Proposed(p)
		return ledger.Decision{Kind: "propose", Actor: p.ProposedBy, Subject: p.Ref(), Note: string(p.Digest), Changes: []ledger.Change{c}}, err
	})
	if err != nil && !errors.Is(err, errKnown) {
		return p, err
	}
	return d.Proposal(context.WithoutCancel(ctx), p.ID)
}

// errKnown ends a commit because the same is proposed already.
var errKnown = errors.New("proposed already")

// ApproveCall lets the call of a proposal be made once.
func (d *Store) ApproveCall(ctx context.Context, h Human, p Proposal, notes string) (Proposal, error) {
	return d.enact(ctx, h, p, notes, func(_ context.Context, now Proposal) (ledger.Change, string, error) {
		c, err := h.Lend(now)
		return c, string(now.Digest), err
	})
}

// enact approves the call of a proposal with the change that lend makes, which also says what
// is noted.
func (d *Store) enact(ctx context.Context, h Human, p Proposal, notes string, lend func(context.Context, Proposal) (ledger.Change, string, error)) (Proposal, error) {
	err := d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := d.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		if now.Overdue(time.Now()) {
			return ledger.Decision{}, TooLate(now)
		}
		changes, err := h.Enacted(now, notes)
		if err != nil {
			return ledger.Decision{}, err
		}
		l, note, err := lend(ctx, now)
		return ledger.Decision{Kind: "approve", Actor: h.Actor(), Subject: now.Ref(), Note: note, Changes: append(changes, l)}, err
	})
	if err != nil {
		return p, err
	}
	return d.Proposal(context.WithoutCancel(ctx), p.ID)
}

// RevertCall takes back the approval of a call. It fails with a
// [fault.KindConflict] error when the call was made already.
func (d *Store) RevertCall(ctx context.Context, h Human, p Proposal, notes string) (Proposal, error) {
	err := d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := d.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		c, err := h.Reverted(now, notes)
		if err != nil {
			return ledger.Decision{}, err
		}
		if there, err := d.stands(ctx, now); err != nil || !there {
			return ledger.Decision{}, errors.Join(err, fault.Errorf(fault.KindConflict, "revert proposal %s: the call was made already, or its time is over", now.ID).
				WithHint("%s shows what it did", fault.List(fault.Runs)))
		}
		back, err := Returned(now)
		if now.Loop != nil {
			back, err = endedLoop(now)
		}
		return ledger.Decision{Kind: "revert", Actor: h.Actor(), Subject: now.Ref(), Note: string(now.Digest), Changes: []ledger.Change{c, back}}, err
	})
	if err != nil {
		return p, err
	}
	return d.Proposal(context.WithoutCancel(ctx), p.ID)
}

// stands reports whether what was approved of a call is not used up, and its time is not over.
func (d *Store) stands(ctx context.Context, p Proposal) (bool, error) {
	if p.Loop != nil {
		return p.Loop.Live(time.Now()), nil
	}
	return d.IsApproved(ctx, *p.Call)
}

// TooLate is the error for deciding about a proposal that is overdue.
func TooLate(p Proposal) error {
	return fault.Errorf(fault.KindConflict, "approve proposal %s: it expired on %s", p.ID, p.ExpiresAt.Local().Format(time.DateTime)).
		WithHint("have it proposed again; the setting proposal_expiry_days says how long proposals wait")
}
