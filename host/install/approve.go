package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Consent is what a person says with an approval. The zero value is a plain yes.
type Consent struct {
	// Digest is the one the person was shown, or at least its first eight digits;
	// empty when none is to be compared.
	Digest string
	// Notes are kept with the decision.
	Notes string
	// Despite names the rules whose findings keep a package in quarantine and that
	// the person has looked at.
	Despite []string
	// Terms are the conditions of the grants; the zero value is grants without end.
	Terms approval.Terms
}

// Approve installs what a proposal proposes, grants what it asks for, and
// makes other proposals for the same skill stale: one decision, all or
// nothing. The bytes are read back and must still be the ones proposed and shown.
// The policies are asked again, the static findings are looked for again, and the
// active version must be the one that the proposal said it replaces.
func (i *Installer) Approve(ctx context.Context, h approval.Human, id string, c Consent) (Outcome, error) {
	p, pkg, err := i.reviewed(ctx, id, c)
	if err != nil {
		return Outcome{}, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := i.approvals.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		changes, err := i.approval(ctx, h, now, pkg, c)
		return ledger.Decision{
			Kind: "approve", Actor: h.Actor(), Subject: now.Ref(), Note: string(now.Digest), Changes: changes,
		}, err
	})
	if err != nil {
		return Outcome{}, err
	}
	out, err := i.outcome(ctx, p.Skill, p.Version)
	if err != nil {
		return out, err
	}
	p, err = i.approvals.Proposal(context.WithoutCancel(ctx), p.ID)
	out.Proposal = &p
	return out, err
}

// minShown is how many digits of a digest a person has to have been shown.
const minShown = 8

// Shown makes sure that a digest which a person was shown is the proposal's.
// Errors are [fault.Error]s: of [fault.KindUsage] for one that is too short to tell
// anything, of [fault.KindVerification] for another one.
func Shown(p approval.Proposal, digest string) error {
	shown := strings.TrimPrefix(digest, "sha256:")
	if digest != "" && len(shown) < minShown {
		return fault.Errorf(fault.KindUsage, "approve proposal %s: the digest %q is too short to tell packages apart", p.ID, digest).
			WithHint("give at least %d of its digits", minShown)
	}
	if !strings.HasPrefix(p.Digest.Hex(), shown) {
		return fault.Errorf(fault.KindVerification, "approve proposal %s: its digest is %s, not %s", p.ID, p.Digest.Short(), digest).
			WithHint("look at what it proposes now: %s", fault.ShowProposal(p.ID))
	}
	return nil
}

// reviewed finds a proposal and reads its package back.
func (i *Installer) reviewed(ctx context.Context, id string, c Consent) (approval.Proposal, *bundle.Package, error) {
	p, err := i.approvals.Proposal(ctx, id)
	if err != nil {
		return p, nil, err
	}
	if err := Shown(p, c.Digest); err != nil {
		return p, nil, err
	}
	if err := open(p); err != nil {
		return p, nil, err
	}
	pkg, err := i.registry.Package(ctx, p.Digest)
	if err != nil {
		return p, nil, err
	}
	for _, check := range []func() error{
		func() error { return runnable(pkg.Manifest()) },
		func() error { return i.engine.Check(ctx, pkg) },
		func() error { return i.screened(ctx, p, pkg, c.Despite) },
	} {
		if err := check(); err != nil {
			return p, nil, fmt.Errorf("approve proposal %s: %w", p.ID, err)
		}
	}
	return p, pkg, nil
}

// open refuses proposals of a package that cannot be approved any more.
func open(p approval.Proposal) error {
	switch {
	case !p.Type.Package():
		return fault.Errorf(fault.KindInternal, "approve proposal %s: it is a %s, not a package", p.ID, p.Type)
	case p.Overdue(time.Now()):
		return approval.TooLate(p)
	case p.Status != approval.StatusPending && p.Status != approval.StatusQuarantined:
		return fault.Errorf(fault.KindConflict, "approve proposal %s: it is already %s", p.ID, p.Status).
			WithHint("%s shows who decided", fault.ShowProposal(p.ID))
	}
	return nil
}

// screened looks for what keeps a package in quarantine, and refuses it unless
// the person named each of the rules. A package that waits is put there.
func (i *Installer) screened(ctx context.Context, p approval.Proposal, pkg *bundle.Package, despite []string) error {
	r, err := findings.Scan(ctx, pkg)
	if err != nil {
		return err
	}
	refused := approval.Screened(p, r.Blocking(), despite)
	if refused == nil || p.Status != approval.StatusPending {
		return refused
	}
	if err := i.Quarantine(ctx, p.ID, approval.PartyPolicy, approval.Found(r.Blocking())); err != nil {
		return err
	}
	return refused
}

// proposalType is the type under which p waits: what was written for this host
// is told from what a person chose to install.
func (p Plan) proposalType() approval.Type {
	if p.Origin == registry.OriginGenerated || p.Origin == registry.OriginDevelopment {
		return p.Type
	}
	return approval.TypeInstall
}

// Quarantine ends a proposal that was found to be bad. Its bytes are kept until
// it is rejected.
func (i *Installer) Quarantine(ctx context.Context, id string, by approval.Party, why string) error {
	return i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		p, err := i.approvals.Proposal(ctx, id)
		if err != nil {
			return ledger.Decision{}, err
		}
		c, err := approval.Quarantined(p, by, why)
		return ledger.Decision{Kind: "quarantine", Actor: string(by) + ":approvals", Subject: p.Ref(), Note: why, Changes: []ledger.Change{c}}, err
	})
}

// quarantined are the changes that put a package which is being proposed into
// quarantine, and why; none for one in which nothing is found that asks for it.
func quarantined(p approval.Proposal, r findings.Report) ([]ledger.Change, string, error) {
	if len(r.Blocking()) == 0 {
		return nil, "", nil
	}
	p.Status = approval.StatusPending
	why := approval.Found(r.Blocking())
	c, err := approval.Quarantined(p, approval.PartyPolicy, why)
	return []ledger.Change{c}, why, err
}

// approval are all the changes of one approval.
func (i *Installer) approval(ctx context.Context, h approval.Human, p approval.Proposal, pkg *bundle.Package, c Consent) ([]ledger.Change, error) {
	if err := open(p); err != nil {
		return nil, err
	}
	if err := i.ready(ctx, p); err != nil {
		return nil, err
	}
	before, err := i.stillAllowed(ctx, p, pkg.Manifest().Aliases)
	if err != nil {
		return nil, err
	}
	if p.Before, err = i.before(ctx, before); err != nil {
		return nil, err
	}
	enacted, err := h.Enacted(p, c.Notes)
	if err != nil {
		return nil, err
	}
	if err := i.makeRoom(ctx, p.Skill, p.Signer, p.Source, p.Digest); err != nil {
		return nil, err
	}
	from := registry.Provenance{
		Source: p.Source, SourceKind: p.SourceKind, Origin: registry.Origin(p.Origin), Signer: p.Signer,
		Artifact: p.Artifact, Dependencies: p.Dependencies, Needed: p.Needed, Asked: p.Asked, Beside: p.Beside,
	}
	installed, err := from.Installed(pkg)
	if err != nil {
		return nil, err
	}
	trusted, err := i.trustingProposed(ctx, h, p)
	if err != nil {
		return nil, err
	}
	given, err := grantsOn(h, p.Skill, p.Digest, p.Requested, c.Terms)
	if err != nil {
		return nil, err
	}
	stale, err := i.stale(ctx, p.ID, func(o approval.Proposal) bool { return o.ID != p.ID && o.Skill == p.Skill })
	if err != nil {
		return nil, err
	}
	linked, err := i.relinks(ctx, p)
	return slices.Concat(enacted, []ledger.Change{installed}, trusted, given, linked, stale), err
}

// grantsOn are the changes that grant what was asked for on terms; the reason of
// each is the package's, unless the terms have one.
func grantsOn(h approval.Human, skill string, d manifests.Digest, asks []approval.Ask, t approval.Terms) ([]ledger.Change, error) {
	var cs []ledger.Change
	for _, a := range asks {
		terms := t
		if terms.Reason == "" {
			terms.Reason = a.Reason
		}
		c, err := h.Grant(skill, d, a.Capability, terms)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// before is what reverting an approval puts back.
func (i *Installer) before(ctx context.Context, f former) (*approval.Before, error) {
	b := &approval.Before{Digest: f.digest}
	if f.digest == "" {
		return b, nil
	}
	gs, err := i.approvals.Grants(ctx, f.digest)
	b.Grants = slices.DeleteFunc(gs, func(g approval.Grant) bool { return !g.Live(time.Now()) })
	return b, err
}

// stillAllowed asks the policies again, and looks whether the proposal is still
// about what the person was shown. It returns the version that is active.
func (i *Installer) stillAllowed(ctx context.Context, p approval.Proposal, aliases []string) (former, error) {
	plan := Plan{Skill: p.Skill, Version: p.Version, Digest: p.Digest, Origin: registry.Origin(p.Origin), Signer: p.Signer}
	rules, err := i.policies()
	if err != nil {
		return former{}, err
	}
	if d := i.decide(rules, plan.who(), capability.Capability{}); d.Effect == policies.Deny {
		return former{}, forbidden(plan.who(), d)
	}
	if err := i.approvals.Allowed(plan.who(), p.Capabilities()); err != nil {
		return former{}, err
	}
	f, err := i.compare(ctx, &plan, aliases)
	if err != nil {
		return f, err
	}
	if plan.Replaces != p.Replaces {
		return f, fault.Errorf(fault.KindConflict, "approve proposal %s: %s changed since it was proposed: then %s was active, now %s", p.ID, p.Skill, version(p.Replaces), version(plan.Replaces)).
			WithHint("reject it, and install the package again if it is still wanted")
	}
	return f, nil
}

func version(v string) string {
	if v == "" {
		return "no version"
	}
	return v
}
