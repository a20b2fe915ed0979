package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Approve installs what a proposal proposes, grants what it asks for, and
// makes other proposals for the same skill stale: one decision, all or
// nothing. The bytes are read back and must still be the ones proposed; digest,
// when it is not empty, is the digest the person was shown, or at least the
// first eight digits of it, and must fit. The policies are asked again, and the
// active version must be the one that the proposal said it replaces.
func (i *Installer) Approve(ctx context.Context, h approval.Human, id, digest, notes string) (Outcome, error) {
	p, pkg, err := i.reviewed(ctx, id, digest)
	if err != nil {
		return Outcome{}, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := i.desk.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		changes, err := i.approval(ctx, h, now, pkg, notes)
		return ledger.Decision{
			Kind: "approve", Actor: h.Actor(), Subject: now.Skill + "@" + now.Version,
			Note: string(now.Digest), Changes: changes,
		}, err
	})
	if err != nil {
		return Outcome{}, err
	}
	out, err := i.outcome(ctx, p.Skill, p.Version)
	if err != nil {
		return out, err
	}
	p, err = i.desk.Proposal(context.WithoutCancel(ctx), p.ID)
	out.Proposal = &p
	return out, err
}

// minShown is how many digits of a digest a person has to have been shown.
const minShown = 8

// reviewed finds a proposal and reads its package back.
func (i *Installer) reviewed(ctx context.Context, id, digest string) (approval.Proposal, *bundle.Package, error) {
	p, err := i.desk.Proposal(ctx, id)
	if err != nil {
		return p, nil, err
	}
	shown := strings.TrimPrefix(digest, "sha256:")
	if digest != "" && len(shown) < minShown {
		return p, nil, task.Errorf(task.KindUsage, "approve proposal %s: the digest %q is too short to tell packages apart", p.ID, digest).
			WithHint("give at least %d of its digits", minShown)
	}
	if !strings.HasPrefix(p.Digest.Hex(), shown) {
		return p, nil, task.Errorf(task.KindVerification, "approve proposal %s: its digest is %s, not %s", p.ID, p.Digest.Short(), digest).
			WithHint("look at what it proposes now: `skillet approvals show %s`", p.ID)
	}
	if p.Status != approval.StatusPending {
		return p, nil, task.Errorf(task.KindConflict, "approve proposal %s: it is already %s", p.ID, p.Status).
			WithHint("`skillet approvals show %s` shows who decided", p.ID)
	}
	pkg, err := i.registry.Package(ctx, p.Digest)
	if err != nil {
		return p, nil, err
	}
	if err := runnable(pkg.Manifest()); err != nil {
		return p, nil, fmt.Errorf("approve proposal %s: %w", p.ID, err)
	}
	if err := i.engine.Check(ctx, pkg); err != nil {
		return p, nil, fmt.Errorf("approve proposal %s: %w", p.ID, err)
	}
	return p, pkg, nil
}

// approval are all the changes of one approval.
func (i *Installer) approval(ctx context.Context, h approval.Human, p approval.Proposal, pkg *bundle.Package, notes string) ([]ledger.Change, error) {
	approved, err := h.Approved(p, notes)
	if err != nil {
		return nil, err
	}
	if err := i.stillAllowed(ctx, p, pkg.Manifest().Aliases); err != nil {
		return nil, err
	}
	if err := i.makeRoom(ctx, p.Skill, "", p.Source, p.Digest); err != nil {
		return nil, err
	}
	installed, err := registry.Installed(pkg, p.Source, registry.Origin(p.Origin))
	if err != nil {
		return nil, err
	}
	given, err := Plan{Skill: p.Skill, Digest: p.Digest}.grants(h, p.Requested)
	if err != nil {
		return nil, err
	}
	stale, err := i.stale(ctx, p.ID, func(o approval.Proposal) bool { return o.ID != p.ID && o.Skill == p.Skill })
	if err != nil {
		return nil, err
	}
	return slices.Concat([]ledger.Change{approved, installed}, given, stale), nil
}

// stillAllowed asks the policies again, and looks whether the proposal is still
// about what the person was shown.
func (i *Installer) stillAllowed(ctx context.Context, p approval.Proposal, aliases []string) error {
	plan := Plan{Skill: p.Skill, Version: p.Version, Digest: p.Digest, Origin: registry.Origin(p.Origin)}
	if d := i.decide(plan.who(), capability.Capability{}); d.Effect == policies.Deny {
		return forbidden(plan.who(), d)
	}
	if err := i.desk.Allowed(plan.who(), p.Capabilities()); err != nil {
		return err
	}
	if _, err := i.compare(ctx, &plan, aliases); err != nil {
		return err
	}
	if plan.Replaces != p.Replaces {
		return task.Errorf(task.KindConflict, "approve proposal %s: %s changed since it was proposed: then %s was active, now %s", p.ID, p.Skill, version(p.Replaces), version(plan.Replaces)).
			WithHint("reject it, and install the package again if it is still wanted")
	}
	return nil
}

func version(v string) string {
	if v == "" {
		return "no version"
	}
	return v
}

// stale makes the pending proposals that a decision concerns stale. by is what
// took their place.
func (i *Installer) stale(ctx context.Context, by string, concerns func(approval.Proposal) bool) ([]ledger.Change, error) {
	all, err := i.desk.Proposals(ctx)
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
	p, err := i.desk.Proposal(ctx, id)
	if err != nil {
		return p, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := i.desk.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		c, err := h.Rejected(now, notes)
		return ledger.Decision{
			Kind: "reject", Actor: h.Actor(), Subject: now.Skill + "@" + now.Version, Note: notes, Changes: []ledger.Change{c},
		}, err
	})
	if err != nil {
		return p, err
	}
	if p, err = i.desk.Proposal(context.WithoutCancel(ctx), p.ID); err != nil {
		return p, err
	}
	return p, i.tidy(ctx, "the proposal is rejected")
}

// tidy deletes bytes nobody needs any more, after a decision that holds in any
// case.
func (i *Installer) tidy(ctx context.Context, done string) error {
	if ctx.Err() != nil { // interrupted: the next removal does it
		return nil
	}
	if err := i.ledger.Exclusive(ctx, i.sweep); err != nil {
		return fmt.Errorf("%s, but not all of its bytes could be deleted: %w", done, err)
	}
	return nil
}

// sweep deletes bytes that no installed skill and no pending proposal needs.
// The ledger's lock must be held, so that no installation is between keeping
// its bytes and committing.
func (i *Installer) sweep(ctx context.Context) error {
	ps, err := i.desk.Proposals(ctx)
	if err != nil {
		return err
	}
	var keep []manifests.Digest
	for _, p := range ps {
		if p.Status == approval.StatusPending {
			keep = append(keep, p.Digest)
		}
	}
	_, err = i.registry.Sweep(ctx, keep)
	return err
}
