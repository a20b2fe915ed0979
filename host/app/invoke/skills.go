package invoke

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Skills finds packages as they are called. It is safe for concurrent use.
type Skills struct {
	parts  SkillsParts
	recent recent
	found  recentlyCalled
}

// SkillsParts are what [Skills] works on. All are needed.
type SkillsParts struct {
	Registry  *registry.Registry
	Approvals *approval.Store
	Trust     *trust.Store
	// CatchUp brings the state to what was decided last.
	CatchUp func(context.Context) error
	// Route reports whether a call of a skill goes to the version on trial.
	Route func(ctx context.Context, skill string, c registry.Canary) (bool, error)
	// Epoch is that of [runner.Rights], and Decided a number that changes with each
	// decision, at once.
	Epoch, Decided func() uint64
}

// NewSkills makes a Skills.
func NewSkills(p SkillsParts) *Skills { return &Skills{parts: p} }

// Called is like [Skills.Installed], but first catches up with what was decided. It keeps
// the result until the next decision.
func (s *Skills) Called(ctx context.Context, ref manifests.Ref) (runner.Target, registry.Skill, error) {
	epoch := s.parts.Decided()
	if f, ok := s.found.Get(epoch, ref); ok {
		return f.target, f.skill, nil
	}
	if err := s.parts.CatchUp(ctx); err != nil {
		return runner.Target{}, registry.Skill{}, err
	}
	t, skill, err := s.Installed(ctx, ref)
	if err == nil && skill.Canary == nil {
		s.found.Add(epoch, ref, callee{t, skill})
	}
	return t, skill, err
}

// Installed finds the installed version that a call of ref runs, without what it may
// do: the active one, the one that ref names, or, for its share of the calls that
// name none, the one on trial. One that is disabled is not run: see
// [registry.Skill.CheckEnabled].
func (s *Skills) Installed(ctx context.Context, ref manifests.Ref) (runner.Target, registry.Skill, error) {
	epoch := s.parts.Epoch()
	skill, err := s.parts.Registry.Lookup(ctx, ref)
	if err != nil {
		return runner.Target{}, skill, err
	}
	var trial *registry.Canary
	if ref.Version == "" && skill.Canary != nil {
		if skill, err = s.routed(ctx, skill); err != nil {
			return runner.Target{}, skill, err
		}
		trial = skill.Canary
	}
	t, err := s.Version(ctx, skill)
	t.Canary, t.Epoch = trial, epoch
	return t, skill, err
}

// routed is the active version of a skill, or the one on trial in its place.
func (s *Skills) routed(ctx context.Context, active registry.Skill) (registry.Skill, error) {
	candidate, err := s.parts.Route(ctx, active.Name, *active.Canary)
	if err != nil || !candidate {
		return active, err
	}
	versions, err := s.parts.Registry.Versions(ctx, active.Name)
	if err != nil {
		return active, err
	}
	for _, v := range versions {
		if v.Digest == active.Canary.Digest && v.Disabled == nil {
			return v, nil
		}
	}
	return active, nil
}

// Version is an installed version as it is run, in the closure in which a person
// asked for it.
func (s *Skills) Version(ctx context.Context, skill registry.Skill) (runner.Target, error) {
	t := runner.Target{Place: Place(skill)}
	if skill.Asked != nil {
		t.Closure = skill.Asked.Closure
	}
	if err := install.Stopped(ctx, s.parts.Registry, s.parts.Trust, skill); err != nil {
		return t, err
	}
	t.Label, t.Origin, t.Signer = skill.Ref(), skill.Origin, skill.Signer
	if t.Package = s.recent.get(skill.Digest); t.Package != nil {
		return t, nil
	}
	var err error
	if t.Package, err = s.parts.Registry.Package(ctx, skill.Digest); err == nil {
		s.recent.add(skill.Digest, t.Package)
	}
	return t, err
}

// Place is where an installed version stands beside the others of its skill.
func Place(s registry.Skill) runner.Place {
	switch {
	case !s.Active:
		return runner.PlaceBeside
	case s.KeepState:
		return runner.PlaceKept
	}
	return runner.PlaceActive
}

// Uninstalled is what is run of a package that is not installed, and was granted
// nothing. It fails with a [fault.KindVerification] error for one that was revoked.
func (s *Skills) Uninstalled(ctx context.Context, label string, got *source.Fetched) (runner.Target, error) {
	m := got.Package.Manifest()
	err := s.checkRevoked(ctx, trust.Evidence{
		Skill: m.Name, Version: m.Version, Source: got.Location, Directory: got.MadeHere(),
		Content: got.Package.Digest(), Artifact: got.Artifact, Blob: got.Archive, Bundles: got.Signatures,
	})
	return runner.Target{Label: label, Package: got.Package, Origin: registry.OriginPath}, err
}

// Unrevoked refuses a package that was revoked, whoever calls it.
func (s *Skills) Unrevoked(ctx context.Context, p *bundle.Package) error {
	m := p.Manifest()
	return s.checkRevoked(ctx, trust.Evidence{Skill: m.Name, Version: m.Version, Directory: true, Content: p.Digest()})
}

func (s *Skills) checkRevoked(ctx context.Context, e trust.Evidence) error {
	v, err := s.parts.Trust.Assess(ctx, e)
	if err != nil {
		return err
	}
	return v.Err()
}

// CurrentGrants returns the grants of a target that are still valid. It fails when
// its package was disabled, put into quarantine, removed or revoked.
func (s *Skills) CurrentGrants(ctx context.Context, t runner.Target) (approval.Granted, error) {
	if err := s.parts.CatchUp(ctx); err != nil {
		return approval.Granted{}, err
	}
	if !t.Granted.Bound() {
		return t.Granted, s.Unrevoked(ctx, t.Package)
	}
	versions, err := s.parts.Registry.Versions(ctx, t.Package.Manifest().Name)
	if err != nil {
		return approval.Granted{}, err
	}
	i := slices.IndexFunc(versions, func(s registry.Skill) bool { return s.Digest == t.Package.Digest() })
	if i < 0 {
		return approval.Granted{}, fault.Errorf(fault.KindDenied, "%s was removed", t.Label)
	}
	if err := versions[i].CheckEnabled(); err != nil {
		return approval.Granted{}, err
	}
	return s.parts.Approvals.CurrentGrants(ctx, t.Granted)
}

// Target returns the skill that ref means to a caller: of what the caller needs, the
// version that its closure has; of everything else, and where ref names a version,
// the one that is installed. It implements [runner.Skills].
func (s *Skills) Target(ctx context.Context, caller runner.Target, ref manifests.Ref) (runner.Target, error) {
	if err := s.parts.CatchUp(ctx); err != nil {
		return runner.Target{}, err
	}
	return s.Reached(ctx, caller, ref)
}

// Granted is what the target of a call may do in it. A grant that is good for a
// number of runs counts one. It implements [runner.Skills].
func (s *Skills) Granted(ctx context.Context, c runner.Call) (approval.Granted, error) {
	m := c.Target.Package.Manifest()
	skill := registry.Skill{Name: m.Name, Version: m.Version, Digest: c.Target.Package.Digest()}
	return s.parts.Approvals.ConsumeGrants(ctx, skill, approval.Use{Session: c.Session, Input: c.Input})
}

// Reached is [Skills.Target] in the state as it is.
func (s *Skills) Reached(ctx context.Context, caller runner.Target, ref manifests.Ref) (runner.Target, error) {
	if ref.Version != "" || caller.Origin == registry.OriginPath || caller.Package == nil {
		return s.named(ctx, ref)
	}
	epoch := s.parts.Epoch()
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return runner.Target{}, err
	}
	name, digest := caller.Package.Manifest().Name, caller.Package.Digest()
	by := slices.IndexFunc(all, func(o registry.Skill) bool { return o.Name == name && o.Digest == digest })
	if by < 0 {
		return s.named(ctx, ref)
	}
	to, in, needed := closure.Target(all[by], caller.Closure, ref.Name)
	if !needed {
		return s.named(ctx, ref)
	}
	n := slices.IndexFunc(all, func(o registry.Skill) bool { return o.Name == to.Chosen() && o.Digest == to.Digest })
	switch {
	case to.Digest == "":
		return runner.Target{}, fault.Errorf(fault.KindNotFound, "%s was installed without %s, which is optional: %w", caller.Label, ref.Name, registry.ErrNotFound).
			WithHint("%s says why; installing it again looks for it again", fault.ShowNeeds(name))
	case n < 0:
		return runner.Target{}, fault.Errorf(fault.KindNotFound, "%s needs %s@%s, which was removed: %w", caller.Label, to.Chosen(), to.Version, registry.ErrNotFound).
			WithHint("installing %s again brings it back", name)
	}
	t, err := s.Version(ctx, all[n])
	t.Closure, t.Epoch = in, epoch
	return t, err
}

func (s *Skills) named(ctx context.Context, ref manifests.Ref) (runner.Target, error) {
	t, _, err := s.Installed(ctx, ref)
	return t, err
}
