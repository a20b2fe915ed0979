package admit

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
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
	// Names leave out skills whose name, and whose aliases, fit none of them: a pattern with *, ?
	// or [...] fits a whole name, any other text what has it in the name. Empty for all.
	Names []string
	// State leaves out versions that are not in that state, and has it look at all of them;
	// empty for all.
	State State
	// Text leaves out skills that have it neither in the name nor in the description, nor in
	// those of a tool, whatever the case.
	Text string
}

// A State is how a version stands. It can be in several.
type State string

// The states of versions.
const (
	StateActive      State = "active"
	StateInactive    State = "inactive"
	StateDisabled    State = "disabled"
	StateQuarantined State = "quarantined"
	StatePinned      State = "pinned"
	StateNeeded      State = "needed" // nobody asked for it
	StateTrial       State = "trial"  // a later version of it is on trial
)

// States are all states.
func States() []State {
	return []State{StateActive, StateInactive, StateDisabled, StateQuarantined, StatePinned, StateNeeded, StateTrial}
}

// in reports whether a version is in a state.
func (t State) in(s *Skill) bool {
	switch t {
	case StateActive:
		return s.Active
	case StateInactive:
		return !s.Active
	case StateDisabled:
		return s.Disabled != nil && !s.Disabled.Quarantined
	case StateQuarantined:
		return s.Disabled != nil && s.Disabled.Quarantined
	case StatePinned:
		return s.Active && s.Pinned != nil
	case StateNeeded:
		return s.Needed
	case StateTrial:
		return s.Active && s.Canary != nil
	}
	return true
}

// check refuses what no version can fit.
func (l Listing) check() error {
	if l.State != "" && !slices.Contains(States(), l.State) {
		var all []string
		for _, s := range States() {
			all = append(all, string(s))
		}
		return fault.Errorf(fault.KindUsage, "state %q: unknown", l.State).WithHint("it is one of %s", fault.Choose(all...))
	}
	for _, n := range l.Names {
		if _, err := path.Match(n, ""); err != nil || n == "" {
			return fault.Errorf(fault.KindUsage, "pattern %q: it cannot be read", n).WithHint("such as text-* or text")
		}
	}
	return nil
}

// Every reports whether a listing looks at every version.
func (l Listing) Every() bool { return l.All || l.State != "" }

// Of are those of the versions that are listed. It fails with a [fault.KindUsage] error for a
// state or a pattern that there is not.
func (l Listing) Of(all []Skill) ([]Skill, error) {
	if err := l.check(); err != nil {
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

// named reports whether one of the patterns fits.
func (l Listing) named(s *Skill) bool {
	return len(l.Names) == 0 || slices.ContainsFunc(l.Names, func(pattern string) bool {
		return slices.ContainsFunc(append([]string{s.Name}, s.Aliases...), func(name string) bool {
			if !strings.ContainsAny(pattern, "*?[") {
				return strings.Contains(name, pattern)
			}
			ok, _ := path.Match(pattern, name)
			return ok
		})
	})
}

// fits reports whether a skill is listed.
func (l Listing) fits(s *Skill) bool {
	if !l.Every() && !s.Active || !l.State.in(s) || !l.named(s) {
		return false
	}
	text := strings.ToLower(l.Text)
	return text == "" || slices.ContainsFunc(words(s), func(w string) bool { return strings.Contains(strings.ToLower(w), text) })
}

// words are what a search looks at.
func words(s *Skill) []string {
	return slices.Concat([]string{s.Name, s.Description}, s.Aliases, s.Tools)
}

// List lists installed versions, by name and version. Errors are those of [Listing.Of], too.
func (s *Service) List(ctx context.Context, by approval.Principal, l Listing) ([]Skill, error) {
	var now uint64
	if s.parts.Decided != nil {
		now = s.parts.Decided() // before the store is brought up to date: what is decided then is listed the next time
	}
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	all, err := s.installed(ctx, now)
	if err != nil {
		return nil, err
	}
	return l.Of(all)
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
