package govern

import (
	"context"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A ListGrants asks for the grants of many skills. The zero value is all that hold, of all
// installed versions.
type ListGrants struct {
	Skills []manifests.Ref
	// Capability leaves out all but the grants of an action, such as "fs.write", or those
	// that overlap a capability, such as "fs.write:/data/x".
	Capability string
	// Ended includes the grants that do not hold any more.
	Ended bool
}

// A ListedGrant is a grant with what is known of it; its skill is NAME@VERSION.
type ListedGrant struct {
	Grant
	Words string `json:"words"`
	// Active is true when the version that it is for is the active one of its skill.
	Active bool `json:"active"`
	// Used is how often it was used within [SuggestWindow], and LastUsed when; zero for
	// never.
	Used     int       `json:"used"`
	LastUsed time.Time `json:"last_used,omitzero"`
	// CountedSince is since when uses were counted: within [SuggestWindow], and no further back
	// than [CountedCalls].
	CountedSince time.Time `json:"counted_since,omitzero"`
	// Forbidden says why policies would refuse to give it today; empty when they would not.
	Forbidden string `json:"forbidden,omitempty"`
}

// CountedCalls is in how many of the last calls a list of grants looks for their uses.
const CountedCalls = 5000

// List returns the grants of many skills, by skill and capability.
func (g *Grants) List(ctx context.Context, by approval.Principal, req ListGrants) ([]ListedGrant, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return nil, err
	}
	fits, err := grantFilter(req.Capability)
	if err != nil {
		return nil, err
	}
	skills, err := g.listFor(ctx, req.Skills)
	if err != nil {
		return nil, err
	}
	since := time.Now().Add(-SuggestWindow)
	recorded, counted, err := g.recordedUses(ctx, skills, since, CountedCalls)
	if err != nil {
		return nil, err
	}
	set, err := g.p.Policies()
	if err != nil {
		return nil, err
	}
	all := []ListedGrant{}
	for _, s := range skills {
		gs, err := g.p.Approvals.Grants(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		var used []Advice
		if s.Active {
			used = suggestOne(s, slices.Clone(gs), recorded[s.Name], counted, time.Now()).Grants
		}
		for _, one := range gs {
			if !fits(one.Capability) || !req.Ended && !one.Live(time.Now()) {
				continue
			}
			l := listed(s, one, used, set, g.p.Home)
			if s.Active {
				l.CountedSince = counted.UTC()
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// listFor are the skills that are named, or all versions that are installed.
func (g *Grants) listFor(ctx context.Context, refs []manifests.Ref) ([]registry.Skill, error) {
	if len(refs) == 0 {
		return g.p.Registry.List(ctx)
	}
	return g.suggestFor(ctx, refs)
}

func listed(s registry.Skill, one Grant, used []Advice, set *policies.Set, home string) ListedGrant {
	l := ListedGrant{Grant: one, Words: one.Capability.Words(), Active: s.Active}
	l.Skill = s.Ref()
	if i := slices.IndexFunc(used, func(a Advice) bool { return a.ID == one.ID }); i >= 0 {
		l.Used, l.LastUsed = used[i].Uses, used[i].LastUsed
	}
	q := policies.Query{Phase: policies.PhaseInstall, Principal: approval.SkillPrincipal(s), Capability: one.Capability, Home: home}
	if d := set.Decide(q); d.Effect == policies.Deny {
		l.Forbidden = d.Reason
	}
	return l
}

// grantFilter says which capabilities a text means.
func grantFilter(text string) (func(capability.Capability) bool, error) {
	if text == "" {
		return func(capability.Capability) bool { return true }, nil
	}
	actions := capability.Actions()
	if a := capability.Action(text); slices.Contains(actions, a) {
		return func(c capability.Capability) bool { return c.Action() == a }, nil
	}
	want, err := capability.Parse(text)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, err).WithHint("name a capability, or an action such as fs.write")
	}
	of := capability.NewSet(want)
	return func(c capability.Capability) bool { return of.Covers(c) || capability.NewSet(c).Covers(want) }, nil
}
