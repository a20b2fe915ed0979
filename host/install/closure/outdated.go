package closure

import (
	"context"
	"errors"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A HoldKind says what keeps a skill from a later version.
type HoldKind string

// What can keep it.
const (
	HeldByNeed       HoldKind = "needed"       // another skill needs a range that does not take it
	HeldByWish       HoldKind = "asked_for"    // so does the range that a person asked for
	HeldByPin        HoldKind = "pinned"       // a person pinned it
	HeldByReturn     HoldKind = "went_back"    // a person went back from it
	HeldByStop       HoldKind = "disabled"     // a person disabled that version
	HeldByQuarantine HoldKind = "quarantined"  // that version is in quarantine
	HeldByRevocation HoldKind = "revoked"      // that version is revoked
	HeldByFit        HoldKind = "does_not_fit" // what it needs does not fit together with the others
)

// A Hold is a reason for which a skill stays behind a version that is published.
type Hold struct {
	Kind HoldKind `json:"kind"`
	// Skill and Version are who holds it: the skill itself, or one that needs it.
	Skill   string `json:"skill"`
	Version string `json:"version"`
	// Constraint is the range that does not take the version; empty for what has none.
	Constraint string `json:"constraint,omitempty"`
	// By is who decided it, and Reason what they gave, or what does not fit.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// A Behind is a skill that is not the newest.
type Behind struct {
	resolve.Update
	// Skill is the installed version.
	Skill registry.Skill
	// Holds keep it from Latest, and Digest is that of Latest; empty where that is not known.
	Holds  []Hold
	Digest manifests.Digest
	// Way says what would move it: that was tried with versions only, without what a place says
	// of signatures. It is the zero value where nothing does, or Untried is true. Moves are the
	// skills that go along.
	Way     fault.Hint
	Moves   []LatestMove
	Untried bool
}

// maxTried is for how many skills it is tried what would move them.
const maxTried = 40

// Outdated says what of the home is not the newest: what updating everything
// would choose, what is published, what keeps a skill from that, and what would move it.
func (c *Catalog) Outdated(ctx context.Context) ([]Behind, error) {
	h, err := c.Home(ctx)
	if err != nil {
		return nil, err
	}
	far := c.reaching(true)
	fresh, err := resolve.Resolve(ctx, far, resolve.Request{Roots: h.roots, Prefer: h.Graph, RenewAll: true})
	var conflict *resolve.Conflict
	if errors.As(err, &conflict) {
		return nil, c.conflicting(conflict, Question{})
	}
	if err != nil {
		return nil, withKind(err)
	}
	published := map[string][]semver.Version{}
	for _, n := range h.Graph.Nodes {
		if published[n.Name], err = far.every(ctx, n.Name); err != nil {
			return nil, err
		}
	}
	var all []Behind
	for i, u := range resolve.Outdated(h.Graph, fresh, published) {
		b := Behind{Update: u, Untried: i >= maxTried}
		if b.Skill, _ = h.skill(u.Name, u.Current); !u.Gone {
			b.Holds = c.holds(h, fresh, u)
			if err := far.try(ctx, h, &b); err != nil {
				return nil, err
			}
		}
		all = append(all, b)
	}
	return all, nil
}

// every are all versions of a skill, also those that are not chosen.
func (c *Catalog) every(ctx context.Context, name string) ([]semver.Version, error) {
	all, err := c.Versions(ctx, name)
	if err != nil {
		return nil, err
	}
	items, err := c.published(ctx, name)
	for _, it := range items {
		all = append(all, it.version)
	}
	return all, err
}

// holds are what keeps a skill from its latest version, when everything is updated that can be.
func (c *Catalog) holds(h *Home, fresh *resolve.Graph, u resolve.Update) []Hold {
	if u.Wanted.CompareBuild(u.Latest) >= 0 {
		return nil
	}
	var all []Hold
	for _, s := range c.skills {
		if s.Name != u.Name {
			continue
		}
		all = append(all, standing(s, u)...)
	}
	i := slices.IndexFunc(fresh.Nodes, func(n resolve.Node) bool { return n.Closure == u.Closure && n.Name == u.Name })
	for n, e := range h.Graph.Roots {
		asked := h.roots[n]
		if e.Name != u.Name || e.To < 0 || h.Graph.Nodes[e.To].Closure != u.Closure || asked.Range.Allows(u.Latest) {
			continue
		}
		if s, ok := h.skill(u.Name, u.Current); ok && s.Pinned == nil {
			all = append(all, Hold{Kind: HeldByWish, Skill: u.Name, Version: u.Current.String(), Constraint: asked.Range.Text()})
		}
	}
	return append(all, holdersOf(fresh, i, u.Latest)...)
}

// standing is what people, and findings, decided about an installed version that keeps its skill
// from another one.
func standing(s registry.Skill, u resolve.Update) []Hold {
	latest, d := u.Latest.String(), s.Disabled
	h := Hold{Skill: s.Name, Version: s.Version}
	switch {
	case s.Active && s.Pinned != nil:
		h.Kind, h.By, h.Reason = HeldByPin, s.Pinned.By, s.Pinned.Reason
	case s.Version == latest && d != nil && d.Quarantined:
		h.Kind, h.By, h.Reason = HeldByQuarantine, d.By, d.Reason
	case s.Version == latest && d != nil && !d.All:
		h.Kind, h.By, h.Reason = HeldByStop, d.By, d.Reason
	case s.Active && s.Avoids(latest):
		h.Kind, h.By = HeldByReturn, s.Avoided.By
	default:
		return nil
	}
	return []Hold{h}
}

// holdersOf are the nodes that need the i-th one, in a range that does not take a version.
func holdersOf(g *resolve.Graph, i int, v semver.Version) []Hold {
	var all []Hold
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			if e.To == i && i >= 0 && e.Interface == nil && !e.Range.Allows(v) {
				all = append(all, Hold{Kind: HeldByNeed, Skill: n.Name, Version: n.Version.String(), Constraint: e.Range.Text()})
			}
		}
	}
	return all
}

// held reports whether one of the holds is of a kind.
func (b *Behind) held(kind HoldKind) bool {
	return slices.ContainsFunc(b.Holds, func(h Hold) bool { return h.Kind == kind })
}

// try finds what would move a skill, and what else keeps it when nothing does.
func (c *Catalog) try(ctx context.Context, h *Home, b *Behind) error {
	if it, err := c.item(ctx, b.Name, b.Latest); err == nil && !b.Untried { // it is not there when it is not chosen
		claims, err := c.claimsOf(ctx, it)
		if err != nil {
			return err
		}
		b.Digest = claims.Digest
	}
	if b.Untried || b.held(HeldByQuarantine) {
		return nil
	}
	if b.Wanted.CompareBuild(b.Latest) >= 0 {
		return c.tryWithin(ctx, h, b)
	}
	return c.tryBeyond(ctx, b)
}

// tryWithin finds the update that takes a skill to the version that updating everything would
// choose.
func (c *Catalog) tryWithin(ctx context.Context, h *Home, b *Behind) (err error) {
	if b.Way, err = c.within(ctx, h, b, b.Wanted); err == nil && b.Way.IsZero() {
		b.Way = fault.Hintf("%s", fault.UpdateAll())
	}
	return err
}

// within finds the update that takes a skill to a version, within the ranges that hold: its own,
// or that of one that needs it.
func (c *Catalog) within(ctx context.Context, h *Home, b *Behind, to semver.Version) (fault.Hint, error) {
	for _, name := range append([]string{b.Name}, holders(h.Graph, b.Closure, b.Name)...) {
		if c.isPinned(name) {
			continue
		}
		g, err := c.reaching(true).resolve(ctx, h, Question{Renew: []string{name}})
		var conflict *resolve.Conflict
		if err != nil && !errors.As(err, &conflict) {
			return fault.Hint{}, withKind(err)
		}
		if err != nil {
			continue
		}
		if n, ok := g.Node(b.Closure, b.Name); ok && n.Version == to {
			return fault.Hintf("%s", fault.Update(name)), nil
		}
	}
	return fault.Hint{}, nil
}

// holders are the names of what needs a skill, directly and through others, the nearest first.
func holders(g *resolve.Graph, closure, name string) []string {
	var all []string
	for _, p := range g.Why(name) {
		for i := len(p) - 2; i >= 0; i-- {
			if o := p[i].Node.Name; p[len(p)-1].Node.Closure == closure && !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// tryBeyond finds what takes a skill to its latest version, past what keeps it.
func (c *Catalog) tryBeyond(ctx context.Context, b *Behind) error {
	latest := b.Latest.String()
	var first fault.Hint
	free := c.reaching(true)
	free.skills = slices.Clone(c.skills)
	for i, s := range free.skills {
		if s.Name != b.Name {
			continue
		}
		if s.Active && s.Pinned != nil {
			first = fault.JoinHints(", then ", first, fault.Hintf("%s", fault.Unpin(s.Name)))
		}
		if s.Version == latest && s.Disabled != nil && !s.Disabled.All {
			first = fault.JoinHints(", then ", first, fault.Hintf("%s", fault.Enable(s.Ref())))
			free.skills[i].Disabled = nil
		}
		free.skills[i].Pinned = nil
		if b.Skill.Digest == s.Digest {
			b.Skill = free.skills[i]
		}
	}
	var last fault.Hint
	var err error
	if b.held(HeldByReturn) {
		last, err = free.back(ctx, b)
	} else {
		last, err = free.onward(ctx, b)
	}
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindConflict {
		if len(b.Holds) == 0 {
			b.Holds = append(b.Holds, Hold{Kind: HeldByFit, Skill: b.Name, Version: latest, Reason: e.Message})
		}
		return nil
	}
	if err == nil && !last.IsZero() {
		b.Way = fault.JoinHints(", then ", first, last)
	}
	return err
}

// onward is the update of a skill to its latest version, if there is one.
func (c *Catalog) onward(ctx context.Context, b *Behind) (fault.Hint, error) {
	h, err := c.Home(ctx)
	if err != nil {
		return fault.Hint{}, err
	}
	if way, err := c.within(ctx, h, b, b.Latest); err != nil || !way.IsZero() {
		return way, err
	}
	l, err := c.Latest(ctx, b.Skill)
	if err != nil || l == nil || l.To != b.Latest.String() {
		return fault.Hint{}, err
	}
	b.Moves = l.Moves
	return fault.Hintf("%s", fault.Update(b.Name).With(fault.FieldLatest)), nil
}

// back is the update of a skill to the version that a person went back from.
func (c *Catalog) back(ctx context.Context, b *Behind) (fault.Hint, error) {
	w, err := Later(b.Skill, c.skills, b.Latest.String())
	if err != nil {
		return fault.Hint{}, err
	}
	h, err := c.Home(ctx)
	if err != nil {
		return fault.Hint{}, err
	}
	q := Question{Requirements: []Requirement{w}, Renew: []string{b.Name}}
	tied := tiedTo(h.Graph, b.Name)
	var again []string
	for _, s := range c.skills {
		if s.Active && s.Name != b.Name && tied[s.Name] && s.Avoided != nil {
			again = append(again, s.Name)
		}
	}
	way := fault.Update(b.Name).With(fault.FieldTo, b.Latest.String())
	for _, q.Again = range [][]string{nil, again} {
		next := c.reaching(true)
		next.wished, next.again = []string{b.Name}, q.Again
		var conflict *resolve.Conflict
		switch _, err = next.resolve(ctx, h, q); {
		case err == nil && q.Again != nil:
			return fault.Hintf("%s", way.With(fault.FieldAgain, q.Again...)), nil
		case err == nil:
			return fault.Hintf("%s", way), nil
		case !errors.As(err, &conflict):
			return fault.Hint{}, withKind(err)
		}
		err = c.conflicting(conflict, q)
	}
	return fault.Hint{}, err
}

// Behind says what keeps an installed skill from its newest version, and what would move it, while
// nothing else is updated; nil when it is the newest.
func (c *Catalog) Behind(ctx context.Context, s registry.Skill) (*Behind, error) {
	h, err := c.Home(ctx)
	if err != nil {
		return nil, err
	}
	in := ""
	if a := s.Asked; a != nil {
		in = a.Closure
	}
	far := c.reaching(true)
	versions, err := far.every(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	for _, u := range resolve.Outdated(h.Graph, h.Graph, map[string][]semver.Version{s.Name: versions}) {
		if u.Name != s.Name || u.Closure != in {
			continue
		}
		b := &Behind{Update: u, Skill: s, Holds: c.holds(h, h.Graph, u)}
		return b, far.try(ctx, h, b)
	}
	return nil, nil
}
