package admit

import (
	"context"

	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/manifests/bundle"
)

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
func (pkg *Package) look(ctx context.Context, s *Service, terms Terms) (err error) {
	p := pkg.got.Package
	if pkg.Replaces == "" {
		pkg.Read = review.Read(p.Manifest())
	}
	if pkg.Difference, err = s.compare(ctx, p, terms.Whole); err != nil {
		return err
	}
	if pkg.Replaces != "" && !pkg.Installed {
		if pkg.Replays, err = s.shadow(ctx, p, terms); err != nil {
			return err
		}
	}
	if pkg.Findings, err = findings.Scan(ctx, p); err != nil {
		return err
	}
	pkg.Summary = evidence.Subject{
		Kind: pkg.Kind, Asks: pkg.Asks, Replaces: pkg.Replaces, Signer: pkg.Signer, Upgrade: pkg.Upgrade,
		Findings: pkg.Findings, Tests: pkg.Tests, Replays: pkg.Replays,
	}.Summary()
	pkg.Looked = true
	return nil
}

// shadow tries a package on recorded calls.
func (s *Service) shadow(ctx context.Context, p *bundle.Package, terms Terms) (*replay.Shadow, error) {
	defer terms.tell(StageReplay, p.Manifest().Name)()
	return s.parts.Shadow(ctx, p)
}
