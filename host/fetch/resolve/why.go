package resolve

import (
	"cmp"
	"slices"

	"github.com/skillet-run/skillet/manifests/semver"
)

// A Path says how something came to be needed: from what a person asked for to
// the skill itself.
type Path []Step

// A Step is an edge, and the node it leads to.
type Step struct {
	Edge
	Node Node
}

// Why returns the reasons for which a skill was chosen: for every edge that leads
// to a node called name, or that is satisfied by one as an interface called name,
// a shortest path that ends with it. It is empty when nothing of that name was
// chosen. The paths are in order of their length, then by the names on them.
func (g *Graph) Why(name string) []Path {
	to := g.shortest()
	var paths []Path
	add := func(before Path, edges []Edge) {
		for _, e := range edges {
			if e.To >= 0 && (g.Nodes[e.To].Name == name || e.Name == name) {
				paths = append(paths, append(slices.Clone(before), Step{e, g.Nodes[e.To]}))
			}
		}
	}
	add(nil, g.Roots)
	for i, n := range g.Nodes {
		add(to[i], n.Edges)
	}
	slices.SortStableFunc(paths, comparePaths)
	return paths
}

func comparePaths(a, b Path) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	for i := range a {
		if c := cmp.Or(cmp.Compare(a[i].Node.Name, b[i].Node.Name), cmp.Compare(a[i].Name, b[i].Name)); c != 0 {
			return c
		}
	}
	return 0
}

// shortest returns a shortest path to each node.
func (g *Graph) shortest() []Path {
	to := make([]Path, len(g.Nodes))
	var queue []int
	add := func(before Path, edges []Edge) {
		for _, e := range edges {
			if e.To >= 0 && to[e.To] == nil {
				to[e.To] = append(slices.Clone(before), Step{e, g.Nodes[e.To]})
				queue = append(queue, e.To)
			}
		}
	}
	add(nil, g.Roots)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		add(to[n], g.Nodes[n].Edges)
	}
	return to
}

// A Branch is a step of a tree, with the branches of what it leads to.
type Branch struct {
	Step
	// Repeated says that the node was shown before: its branches are left out.
	Repeated bool
	// Omitted says why an optional dependency was left out. The node is the zero
	// value then.
	Omitted  string
	Branches []Branch
}

// Tree returns g as a tree: what a person asked for, with what it needs, with
// what that needs. What several need is shown whole where it first comes up, from
// the top down.
func (g *Graph) Tree() []Branch {
	return g.branches(-1, g.Roots, map[int]bool{})
}

func (g *Graph) branches(by int, edges []Edge, shown map[int]bool) []Branch {
	var all []Branch
	for _, e := range edges {
		if e.To < 0 {
			all = append(all, Branch{Step: Step{Edge: e}, Omitted: g.omission(by, e.Dependency)})
			continue
		}
		b := Branch{Step: Step{e, g.Nodes[e.To]}, Repeated: shown[e.To]}
		if !b.Repeated {
			shown[e.To] = true
			b.Branches = g.branches(e.To, b.Node.Edges, shown)
		}
		all = append(all, b)
	}
	return all
}

func (g *Graph) omission(by int, d Dependency) string {
	for _, o := range g.Omitted {
		if o.By == by && o.Name == d.Name {
			return o.Reason
		}
	}
	return "left out"
}

// An Update says what is newer of a skill that was chosen.
type Update struct {
	Closure, Name string
	Current       semver.Version
	// Wanted is the version that would be chosen now: the newest that everybody's
	// constraints allow together. It is Current when the skill would no longer be
	// chosen.
	Wanted semver.Version
	// Latest is the newest published version: a prerelease only when Current is
	// one, or when nothing else is published.
	Latest semver.Version
	// Gone says that the skill would no longer be chosen.
	Gone bool
}

// Outdated returns what of g is not the newest, by closure and name. Fresh is the
// answer to the same question asked anew with [Request.RenewAll], and published
// has the published versions of each skill.
func Outdated(g, fresh *Graph, published map[string][]semver.Version) []Update {
	var all []Update
	for _, n := range g.Nodes {
		u := Update{Closure: n.Closure, Name: n.Name, Current: n.Version, Wanted: n.Version, Latest: n.Version}
		now, ok := fresh.Node(n.Closure, n.Name)
		if u.Gone = !ok; ok {
			u.Wanted = now.Version
		}
		if v, ok := latest(published[n.Name], n.Version); ok {
			u.Latest = v
		}
		if u.Gone || u.Wanted != u.Current || u.Latest.CompareBuild(u.Current) > 0 {
			all = append(all, u)
		}
	}
	return all
}

// latest returns the newest of versions for somebody who has current.
func latest(versions []semver.Version, current semver.Version) (semver.Version, bool) {
	every := semver.MustParseRange("*")
	if current.IsPrerelease() {
		every = every.WithPrereleases()
	}
	if v, ok := every.Newest(versions); ok {
		return v, true
	}
	return every.WithPrereleases().Newest(versions)
}
