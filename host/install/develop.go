package install

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// Develop installs a planned package that its author is working on, who gives it
// exactly granted, whatever it asks for: no more, and no less. A version in
// development may change its bytes; its data is not that of the installed skill.
// Errors are [fault.Error]s, of [fault.KindDenied] for what a policy forbids.
func (i *Installer) Develop(ctx context.Context, h approval.Human, p Plan, granted []capability.Capability) (Outcome, error) {
	if p.Origin != registry.OriginDevelopment {
		return Outcome{}, fault.Errorf(fault.KindInternal, "install %s@%s: its origin is %s, not development", p.Skill, p.Version, p.Origin)
	}
	if err := i.approvals.Allowed(p.who(), capability.NewSet(granted...)); err != nil {
		return Outcome{}, err
	}
	if !p.Installed {
		return i.install(ctx, p, h, func(ctx context.Context) ([]ledger.Change, error) { return i.grants(ctx, h, p, asksOf(granted)) })
	}
	s, err := i.registry.Lookup(ctx, manifests.Ref{Name: p.Skill, Version: p.Version})
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Skill: &s, Unchanged: true}, i.regrant(ctx, h, s, granted)
}

// regrant changes the grants of an installed version to exactly those given.
func (i *Installer) regrant(ctx context.Context, h approval.Human, s registry.Skill, granted []capability.Capability) error {
	has, err := i.approvals.Grants(ctx, s.Digest)
	if err != nil {
		return err
	}
	var had []capability.Capability
	for _, g := range has {
		had = append(had, g.Capability)
	}
	if extra := lacking(had, granted); len(extra) > 0 {
		if _, err := i.approvals.Revoke(ctx, h.Actor(), s, extra); err != nil {
			return err
		}
		had = nil // what was revoked may have been what covered others
	}
	if missing := lacking(granted, had); len(missing) > 0 {
		return i.approvals.Grant(ctx, h, s, missing, approval.Terms{})
	}
	return nil
}

// lacking are those of all that are not in some.
func lacking(all, some []capability.Capability) []capability.Capability {
	return slices.DeleteFunc(slices.Clone(all), func(c capability.Capability) bool { return slices.Contains(some, c) })
}

func asksOf(cs []capability.Capability) []approval.Ask {
	var all []approval.Ask
	for _, c := range cs {
		all = append(all, approval.Ask{Capability: c, Words: c.Words(), New: true})
	}
	return all
}
