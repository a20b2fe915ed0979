package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

// installed finds the skills that other skills name.
type installed struct{ h *Host }

// Target returns the skill that ref means to a caller: of what the caller needs, the
// version that its closure has; of everything else, and where ref names a version,
// the one that is installed.
func (i installed) Target(ctx context.Context, caller runner.Target, ref manifests.Ref) (runner.Target, error) {
	if err := i.h.CatchUp(ctx); err != nil {
		return runner.Target{}, err
	}
	t, _, err := i.reached(ctx, caller, ref)
	return t, err
}

// Granted is what the target of a call may do in it. A grant that is good for a
// number of runs counts one.
func (i installed) Granted(ctx context.Context, c runner.Call) (approval.Granted, error) {
	p := c.Target.Package
	s := registry.Skill{Name: p.Manifest().Name, Version: p.Manifest().Version, Digest: p.Digest()}
	return i.h.Desk.Spend(ctx, s, approval.Use{Session: c.Session, Input: c.Input})
}

// reached finds the version that a caller reaches.
func (i installed) reached(ctx context.Context, caller runner.Target, ref manifests.Ref) (runner.Target, registry.Skill, error) {
	if ref.Version != "" || caller.Origin == registry.OriginPath || caller.Package == nil {
		return i.h.Target(ctx, ref)
	}
	all, err := i.h.Registry.List(ctx)
	if err != nil {
		return runner.Target{}, registry.Skill{}, err
	}
	name, digest := caller.Package.Manifest().Name, caller.Package.Digest()
	by := slices.IndexFunc(all, func(s registry.Skill) bool { return s.Name == name && s.Digest == digest })
	if by < 0 {
		return i.h.Target(ctx, ref)
	}
	to, in, needed := closure.Target(all[by], caller.Closure, ref.Name)
	if !needed {
		return i.h.Target(ctx, ref)
	}
	n := slices.IndexFunc(all, func(s registry.Skill) bool { return s.Name == to.Chosen() && s.Digest == to.Digest })
	switch {
	case to.Digest == "":
		return runner.Target{}, registry.Skill{}, task.Errorf(task.KindNotFound, "%s was installed without %s, which is optional: %w", caller.Label, ref.Name, registry.ErrNotFound).
			WithHint("`skillet tree %s` says why; installing it again looks for it again", name)
	case n < 0:
		return runner.Target{}, registry.Skill{}, task.Errorf(task.KindNotFound, "%s needs %s@%s, which was removed: %w", caller.Label, to.Chosen(), to.Version, registry.ErrNotFound).
			WithHint("installing %s again brings it back", name)
	}
	t, err := i.h.version(ctx, all[n])
	t.Closure = in
	return t, all[n], err
}

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
func (h *Host) examine(ctx context.Context, s registry.Skill) (ill *task.Error, declared bool, err error) {
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
	health, err := h.Runner.Health(ctx, runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Signer: s.Signer, Granted: granted, Place: place(s)})
	switch {
	case err != nil:
		return nil, true, err
	case !health.OK:
		return task.Errorf(health.Error.Kind, "%s does not work: %s", s.Ref(), health.Error.Message).WithHint("`skillet audit` shows its last runs; `skillet remove %s` takes it out", s.Name), true, nil
	case health.Circuit.State == runner.CircuitOpen:
		return task.Errorf(task.KindSkill, "%s is not called until %s: it failed %d times in a row, the last time with: %s",
			s.Ref(), health.Circuit.RetryAt.Format(time.RFC3339), health.Circuit.Failures, health.Circuit.Last).
			WithHint("`skillet audit` shows its last runs"), true, nil
	}
	return nil, true, nil
}
