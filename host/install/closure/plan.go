package closure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A Requirement is what a person wants to have.
type Requirement struct {
	// Name is the skill.
	Name string
	// Constraint says which versions will do; empty for any. With Prereleases those
	// will do, too.
	Constraint  string
	Prereleases bool
	// Exactly is the version that it is to be now; empty for the newest that fits.
	// With OrOther, another that the constraint allows will do when that does not
	// fit.
	Exactly string
	OrOther bool
	// Isolated has it get a closure of its own: one for exactly that version, unless
	// another will do.
	Isolated bool
}

// asked is how the wish is kept.
func (w Requirement) asked() (*registry.Asked, resolve.Dependency, error) {
	a := &registry.Asked{Constraint: w.Constraint, Prereleases: w.Prereleases}
	if w.Isolated && w.Exactly != "" && !w.OrOther {
		a.Constraint, a.Prereleases = "="+w.Exactly, false
	}
	r, err := rangeOf(a)
	if err != nil {
		return nil, resolve.Dependency{}, fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", w.Name, err))
	}
	d := resolve.Dependency{Name: w.Name, Range: r, Isolated: w.Isolated}
	if w.Isolated {
		a.Closure = resolve.ClosureOf(d)
	}
	return a, d, nil
}

// Later is the wish for a later version of an installed skill than the active one,
// asked for as before. installed are all versions that are. It fails with a
// [fault.KindUsage] error for a text that is not a version, with a
// [fault.KindConflict] error for one that is not later, or that the person did not ask
// for, and as [registry.Skill.CheckEnabled] does for one that is disabled.
func Later(active registry.Skill, installed []registry.Skill, version string) (Requirement, error) {
	v, err := semver.ParseVersion(version)
	if err != nil {
		return Requirement{}, fault.Wrap(fault.KindUsage, err)
	}
	r, err := rangeOf(active.Asked)
	if err != nil {
		return Requirement{}, err
	}
	w := Requirement{Name: active.Name, Exactly: version, Prereleases: v.IsPrerelease()}
	if a := active.Asked; a != nil {
		w.Constraint, w.Isolated = a.Constraint, a.Closure != ""
	}
	if i := slices.IndexFunc(installed, func(s registry.Skill) bool { return s.Name == active.Name && s.Version == version }); i >= 0 {
		if err := installed[i].CheckEnabled(); err != nil && !installed[i].Disabled.All {
			return w, err
		}
	}
	e := fault.Errorf(fault.KindConflict, "update %s to %s: the active version is %s", active.Name, version, active.Version)
	switch order := manifests.CompareVersions(version, active.Version); {
	case order == 0:
		return w, e.WithHint("%s shows its versions", fault.List(fault.Versions))
	case order < 0:
		return w, e.WithHint("%s goes back", fault.RollBack(active.Name).With(fault.FieldTo, version))
	case w.Constraint != "" && !r.WithPrereleases().Allows(v):
		return w, fault.Errorf(fault.KindConflict, "update %s to %s: you asked for %s", active.Name, version, w.Constraint).
			WithHint("%s asks for that version instead", fault.Install(active.Name+"@"+version))
	}
	return w, nil
}

// A Question is what is to become of the home.
type Question struct {
	// Requirements are what is asked for in addition.
	Requirements []Requirement
	// Renew are installed skills of which newer versions are looked for.
	Renew []string
	// Again are skills that may go to a version again that a person went back from.
	Again []string
}

// mayGoAgain refuses names that do not mean anything in a question.
func (c *Catalog) mayGoAgain(q Question) error {
	for _, name := range q.Again {
		i := slices.IndexFunc(c.skills, func(s registry.Skill) bool { return s.Name == name && s.Active })
		if i < 0 || c.skills[i].Avoided == nil {
			return fault.Errorf(fault.KindUsage, "%s did not go back from any version", name).WithHint("%s shows how it stands", fault.ShowSkill(name))
		}
	}
	return nil
}

// A Plan is the answer: what there is to do, so that everything fits.
type Plan struct {
	// Graph is the home as it will be.
	Graph *resolve.Graph
	// Steps are what is to be installed: what is needed before what needs it.
	Steps []Step
	// Links are the installed versions that will be resolved otherwise, Activate
	// those that will be the active ones again, and Asked the installed skills that
	// a person asks for otherwise.
	Links    []registry.Link
	Activate []registry.Skill
	Asked    []Ask
}

// A Step is one version that is to be installed.
type Step struct {
	Got *source.Fetched
	// Dependencies are what it needs, resolved.
	Dependencies []registry.Dependency
	// Needed is true when nobody asked for it. Asked is as in [registry.Provenance].
	Needed bool
	Asked  *registry.Asked
	// Beside is true when another version stays the active one.
	Beside bool
	// For says who needs it, for people; empty for what was asked for.
	For string
}

// An Ask is an installed skill, and how a person asks for it.
type Ask struct {
	Skill string
	Asked *registry.Asked
}

// IsEmpty reports whether everything is as it should be already.
func (p *Plan) IsEmpty() bool {
	return len(p.Steps) == 0 && len(p.Links) == 0 && len(p.Activate) == 0 && len(p.Asked) == 0
}

// Version is the version of a skill that will be the active one; false when there
// will be none.
func (p *Plan) Version(name string) (string, bool) {
	for _, e := range p.Graph.Roots {
		if e.Name == name && e.To >= 0 && e.Interface == nil {
			return p.Graph.Nodes[e.To].Version.String(), true
		}
	}
	i := slices.IndexFunc(p.Graph.Nodes, func(n resolve.Node) bool { return n.Name == name })
	if i < 0 {
		return "", false
	}
	return p.Graph.Nodes[i].Version.String(), true
}

// Concerns reports whether installing a version of a skill may be about more than
// that: it needs others, others need it, it would be the first to provide what
// others need, or it is installed and was asked for otherwise.
func (c *Catalog) Concerns(m *manifests.Manifest, a *registry.Asked) bool {
	if len(m.Dependencies) > 0 {
		return true
	}
	return slices.ContainsFunc(c.skills, func(s registry.Skill) bool {
		if s.Name == m.Name {
			return s.Needed || len(s.Dependencies) > 0 || s.Active && askedOf(s) != *a
		}
		return slices.ContainsFunc(s.Dependencies, func(d registry.Dependency) bool {
			_, provides := m.Provides[d.Name]
			return d.Chosen() == m.Name || d.Name == m.Name || provides && d.Digest == ""
		})
	})
}

// Plan finds the versions that fit. At first only what is not here is looked for
// elsewhere, so that what is installed is used again, and no registry is asked for
// it; when that leads nowhere, everything is. It fails with a [fault.KindConflict]
// error whose text is the derivation when nothing fits, see [resolve.Conflict];
// and with errors that wrap [ErrLie].
func (c *Catalog) Plan(ctx context.Context, q Question) (*Plan, error) {
	h, err := c.Home(ctx)
	if err == nil {
		err = c.mayGoAgain(q)
	}
	if err != nil {
		return nil, err
	}
	var conflict *resolve.Conflict
	for _, far := range []bool{false, true} {
		if !far && len(q.Renew) > 0 {
			continue // the newest version may need newer ones of what is here
		}
		near := c.reaching(far)
		near.again = q.Again
		for _, w := range q.Requirements {
			near.wished = append(near.wished, w.Name)
		}
		g, err := near.resolve(ctx, h, q)
		if err == nil {
			return near.plan(ctx, h, keptGraph(g, q), q)
		}
		if !errors.As(err, &conflict) {
			return nil, withKind(err)
		}
	}
	if err := c.unpublished(ctx, q); err != nil {
		return nil, err
	}
	return nil, c.conflicting(conflict, q)
}

// unpublished says of a wish for one version that no place has it, and which there are; nil
// when every version that is wished for is somewhere.
func (c *Catalog) unpublished(ctx context.Context, q Question) error {
	far := c.reaching(true)
	for _, w := range q.Requirements {
		if w.Exactly == "" {
			continue
		}
		far.wished = append(far.wished, w.Name)
		there, err := far.published(ctx, w.Name)
		if err != nil { // the conflict says more
			return nil
		}
		items, err := far.local(w.Name)
		if items = merge(items, there); err != nil || len(items) == 0 || slices.ContainsFunc(items, func(it *item) bool { return it.version.String() == w.Exactly }) {
			continue
		}
		slices.SortFunc(items, func(a, b *item) int { return b.version.Compare(a.version) })
		var versions []string
		for _, it := range items[:min(len(items), maxListed)] {
			versions = append(versions, it.version.String())
		}
		return fault.Errorf(fault.KindNotFound, "%s has no version %s", w.Name, w.Exactly).
			WithHint("the versions are %s; %s asks another source", fault.Choose(versions...), fault.SetField(fault.FieldFind))
	}
	return nil
}

// maxListed is how many versions are listed to who asked for another one.
const maxListed = 10

// keptGraph returns a graph with the requirements as they will be stored.
func keptGraph(g *resolve.Graph, q Question) *resolve.Graph {
	for i, e := range g.Roots {
		for _, w := range q.Requirements {
			if _, d, err := w.asked(); err == nil && w.Name == e.Name {
				g.Roots[i].Range = d.Range
			}
		}
	}
	return g
}

// withKind gives errors of a resolution their [fault.Kind].
func withKind(err error) error {
	if errors.Is(err, resolve.ErrTooHard) {
		return fault.Wrap(fault.KindLimit, err).WithHint("ask for narrower versions, such as NAME@^2.1")
	}
	return err
}

// conflicting says what can be done when nothing fits.
func (c *Catalog) conflicting(why *resolve.Conflict, q Question) error {
	e := fault.Wrap(fault.KindConflict, why)
	for _, s := range c.skills {
		if s.Pinned != nil && s.Active && strings.Contains(why.Error(), s.Name+" ") {
			return e.WithHint("%s is pinned at %s: %s lets another version be chosen", s.Name, s.Version, fault.Unpin(s.Name))
		}
	}
	for _, s := range c.skills {
		if s.Avoided != nil && s.Avoids(s.Avoided.Version) && !q.names(s.Name) && strings.Contains(why.Error(), s.Name+" ") {
			return e.WithHint("%s went back from %s to %s, and stays there: %s goes to that again", s.Name, s.Avoided.Version, s.Version, q.goingAgain(s))
		}
	}
	for _, s := range c.skills {
		if err := s.CheckEnabled(); err != nil && s.Disabled.Quarantined && strings.Contains(why.Error(), s.Name+" ") {
			return e.WithHint("%s: it is not chosen; another version of it may be, if there is one", err)
		}
	}
	for _, name := range c.settings.Engines {
		if strings.Contains(why.Error(), "needs "+name+" ") {
			return e.WithHint("%s is an interpreter of scripts; get it with: %s", name, fault.InstallEngine(name))
		}
	}
	return e.WithHint("ask for other versions, or say with %s where else to look; %s gives a skill a closure of its own, separate from the others", fault.SetField(fault.FieldFind), fault.SetField(fault.FieldIsolated))
}

// names reports whether a skill may go to any version.
func (q Question) names(skill string) bool {
	return slices.Contains(q.Again, skill) || slices.ContainsFunc(q.Requirements, func(w Requirement) bool { return w.Name == skill })
}

// goingAgain lets a skill go to the version again that it went back from: by itself, or
// with what is updated.
func (q Question) goingAgain(s registry.Skill) fault.Remedy {
	if len(q.Renew) == 0 {
		return fault.Update(s.Name).With(fault.FieldTo, s.Avoided.Version)
	}
	r := fault.Update(q.Renew[0])
	for _, w := range q.Requirements {
		r = r.With(fault.FieldTo, w.Exactly)
	}
	return r.With(fault.FieldAgain, append(slices.Clone(q.Again), s.Name)...)
}

func (c *Catalog) resolve(ctx context.Context, h *Home, q Question) (*resolve.Graph, error) {
	r := resolve.Request{Prefer: h.Graph, Renew: q.Renew}
	for _, w := range q.Requirements {
		_, d, err := w.asked()
		if err != nil {
			return nil, err
		}
		if w.Exactly != "" && !w.Isolated && !(c.far && w.OrOther) {
			v, err := semver.ParseVersion(w.Exactly)
			if err != nil {
				return nil, fault.Wrap(fault.KindUsage, err)
			}
			d.Range = exactly(v)
		}
		r.Roots, r.Renew = append(r.Roots, d), append(r.Renew, w.Name)
	}
	for i, e := range h.Graph.Roots {
		if slices.ContainsFunc(q.Requirements, func(w Requirement) bool { return w.Name == e.Name }) {
			continue
		}
		d := e.Dependency
		if slices.Contains(q.Renew, e.Name) || slices.Contains(q.Again, e.Name) {
			d = h.roots[i]
		}
		r.Roots = append(r.Roots, d)
	}
	return resolve.Resolve(ctx, c, r)
}

// plan says what has to be done for the home to be a graph.
func (c *Catalog) plan(ctx context.Context, h *Home, g *resolve.Graph, q Question) (*Plan, error) {
	b := &planner{catalog: c, home: h, graph: g, q: q, plan: &Plan{Graph: g}, digests: map[[2]string]manifests.Digest{}}
	if err := b.fetch(ctx); err != nil {
		return nil, err
	}
	b.links()
	return b.plan, nil
}

type planner struct {
	catalog *Catalog
	home    *Home
	graph   *resolve.Graph
	q       Question
	plan    *Plan
	digests map[[2]string]manifests.Digest // by name and version
	order   []int                          // nodes, what is needed first
}

// sort puts the nodes in the order in which they can be installed.
func (b *planner) sort() {
	seen := make([]bool, len(b.graph.Nodes))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, e := range b.graph.Nodes[i].Edges {
			if e.To >= 0 {
				visit(e.To)
			}
		}
		b.order = append(b.order, i)
	}
	for i := range b.graph.Nodes {
		visit(i)
	}
}

// fetch gets what is chosen and not installed.
func (b *planner) fetch(ctx context.Context) error {
	b.sort()
	for _, i := range b.order {
		if err := b.fetchNode(ctx, b.graph.Nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *planner) fetchNode(ctx context.Context, n resolve.Node) error {
	key := [2]string{n.Name, n.Version.String()}
	if _, ok := b.digests[key]; ok {
		return nil
	}
	it, err := b.catalog.item(ctx, n.Name, n.Version)
	if err != nil {
		return err
	}
	if it.installed != nil {
		b.digests[key] = it.installed.Digest
		return nil
	}
	got, err := b.catalog.fetch(ctx, it)
	if err != nil {
		return err
	}
	b.digests[key] = got.Package.Digest()
	asked, wished := b.asked(n.Name)
	b.plan.Steps = append(b.plan.Steps, Step{
		Got: got, Needed: !b.isRoot(n.Name), Asked: asked, Beside: b.beside(n), For: b.reason(n, wished),
	})
	return nil
}

// asked is how a wish for a name is to be kept; nil when it stays as it is.
func (b *planner) asked(name string) (*registry.Asked, bool) {
	for _, w := range b.q.Requirements {
		if w.Name == name {
			a, _, _ := w.asked()
			return a, true
		}
	}
	return nil, false
}

func (b *planner) isRoot(name string) bool {
	return slices.ContainsFunc(b.graph.Roots, func(e resolve.Edge) bool { return e.Name == name && e.Interface == nil })
}

// main is the closure whose version of a name is the active one: that in which a
// person asked for it, else the shared one, else the first.
func (b *planner) main(name string) string {
	for _, e := range b.graph.Roots {
		if e.Name == name && e.To >= 0 && e.Interface == nil {
			return b.graph.Nodes[e.To].Closure
		}
	}
	i := slices.IndexFunc(b.graph.Nodes, func(n resolve.Node) bool { return n.Name == name })
	return b.graph.Nodes[i].Closure // the nodes are in order, the shared ones first
}

// beside reports whether another version is to be the active one.
func (b *planner) beside(n resolve.Node) bool {
	main, _ := b.graph.Node(b.main(n.Name), n.Name)
	return main.Version != n.Version
}

// reason says who needs a version, if nobody asked for it.
func (b *planner) reason(n resolve.Node, wished bool) string {
	if wished {
		return ""
	}
	for _, o := range b.graph.Nodes {
		for _, e := range o.Edges {
			if e.To >= 0 && b.graph.Nodes[e.To].Name == n.Name && b.graph.Nodes[e.To].Version == n.Version {
				return o.Name + "@" + o.Version.String()
			}
		}
	}
	return ""
}

// links resolves what is needed to digests: of what is to be installed, and of
// what is installed and is resolved otherwise.
func (b *planner) links() {
	for i := range b.plan.Steps {
		m := b.plan.Steps[i].Got.Package.Manifest()
		b.plan.Steps[i].Dependencies = b.resolved(m.Name, m.Version)
	}
	for _, i := range b.order {
		n := b.graph.Nodes[i]
		s, ok := b.home.skill(n.Name, n.Version)
		if !ok {
			continue
		}
		to := b.resolved(n.Name, n.Version.String())
		if !slices.Equal(to, s.Dependencies) && !slices.ContainsFunc(b.plan.Links, func(l registry.Link) bool { return l.Digest == s.Digest }) {
			b.plan.Links = append(b.plan.Links, registry.Link{Name: s.Name, Digest: s.Digest, Dependencies: to})
		}
		if !s.Active && !b.beside(n) && (b.moved(n) || b.isRoot(n.Name)) && s.Canary == nil && !slices.ContainsFunc(b.plan.Activate, func(o registry.Skill) bool { return o.Digest == s.Digest }) {
			b.plan.Activate = append(b.plan.Activate, s)
		}
	}
	b.asks()
}

// moved reports whether a closure has another version of a name than before.
func (b *planner) moved(n resolve.Node) bool {
	before, ok := b.home.Graph.Node(n.Closure, n.Name)
	return !ok || before.Version != n.Version
}

// asks finds the installed skills that a person asks for otherwise than before.
func (b *planner) asks() {
	for _, w := range b.q.Requirements {
		asked, _ := b.asked(w.Name)
		i := slices.IndexFunc(b.home.skills, func(s registry.Skill) bool { return s.Name == w.Name && s.Active })
		installing := slices.ContainsFunc(b.plan.Steps, func(s Step) bool { return s.Got.Package.Manifest().Name == w.Name })
		if i < 0 || installing {
			continue
		}
		s := b.home.skills[i]
		if s.Needed || *asked != askedOf(s) {
			b.plan.Asked = append(b.plan.Asked, Ask{w.Name, asked})
		}
	}
}

// resolved are the dependencies of a version in all closures that it is in.
func (b *planner) resolved(name, version string) []registry.Dependency {
	var all []registry.Dependency
	for _, n := range b.graph.Nodes {
		if n.Name != name || n.Version.String() != version {
			continue
		}
		for _, e := range n.Edges {
			d := registry.Dependency{Name: e.Name, In: n.Closure}
			if e.Isolated {
				d.Closure = resolve.ClosureOf(e.Dependency)
			}
			if e.To >= 0 {
				to := b.graph.Nodes[e.To]
				d.Version, d.Digest = to.Version.String(), b.digests[[2]string{to.Name, to.Version.String()}]
				if e.Interface != nil {
					d.Skill = to.Name
				}
			}
			all = append(all, d)
		}
	}
	return all
}
