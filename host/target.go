package host

import (
	"context"
	"encoding/json"

	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Target finds the installed version that a call of ref runs, without what it may
// do: the active one, the one that ref names, or, for its share of the calls that
// name none, the one on trial. One that is disabled is not run: see
// [registry.Skill.Runs].
func (h *Host) Target(ctx context.Context, ref manifests.Ref) (runner.Target, registry.Skill, error) {
	epoch := h.rights.Epoch()
	s, err := h.Registry.Lookup(ctx, ref)
	if err != nil {
		return runner.Target{}, s, err
	}
	var trial *registry.Canary
	if ref.Version == "" && s.Canary != nil {
		if s, err = h.routed(ctx, s); err != nil {
			return runner.Target{}, s, err
		}
		trial = s.Canary
	}
	t, err := h.version(ctx, s)
	t.Trial, t.Epoch = trial, epoch
	return t, s, err
}

// Uninstalled is what is run of a package that is not installed, and was granted
// nothing. It fails with a [task.KindVerification] error for one that was revoked.
func (h *Host) Uninstalled(ctx context.Context, label string, got *source.Fetched) (runner.Target, error) {
	m := got.Package.Manifest()
	err := h.harmless(ctx, trust.Evidence{
		Skill: m.Name, Version: m.Version, Source: got.Place, Directory: got.MadeHere(),
		Content: got.Package.Digest(), Artifact: got.Artifact, Blob: got.Archive, Bundles: got.Signatures,
	})
	return runner.Target{Label: label, Package: got.Package, Origin: registry.OriginPath}, err
}

// unrevoked refuses a package that was revoked, whoever makes a call of it.
func (h *Host) unrevoked(ctx context.Context, p *bundle.Package) error {
	m := p.Manifest()
	return h.harmless(ctx, trust.Evidence{Skill: m.Name, Version: m.Version, Directory: true, Content: p.Digest()})
}

func (h *Host) harmless(ctx context.Context, e trust.Evidence) error {
	v, err := h.Trust.Assess(ctx, e)
	if err != nil {
		return err
	}
	return v.Harm()
}

// version is an installed version as it is run, in the closure in which a person
// asked for it.
func (h *Host) version(ctx context.Context, s registry.Skill) (runner.Target, error) {
	t := runner.Target{Place: place(s)}
	if s.Asked != nil {
		t.Closure = s.Asked.Closure
	}
	if err := s.Runs(); err != nil {
		return t, err
	}
	t.Label, t.Origin, t.Signer = s.Ref(), s.Origin, s.Signer
	if t.Package = h.recent.get(s.Digest); t.Package != nil {
		return t, nil
	}
	var err error
	if t.Package, err = h.Registry.Package(ctx, s.Digest); err == nil {
		h.recent.add(s.Digest, t.Package)
	}
	return t, err
}

// routed is the active version of a skill, or the one on trial in its place.
func (h *Host) routed(ctx context.Context, active registry.Skill) (registry.Skill, error) {
	candidate, err := h.Runner.Route(ctx, active.Name, *active.Canary)
	if err != nil || !candidate {
		return active, err
	}
	versions, err := h.Registry.Versions(ctx, active.Name)
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

func place(s registry.Skill) runner.Place {
	switch {
	case !s.Active:
		return runner.PlaceBeside
	case s.KeepState:
		return runner.PlaceKept
	}
	return runner.PlaceActive
}

// trials ends trials by the way in that there is.
type trials struct{ h *Host }

// Conclude ends a trial.
func (t trials) Conclude(ctx context.Context, skill string, c registry.Canary, v registry.Verdict, reason string, report json.RawMessage) error {
	return t.h.Installer.Conclude(ctx, skill, c, v, reason, report)
}
