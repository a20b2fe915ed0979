package admit

import (
	"context"
	"slices"
	"strings"

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
	// Text leaves out skills that have it neither in the name nor in the description, nor in
	// those of a tool, whatever the case.
	Text string
}

// fits reports whether a skill is listed.
func (l Listing) fits(s *Skill) bool {
	if !l.All && !s.Active {
		return false
	}
	text := strings.ToLower(l.Text)
	return text == "" || slices.ContainsFunc(words(s), func(w string) bool { return strings.Contains(strings.ToLower(w), text) })
}

// words are what a search looks at.
func words(s *Skill) []string {
	return slices.Concat([]string{s.Name, s.Description}, s.Aliases, s.Tools)
}

// List lists installed versions, by name and version.
func (s *Service) List(ctx context.Context, by approval.Principal, l Listing) ([]Skill, error) {
	var now uint64
	if s.parts.Now != nil {
		now = s.parts.Now() // before the store is brought up to date: what is decided then is listed the next time
	}
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	all, err := s.installed(ctx, now)
	if err != nil {
		return nil, err
	}
	found := make([]Skill, 0, len(all))
	for i := range all {
		if l.fits(&all[i]) {
			found = append(found, all[i])
		}
	}
	return found, nil
}

// installed is what was installed when now was asked for, which is only read; 0 is for a
// host that does not know.
func (s *Service) installed(ctx context.Context, now uint64) ([]Skill, error) {
	if all, ok := s.listed.Get(now, struct{}{}); ok && now > 0 {
		return all, nil
	}
	all, err := s.parts.Registry.List(ctx)
	if err == nil && now > 0 {
		s.listed.Add(now, struct{}{}, all)
	}
	return all, err
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
