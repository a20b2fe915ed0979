package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
)

// checkHealth makes the health checks that skills declare, and looks for skills
// that are left alone because they fail.
func (s *Service) checkHealth(ctx context.Context) (string, error) {
	skills, err := s.Registry.List(ctx)
	if err != nil {
		return "", err
	}
	checked := 0
	for _, skill := range skills {
		if !skill.Active || skill.Disabled != nil {
			continue
		}
		ill, ok, err := s.examine(ctx, skill)
		if err != nil {
			return "", err
		}
		if ill != nil {
			return "", ill
		}
		if ok {
			checked++
		}
	}
	return fmt.Sprintf("%d of the active skills say how to check them, all work", checked), nil
}

// examine checks one skill; declared is false for one that does not say how, which
// is not looked at.
func (s *Service) examine(ctx context.Context, skill registry.Skill) (ill *fault.Error, declared bool, err error) {
	p, err := s.Registry.Package(ctx, skill.Digest)
	if err != nil {
		return nil, false, err
	}
	r := p.Manifest().Resilience
	if r.CircuitBreaker == nil && (r.HealthCheck == nil || !r.HealthCheck.Enabled) {
		return nil, false, nil
	}
	granted, err := s.Approvals.Granted(ctx, skill.Digest, time.Now())
	if err != nil {
		return nil, true, err
	}
	health, err := s.Runner.Health(ctx, runner.Target{Label: skill.Ref(), Package: p, Origin: skill.Origin, Signer: skill.Signer, Granted: granted, Place: invoke.Place(skill)})
	switch {
	case err != nil:
		return nil, true, err
	case !health.OK:
		return fault.Errorf(health.Error.Kind, "%s does not work: %s", skill.Ref(), health.Error.Message).WithHint("%s shows its last runs; %s takes it out", fault.List(fault.Runs), fault.Remove(skill.Name)), true, nil
	case health.Circuit.State == runner.CircuitOpen:
		return fault.Errorf(fault.KindSkill, "%s is not called until %s: it failed %d times in a row, the last time with: %s",
			skill.Ref(), health.Circuit.RetryAt.Format(time.RFC3339), health.Circuit.Failures, health.Circuit.Last).
			WithHint("%s shows its last runs", fault.List(fault.Runs)), true, nil
	}
	return nil, true, nil
}
