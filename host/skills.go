package host

import (
	"context"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
)

// checkHealth makes the health checks that skills declare, and looks for skills
// that are left alone because they fail.
func (h *Host) checkHealth(ctx context.Context) (string, error) {
	skills, err := h.Registry.List(ctx)
	if err != nil {
		return "", err
	}
	checked := 0
	for _, s := range skills {
		if !s.Active || s.Disabled != nil {
			continue
		}
		ill, ok, err := h.examine(ctx, s)
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
func (h *Host) examine(ctx context.Context, s registry.Skill) (ill *fault.Error, declared bool, err error) {
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return nil, false, err
	}
	r := p.Manifest().Resilience
	if r.CircuitBreaker == nil && (r.HealthCheck == nil || !r.HealthCheck.Enabled) {
		return nil, false, nil
	}
	granted, err := h.Desk.Granted(ctx, s.Digest, time.Now())
	if err != nil {
		return nil, true, err
	}
	health, err := h.Runner.Health(ctx, runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Signer: s.Signer, Granted: granted, Place: invoke.Place(s)})
	switch {
	case err != nil:
		return nil, true, err
	case !health.OK:
		return fault.Errorf(health.Error.Kind, "%s does not work: %s", s.Ref(), health.Error.Message).WithHint("`skillet audit` shows its last runs; `skillet remove %s` takes it out", s.Name), true, nil
	case health.Circuit.State == runner.CircuitOpen:
		return fault.Errorf(fault.KindSkill, "%s is not called until %s: it failed %d times in a row, the last time with: %s",
			s.Ref(), health.Circuit.RetryAt.Format(time.RFC3339), health.Circuit.Failures, health.Circuit.Last).
			WithHint("`skillet audit` shows its last runs"), true, nil
	}
	return nil, true, nil
}
