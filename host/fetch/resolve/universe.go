package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/manifests/semver"
)

// A slot is a name in a closure: something of which one version, or none, is
// chosen.
type slot struct {
	closure, name string
	candidates    []candidate // the newest first
	isInterface   bool
	all           choice
	texts         map[string]string // constraints on the name as they were written, by what they allow
}

// A candidate is what may be chosen for a slot.
type candidate struct {
	version  semver.Version // of the skill, or of the interface
	provider string         // of an interface: the name of the skill
	expanded bool           // whether its needs are known to the solver
	needs    []need         // once expanded, sorted by name
}

// A need is a dependency with the slot that has to meet it, and how.
type need struct {
	Dependency
	slot  int
	allow choice // the candidates that do, never absent
}

// A universe is what is known of the world: it grows as it is looked at.
type universe struct {
	source   Source
	slots    []*slot
	index    map[[2]string]int
	versions map[string][]semver.Version
	offers   map[string][]Offer
	packages map[Offer]Package // by skill and version
}

func newUniverse(source Source) *universe {
	return &universe{
		source: source, index: map[[2]string]int{}, versions: map[string][]semver.Version{},
		offers: map[string][]Offer{}, packages: map[Offer]Package{},
	}
}

// slot returns the index of a name in a closure.
func (u *universe) slot(ctx context.Context, closure, name string) (int, error) {
	key := [2]string{closure, name}
	if i, ok := u.index[key]; ok {
		return i, nil
	}
	s := &slot{closure: closure, name: name, texts: map[string]string{}}
	versions, err := u.versionsOf(ctx, name)
	if err != nil {
		return 0, err
	}
	for _, v := range versions {
		s.candidates = append(s.candidates, candidate{version: v})
	}
	if len(versions) == 0 {
		offers, err := u.offersOf(ctx, name)
		if err != nil {
			return 0, err
		}
		s.isInterface, s.candidates = len(offers) > 0, providers(offers)
	}
	s.all = anyOf(len(s.candidates))
	u.index[key] = len(u.slots)
	u.slots = append(u.slots, s)
	return u.index[key], nil
}

// versionsOf returns the published versions of a skill, the newest first, of
// each precedence only the last.
func (u *universe) versionsOf(ctx context.Context, name string) ([]semver.Version, error) {
	if versions, ok := u.versions[name]; ok {
		return versions, nil
	}
	versions, err := u.source.Versions(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", name, err)
	}
	if len(versions) > MaxPublished {
		return nil, fmt.Errorf("versions of %s: %w: there are %d, and at most %d are accepted", name, ErrTooHard, len(versions), MaxPublished)
	}
	versions = slices.Clone(versions)
	slices.SortFunc(versions, func(a, b semver.Version) int { return b.CompareBuild(a) })
	versions = slices.CompactFunc(versions, func(a, b semver.Version) bool { return a.Compare(b) == 0 })
	u.versions[name] = versions
	return versions, nil
}

func (u *universe) offersOf(ctx context.Context, name string) ([]Offer, error) {
	if offers, ok := u.offers[name]; ok {
		return offers, nil
	}
	offers, err := u.source.Offers(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("providers of %s: %w", name, err)
	}
	if len(offers) > MaxPublished {
		return nil, fmt.Errorf("providers of %s: %w: there are %d, and at most %d are accepted", name, ErrTooHard, len(offers), MaxPublished)
	}
	u.offers[name] = offers
	return offers, nil
}

// providers returns the candidates for an interface: each version with each
// skill that offers it, the newest version first, then by name.
func providers(offers []Offer) []candidate {
	var all []candidate
	for _, o := range offers {
		all = append(all, candidate{version: o.Interface, provider: o.Skill})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(b.version.CompareBuild(a.version), cmp.Compare(a.provider, b.provider))
	})
	return slices.CompactFunc(all, func(a, b candidate) bool {
		return a.version == b.version && a.provider == b.provider
	})
}

func (u *universe) packageOf(ctx context.Context, name string, v semver.Version) (Package, error) {
	key := Offer{Skill: name, Version: v}
	if p, ok := u.packages[key]; ok {
		return p, nil
	}
	p, err := u.source.Package(ctx, name, v)
	if err != nil {
		return Package{}, fmt.Errorf("dependencies of %s %v: %w", name, v, err)
	}
	u.packages[key] = p
	return p, nil
}

// needsOf returns what a candidate needs: a skill its dependencies, the provision
// of an interface the skill.
func (u *universe) needsOf(ctx context.Context, s *slot, c candidate) ([]need, error) {
	if s.isInterface {
		n, err := u.providerNeed(ctx, s, c)
		return []need{n}, err
	}
	p, err := u.packageOf(ctx, s.name, c.version)
	if err != nil {
		return nil, err
	}
	return u.needs(ctx, s.closure, p.Dependencies)
}

// providerNeed is the need for the versions of the skill that offer what c is.
func (u *universe) providerNeed(ctx context.Context, s *slot, c candidate) (need, error) {
	i, err := u.slot(ctx, s.closure, c.provider)
	if err != nil {
		return need{}, err
	}
	provider := u.slots[i]
	n := need{Dependency: Dependency{Name: c.provider}, slot: i, allow: none(len(provider.candidates))}
	for _, o := range u.offers[s.name] {
		if o.Skill != c.provider || o.Interface != c.version {
			continue
		}
		for j, pc := range provider.candidates {
			if !provider.isInterface && pc.version == o.Version {
				n.allow.add(j)
			}
		}
	}
	return n, nil
}

// needs finds the slots of the dependencies of something in a closure.
func (u *universe) needs(ctx context.Context, closure string, all []Dependency) ([]need, error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Dependency) int { return cmp.Compare(a.Name, b.Name) })
	var out []need
	for _, d := range all {
		i, err := u.slot(ctx, d.closure(closure), d.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, need{d, i, u.slots[i].matching(d.Range)})
	}
	return out, nil
}

// matching returns the candidates a constraint allows.
func (s *slot) matching(r semver.Range) choice {
	c := none(len(s.candidates))
	for i, candidate := range s.candidates {
		if r.Allows(candidate.version) {
			c.add(i)
		}
	}
	if _, ok := s.texts[c.key()]; !ok {
		s.texts[c.key()] = r.Text()
	}
	return c
}
