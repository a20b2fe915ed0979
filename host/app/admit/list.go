package admit

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// A Skill is one installed version of a skill.
type Skill = registry.Skill

// A Listing says which versions are listed; the zero value lists the active ones.
type Listing struct {
	// All has it list every version.
	All bool
}

// List lists installed versions, by name and version.
func (s *Service) List(ctx context.Context, by approval.Principal, l Listing) ([]Skill, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append([]Skill{}, all...), func(v Skill) bool { return !l.All && !v.Active }), nil
}

// versions are what references name: a version, or all versions of a skill, in the order
// of the references, each reference once.
func (s *Service) versions(ctx context.Context, refs []manifests.Ref) ([]Skill, error) {
	var found []Skill
	var seen []manifests.Ref
	for _, ref := range refs {
		v, err := s.parts.Registry.Lookup(ctx, ref)
		if err != nil {
			return nil, err
		}
		ref.Name = v.Name // it may have been an alias
		if slices.Contains(seen, ref) {
			continue
		}
		seen = append(seen, ref)
		versions := []Skill{v}
		if ref.Version == "" {
			if versions, err = s.parts.Registry.Versions(ctx, v.Name); err != nil {
				return nil, err
			}
		}
		found = append(found, versions...)
	}
	return found, nil
}
