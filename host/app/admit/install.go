package admit

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
)

// Install is the wish to have a package installed, with all that it needs. All but the
// package may be left out.
type Install struct {
	// Package is a path, the name of a skill with or without a constraint, or an
	// address. Arrival is what was fetched of it already, see [Service.Fetch].
	Package string
	Arrival *Arrival
	// Find are places to look in for what is needed before any registry is asked.
	Find []string
	// Isolated gives it versions of its own of what it needs.
	Isolated bool
	// GeneratedBy is the model that wrote the package: it waits for approval, whatever
	// it asks for. Rationale is why it should be installed.
	GeneratedBy string
	Rationale   string
	// Remote says that whoever asks is not at this machine: what is named has to be the name
	// or the address of what is published. Only a person may name an absolute path.
	Remote bool
	Terms
}

func (c Install) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind, p.terms, p.model, p.rationale = "install", c.Terms, c.GeneratedBy, c.Rationale
	a := c.Arrival
	if a == nil {
		if c.Package == "" {
			return fault.Errorf(fault.KindUsage, "install: no package is named")
		}
		if err := c.reachable(p.by); err != nil {
			return err
		}
		a = s.arrive(ctx, c.Package, nil, false)
	}
	if a.err != nil {
		return a.err
	}
	return p.arrived(ctx, s, a, c)
}

// reachable refuses what somebody who is not at this machine may not name.
func (c Install) reachable(by approval.Principal) error {
	if !c.Remote {
		return nil
	}
	r, err := source.ParseArgument(c.Package)
	if err != nil {
		return err
	}
	_, person := by.(approval.Human)
	switch {
	case r.Kind == source.KindName || r.Kind == source.KindRegistry || r.Kind == source.KindBuiltin:
		return nil
	case !person:
		return fault.Errorf(fault.KindDenied, "%s may name what is published in a registry, and %q is not", by.Actor(), c.Package)
	case (r.Kind == source.KindDirectory || r.Kind == source.KindFile) && !filepath.IsAbs(c.Package):
		return fault.Errorf(fault.KindUsage, "the path %q is not absolute", c.Package)
	}
	return nil
}

// arrived plans the installation of a package that was fetched.
func (p *Plan) arrived(ctx context.Context, s *Service, a *Arrival, c Install) error {
	m := a.got.Package.Manifest()
	p.made = a.made
	p.Skill, p.To, p.Proposed = m.Name, m.Version, p.model != "" || a.made
	if _, person := p.by.(approval.Human); !person {
		p.Proposed = true
	}
	found, err := p.resolve(ctx, s, a, c)
	if err != nil {
		return err
	}
	if err := p.admit(ctx, s, found, a); err != nil {
		return err
	}
	return p.look(ctx, s)
}

// resolve finds what installing a package comes to. One that has to do with no other is
// all there is to it.
func (p *Plan) resolve(ctx context.Context, s *Service, a *Arrival, c Install) (*closure.Plan, error) {
	m := a.got.Package.Manifest()
	if len(m.Dependencies) == 0 && !c.Isolated {
		catalog, err := s.catalog(ctx, closure.Settings{})
		if err != nil {
			return nil, err
		}
		if !catalog.Concerns(m, a.asked()) {
			return alone(closure.Step{Got: a.got, Asked: a.asked()}), nil
		}
	}
	from, err := lookupRefs(c.Find)
	if err != nil {
		return nil, err
	}
	defer p.terms.tell(StageResolve, m.Name)()
	hand := []*source.Fetched{a.got}
	others := a.batch.others(ctx, a)
	for _, o := range others {
		hand = append(hand, o.got)
	}
	catalog, err := s.catalog(ctx, closure.Settings{Hand: hand, From: from})
	if err != nil {
		return nil, err
	}
	plan, err := catalog.Plan(ctx, closure.Question{Requirements: []closure.Requirement{a.requirement(c.Isolated)}})
	if all := requirements(a, others, c.Isolated); err != nil && fault.AsError(err).Kind == fault.KindConflict && len(all) > 1 {
		return catalog.Plan(ctx, closure.Question{Requirements: all}) // they may need each other's versions
	}
	return plan, err
}

// alone is the plan for a package that has to do with no other.
func alone(step closure.Step) *closure.Plan {
	return &closure.Plan{Graph: &resolve.Graph{}, Steps: []closure.Step{step}}
}

// lookupRefs parses the places to look for dependencies in.
func lookupRefs(texts []string) ([]source.Ref, error) {
	var all []source.Ref
	for _, text := range texts {
		r, err := source.ParseArgument(text)
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case source.KindDirectory, source.KindRegistry, source.KindLayout:
			all = append(all, r)
		default:
			return nil, fault.Errorf(fault.KindUsage, "look in %s: a %s is one package, and no place with several", text, r.Kind).
				WithHint("a directory begins with ./ or /; registries are oci://HOST/PREFIX, layouts oci-layout:DIR")
		}
	}
	return all, nil
}

// asked says for which versions a person asked who named a package like that.
func (a *Arrival) asked() *registry.Asked {
	r, err := source.ParseArgument(a.Name)
	if err == nil && (r.Kind == source.KindName || r.Kind == source.KindBuiltin) && r.Constraint != "latest" {
		return &registry.Asked{Constraint: r.Constraint}
	}
	// Any version will do, also the one that was named if it is a prerelease.
	return &registry.Asked{Prereleases: strings.Contains(a.got.Package.Manifest().Version, "-")}
}

// requirement returns the requirement for a package that was named.
func (a *Arrival) requirement(isolated bool) closure.Requirement {
	m, asked := a.got.Package.Manifest(), a.asked()
	return closure.Requirement{
		Name: m.Name, Constraint: asked.Constraint, Prereleases: asked.Prereleases,
		Exactly: m.Version, OrOther: asked.Constraint != "", Isolated: isolated,
	}
}

// requirements returns the requirements for all packages that were named together, a first.
func requirements(a *Arrival, others []*Arrival, isolated bool) []closure.Requirement {
	all := []closure.Requirement{a.requirement(isolated)}
	for _, o := range others {
		if w := o.requirement(isolated); !slices.ContainsFunc(all, func(x closure.Requirement) bool { return x.Name == w.Name }) {
			all = append(all, w)
		}
	}
	return all
}
