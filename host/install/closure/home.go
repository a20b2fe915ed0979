package closure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A Home is what is installed, as a graph. It is not changed after it was made.
type Home struct {
	// Graph has the skills that a person asked for, in their active versions, with
	// what those were resolved to.
	Graph *resolve.Graph
	// Broken says what does not fit together, one line each.
	Broken []string

	skills []registry.Skill
	roots  []resolve.Dependency // what was asked for, as it was asked for
}

// Home reads how what is installed was resolved.
func (c *Catalog) Home(ctx context.Context) (*Home, error) {
	b := &homeBuilder{catalog: c, h: &Home{Graph: &resolve.Graph{}, skills: c.skills}, index: map[[2]string]int{}, manifests: map[manifests.Digest]*manifests.Manifest{}}
	if err := b.build(ctx); err != nil {
		return nil, fmt.Errorf("read what the installed skills need: %w", err)
	}
	return b.h, nil
}

// A homeBuilder walks from what was asked for over what that was resolved to.
type homeBuilder struct {
	catalog   *Catalog
	h         *Home
	index     map[[2]string]int // of nodes, by closure and name
	built     []built
	manifests map[manifests.Digest]*manifests.Manifest
}

// built is what a node was made of.
type built struct {
	skill   registry.Skill
	closure string
	edges   []resolve.Edge
	omitted []resolve.Omission
}

func (b *homeBuilder) build(ctx context.Context) error {
	shared, err := b.sharedVersions(ctx)
	if err != nil {
		return err
	}
	g := b.h.Graph
	for _, s := range b.h.skills {
		if !s.Active || s.Needed {
			continue
		}
		d, closure, err := b.root(s, shared)
		if err != nil {
			b.h.Broken = append(b.h.Broken, err.Error())
			continue
		}
		to, err := b.node(ctx, s, closure)
		if err != nil {
			return err
		}
		g.Roots = append(g.Roots, resolve.Edge{Dependency: d, To: to})
	}
	b.finish()
	return nil
}

// root is how a person asked for a skill. One whose active version is another than
// what was asked for, because it was rolled back, is asked for in that version;
// and when others in the shared closure were resolved to another version, it has
// a closure of its own: that is what calls do.
func (b *homeBuilder) root(s registry.Skill, shared map[string]manifests.Digest) (resolve.Dependency, string, error) {
	d, v, err := asRoot(s)
	if err != nil {
		return d, "", err
	}
	b.h.roots = append(b.h.roots, orAsItIs(d, s, v))
	if d.Isolated {
		return d, resolve.ClosureOf(d), nil
	}
	if !d.Range.Allows(v) {
		d.Range = exactly(v)
	}
	if other, ok := shared[s.Name]; ok && other != s.Digest {
		d.Isolated = true
		return d, resolve.ClosureOf(d), nil
	}
	return d, "", nil
}

// orAsItIs is what a person asked for, or, when they went back from that to another
// version, that one: nothing else may be left to choose.
func orAsItIs(d resolve.Dependency, s registry.Skill, v semver.Version) resolve.Dependency {
	if d.Isolated || d.Range.Allows(v) || s.Avoided == nil {
		return d
	}
	r, err := semver.ParseRange(d.Range.Text() + " || =" + v.String())
	if err != nil {
		return d
	}
	if d.Range.TakesPrereleases() {
		r = r.WithPrereleases()
	}
	d.Range = r
	return d
}

// asRoot is what a person asked for when they asked for a skill. A pinned one is
// asked for as it is.
func asRoot(s registry.Skill) (resolve.Dependency, semver.Version, error) {
	v, err := semver.ParseVersion(s.Version)
	if err != nil {
		return resolve.Dependency{}, v, fmt.Errorf("%s: %w", s.Ref(), err)
	}
	r, err := rangeOf(s.Asked)
	if err != nil {
		return resolve.Dependency{}, v, fmt.Errorf("%s: %w", s.Ref(), err)
	}
	isolated := s.Asked != nil && s.Asked.Closure != ""
	if s.Pinned != nil && !isolated { // the closure of that one is named by what was asked for
		r = exactly(v)
	}
	return resolve.Dependency{Name: s.Name, Range: r, Isolated: isolated}, v, nil
}

// sharedVersions are the skills to which dependencies in the shared closure were
// resolved.
func (b *homeBuilder) sharedVersions(ctx context.Context) (map[string]manifests.Digest, error) {
	byDigest := map[manifests.Digest]registry.Skill{}
	var queue []registry.Skill
	for _, s := range b.h.skills {
		byDigest[s.Digest] = s
		if s.Active && !s.Needed && (s.Asked == nil || s.Asked.Closure == "") {
			queue = append(queue, s)
		}
	}
	shared, seen := map[string]manifests.Digest{}, map[manifests.Digest]bool{}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if seen[s.Digest] {
			continue
		}
		seen[s.Digest] = true
		for _, d := range s.Dependencies {
			to, ok := byDigest[d.Digest]
			if !ok || d.In != "" || d.Closure != "" {
				continue
			}
			if _, other := shared[to.Name]; !other {
				shared[to.Name] = to.Digest
			}
			queue = append(queue, to)
		}
	}
	return shared, ctx.Err()
}

// node returns the index of a version in a closure.
func (b *homeBuilder) node(ctx context.Context, s registry.Skill, closure string) (int, error) {
	key := [2]string{closure, s.Name}
	if i, ok := b.index[key]; ok {
		if b.built[i].skill.Digest != s.Digest {
			b.h.Broken = append(b.h.Broken, fmt.Sprintf("%s and %s are in one closure", b.built[i].skill.Ref(), s.Ref()))
		}
		return i, nil
	}
	i := len(b.built)
	b.index[key], b.built = i, append(b.built, built{skill: s, closure: closure})
	m, err := b.catalog.manifest(ctx, s.Digest, b.manifests)
	if err != nil {
		b.h.Broken = append(b.h.Broken, fmt.Sprintf("%s cannot be read: %v", s.Ref(), err))
		return i, ctx.Err()
	}
	needs, err := needsOf(m.Name, m.Version, m.Dependencies)
	if err != nil {
		return i, err
	}
	slices.SortFunc(needs, func(a, c resolve.Dependency) int { return cmp.Compare(a.Name, c.Name) })
	for _, d := range needs {
		if err := b.edge(ctx, i, d); err != nil {
			return i, err
		}
	}
	return i, nil
}

// edge adds what a node was resolved to for one dependency.
func (b *homeBuilder) edge(ctx context.Context, from int, d resolve.Dependency) error {
	s, e := b.built[from].skill, resolve.Edge{Dependency: d, To: -1}
	to, closure, ok := Target(s, b.built[from].closure, d.Name)
	next := slices.IndexFunc(b.h.skills, func(o registry.Skill) bool { return to.Digest != "" && o.Digest == to.Digest })
	switch {
	case next >= 0:
		other := b.h.skills[next]
		i, err := b.node(ctx, other, closure)
		if err != nil {
			return err
		}
		e.To = i
		if to.Skill != "" {
			e.Interface = b.provided(ctx, other, d.Name)
		}
	case d.Optional:
		reason := "It was left out when " + s.Ref() + " was installed."
		if to.Digest != "" {
			reason = to.Chosen() + "@" + to.Version + " was removed."
		}
		b.built[from].omitted = append(b.built[from].omitted, resolve.Omission{Dependency: d, By: from, Reason: reason})
	case ok:
		b.h.Broken = append(b.h.Broken, fmt.Sprintf("%s needs %s %s, and %s@%s was removed", s.Ref(), d.Name, d.Range.Text(), to.Chosen(), to.Version))
	default:
		b.h.Broken = append(b.h.Broken, fmt.Sprintf("%s needs %s %s, and was installed without", s.Ref(), d.Name, d.Range.Text()))
	}
	b.built[from].edges = append(b.built[from].edges, e)
	return nil
}

// provided is the version of an interface that a skill provides.
func (b *homeBuilder) provided(ctx context.Context, s registry.Skill, name string) *semver.Version {
	m, err := b.catalog.manifest(ctx, s.Digest, b.manifests)
	if err != nil {
		return nil
	}
	v, err := semver.ParseVersion(m.Provides[name])
	if err != nil {
		return nil
	}
	return &v
}

func (c *Catalog) manifest(ctx context.Context, d manifests.Digest, known map[manifests.Digest]*manifests.Manifest) (*manifests.Manifest, error) {
	if m, ok := known[d]; ok {
		return m, nil
	}
	m, err := c.registry.Manifest(ctx, d)
	if err == nil {
		known[d] = m
	}
	return m, err
}

// finish puts the nodes in order.
func (b *homeBuilder) finish() {
	order := make([]int, len(b.built))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.built[x].closure, b.built[y].closure), cmp.Compare(b.built[x].skill.Name, b.built[y].skill.Name))
	})
	place := make([]int, len(order))
	for at, i := range order {
		place[i] = at
	}
	moved := func(edges []resolve.Edge) []resolve.Edge {
		for i := range edges {
			if edges[i].To >= 0 {
				edges[i].To = place[edges[i].To]
			}
		}
		return edges
	}
	g := b.h.Graph
	g.Roots = moved(g.Roots)
	for _, i := range order {
		n := b.built[i]
		v, err := semver.ParseVersion(n.skill.Version)
		if err != nil {
			b.h.Broken = append(b.h.Broken, fmt.Sprintf("%s: %v", n.skill.Ref(), err))
		}
		g.Nodes = append(g.Nodes, resolve.Node{Closure: n.closure, Name: n.skill.Name, Version: v, Edges: moved(n.edges)})
		for _, o := range n.omitted {
			o.By = place[o.By]
			g.Omitted = append(g.Omitted, o)
		}
	}
}

// skill is the installed version that a node stands for.
func (h *Home) skill(name string, v semver.Version) (registry.Skill, bool) {
	i := slices.IndexFunc(h.skills, func(s registry.Skill) bool { return s.Name == name && s.Version == v.String() })
	if i < 0 {
		return registry.Skill{}, false
	}
	return h.skills[i], true
}

// Installed are all installed versions, also those that the graph does not lead
// to.
func (h *Home) Installed() []registry.Skill { return slices.Clone(h.skills) }

// Skills are the installed versions that the graph leads to.
func (h *Home) Skills() []registry.Skill {
	var all []registry.Skill
	for _, n := range h.Graph.Nodes {
		if s, ok := h.skill(n.Name, n.Version); ok && !slices.ContainsFunc(all, func(o registry.Skill) bool { return o.Digest == s.Digest }) {
			all = append(all, s)
		}
	}
	return all
}

// Lock is what is installed as a lock. It fails with a [fault.KindConflict] error
// when what is installed does not fit together, as after a removal by force.
func (h *Home) Lock() (*lockfile.Lock, error) {
	if len(h.Broken) > 0 {
		return nil, fault.Errorf(fault.KindConflict, "lock: what is installed does not fit together: %s", h.Broken[0]).
			WithHint("%s shows all of it; installing the skill that lacks something again brings that", fault.ShowNeeds(""))
	}
	return h.Graph.Lock(func(name string, v semver.Version) lockfile.Artifact {
		s, _ := h.skill(name, v)
		return lockfile.Artifact{Digest: s.Digest, Artifact: s.Artifact, Source: cmp.Or(s.Source, "unknown"), Signer: s.Signer}
	}), nil
}
