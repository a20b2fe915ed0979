package install

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
)

// stale makes the pending proposals that a decision concerns stale. by is what
// took their place.
func (i *Installer) stale(ctx context.Context, by string, concerns func(approval.Proposal) bool) ([]ledger.Change, error) {
	all, err := i.approvals.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	var cs []ledger.Change
	for _, p := range all {
		if p.Status != approval.StatusPending || !concerns(p) {
			continue
		}
		c, err := approval.Superseded(p, by)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// Reject ends a proposal without installing anything. Its bytes are deleted
// unless something else uses them.
func (i *Installer) Reject(ctx context.Context, h approval.Human, id, notes string) (approval.Proposal, error) {
	return i.settleProposal(ctx, id, "rejected", func(_ context.Context, p approval.Proposal) (ledger.Decision, error) {
		c, err := h.Rejected(p, notes)
		return ledger.Decision{Kind: "reject", Actor: h.Actor(), Subject: p.Ref(), Note: notes, Changes: []ledger.Change{c}}, err
	})
}

// settleProposal makes a decision about a proposal as it stands under the ledger's lock,
// and deletes bytes that nobody needs after it. done is what the proposal is then.
func (i *Installer) settleProposal(ctx context.Context, id, done string, decide func(context.Context, approval.Proposal) (ledger.Decision, error)) (approval.Proposal, error) {
	p, err := i.approvals.Proposal(ctx, id)
	if err != nil {
		return p, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := i.approvals.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		return decide(ctx, now)
	})
	if err != nil {
		return p, err
	}
	if p, err = i.approvals.Proposal(context.WithoutCancel(ctx), p.ID); err != nil {
		return p, err
	}
	return p, i.tidy(ctx, "the proposal is "+done)
}

// tidy deletes bytes nobody needs any more, after a decision that holds in any
// case.
func (i *Installer) tidy(ctx context.Context, done string) error {
	if ctx.Err() != nil { // interrupted: the next removal does it
		return nil
	}
	if _, err := i.Sweep(ctx, false); err != nil {
		return fmt.Errorf("%s, but not all of its bytes could be deleted: %w", done, err)
	}
	return nil
}

// Sweep deletes bytes that no installed skill needs, and no proposal that waits or
// is in quarantine, and returns how many files those are. With dry it only counts.
func (i *Installer) Sweep(ctx context.Context, dry bool) (files int, err error) {
	err = i.ledger.Exclusive(ctx, func(ctx context.Context) error {
		keep, err := i.needed(ctx)
		if err != nil {
			return err
		}
		if !dry {
			files, err = i.registry.Sweep(ctx, keep)
			return err
		}
		unused, err := i.registry.Unused(ctx, keep)
		files = len(unused)
		return err
	})
	return files, err
}

// needed are the packages of proposals that somebody may still decide on. The
// ledger's lock must be held, so that no installation is between keeping its bytes
// and committing.
func (i *Installer) needed(ctx context.Context) ([]manifests.Digest, error) {
	ps, err := i.approvals.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	var keep []manifests.Digest
	for _, p := range ps {
		if p.Type.Package() && (p.Status.Waits() || p.Status == approval.StatusQuarantined) {
			keep = append(keep, p.Digest)
		}
	}
	return keep, nil
}
