package admit

import (
	"context"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Propose proposes a package that this program made of something, as of says: like one that a
// model wrote it waits for a person, whoever asks, and the error of [fault.KindApproval] says so.
// There is no proposal where the same is installed already, and with dry, which only plans.
func (s *Service) Propose(ctx context.Context, by approval.Principal, p *bundle.Package, of, rationale string, dry bool) (*approval.Proposal, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	m := p.Manifest()
	made := &Arrival{Name: m.Name, made: true, got: &source.Fetched{Package: p, Source: of, Version: m.Version}}
	plan, err := s.Plan(ctx, by, Install{Arrival: made, Rationale: rationale, Terms: Terms{Look: LookNever}})
	if err != nil || dry {
		return nil, err
	}
	r, err := s.Commit(ctx, by, plan, NotAsked)
	return r.Proposal, err
}
