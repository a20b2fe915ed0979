// Package closure knows which skills need which: what the installed ones were
// resolved to, and what installing, updating or removing one would mean for the
// others.
//
// The home is one closure in the sense of package resolve: what a person asked
// for, with all that it needs. A skill that was asked for with a closure of its
// own has that beside it. What each version was resolved to is recorded with it,
// so that a call leads to the version of the caller's closure, whatever is active.
//
// A [Catalog] is what versions can be chosen from: what is installed, what is at
// hand, and what the places publish that skills came from and that registries are
// configured for. What a place says of a version is believed until the version was
// fetched, and then compared: see [ErrLie].
//
// The package installs and removes nothing, and asks nobody: [Plan] says what
// there is to do.
package closure

import (
	"errors"
	"slices"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

// ErrLie means that a place says something else of a version than the version
// itself. Errors that wrap it are [fault.Error]s of [fault.KindVerification].
var ErrLie = errors.New("its source describes it wrongly")

// anyVersion is the constraint of who asks for a skill and no version.
const anyVersion = "*"

// rangeOf is the constraint under which a person asked for a skill.
func rangeOf(a *registry.Asked) (semver.Range, error) {
	text := anyVersion
	if a != nil && a.Constraint != "" {
		text = a.Constraint
	}
	r, err := semver.ParseRange(text)
	if err == nil && a != nil && a.Prereleases {
		r = r.WithPrereleases()
	}
	return r, err
}

// exactly is the constraint that allows one version.
func exactly(v semver.Version) semver.Range { return semver.MustParseRange("=" + v.String()) }

// needsOf are the dependencies that a manifest, or a place, states.
func needsOf(name, version string, needs map[string]manifests.Dependency) ([]resolve.Dependency, error) {
	p, err := resolve.PackageOf(&manifests.Manifest{Name: name, Version: version, Dependencies: needs})
	return p.Dependencies, err
}

// linked is what a version was resolved to for a dependency in a closure. One that
// came into a closure of its own later has what it was resolved to before.
func linked(s registry.Skill, in, name string) (registry.Dependency, bool) {
	for _, closure := range []string{in, ""} {
		i := slices.IndexFunc(s.Dependencies, func(d registry.Dependency) bool { return d.In == closure && d.Name == name })
		if i >= 0 {
			return s.Dependencies[i], true
		}
	}
	i := slices.IndexFunc(s.Dependencies, func(d registry.Dependency) bool { return d.Name == name })
	if i < 0 {
		return registry.Dependency{}, false
	}
	return s.Dependencies[i], true
}

// Target returns what a skill reaches under a name in the closure it runs in: the
// skill, and the closure that one runs in. It is false when it needs nothing of
// that name.
func Target(caller registry.Skill, in, name string) (to registry.Dependency, closure string, ok bool) {
	d, ok := linked(caller, in, name)
	if !ok {
		return d, "", false
	}
	if d.Closure != "" {
		return d, d.Closure, true
	}
	return d, in, true
}
