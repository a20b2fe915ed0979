package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/manifests/semver"
)

// A Graph is what was chosen, and why: every skill with the edges to what it
// needs. It is not changed after it was made.
type Graph struct {
	// Roots are the edges from the person, by name.
	Roots []Edge
	// Nodes are the chosen skills, by closure, name and version.
	Nodes []Node
	// Omitted are the optional dependencies that were left out.
	Omitted []Omission
}

// A Node is a chosen version of a skill in a closure.
type Node struct {
	// Closure is empty for what is shared, and otherwise names the isolated
	// dependency whose closure it is, as name@constraint.
	Closure string
	Name    string
	Version semver.Version
	// Edges are what it needs, by name.
	Edges []Edge
}

// An Edge is a dependency, and what satisfies it.
type Edge struct {
	Dependency
	// To is the index of the node that satisfies it; -1 when it is optional and
	// was left out.
	To int
	// Interface is the version of the interface that was chosen, when the
	// dependency is on an interface; nil when it is on a skill.
	Interface *semver.Version
}

// An Omission is an optional dependency that was left out.
type Omission struct {
	Dependency
	// By is the index of the node that would like it; -1 for the person.
	By int
	// Reason says why it was left out, in one line or more.
	Reason string

	by, slot int // the place of the decision, and the slot that was wished for
}

// ClosureOf names the closure of an isolated dependency: that of every isolated
// dependency on the same name with the same constraint.
func ClosureOf(d Dependency) string { return d.Name + "@" + d.Range.Set().String() }

// closure is where a dependency of something in a closure is met.
func (d Dependency) closure(in string) string {
	if d.Isolated {
		return ClosureOf(d)
	}
	return in
}

// Node returns the node of a name in a closure; the closure of most is "".
func (g *Graph) Node(closure, name string) (Node, bool) {
	i, ok := slices.BinarySearchFunc(g.Nodes, Node{Closure: closure, Name: name}, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Closure, b.Closure), cmp.Compare(a.Name, b.Name))
	})
	if !ok {
		return Node{}, false
	}
	return g.Nodes[i], true
}

// graph makes a graph of what was decided.
func (s *solver) graph() *Graph {
	place := map[int]int{} // of the node of a slot
	var slots []int
	for _, d := range s.chosen {
		if !s.slots[d.slot].isInterface {
			slots = append(slots, d.slot)
		}
	}
	slices.SortFunc(slots, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.slots[a].closure, s.slots[b].closure), cmp.Compare(s.slots[a].name, s.slots[b].name))
	})
	for i, slot := range slots {
		place[slot] = i
	}
	g := &Graph{Roots: s.edges(s.roots, place)}
	slices.SortStableFunc(g.Roots, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.closure(""), b.closure("")), cmp.Compare(a.Range.Text(), b.Range.Text()))
	})
	for _, slot := range slots {
		at := s.slots[slot]
		c := at.candidates[s.picked[slot]]
		g.Nodes = append(g.Nodes, Node{at.closure, at.name, c.version, s.edges(c.needs, place)})
	}
	for _, o := range s.omitted {
		if s.picked[o.slot] >= 0 { // it came in for another reason
			continue
		}
		if o.By = -1; o.by >= 0 {
			o.By = place[s.chosen[o.by].slot]
		}
		g.Omitted = append(g.Omitted, o)
	}
	return g
}

func (s *solver) edges(needs []need, place map[int]int) []Edge {
	edges := make([]Edge, len(needs))
	for i, n := range needs {
		edges[i] = Edge{Dependency: n.Dependency, To: -1}
		picked := s.picked[n.slot]
		if picked < 0 {
			continue
		}
		to := n.slot
		if at := s.slots[to]; at.isInterface {
			c := at.candidates[picked]
			edges[i].Interface, to = &c.version, c.needs[0].slot
		}
		edges[i].To = place[to]
	}
	return edges
}

// choices returns what g chose for each closure and name.
func (g *Graph) choices() map[[2]string]preferred {
	all := map[[2]string]preferred{}
	for _, n := range g.Nodes {
		all[[2]string{n.Closure, n.Name}] = preferred{version: n.Version}
	}
	for closure, edges := range g.edgesByClosure() {
		for _, e := range edges {
			if e.Interface == nil {
				continue
			}
			all[[2]string{e.closure(closure), e.Name}] = preferred{*e.Interface, g.Nodes[e.To].Name}
		}
	}
	return all
}

// edgesByClosure yields every list of edges, with the closure it is in.
func (g *Graph) edgesByClosure() func(yield func(string, []Edge) bool) {
	return func(yield func(string, []Edge) bool) {
		if !yield("", g.Roots) {
			return
		}
		for _, n := range g.Nodes {
			if !yield(n.Closure, n.Edges) {
				return
			}
		}
	}
}

// Closures returns the names of the closures of g, in order; that of what is
// shared, which is empty, among them unless nothing is.
func (g *Graph) Closures() []string {
	all := map[string]bool{}
	for _, n := range g.Nodes {
		all[n.Closure] = true
	}
	return slices.Sorted(maps.Keys(all))
}
