package admit

import (
	"context"
	"slices"
	"sync"

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

// listed is what is installed, as of a number that is another one after a decision.
type listed struct {
	mu  sync.Mutex
	at  uint64
	all []Skill
}

// of returns what is installed, which is only read.
func (l *listed) of(ctx context.Context, p *Parts, now uint64) ([]Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all != nil && l.at == now && p.Now != nil {
		return l.all, nil
	}
	all, err := p.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	l.at, l.all = now, all
	return all, nil
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
	all, err := s.listed.of(ctx, &s.parts, now)
	if err != nil {
		return nil, err
	}
	found := make([]Skill, 0, len(all))
	for i := range all {
		if l.All || all[i].Active {
			found = append(found, all[i])
		}
	}
	return found, nil
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
