package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
)

// A Dependency is what a version needs, and what that was resolved to.
type Dependency struct {
	// Name is the one by which it is needed: that of a skill, or of an interface.
	Name string `json:"name"`
	// Version and Digest are those of the skill that was chosen; both empty for
	// what is optional and was left out.
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest,omitempty"`
	// Skill is the one that was chosen where Name is an interface; empty where
	// Name is the skill's.
	Skill string `json:"skill,omitempty"`
	// In is the closure for which this holds, and Closure the one of its own that
	// an isolated dependency has. Both are empty for what is shared.
	In      string `json:"in,omitempty"`
	Closure string `json:"closure,omitempty"`
}

// Chosen is the name of the skill that was chosen.
func (d Dependency) Chosen() string {
	if d.Skill != "" {
		return d.Skill
	}
	return d.Name
}

// Asked says for which versions of a skill a person asked.
type Asked struct {
	// Constraint is as it was written; empty for any version.
	Constraint string `json:"constraint,omitempty"`
	// Prereleases says that the constraint takes prereleases as it takes releases.
	Prereleases bool `json:"prereleases,omitempty"`
	// Closure is the name of the closure of its own that the skill has; empty when
	// it shares that of all others.
	Closure string `json:"closure,omitempty"`
}

// want notes who wants a skill that is installed: one that nobody asked for until
// now is asked for from the first time on.
func (s *standing) want(rec record) {
	switch {
	case !rec.Needed:
		s.Needed = false
		if rec.Asked != nil {
			s.Asked = rec.Asked
		}
	case s.Digest == "":
		s.Needed = true
	}
}

// A Link says what an installed version is resolved to.
type Link struct {
	Name         string           `json:"name"`
	Digest       manifests.Digest `json:"digest"`
	Dependencies []Dependency     `json:"dependencies"`
}

// Linked is the change that resolves what an installed version needs to other
// versions than before.
func Linked(l Link) (ledger.Change, error) { return ledger.NewChange(kindLinked, l) }

func applyLinked(ctx context.Context, kv store.KV, _ ledger.Stamp, l Link) error {
	e, err := kv.Get(ctx, skillKey(l.Name, l.Digest))
	if err != nil {
		return fmt.Errorf("link %s: the version %s: %w", l.Name, l.Digest.Short(), err)
	}
	rec, err := decodeRecord(e)
	if err != nil {
		return err
	}
	rec.Dependencies = l.Dependencies
	return put(ctx, kv, e.Key, rec)
}

// wanted is the data of a skill.asked change.
type wanted struct {
	Name  string `json:"name"`
	Asked *Asked `json:"asked,omitempty"`
}

// AskedFor is the change that says that a person asks for a skill that is
// installed; with nil, that nobody does and it is there for others.
func AskedFor(skill string, a *Asked) (ledger.Change, error) {
	return ledger.NewChange(kindAsked, wanted{skill, a})
}

func applyAsked(ctx context.Context, kv store.KV, _ ledger.Stamp, w wanted) error {
	if _, err := kv.Get(ctx, standingKey(w.Name)); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("ask for %s: it is %w", w.Name, ErrNotFound)
	}
	return change(ctx, kv, w.Name, func(s *standing) { s.Asked, s.Needed = w.Asked, w.Asked == nil })
}

// Dependents returns the versions among all that were resolved to one of those
// digests, and are not of them.
func Dependents(all []Skill, on ...manifests.Digest) []Skill {
	return slices.DeleteFunc(slices.Clone(all), func(s Skill) bool {
		return slices.Contains(on, s.Digest) || !slices.ContainsFunc(s.Dependencies, func(d Dependency) bool {
			return d.Digest != "" && slices.Contains(on, d.Digest)
		})
	})
}

// Unneeded returns the versions among all that nobody asked for and that no
// version of a skill that somebody asked for was resolved to, directly or not.
func Unneeded(all []Skill) []Skill {
	reached := Reachable(all, slices.DeleteFunc(slices.Clone(all), func(s Skill) bool { return s.Needed }))
	return slices.DeleteFunc(slices.Clone(all), func(s Skill) bool {
		return slices.ContainsFunc(reached, func(o Skill) bool { return o.Digest == s.Digest })
	})
}

// Reachable returns versions, and those among all that they were resolved to,
// directly or not.
func Reachable(all, from []Skill) []Skill {
	byDigest := map[manifests.Digest]Skill{}
	for _, s := range all {
		byDigest[s.Digest] = s
	}
	reached := map[manifests.Digest]bool{}
	var found []Skill
	queue := slices.Clone(from)
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if reached[s.Digest] {
			continue
		}
		reached[s.Digest] = true
		found = append(found, s)
		for _, d := range s.Dependencies {
			if to, ok := byDigest[d.Digest]; ok {
				queue = append(queue, to)
			}
		}
	}
	return found
}
