package govern

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/suggest"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A SuggestRequest asks for the smallest grants that cover what skills did.
type SuggestRequest struct {
	// Skills are looked at; all active ones when it is empty.
	Skills []manifests.Ref
	// Since is how far back runs are looked at; zero means [SuggestWindow].
	Since time.Time
}

// SuggestWindow is how far back uses are looked for when nobody says.
const SuggestWindow = 30 * 24 * time.Hour

// A Suggestion is what is proposed for one skill.
type Suggestion struct {
	Skill  string           `json:"skill"`
	Digest manifests.Digest `json:"digest"`
	Since  time.Time        `json:"since"`
	// Runs counts the runs that were looked at.
	Runs   int      `json:"runs"`
	Grants []Advice `json:"grants"`
	// Proposed is what the skill could do then.
	Proposed capability.Set `json:"proposed"`
	// Applied says that it was done.
	Applied bool `json:"applied"`
	// Revoked and Granted have the same effect, one after the other, as [Grants.Narrow];
	// both are empty when nothing is proposed, or when they would end grants that stay.
	Revoked capability.Set `json:"-"`
	Granted capability.Set `json:"-"`
}

// An Advice is what is proposed for one grant.
type Advice struct {
	ID         string                  `json:"id"`
	Capability capability.Capability   `json:"capability"`
	Verdict    suggest.Verdict         `json:"verdict"`
	To         []capability.Capability `json:"to,omitempty"`
	Why        string                  `json:"why"`
	Uses       int                     `json:"uses"`
	LastUsed   time.Time               `json:"last_used,omitzero"`
}

// Ends reports whether the grant would end.
func (a Advice) Ends() bool { return a.Verdict == suggest.Narrow || a.Verdict == suggest.Revoke }

// Changes reports whether anything is proposed.
func (s Suggestion) Changes() bool { return slices.ContainsFunc(s.Grants, Advice.Ends) }

// Suggest looks at the runs in the audit log and proposes grants that cover what was done
// with the ones there are, and never more than those. It changes nothing.
func (g *Grants) Suggest(ctx context.Context, by approval.Principal, req SuggestRequest) ([]Suggestion, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return nil, err
	}
	if req.Since.IsZero() {
		req.Since = time.Now().Add(-SuggestWindow)
	}
	skills, err := g.suggestFor(ctx, req.Skills)
	if err != nil {
		return nil, err
	}
	recorded, _, err := g.recordedUses(ctx, skills, req.Since, 0)
	if err != nil {
		return nil, err
	}
	all := []Suggestion{}
	for _, s := range skills {
		gs, err := g.p.Approvals.Grants(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, suggestOne(s, gs, recorded[s.Name], req.Since, time.Now()))
	}
	return all, nil
}

// suggestFor are the skills that are named, each once, or all active ones.
func (g *Grants) suggestFor(ctx context.Context, refs []manifests.Ref) ([]registry.Skill, error) {
	if len(refs) == 0 {
		all, err := g.p.Registry.List(ctx)
		return slices.DeleteFunc(all, func(s registry.Skill) bool { return !s.Active }), err
	}
	var skills []registry.Skill
	for _, ref := range refs {
		s, err := g.p.installed(ctx, ref)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(skills, func(o registry.Skill) bool { return o.Digest == s.Digest && o.Name == s.Name }) {
			skills = append(skills, s)
		}
	}
	return skills, nil
}

// used is what a skill did.
type used struct {
	runs int
	uses []suggest.Use
	full int // how many uses may be kept before those that are alike are added up
}

// manyUses is how many uses are kept of a long log before they are added up for the first
// time.
const manyUses = 10_000

// recordedUses are what the skills did since a time, by name: in at most so many of the last calls,
// 0 for all. It returns also since when that is, which is later when there were more calls.
func (g *Grants) recordedUses(ctx context.Context, skills []registry.Skill, since time.Time, calls int) (map[string]*used, time.Time, error) {
	all := map[string]*used{}
	for _, s := range skills {
		all[s.Name] = &used{full: manyUses}
	}
	begin, seen := since, 0
	err := g.p.Calls.Back(ctx, func(e journal.Entry) (bool, error) {
		if wayBefore(e.Time, since) {
			return false, nil
		}
		if calls > 0 && seen == calls {
			begin = e.Time
			return false, nil
		}
		seen++
		if e.Kind != runner.KindRun || e.Time.Before(since) {
			return true, nil
		}
		r, err := runRecord(e)
		if err != nil {
			return false, err
		}
		name, _, _ := strings.Cut(r.Skill, "@")
		if of := all[name]; of != nil {
			of.add(r, e.Time)
		}
		return true, nil
	})
	return all, begin, err
}

func (u *used) add(r runner.Record, at time.Time) {
	u.runs++
	for _, o := range r.Used {
		u.uses = append(u.uses, suggest.Use{Request: o.Request, Capability: o.Capability, Count: o.Count, Last: at})
	}
	if len(u.uses) >= u.full {
		u.uses = suggest.Merge(u.uses)
		u.full = max(manyUses, 2*len(u.uses))
	}
}

func suggestOne(s registry.Skill, gs []Grant, u *used, since, now time.Time) Suggestion {
	out := Suggestion{Skill: s.Ref(), Digest: s.Digest, Since: since.UTC(), Runs: u.runs, Grants: []Advice{}}
	slices.SortStableFunc(gs, func(a, b Grant) int { return strings.Compare(a.Capability.String(), b.Capability.String()) })
	var grants []suggest.Grant
	for _, g := range gs {
		if g.Live(now) {
			grants = append(grants, suggest.Grant{
				ID: g.ID, Capability: g.Capability, Given: g.At,
				Passing: !g.Unconditional(now) || !g.ExpiresAt.IsZero(),
			})
		}
	}
	advice := suggest.Suggest(grants, suggest.Merge(u.uses), since)
	for _, a := range advice {
		out.Grants = append(out.Grants, Advice{a.Grant.ID, a.Grant.Capability, a.Verdict, a.To, a.Why, a.Uses, a.Last})
	}
	out.Proposed = suggest.Proposed(advice)
	out.Revoked, out.Granted = inTwoSteps(out.Grants, grants)
	return out
}

// inTwoSteps is what to revoke and then grant for the same effect. Revoking a capability
// ends every grant that it covers, so those that should stay are given again; what cannot
// be given again as it was makes that impossible. The grants are in the order of the advice.
func inTwoSteps(advice []Advice, grants []suggest.Grant) (revoke, grant capability.Set) {
	var ended, again []capability.Capability
	for _, a := range advice {
		if a.Ends() {
			ended, again = append(ended, a.Capability), append(again, a.To...)
		}
	}
	lost := capability.NewSet(ended...)
	for i, a := range advice {
		if a.Ends() || !lost.Covers(a.Capability) {
			continue
		}
		if grants[i].Passing {
			return capability.Set{}, capability.Set{}
		}
		again = append(again, a.Capability)
	}
	return lost, capability.NewSet(again...)
}

// Narrow does what was suggested, for all skills in one decision. It fails with a
// [fault.KindConflict] error when one of the grants is not there any more.
func (g *Grants) Narrow(ctx context.Context, by approval.Human, all []Suggestion) ([]Suggestion, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return all, err
	}
	var ns []approval.Narrowing
	for _, s := range all {
		for _, a := range s.Grants {
			if a.Ends() {
				ns = append(ns, approval.Narrowing{Skill: s.Skill, Digest: s.Digest, Grant: a.ID, To: a.To})
			}
		}
	}
	if len(ns) == 0 {
		return all, nil
	}
	if err := g.p.Approvals.Narrow(ctx, by, ns); err != nil {
		return all, err
	}
	done := slices.Clone(all)
	for i := range done {
		done[i].Applied = done[i].Changes()
	}
	return done, nil
}
