package install

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// Revert undoes what approving a package did: the version goes and its grants
// end, and the version that was active before is active again, with the grants it
// had then. It is one decision. It fails with a [fault.KindConflict] error when
// another version was made the active one since, or when the version before is not
// installed any more.
func (i *Installer) Revert(ctx context.Context, h approval.Human, id, notes string) (approval.Proposal, error) {
	return i.settleProposal(ctx, id, "reverted", func(ctx context.Context, p approval.Proposal) (ledger.Decision, error) {
		changes, err := i.reversal(ctx, h, p, notes)
		return ledger.Decision{Kind: "revert", Actor: h.Actor(), Subject: p.Ref(), Note: string(p.Digest), Changes: changes}, err
	})
}

// reversal are the changes that undo an approval.
func (i *Installer) reversal(ctx context.Context, h approval.Human, p approval.Proposal, notes string) ([]ledger.Change, error) {
	reverted, err := h.Reverted(p, notes)
	if err != nil {
		return nil, err
	}
	versions, err := i.registry.Versions(ctx, p.Skill)
	if err != nil {
		return nil, err
	}
	gone, back, err := i.swap(p, versions)
	if err != nil {
		return nil, err
	}
	given, err := i.givenBack(ctx, h, p, back)
	if err != nil {
		return nil, err
	}
	gone.Active = gone.Active && back == nil // or the one that comes back is
	rest := slices.DeleteFunc(slices.Clone(versions), func(v registry.Skill) bool { return v.Digest == gone.Digest })
	removed, err := i.removal(ctx, []registry.Skill{gone}, rest)
	if err != nil {
		return nil, err
	}
	stale, err := i.stale(ctx, "reverting proposal "+p.ID, func(o approval.Proposal) bool { return o.Skill == p.Skill })
	if err != nil || back == nil {
		return slices.Concat([]ledger.Change{reverted}, removed, stale), err
	}
	active, err := registry.RolledBack(*back, false)
	return slices.Concat([]ledger.Change{reverted, active}, removed, given, stale), err
}

// swap finds the version that goes, and the one that comes back; nil when there
// was none before.
func (i *Installer) swap(p approval.Proposal, versions []registry.Skill) (gone registry.Skill, back *registry.Skill, err error) {
	at := func(d manifests.Digest) int {
		return slices.IndexFunc(versions, func(v registry.Skill) bool { return v.Digest == d })
	}
	now := at(p.Digest)
	if now < 0 || !versions[now].Active {
		return gone, nil, fault.Errorf(fault.KindConflict, "revert proposal %s: %s is not the active version any more", p.ID, p.Ref()).
			WithHint("%s shows the versions", fault.List(fault.Versions))
	}
	if p.Before == nil || p.Before.Digest == "" || p.Before.Digest == p.Digest {
		return versions[now], nil, nil
	}
	was := at(p.Before.Digest)
	if was < 0 {
		return gone, nil, fault.Errorf(fault.KindConflict, "revert proposal %s: the version that was active before (%s) is not installed any more", p.ID, p.Before.Digest.Short()).
			WithHint("install it again from its source, or %s", fault.Remove(p.Ref()))
	}
	return versions[now], &versions[was], nil
}

// givenBack are the changes that give a version the grants again that it had and
// has lost since. Policies may forbid that by now.
func (i *Installer) givenBack(ctx context.Context, h approval.Human, p approval.Proposal, back *registry.Skill) ([]ledger.Change, error) {
	if back == nil {
		return nil, nil
	}
	has, err := i.approvals.Grants(ctx, back.Digest)
	if err != nil {
		return nil, err
	}
	who := approval.SkillPrincipal(*back)
	var changes []ledger.Change
	for _, g := range p.Before.Grants {
		if slices.ContainsFunc(has, func(o approval.Grant) bool { return o.ID == g.ID }) {
			continue
		}
		if err := i.approvals.Allowed(who, approval.Capabilities([]approval.Grant{g})); err != nil {
			return nil, err
		}
		c, err := h.Regrant(g)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}
