package resolve

import (
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/manifests/semver"
)

// PackageOf returns what a manifest says a version needs.
func PackageOf(m *manifests.Manifest) (Package, error) {
	var p Package
	for name, d := range m.Dependencies {
		r, err := semver.ParseRange(d.Version)
		if err != nil {
			return Package{}, fmt.Errorf("dependency of %s %s on %s: %w", m.Name, m.Version, name, err)
		}
		p.Dependencies = append(p.Dependencies, Dependency{Name: name, Range: r, Optional: d.Optional, Isolated: d.Isolated})
	}
	return p, nil
}

// Lock returns g as a lock. Artifact says which bytes a version is.
func (g *Graph) Lock(artifact func(name string, v semver.Version) lockfile.Artifact) *lockfile.Lock {
	l := &lockfile.Lock{Format: lockfile.Format}
	for _, r := range g.requirements(g.Roots) {
		if !slices.Contains(l.Roots, r) { // asking twice is asking once
			l.Roots = append(l.Roots, r)
		}
	}
	for _, n := range g.Nodes {
		l.Packages = append(l.Packages, lockfile.Package{
			Closure: n.Closure, Name: n.Name, Version: n.Version.String(),
			Artifact: artifact(n.Name, n.Version), Dependencies: g.requirements(n.Edges),
		})
	}
	return l
}

func (g *Graph) requirements(edges []Edge) []lockfile.Requirement {
	var all []lockfile.Requirement
	for _, e := range edges {
		r := lockfile.Requirement{Name: e.Name, Constraint: e.Range.Text(), Prereleases: e.Range.TakesPrereleases(), Optional: e.Optional}
		if e.Isolated {
			r.Closure = ClosureOf(e.Dependency)
		}
		switch {
		case e.To < 0:
		case e.Interface != nil:
			r.Version, r.Provider = e.Interface.String(), g.Nodes[e.To].Name
		default:
			r.Version = g.Nodes[e.To].Version.String()
		}
		all = append(all, r)
	}
	return all
}

// FromLock returns what a lock from [lockfile.Parse] says was chosen, to be asked
// or to be preferred: see [Request].
func FromLock(l *lockfile.Lock) (*Graph, error) {
	g := &Graph{}
	index := map[[2]string]int{}
	for i, p := range l.Packages {
		v, err := semver.ParseVersion(p.Version)
		if err != nil {
			return nil, fmt.Errorf("read lock: version of %s: %w", p.ID(), err)
		}
		g.Nodes = append(g.Nodes, Node{Closure: p.Closure, Name: p.Name, Version: v})
		index[[2]string{p.Closure, p.Name}] = i
	}
	var err error
	if g.Roots, err = g.lockedEdges(-1, "", l.Roots, index); err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}
	for i, p := range l.Packages {
		if g.Nodes[i].Edges, err = g.lockedEdges(i, p.Closure, p.Dependencies, index); err != nil {
			return nil, fmt.Errorf("read lock: %s: %w", p.ID(), err)
		}
	}
	return g, nil
}

func (g *Graph) lockedEdges(by int, closure string, all []lockfile.Requirement, index map[[2]string]int) ([]Edge, error) {
	edges := make([]Edge, len(all))
	for i, r := range all {
		d, err := lockedDependency(r)
		if err != nil {
			return nil, err
		}
		edges[i] = Edge{Dependency: d, To: -1}
		if r.Version == "" {
			g.Omitted = append(g.Omitted, Omission{Dependency: d, By: by, Reason: "It was left out when this was locked."})
			continue
		}
		name := r.Name
		if r.Provider != "" {
			v, err := semver.ParseVersion(r.Version)
			if err != nil {
				return nil, fmt.Errorf("version of %s: %w", r.Name, err)
			}
			edges[i].Interface, name = &v, r.Provider
		}
		to, ok := index[[2]string{d.closure(closure), name}]
		if !ok {
			return nil, fmt.Errorf("%s is not locked", name)
		}
		edges[i].To = to
	}
	return edges, nil
}

func lockedDependency(r lockfile.Requirement) (Dependency, error) {
	allowed, err := semver.ParseRange(r.Constraint)
	if err != nil {
		return Dependency{}, fmt.Errorf("constraint on %s: %w", r.Name, err)
	}
	if r.Prereleases {
		allowed = allowed.WithPrereleases()
	}
	d := Dependency{Name: r.Name, Range: allowed, Optional: r.Optional, Isolated: r.Closure != ""}
	if d.Isolated && ClosureOf(d) != r.Closure {
		return d, fmt.Errorf("the closure of %s %s is %s, and the lock says %s", r.Name, r.Constraint, ClosureOf(d), r.Closure)
	}
	return d, nil
}
