package admit

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Page is a package as a person decides about it.
type Page = evidence.Page

// look gathers the evidence of all packages, if somebody will look at it.
func (p *Plan) look(ctx context.Context, s *Service) error {
	if p.terms.Look == LookNever || p.terms.Look == LookIfAsked && !p.Asks() {
		return nil
	}
	for i := range p.Packages {
		if err := p.Packages[i].look(ctx, s, p.terms); err != nil {
			return err
		}
	}
	return nil
}

// look gathers what a person looks at before deciding about a package.
func (pkg *Package) look(ctx context.Context, s *Service, terms Terms) error {
	p := pkg.got.Package
	if pkg.Replaces == "" {
		pkg.Read = review.Read(p.Manifest())
	}
	o := evidence.Options{Limits: review.Brief()}
	if terms.Whole {
		o.Limits = review.Limits{}
	}
	if pkg.Replaces != "" && !pkg.Installed {
		o.Replay = func(ctx context.Context, p *bundle.Package) (*replay.Shadow, error) { return s.shadow(ctx, p, terms) }
	}
	e, err := s.parts.Evidence.Collect(ctx, p, o)
	if err != nil {
		return err
	}
	pkg.Difference = Comparison{With: e.With, Difference: e.Difference}
	pkg.Replays, pkg.Findings, pkg.Similar = e.Replays, e.Findings, e.Similar
	pkg.Summary, pkg.Looked = pkg.Page().Summary(), true
	return nil
}

// Whole gathers for the packages of a plan that were looked at all of what is different,
// however long it is.
func (s *Service) Whole(ctx context.Context, by approval.Principal, p *Plan) error {
	if err := s.ready(ctx, by); err != nil || p == nil {
		return err
	}
	for i := range p.Packages {
		pkg := &p.Packages[i]
		if !pkg.Looked || pkg.got == nil {
			continue
		}
		var err error
		if pkg.Difference, err = s.compare(ctx, pkg.got.Package, true); err != nil {
			return err
		}
	}
	return nil
}

// Page is the package as a person decides about it.
func (pkg *Package) Page() Page {
	e := evidence.Evidence{
		With: pkg.Difference.With, Difference: pkg.Difference.Difference, Upgrade: pkg.Upgrade, Findings: pkg.Findings,
		Tests: pkg.Tests, Replays: pkg.Replays, Similar: pkg.Similar,
	}
	if pkg.Installed {
		e.Difference = review.Difference{} // from itself
	}
	return Page{
		Skill: pkg.Skill, Version: pkg.Version, Digest: pkg.Digest, Kind: pkg.Kind, Source: pkg.Source, Origin: string(pkg.Origin), Signer: pkg.Signer,
		Replaces: pkg.Replaces, Asks: pkg.Asks, Bounds: limit.Bounds{Limits: pkg.Limits, Cut: pkg.Cut},
		Effect: pkg.Effect, Reason: pkg.Reason, Policies: pkg.Policies, Notes: pkg.notes(), Read: pkg.Read, Evidence: e,
	}
}

// notes are what a person should know of a package beside the evidence.
func (pkg *Package) notes() []string {
	all := slices.Clone(pkg.Warnings)
	if l := pkg.Forgets; l != nil {
		all = append(all, fmt.Sprintf("what another skill of this name kept is deleted: the one from %s", l.Source))
	}
	if pkg.Carried {
		all = append(all, fmt.Sprintf("the same signer: what %s was granted is carried over", pkg.Replaces))
	}
	return all
}

// shadow tries a package on recorded calls.
func (s *Service) shadow(ctx context.Context, p *bundle.Package, terms Terms) (*replay.Shadow, error) {
	defer terms.tell(StageReplay, p.Manifest().Name)()
	return s.parts.Shadow(ctx, p)
}
