package closure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A Latest is the way of a skill to the newest version that is published, past the ranges that
// keep it from there.
type Latest struct {
	// To is the version.
	To string
	// Question leads the home there.
	Question Question
	// Broken are the skills whose range does not take the version. They move with it.
	Broken []Hold
	// Moves are the other skills that go to another version, and Asked those that a person asks
	// for otherwise then.
	Moves []LatestMove
	Asked []LatestAsk
}

// A LatestMove is a skill that goes to another version because another one does.
type LatestMove struct {
	Skill string `json:"skill"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// A LatestAsk says which versions of a skill a person asked for, and which they ask for then.
type LatestAsk struct {
	Skill  string `json:"skill"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Latest finds the way of a skill to its newest version; nil when it is at that. What needs it,
// and what it needs, moves with it where that is necessary: within the ranges that a person asked
// for if that will do, and past them otherwise, but to no earlier version, and what is pinned
// stays. It fails with a [fault.KindConflict] error that names the skills that it would break.
func (c *Catalog) Latest(ctx context.Context, s registry.Skill) (*Latest, error) {
	far := c.reaching(true)
	v, later, err := far.newestOf(ctx, s)
	if err != nil || !later {
		return nil, err
	}
	to := v.String()
	if s.Asked != nil && s.Asked.Closure != "" {
		w := Requirement{Name: s.Name, Exactly: to, Prereleases: v.IsPrerelease(), Isolated: true}
		return &Latest{To: to, Question: Question{Requirements: []Requirement{w}, Renew: []string{s.Name}}}, nil
	}
	h, err := c.Home(ctx)
	if err != nil {
		return nil, err
	}
	l := &Latest{To: to, Broken: dependentsOf(h.Graph, s.Name, v)}
	g, conflict, err := far.leap(ctx, h, s.Name, v)
	if err != nil {
		return nil, err
	}
	if conflict == nil {
		l.take(h, g, s.Name)
		if conflict, err = far.arrives(ctx, h, l, s.Name, v); err != nil {
			return nil, err
		}
	}
	if conflict != nil {
		return nil, c.breaks(ctx, s, l, v, conflict)
	}
	return l, nil
}

// newestOf is the newest version that may be chosen of a skill; false when it is not later than
// the active one.
func (c *Catalog) newestOf(ctx context.Context, s registry.Skill) (best semver.Version, later bool, err error) {
	all, err := c.Versions(ctx, s.Name)
	if err != nil {
		return best, false, err
	}
	prereleases := strings.Contains(s.Version, "-") || askedOf(s).Prereleases
	for _, v := range all {
		if v.IsPrerelease() && !prereleases || manifests.CompareVersions(v.String(), s.Version) <= 0 {
			continue
		}
		if !later || best.Compare(v) < 0 {
			best, later = v, true
		}
	}
	return best, later, nil
}

// leap chooses versions with one of them given: of what a person asked for as they did, and then
// of what is tied to it as they did not.
func (c *Catalog) leap(ctx context.Context, h *Home, name string, to semver.Version) (*resolve.Graph, *resolve.Conflict, error) {
	tied := tiedTo(h.Graph, name)
	var conflict *resolve.Conflict
	for _, loose := range []bool{false, true} {
		r := resolve.Request{Prefer: h.Graph, Renew: []string{name}, Roots: []resolve.Dependency{{Name: name, Range: exactly(to)}}}
		for i, e := range h.Graph.Roots {
			d := h.roots[i]
			switch {
			case e.Name == name:
				continue
			case loose && tied[e.Name] && c.mayLoosen(e.Name):
				d.Range = notBefore(h.Graph, e)
			}
			r.Roots = append(r.Roots, d)
		}
		g, err := resolve.Resolve(ctx, c, r)
		if err == nil || !errors.As(err, &conflict) {
			return g, nil, withKind(err)
		}
	}
	return nil, conflict, nil
}

// mayLoosen reports whether other versions of a skill may be chosen than a person asked for.
func (c *Catalog) mayLoosen(name string) bool {
	i := slices.IndexFunc(c.skills, func(s registry.Skill) bool { return s.Name == name && s.Active })
	return i >= 0 && c.skills[i].Pinned == nil && (c.skills[i].Asked == nil || c.skills[i].Asked.Closure == "")
}

// notBefore are the versions of a root from the present one on.
func notBefore(g *resolve.Graph, e resolve.Edge) semver.Range {
	if e.To < 0 {
		return e.Range
	}
	v := g.Nodes[e.To].Version
	r, err := semver.ParseRange(">=" + v.String())
	if err != nil {
		return e.Range
	}
	if v.IsPrerelease() || e.Range.TakesPrereleases() {
		return r.WithPrereleases()
	}
	return r
}

// tiedTo are the names that a name is tied to: what needs it, what that needs, and so on.
func tiedTo(g *resolve.Graph, name string) map[string]bool {
	beside := map[string][]string{}
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			if e.To >= 0 {
				other := g.Nodes[e.To].Name
				beside[n.Name], beside[other] = append(beside[n.Name], other), append(beside[other], n.Name)
			}
		}
	}
	tied := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, o := range beside[queue[0]] {
			if !tied[o] {
				tied[o], queue = true, append(queue, o)
			}
		}
	}
	return tied
}

// take reads from the versions that were chosen what there is to ask for.
func (l *Latest) take(h *Home, g *resolve.Graph, name string) {
	l.Question = Question{Renew: []string{name}}
	for _, n := range h.Graph.Nodes {
		now, ok := g.Node(n.Closure, n.Name)
		if n.Closure == "" && n.Name != name && ok && now.Version != n.Version {
			l.Moves = append(l.Moves, LatestMove{n.Name, n.Version.String(), now.Version.String()})
		}
	}
	for i, e := range h.Graph.Roots {
		now, ok := g.Node("", e.Name)
		if !ok || e.To < 0 || e.Isolated || now.Version == h.Graph.Nodes[e.To].Version {
			continue
		}
		s, ok := h.skill(e.Name, h.Graph.Nodes[e.To].Version)
		if !ok {
			continue
		}
		asked := askedOf(s)
		w := Requirement{Name: e.Name, Constraint: asked.Constraint, Prereleases: asked.Prereleases || now.Version.IsPrerelease(), Exactly: now.Version.String()}
		if asked.Constraint != "" && !h.roots[i].Range.Allows(now.Version) {
			w.Constraint = "^" + w.Exactly
			l.Asked = append(l.Asked, LatestAsk{e.Name, asked.Constraint, w.Constraint})
		}
		l.Question.Requirements = append(l.Question.Requirements, w)
	}
}

// arrives reports whether the question that was made leads to the version, and why not.
func (c *Catalog) arrives(ctx context.Context, h *Home, l *Latest, name string, to semver.Version) (*resolve.Conflict, error) {
	again := c.reaching(true)
	for _, w := range l.Question.Requirements {
		again.wished = append(again.wished, w.Name)
	}
	g, err := again.resolve(ctx, h, l.Question)
	var conflict *resolve.Conflict
	switch {
	case errors.As(err, &conflict):
		return conflict, nil
	case err != nil:
		return nil, withKind(err)
	}
	if n, ok := g.Node("", name); !ok || n.Version.Compare(to) != 0 {
		return &resolve.Conflict{Lines: []resolve.Line{{Text: fmt.Sprintf("What needs %s is not chosen together with %s.", name, to)}}}, nil
	}
	return nil, nil
}

// breaks is the error of a way that there is not: it names the skills that the version would
// break, and what keeps each of them where it is.
func (c *Catalog) breaks(ctx context.Context, s registry.Skill, l *Latest, to semver.Version, conflict *resolve.Conflict) error {
	e := fault.AsError(c.conflicting(conflict, l.Question))
	var broken []string
	for _, b := range l.Broken {
		stays, err := c.stays(ctx, b, s.Name, to)
		if err != nil {
			return err
		}
		broken = append(broken, fmt.Sprintf("%s@%s, which needs %s %s, %s", b.Skill, b.Version, s.Name, b.Constraint, stays))
	}
	what := "it does not fit together with the others"
	if len(broken) > 0 {
		what = "that would break " + strings.Join(broken, "; and ")
	}
	return fault.Errorf(fault.KindConflict, "update %s to %s: %s: %w", s.Name, l.To, what, conflict).Hinted(e.Way())
}

// stays says why a skill that needs another one does not move with it.
func (c *Catalog) stays(ctx context.Context, b Hold, name string, to semver.Version) (string, error) {
	for _, s := range c.skills {
		if s.Name == b.Skill && s.Active && s.Pinned != nil {
			return "and is pinned", nil
		}
	}
	far := c.reaching(true)
	all, err := far.Versions(ctx, b.Skill)
	if err != nil {
		return "", err
	}
	for _, other := range all {
		if manifests.CompareVersions(other.String(), b.Version) <= 0 {
			continue
		}
		pkg, err := far.Package(ctx, b.Skill, other)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(pkg.Dependencies, func(d resolve.Dependency) bool { return d.Name == name })
		if i < 0 || pkg.Dependencies[i].Range.Allows(to) {
			return fmt.Sprintf("and whose version %s does not fit", other), nil
		}
	}
	return "and has no later version that takes it", nil
}

// dependentsOf are the skills in the shared closure whose range does not take a version.
func dependentsOf(g *resolve.Graph, name string, v semver.Version) []Hold {
	i := slices.IndexFunc(g.Nodes, func(n resolve.Node) bool { return n.Closure == "" && n.Name == name })
	return holdersOf(g, i, v)
}
