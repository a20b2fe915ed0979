package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/resolve"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests"
)

func fromFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "find", Usage: "look in this `PLACE` for what is needed before any registry is asked: a directory of .skill files, oci://HOST/PREFIX or oci-layout:DIR; may be repeated"}
}

// places are the values of --find.
func places(c *cli.Context) ([]sources.Ref, error) {
	var all []sources.Ref
	for _, text := range c.StringSlice("find") {
		r, err := sources.ParseArgument(text)
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case sources.KindDirectory, sources.KindRegistry, sources.KindLayout:
			all = append(all, r)
		default:
			return nil, fault.Errorf(fault.KindUsage, "--find %s: a %s is one package, and no place with several", text, r.Kind).
				WithHint("a directory begins with ./ or /; registries are oci://HOST/PREFIX, layouts oci-layout:DIR")
		}
	}
	return all, nil
}

// A batch is what one command line installs.
type batch struct {
	c    *cli.Context
	args []string
	// named is what args name, once it was needed.
	named []incoming
}

// needed is what --json prints of a package that another one needs.
type needed struct {
	Skill   string `json:"skill"`
	Version string `json:"version"`
	For     string `json:"for,omitempty"`
	install.Outcome
	Plan *planned `json:"plan,omitempty"`
}

// concerns reports whether installing a package is about more than that package.
func (t *terminal) concerns(ctx context.Context, h *host.Host, c *cli.Context, next incoming) (bool, error) {
	p, err := next.open()
	if err != nil {
		return false, err
	}
	m := p.Manifest()
	if len(m.Dependencies) > 0 || c.Bool("isolated") {
		return true, nil
	}
	catalog, err := h.Catalog(ctx, closure.Settings{})
	return err == nil && catalog.Concerns(m, asked(next)), err
}

// asked says for which versions a person asked who named a package like that.
func asked(next incoming) *registry.Asked {
	r, err := sources.ParseArgument(next.path)
	if err == nil && r.Kind == sources.KindName && r.Constraint != "latest" {
		return &registry.Asked{Constraint: r.Constraint}
	}
	// Any version will do, also the one that was named if it is a prerelease.
	return &registry.Asked{Prereleases: strings.Contains(next.got.Package.Manifest().Version, "-")}
}

// withNeeds installs a package together with what it needs.
func (t *terminal) withNeeds(ctx context.Context, h *host.Host, b *batch, next incoming) (installed, error) {
	catalog, err := t.catalog(ctx, h, b, next)
	if err != nil {
		return installed{}, err
	}
	m := next.got.Package.Manifest()
	done := t.waiting("looking for what %s needs", m.Name)
	plan, err := catalog.Plan(ctx, closure.Question{Wishes: []closure.Wish{b.wish(next)}})
	if all := b.wishes(next); err != nil && fault.AsError(err).Kind == fault.KindConflict && len(all) > 1 {
		plan, err = catalog.Plan(ctx, closure.Question{Wishes: all}) // they may need each other's versions
	}
	done()
	if err != nil {
		return installed{}, err
	}
	w, err := t.works(ctx, h, b.c, plan, m.Name, next)
	if err != nil {
		return installed{}, err
	}
	return w.carryOut(ctx)
}

// catalog is what there is to choose from: also what was named together.
func (t *terminal) catalog(ctx context.Context, h *host.Host, b *batch, next incoming) (*closure.Catalog, error) {
	from, err := places(b.c)
	if err != nil {
		return nil, err
	}
	b.gather(ctx, h, next)
	hand := []*sources.Fetched{next.got}
	for _, o := range b.named {
		hand = append(hand, o.got)
	}
	return h.Catalog(ctx, closure.Settings{Hand: hand, From: from})
}

// wish is for a package that the command line names.
func (b *batch) wish(next incoming) closure.Wish {
	m, a := next.got.Package.Manifest(), asked(next)
	return closure.Wish{
		Name: m.Name, Constraint: a.Constraint, Prereleases: a.Prereleases,
		Exactly: m.Version, OrOther: a.Constraint != "", Isolated: b.c.Bool("isolated"),
	}
}

// wishes are those for all that the command line names, next first.
func (b *batch) wishes(next incoming) []closure.Wish {
	all := []closure.Wish{b.wish(next)}
	for _, o := range b.named {
		if w := b.wish(o); !slices.ContainsFunc(all, func(x closure.Wish) bool { return x.Name == w.Name }) {
			all = append(all, w)
		}
	}
	return all
}

// gather fetches what was named together. What is wrong with one of them is said
// when it is its turn.
func (b *batch) gather(ctx context.Context, h *host.Host, next incoming) {
	from := h.Sources()
	for _, arg := range b.args {
		r, err := sources.ParseArgument(arg)
		switch {
		case err != nil:
		case arg == next.path:
			b.named = append(b.named, next)
		default:
			if got, err := from.Fetch(ctx, r, sources.Options{}); err == nil {
				b.named = append(b.named, incoming{path: arg, got: got})
			}
		}
	}
	b.args = nil
}

// works is a plan about several packages on its way to be carried out.
type works struct {
	t     *terminal
	h     *host.Host
	c     *cli.Context
	plan  *closure.Plan
	name  string // what was asked for
	next  incoming
	group install.Group
	steps []closure.Step
	// again is the plan of what was asked for when these bytes are installed.
	again *install.Plan
}

// works has every package of a plan checked.
func (t *terminal) works(ctx context.Context, h *host.Host, c *cli.Context, plan *closure.Plan, name string, next incoming) (*works, error) {
	w := &works{t: t, h: h, c: c, plan: plan, name: name, next: next, steps: plan.Steps}
	w.group = install.Group{Kind: "install", Subject: name, Links: plan.Links, Activate: plan.Activate, Asked: map[string]*registry.Asked{}}
	for _, a := range plan.Asked {
		w.group.Asked[a.Skill] = a.Asked
	}
	for _, s := range plan.Steps {
		done := t.waiting("checking %s", s.Got.Package.Manifest().Name)
		p, err := t.planStep(ctx, c, h, name, s)
		done()
		if err != nil {
			return nil, err
		}
		if p.Skill == name {
			w.group.Subject = p.Skill + "@" + p.Version
		}
		w.group.Plans = append(w.group.Plans, p)
	}
	if w.group.Subject != name || next.got == nil {
		return w, nil
	}
	p, err := t.plan(ctx, c, h, next, closure.Step{Asked: asked(next)})
	w.again, w.group.Subject = &p, p.Skill+"@"+p.Version
	return w, err
}

// planStep plans one package. One that is only needed was not written by the model
// that wrote what needs it.
func (t *terminal) planStep(ctx context.Context, c *cli.Context, h *host.Host, name string, s closure.Step) (install.Plan, error) {
	p, err := t.plan(ctx, c, h, incoming{path: s.Got.Source, got: s.Got}, s)
	if err != nil && s.Needed {
		return p, fmt.Errorf("%s needs %s: %w", cmp.Or(s.For, name), s.Got.Package.Manifest().Name, err)
	}
	return p, err
}

// carryOut shows the whole, asks once, and installs all of it or nothing.
func (w *works) carryOut(ctx context.Context) (installed, error) {
	in, err := w.shown(ctx)
	switch {
	case err != nil || w.c.Bool("dry-run"):
		return in, err
	case len(w.group.Plans) == 0:
		return w.settle(ctx, in)
	}
	out, err := w.commit(ctx)
	in.Outcome, in.Needs = out.Outcome, out.Needs
	if err == nil {
		w.told(in)
	}
	return in, err
}

// commit asks once, and installs everything or nothing; or has it wait when
// nobody can be asked.
func (w *works) commit(ctx context.Context) (installed, error) {
	out, err := w.decide(ctx)
	in := w.became(out)
	if err == nil && in.Skill == nil && in.Proposal == nil {
		in.Outcome, err = w.standing(ctx)
	}
	return in, err
}

func (w *works) decide(ctx context.Context) ([]install.Outcome, error) {
	waits, generated := w.group.Waits(), w.c.IsSet("generated-by")
	if waits && (generated || !w.c.Bool("yes") && !w.t.canAsk()) {
		return w.h.Installer.SubmitGroup(ctx, w.group)
	}
	if waits && !w.c.Bool("yes") {
		if err := w.t.confirm(w.group.Kind+" "+w.name, w.question()); err != nil {
			return nil, err
		}
		for i, p := range w.group.Plans {
			w.group.Plans[i] = p.Despite()
		}
	}
	return w.h.Installer.AcceptGroup(ctx, w.t.person(), w.group)
}

// standing is what became of a skill whose version was installed before.
func (w *works) standing(ctx context.Context) (install.Outcome, error) {
	s, err := w.h.Registry.Lookup(ctx, manifests.Ref{Name: w.name})
	return install.Outcome{Skill: &s}, err
}

func (w *works) question() string {
	if n := len(w.group.Plans); n > 1 {
		return fmt.Sprintf("Install and grant all of this, %s?", count(n, "package"))
	}
	return "Install and grant this?"
}

// settle is what is left to do when everything is installed already.
func (w *works) settle(ctx context.Context, in installed) (installed, error) {
	if !w.plan.IsEmpty() && !w.c.IsSet("generated-by") {
		if _, err := w.h.Installer.AcceptGroup(ctx, w.t.person(), w.group); err != nil {
			return in, err
		}
	}
	if w.again == nil {
		return in, nil
	}
	var err error
	if !w.again.Installed {
		s, err := w.h.Registry.Lookup(ctx, manifests.Ref{Name: w.again.Skill, Version: w.again.Version})
		in.Skill = &s
		if err == nil {
			w.t.showOutcome(*w.again, in.Outcome)
		}
		return in, err
	}
	if in.Outcome, err = w.t.submit(ctx, w.c, w.h, *w.again, w.next); err == nil {
		w.t.showOutcome(*w.again, in.Outcome)
	}
	return in, err
}

// shown shows all plans, if they are to be looked at.
func (w *works) shown(ctx context.Context) (installed, error) {
	var in installed
	ask := w.group.Waits() && !w.c.Bool("yes") && w.t.canAsk() && !w.c.IsSet("generated-by")
	if !w.c.Bool("dry-run") && !ask {
		return in, nil
	}
	var shown []planned
	for n, p := range w.group.Plans {
		if !w.t.json && w.steps[n].For != "" {
			w.t.note("needed by %s:", plain(w.steps[n].For))
		}
		s, err := w.t.show(ctx, w.c, w.h, p, incoming{path: w.steps[n].Got.Source, got: w.steps[n].Got})
		if err != nil {
			return in, err
		}
		shown = append(shown, s)
		if p.Skill == w.name && in.Plan == nil {
			in.Plan = &s
			continue
		}
		in.Needs = append(in.Needs, needed{Skill: p.Skill, Version: p.Version, For: w.steps[n].For, Plan: &s})
	}
	if w.again != nil && w.c.Bool("dry-run") {
		s, err := w.t.show(ctx, w.c, w.h, *w.again, w.next)
		if err != nil {
			return in, err
		}
		in.Plan, shown = &s, append(shown, s)
	}
	w.showRest()
	w.t.summarize(shown...)
	return in, nil
}

// showRest says what else changes, and what is left out.
func (w *works) showRest() {
	if w.t.json {
		return
	}
	for _, l := range w.plan.Links {
		w.t.note("%s will use %s", plain(l.Name), plain(linkWords(l)))
	}
	for _, s := range w.plan.Activate {
		w.t.note("%s becomes the active version again", plain(s.Ref()))
	}
	w.t.showOmitted(w.plan.Graph)
}

func linkWords(l registry.Link) string {
	var texts []string
	for _, d := range l.Dependencies {
		if d.Digest != "" {
			texts = append(texts, d.Chosen()+"@"+d.Version)
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "nothing")
}

func (t *terminal) showOmitted(g *resolve.Graph) {
	for _, o := range g.Omitted {
		by := "what you asked for"
		if o.By >= 0 {
			by = g.Nodes[o.By].Name
		}
		t.note("%s %s, which is optional for %s, is left out:", plain(o.Name), plain(o.Range.Text()), plain(by))
		for l := range strings.Lines(o.Reason) {
			t.note("  | %s", plain(strings.TrimSuffix(l, "\n")))
		}
	}
}

// became says in the answer what became of each package.
func (w *works) became(out []install.Outcome) (in installed) {
	found := false
	for n, o := range out {
		p := w.group.Plans[n]
		if p.Skill == w.name && !found {
			in.Outcome, found = o, true
			continue
		}
		in.Needs = append(in.Needs, needed{Skill: p.Skill, Version: p.Version, For: w.steps[n].For, Outcome: o})
	}
	return in
}

// told says what was installed.
func (w *works) told(in installed) {
	for n, p := range w.group.Plans {
		out := in.Outcome
		if i := slices.IndexFunc(in.Needs, func(o needed) bool { return o.Skill == p.Skill && o.Version == p.Version }); i >= 0 {
			out = in.Needs[i].Outcome
		}
		w.t.showOutcome(p, out)
		if who := w.steps[n].For; who != "" && !w.t.json {
			w.t.note("  needed by %s", plain(who))
		}
	}
	w.showRest()
}
