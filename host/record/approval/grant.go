package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Allowed asks the policies whether a package may be given capabilities at
// all. It is nil when no policy forbids one of them outright, and a
// [fault.KindDenied] error otherwise.
func (d *Store) Allowed(who policies.Principal, set capability.Set) error {
	rules, err := d.policies()
	if err != nil {
		return err
	}
	for _, c := range set.All() {
		dec := rules.Decide(policies.Query{Phase: policies.PhaseInstall, Principal: who, Capability: c, Home: d.settings.Home})
		if dec.Effect == policies.Deny {
			return fault.Errorf(fault.KindDenied, "%s@%s may not be given %s: %s", who.Skill, who.Version, c, dec.Reason).
				WithHint("decided by policy %s", strings.Join(dec.Policies, ", "))
		}
	}
	return nil
}

// SkillPrincipal is an installed skill as policies know it.
func SkillPrincipal(s registry.Skill) policies.Principal {
	return policies.Principal{Skill: s.Name, Version: s.Version, Digest: string(s.Digest), Signer: s.Signer, Origin: string(s.Origin)}
}

// Grant gives an installed skill a capability beyond, or again, what it asked
// for. A policy that forbids it outright refuses. It fails with a
// [fault.KindConflict] error when the skill was removed meanwhile: its grants
// would wait for whoever installs the same bytes again.
func (d *Store) Grant(ctx context.Context, h Human, s registry.Skill, cs []capability.Capability, t Terms) error {
	if err := d.Allowed(SkillPrincipal(s), capability.NewSet(cs...)); err != nil {
		return err
	}
	return d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		if err := d.installed(ctx, s); err != nil {
			return ledger.Decision{}, err
		}
		var changes []ledger.Change
		for _, c := range cs {
			change, err := h.Grant(s.Name, s.Digest, c, t)
			if err != nil {
				return ledger.Decision{}, err
			}
			changes = append(changes, change)
		}
		return ledger.Decision{Kind: "grant", Actor: h.Actor(), Subject: s.Ref(), Note: texts(cs), Changes: changes}, nil
	})
}

func (d *Store) installed(ctx context.Context, s registry.Skill) error {
	versions, err := registry.New(d.kv, nil).Versions(ctx, s.Name)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(versions, func(v registry.Skill) bool { return v.Digest == s.Digest }) {
		return fault.Errorf(fault.KindConflict, "%s is not installed any more", s.Ref()).WithHint("%s shows what is", fault.List(fault.Skills))
	}
	return nil
}

func texts(cs []capability.Capability) string {
	return strings.Join(capability.NewSet(cs...).Strings(), ", ")
}

// Revoke ends the grants of a skill that cs cover; all of them when cs is
// empty. It returns what it ended, and a [fault.KindNotFound] error when that
// would be nothing.
func (d *Store) Revoke(ctx context.Context, actor string, s registry.Skill, cs []capability.Capability) ([]Grant, error) {
	return d.revoke(ctx, actor, s, Covered(cs), func([]Grant) error { return nil })
}

// RevokePlanned ends the grants of a skill that are meant, which are the ones that a person
// was shown. It fails with a [fault.KindConflict] error when those are others by now, and is
// [Store.Revoke] otherwise.
func (d *Store) RevokePlanned(ctx context.Context, h Human, s registry.Skill, meant func(Grant) bool, shown []Grant) ([]Grant, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	ids := idsOf(shown)
	return d.revoke(ctx, h.Actor(), s, meant, func(ended []Grant) error {
		if slices.Equal(idsOf(ended), ids) {
			return nil
		}
		return fault.Errorf(fault.KindConflict, "the grants of %s changed meanwhile", s.Ref()).WithHint("look at them again")
	})
}

func idsOf(gs []Grant) []string {
	var ids []string
	for _, g := range gs {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	return ids
}

func (d *Store) revoke(ctx context.Context, actor string, s registry.Skill, meant func(Grant) bool, check func([]Grant) error) ([]Grant, error) {
	var ended []Grant
	err := d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		gs, err := d.Grants(ctx, s.Digest)
		if err != nil {
			return ledger.Decision{}, err
		}
		ended = slices.DeleteFunc(gs, func(g Grant) bool { return !meant(g) })
		if err := check(ended); err != nil {
			return ledger.Decision{}, err
		}
		if len(ended) == 0 {
			return ledger.Decision{}, fault.Errorf(fault.KindNotFound, "%s has no such grant", s.Ref()).
				WithHint("%s lists its grants", fault.ShowGrants(s.Name))
		}
		changes, err := RevokedAll(ended)
		return ledger.Decision{Kind: "revoke", Actor: actor, Subject: s.Ref(), Note: strings.Join(Texts(ended), ", "), Changes: changes}, err
	})
	return ended, err
}

// Texts are the capabilities of gs, each once.
func Texts(gs []Grant) []string {
	var all []string
	for _, g := range gs {
		if text := g.Capability.String(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// RevokedAll are the changes that end all of gs.
func RevokedAll(gs []Grant) ([]ledger.Change, error) {
	var cs []ledger.Change
	for _, g := range gs {
		c, err := Revoked(g)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// Covered reports whether cs cover a grant; all grants are when cs is empty.
func Covered(cs []capability.Capability) func(Grant) bool {
	set := capability.NewSet(cs...)
	return func(g Grant) bool { return len(cs) == 0 || set.Covers(g.Capability) }
}

// Exactly reports whether a grant is of one of cs.
func Exactly(cs []capability.Capability) func(Grant) bool {
	return func(g Grant) bool { return slices.Contains(cs, g.Capability) }
}

// Capabilities is the set of what gs are about, whether they hold or not.
func Capabilities(gs []Grant) capability.Set {
	return newGranted("", gs, func(Grant) bool { return true }, Use{}, 0).set
}

// ConsumeGrants counts one run against every grant of a skill that is good for a number
// of runs and holds for the call, and returns what the skill may do in it.
func (d *Store) ConsumeGrants(ctx context.Context, s registry.Skill, u Use) (Granted, error) {
	epoch := d.settings.epoch()
	gs, err := d.current(ctx, epoch, s.Digest)
	if err != nil {
		return Granted{}, err
	}
	now := time.Now()
	holds := func(g Grant) bool { return g.Holds(u, now) }
	counted := func(g Grant) bool { return g.MaxUses > 0 && holds(g) }
	if !slices.ContainsFunc(gs, counted) {
		return newGranted(s.Digest, gs, holds, u, epoch), nil
	}
	var granted Granted
	err = d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		gs, err := d.Grants(ctx, s.Digest)
		if err != nil {
			return ledger.Decision{}, err
		}
		now = time.Now()
		granted = newGranted(s.Digest, gs, holds, u, epoch)
		changes, err := usedAll(gs, counted)
		if err == nil && len(changes) == 0 { // another run was first
			err = errSpent
		}
		return ledger.Decision{Kind: "use", Actor: "skill:" + s.Ref(), Subject: s.Ref(), Changes: changes}, err
	})
	if errors.Is(err, errSpent) {
		err = nil
	}
	return granted, err
}

// newGranted is what those of gs grant that hold.
func newGranted(digest manifests.Digest, gs []Grant, holds func(Grant) bool, u Use, epoch uint64) Granted {
	g := Granted{digest: digest, use: u, epoch: epoch}
	var cs []capability.Capability
	for _, x := range gs {
		if !holds(x) {
			continue
		}
		cs, g.ids = append(cs, x.Capability), append(g.ids, x.ID)
		if !x.ExpiresAt.IsZero() && (g.until.IsZero() || x.ExpiresAt.Before(g.until)) {
			g.until = x.ExpiresAt
		}
	}
	g.set = capability.NewSet(cs...)
	return g
}

// CurrentGrants returns what is still valid of what was granted for a call: what grants cover
// that hold for the call now. One that was used up by the call itself holds to its end.
// Nobody is granted more by it.
func (d *Store) CurrentGrants(ctx context.Context, g Granted) (Granted, error) {
	epoch := d.settings.epoch()
	gs, err := d.Grants(ctx, g.digest)
	if err != nil {
		return Granted{}, err
	}
	now := time.Now()
	left := newGranted(g.digest, gs, func(x Grant) bool {
		if slices.Contains(g.ids, x.ID) {
			x.MaxUses = 0
		}
		return x.MaxUses == 0 && x.Holds(g.use, now)
	}, g.use, epoch)
	left.set = g.set.Intersect(left.set)
	return left, nil
}

// usedAll are the changes that count one use of those of gs that count.
func usedAll(gs []Grant, counted func(Grant) bool) ([]ledger.Change, error) {
	var changes []ledger.Change
	for _, g := range gs {
		if !counted(g) {
			continue
		}
		c, err := Used(g)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// errSpent ends a commit because there is nothing left to count.
var errSpent = errors.New("nothing to count")
