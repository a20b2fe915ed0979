package admit

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// Removal is the wish to have skills removed, and their grants ended.
type Removal struct {
	// Skills are names of skills, or of versions of them.
	Skills []string
	// Purge deletes also what they keep, also of skills that were removed before. Prune
	// removes also what nobody needs any more, and Force what others need.
	Purge, Prune, Force bool
}

// Removed is what a removal takes out.
type Removed struct {
	install.Removal
	// Purged are the skills of which all that they kept is deleted, and Left those that
	// leave something behind.
	Purged []string `json:"purged,omitempty"`
	Left   []string `json:"left,omitempty"`
}

// IsEmpty reports whether there is nothing to remove.
func (r Removed) IsEmpty() bool { return len(r.All())+len(r.Purged) == 0 }

func (c Removal) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind = "remove"
	if len(c.Skills) == 0 && !c.Prune {
		return fault.Errorf(fault.KindUsage, "remove takes the name of a skill").WithHint("%s shows what is installed", fault.List(fault.Skills))
	}
	names, gone, err := s.leftBehind(ctx, c)
	if err != nil {
		return err
	}
	what := install.Removing{Force: c.Force, Prune: c.Prune, Since: p.since}
	if what.Refs, err = s.leaving(ctx, names); err != nil {
		return s.orPurge(ctx, names, err)
	}
	r := Removed{Purged: gone}
	for _, ref := range what.Refs {
		if c.Purge && ref.Version != "" {
			return fault.Errorf(fault.KindUsage, "remove %s: stored data belongs to the whole skill, and this is one version of it", ref).
				WithHint("%s removes all versions and what they keep", fault.Remove(ref.Name).With(fault.FieldPurge))
		}
		if c.Purge {
			r.Purged = append(r.Purged, ref.Name)
		}
	}
	if r.Removal, err = s.parts.Installer.PlanRemoval(ctx, what); err != nil {
		return err
	}
	if r.IsEmpty() {
		p.Removal = &r
		return nil
	}
	p.Removal, p.Waits = &r, true
	p.commit = func(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
		return s.remove(ctx, by, what, r, c)
	}
	return nil
}

func (s *Service) remove(ctx context.Context, by approval.Principal, what install.Removing, r Removed, c Consent) (_ Result, err error) {
	if c == NotAsked {
		return Result{}, fault.Errorf(fault.KindUsage, "remove needs confirmation, and nobody can be asked here").WithHint("add %s", fault.SetField(fault.FieldYes))
	}
	if len(r.All()) > 0 {
		if r.Removal, err = s.parts.Installer.RemoveAll(ctx, by.Actor(), what); err != nil {
			return Result{}, err
		}
	}
	for _, name := range r.Purged {
		if err := s.parts.Installer.Purge(ctx, by.Actor(), name); err != nil {
			return Result{Removal: &r}, err
		}
		if err := s.parts.Recordings.Forget(name); err != nil {
			return Result{Removal: &r}, err
		}
	}
	if len(r.Purged) == 0 {
		r.Left = s.leaves(context.WithoutCancel(ctx), r.All())
	}
	return Result{Removal: &r}, nil
}

// leaves are those of the skills that left something behind.
func (s *Service) leaves(ctx context.Context, skills []registry.Skill) []string {
	var all []string
	seen := map[string]bool{}
	for _, v := range skills {
		_, left, err := s.parts.Registry.Left(ctx, v.Name)
		keeps, kerr := s.parts.Runner.Keeps(ctx, v.Name)
		if err == nil && kerr == nil && left && keeps && !seen[v.Name] {
			seen[v.Name], all = true, append(all, v.Name)
		}
	}
	return all
}

// leftBehind splits what is to be purged into skills that are installed, and those that
// were removed and left something behind.
func (s *Service) leftBehind(ctx context.Context, c Removal) (names, left []string, err error) {
	for _, name := range c.Skills {
		ref, err := manifests.ParseRef(name)
		if err == nil && c.Purge && ref.Version == "" {
			_, lerr := s.parts.Registry.Lookup(ctx, ref)
			_, ok, err := s.parts.Registry.Left(ctx, ref.Name)
			if err != nil {
				return nil, nil, err
			}
			if ok && errors.Is(lerr, registry.ErrNotFound) {
				left = append(left, ref.Name)
				continue
			}
		}
		names = append(names, name)
	}
	return names, left, nil
}

// leaving are the skills and versions that are named, each once.
func (s *Service) leaving(ctx context.Context, names []string) ([]manifests.Ref, error) {
	var refs []manifests.Ref
	seen := map[manifests.Ref]bool{}
	for _, name := range names {
		v, err := s.lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		ref, err := manifests.ParseRef(name)
		if err != nil {
			return nil, err
		}
		if ref.Name = v.Name; !seen[ref] {
			seen[ref], refs = true, append(refs, ref)
		}
	}
	return refs, nil
}

// orPurge says of a skill that is not installed any more that it left something.
func (s *Service) orPurge(ctx context.Context, names []string, err error) error {
	if !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	for _, name := range names {
		ref, perr := manifests.ParseRef(name)
		if perr != nil {
			continue
		}
		if _, left, lerr := s.parts.Registry.Left(ctx, ref.Name); lerr == nil && left {
			return fault.AsError(err).WithHint("it was removed before; %s deletes what it kept", fault.Remove(ref.Name).With(fault.FieldPurge))
		}
	}
	return err
}
