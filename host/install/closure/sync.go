package closure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A Sync is what there is to do for the home to be what a lock says.
type Sync struct {
	// Missing are what is locked and not installed: what is needed before what needs
	// it. They are not fetched yet, see [Catalog.FetchLocked].
	Missing []Locked
	// Links, Activate and Asked are as in a [Plan]. Needed are installed skills that
	// nobody asks for according to the lock.
	Links    []registry.Link
	Activate []registry.Skill
	Asked    []Ask
	Needed   []string
	// Extra are installed versions that are not in the lock.
	Extra []registry.Skill
}

// A Locked is one version that a lock names, with what it was resolved to.
type Locked struct {
	Package      lockfile.Package
	Dependencies []registry.Dependency
	// Needed, Asked and Beside are as in a [Step].
	Needed bool
	Asked  *registry.Asked
	Beside bool
}

// IsEmpty reports whether the home is what the lock says; there may be more.
func (s *Sync) IsEmpty() bool {
	return len(s.Missing)+len(s.Links)+len(s.Activate)+len(s.Asked)+len(s.Needed) == 0
}

// Sync compares the home with a lock. It fails with a [fault.KindVerification] error
// when a locked version is installed with other bytes.
func (c *Catalog) Sync(ctx context.Context, l *lockfile.Lock) (*Sync, error) {
	h, err := c.Home(ctx)
	if err != nil {
		return nil, err
	}
	g, err := resolve.FromLock(l)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, err)
	}
	b := &planner{catalog: c, home: h, graph: g, plan: &Plan{Graph: g}, digests: map[[2]string]manifests.Digest{}}
	for _, p := range l.Packages {
		b.digests[[2]string{p.Name, p.Version}] = p.Digest
	}
	b.sort()
	s := &Sync{}
	for _, i := range b.order {
		if err := s.add(b, g.Nodes[i], l); err != nil {
			return nil, err
		}
	}
	b.links()
	s.Links, s.Activate = b.plan.Links, b.inactive()
	s.asks(b, l)
	for _, v := range h.skills {
		if b.digests[[2]string{v.Name, v.Version}] != v.Digest {
			s.Extra = append(s.Extra, v)
		}
	}
	return s, nil
}

// add looks at one locked version.
func (s *Sync) add(b *planner, n resolve.Node, l *lockfile.Lock) error {
	i := slices.IndexFunc(l.Packages, func(p lockfile.Package) bool { return p.Name == n.Name && p.Version == n.Version.String() })
	p := l.Packages[i]
	if v, ok := b.home.skill(n.Name, n.Version); ok {
		if v.Digest != p.Digest {
			return fault.Errorf(fault.KindVerification, "%s is installed with the bytes %s, and locked with %s", v.Ref(), v.Digest, p.Digest).
				WithHint("a version never changes: find out which is the right one; %s takes out the installed one", fault.Remove(v.Ref()))
		}
		return nil
	}
	if slices.ContainsFunc(s.Missing, func(o Locked) bool { return o.Package.Digest == p.Digest }) {
		return nil
	}
	s.Missing = append(s.Missing, Locked{
		Package: p, Dependencies: b.resolved(p.Name, p.Version), Needed: !b.isRoot(p.Name), Asked: lockedAs(p.Name, l), Beside: b.beside(n),
	})
	return nil
}

// lockedAs is how a lock says that a person asks for a skill; nil when nobody does.
func lockedAs(name string, l *lockfile.Lock) *registry.Asked {
	i := slices.IndexFunc(l.Roots, func(r lockfile.Requirement) bool { return r.Name == name && r.Provider == "" && r.Version != "" })
	if i < 0 {
		return nil
	}
	r := l.Roots[i]
	a := &registry.Asked{Constraint: r.Constraint, Prereleases: r.Prereleases, Closure: r.Closure}
	if r.Constraint == anyVersion {
		a.Constraint = ""
	}
	return a
}

// inactive are installed versions that are locked for the closure whose version is
// the active one, and are not active.
func (b *planner) inactive() []registry.Skill {
	var all []registry.Skill
	for _, n := range b.graph.Nodes {
		s, ok := b.home.skill(n.Name, n.Version)
		if ok && !s.Active && !b.beside(n) && !slices.ContainsFunc(all, func(o registry.Skill) bool { return o.Digest == s.Digest }) {
			all = append(all, s)
		}
	}
	return all
}

// asks finds the installed skills that the lock asks for otherwise.
func (s *Sync) asks(b *planner, l *lockfile.Lock) {
	var seen []string
	for _, n := range b.graph.Nodes {
		i := slices.IndexFunc(b.home.skills, func(v registry.Skill) bool { return v.Name == n.Name && v.Active })
		if i < 0 || slices.Contains(seen, n.Name) {
			continue
		}
		seen = append(seen, n.Name)
		v, a := b.home.skills[i], lockedAs(n.Name, l)
		switch {
		case a == nil && !v.Needed:
			s.Needed = append(s.Needed, n.Name)
		case a != nil && (v.Needed || *a != askedOf(v)):
			s.Asked = append(s.Asked, Ask{n.Name, a})
		}
	}
}

func askedOf(s registry.Skill) registry.Asked {
	if s.Asked == nil {
		return registry.Asked{}
	}
	return *s.Asked
}

// FetchLocked gets a locked version from its source. Other bytes than the locked
// ones are a [fault.KindVerification] error.
func (c *Catalog) FetchLocked(ctx context.Context, l Locked) (*source.Fetched, error) {
	p := l.Package
	ref, err := source.Parse(p.Source)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, fmt.Errorf("source of %s: %w", p.ID(), err)).
			WithHint("what was installed from there cannot be fetched again: install it from a place that can, and lock again")
	}
	got, err := c.fetcher.Fetch(ctx, ref, c.settings.Options)
	if err != nil {
		return nil, err
	}
	m := got.Package.Manifest()
	switch {
	case m.Name != p.Name || m.Version != p.Version:
		return nil, unlike(p, "there is %s@%s", m.Name, m.Version)
	case got.Package.Digest() != p.Digest:
		return nil, unlike(p, "its content is %s, and locked is %s", got.Package.Digest(), p.Digest)
	case p.Artifact.Artifact != "" && got.Artifact != p.Artifact.Artifact:
		return nil, unlike(p, "the artifact is %s, and locked is %s", got.Artifact, p.Artifact.Artifact)
	}
	return got, nil
}

func unlike(p lockfile.Package, format string, args ...any) error {
	return fault.Errorf(fault.KindVerification, "%s at %s is not what is locked: %s", p.ID(), p.Source, fmt.Sprintf(format, args...)).
		WithHint("the published package or the lock was changed; find out by whom before you lock again")
}

// Check compares a lock with what its roots resolve to, when everything stays that
// can. The difference is empty for a lock that is up to date with itself.
func (c *Catalog) Check(ctx context.Context, l *lockfile.Lock) (lockfile.Changes, error) {
	g, err := resolve.FromLock(l)
	if err != nil {
		return lockfile.Changes{}, fault.Wrap(fault.KindUsage, err)
	}
	r := resolve.Request{Prefer: g}
	for _, e := range g.Roots {
		r.Roots = append(r.Roots, e.Dependency)
	}
	now, err := resolve.Resolve(ctx, c.reaching(false), r)
	var conflict *resolve.Conflict
	if errors.As(err, &conflict) {
		return lockfile.Changes{}, fault.Wrap(fault.KindConflict, fmt.Errorf("the lock does not fit what its packages need: %w", conflict)).
			WithHint("install or update what you want, and lock again")
	}
	if err != nil {
		return lockfile.Changes{}, withKind(err)
	}
	same := now.Lock(func(name string, v semver.Version) lockfile.Artifact { return artifactOf(l, name, v.String()) })
	return lockfile.Compare(l, same), nil
}

func artifactOf(l *lockfile.Lock, name, version string) lockfile.Artifact {
	i := slices.IndexFunc(l.Packages, func(p lockfile.Package) bool { return p.Name == name && p.Version == version })
	if i < 0 {
		return lockfile.Artifact{}
	}
	return l.Packages[i].Artifact
}
