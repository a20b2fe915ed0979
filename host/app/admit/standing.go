package admit

import (
	"context"

	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// Rollback is the wish to have an earlier version of a skill be the active one again.
type Rollback struct {
	Skill string
	// To is the version; empty for the one that was active before.
	To string
	// KeepState leaves its data as it is, also when that version cannot read it.
	KeepState bool
	// Seen is what was shown of the skill: if it is another now, nothing is planned, with
	// [ErrMoved].
	Seen seen.Versions
}

// RolledBack is what going back comes to.
type RolledBack = install.Rollback

func (c Rollback) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind, p.Skill = "rollback", c.Skill
	name := c.Skill
	if c.To != "" {
		name += "@" + c.To
	}
	ref, err := reference(name)
	if err != nil {
		return err
	}
	if err := s.seen(ctx, c.Skill, c.Seen); err != nil {
		return err
	}
	r, err := s.parts.Installer.PlanRollback(ctx, ref, c.KeepState)
	if err != nil {
		return err
	}
	p.Rollback, p.Skill, p.To = &r, r.To.Name, r.To.Version
	p.commit = func(ctx context.Context, s *Service, by approval.Principal, _ Consent) (Result, error) {
		person, _ := by.(approval.Human)
		r, err := s.parts.Installer.RollbackSince(ctx, person, ref, c.KeepState, p.since)
		return Result{Rollback: &r}, err
	}
	return nil
}

// seen refuses to plan what is about a skill that is not as it was shown.
func (s *Service) seen(ctx context.Context, skill string, as seen.Versions) error {
	ref, err := reference(skill)
	if err == nil {
		_, err = as.Hold(ctx, skill, s.versionOf(ref))
	}
	return err
}

// reference reads a reference to a skill or a version of it.
func reference(text string) (manifests.Ref, error) {
	ref, err := manifests.ParseRef(text)
	if err != nil {
		return ref, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what is installed", fault.List(fault.Skills))
	}
	if ref.Tool != "" {
		return ref, fault.Errorf(fault.KindUsage, "%s names a tool", text).WithHint("name the skill alone: %s", ref.Name)
	}
	return ref, nil
}

// whole is a reference to a whole skill.
func whole(text string) (manifests.Ref, error) {
	ref, err := reference(text)
	if err == nil && ref.Version != "" {
		err = fault.Errorf(fault.KindUsage, "%s names a version, and this is about the whole skill", text).WithHint("name the skill alone: %s", ref.Name)
	}
	return ref, err
}

// Pin holds a skill at its active version: updates leave it alone. It returns the
// versions that this is about, as the others do.
func (s *Service) Pin(ctx context.Context, by approval.Human, skill, reason string) ([]registry.Skill, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	ref, err := whole(skill)
	if err != nil {
		return nil, err
	}
	return s.parts.Installer.Pin(ctx, by.Actor(), ref.Name, reason)
}

// Unpin ends a pin.
func (s *Service) Unpin(ctx context.Context, by approval.Human, skill string) ([]registry.Skill, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	ref, err := whole(skill)
	if err != nil {
		return nil, err
	}
	return s.parts.Installer.Unpin(ctx, by.Actor(), ref.Name)
}

// An EnableRequest is about whether a skill, or one version of it, is run.
type EnableRequest struct {
	// Skill is NAME or NAME@VERSION.
	Skill string
	// Reason is kept with the decision; it is of no use where a skill is enabled.
	Reason string
	// Seen is what was shown of the skill: see [Info.Version]. If it is another by now,
	// nothing is changed, with [ErrMoved].
	Seen seen.Versions
}

// Disable has a skill, or one version of it, not run any more, whoever asks.
func (s *Service) Disable(ctx context.Context, by approval.Human, req EnableRequest) ([]registry.Skill, error) {
	ctx, ref, err := s.stand(ctx, by, req)
	if err != nil {
		return nil, err
	}
	return s.parts.Installer.Disable(ctx, by.Actor(), ref, req.Reason)
}

// stand reads which skill is meant, if it is as it was shown.
func (s *Service) stand(ctx context.Context, by approval.Human, req EnableRequest) (context.Context, manifests.Ref, error) {
	if err := s.ready(ctx, by); err != nil {
		return ctx, manifests.Ref{}, err
	}
	ref, err := reference(req.Skill)
	if err == nil {
		ctx, err = req.Seen.Hold(ctx, req.Skill, s.versionOf(ref))
	}
	return ctx, ref, err
}

// versionOf tells how an installed version stands.
func (s *Service) versionOf(ref manifests.Ref) func(context.Context) (seen.Version, error) {
	return func(ctx context.Context) (seen.Version, error) {
		skill, err := s.parts.Registry.Lookup(ctx, ref)
		return seen.Of(skill), err
	}
}

// Enable ends what [Service.Disable] began. What is in quarantine stays there, with a
// [fault.KindDenied] error.
func (s *Service) Enable(ctx context.Context, by approval.Human, req EnableRequest) ([]registry.Skill, error) {
	ctx, ref, err := s.stand(ctx, by, req)
	if err != nil {
		return nil, err
	}
	return s.parts.Installer.Enable(ctx, by, ref)
}
