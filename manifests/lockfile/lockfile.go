// Package lockfile reads and writes skillet.lock, which says exactly what a
// resolution chose: for each package its version, the digests of its content and
// of the artifact it came in, where it came from, who signed it, and what its
// dependencies were resolved to.
//
// The form is JSON with one field a line and everything in order, so that equal
// locks are equal bytes and a change is a small difference. It is read strictly:
// an unknown field, a dependency on something that is not in the file, or a
// package that nothing needs is an error that names the line.
//
// The package knows documents only. It resolves nothing, fetches nothing and
// trusts nobody: what a lock says is a claim that whoever installs checks.
package lockfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/manifests"
)

// FileName is the name of a lock file.
const FileName = "skillet.lock"

// Format is the version of the form that this package reads and writes.
const Format = 1

// MaxBytes is how large a lock file may be.
const MaxBytes = 16 << 20

// A Lock is a lock file. It comes from [Parse], or is filled in and checked by
// [Lock.Encode].
type Lock struct {
	Format int `json:"lockfile_version"`
	// Roots are what a person asked for, by name and constraint.
	Roots []Requirement `json:"roots"`
	// Packages are what was chosen, by closure and name.
	Packages []Package `json:"packages"`
}

// A Requirement is a need, and what satisfies it.
type Requirement struct {
	// Name is that of a skill, or of an interface.
	Name string `json:"name"`
	// Constraint is as it was written, see package semver.
	Constraint string `json:"constraint"`
	// Prereleases says that the constraint takes prereleases as it takes releases.
	Prereleases bool `json:"prereleases,omitempty"`
	// Optional says that it may be left out.
	Optional bool `json:"optional,omitempty"`
	// Closure names the closure of its own that an isolated requirement has, as
	// name@constraint; empty when it shares the one it is in.
	Closure string `json:"closure,omitempty"`
	// Version is what was chosen, of the skill or of the interface; empty for what
	// is optional and was left out.
	Version string `json:"version,omitempty"`
	// Provider is the skill that provides the interface; empty when Name is a
	// skill's.
	Provider string `json:"provider,omitempty"`
}

// A Package is a version of a skill that was chosen.
type Package struct {
	// Closure is empty for what is shared, and otherwise the closure of an
	// isolated requirement.
	Closure string `json:"closure,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Artifact
	// Dependencies are by name.
	Dependencies []Requirement `json:"dependencies,omitempty"`
}

// An Artifact says which bytes a package is, and where they are from.
type Artifact struct {
	// Digest is the content digest of the package.
	Digest manifests.Digest `json:"digest"`
	// Artifact is the digest of what was fetched: of the OCI manifest, or of the
	// .skill file; empty for a directory.
	Artifact manifests.Digest `json:"artifact,omitempty"`
	// Source is the canonical text of where it was fetched from.
	Source string `json:"source"`
	// Signer is the identity of who signed it; empty when nobody did.
	Signer string `json:"signer,omitempty"`
}

// ID names a package for people: name@version, and its closure when it is not the
// shared one.
func (p Package) ID() string {
	if p.Closure != "" {
		return fmt.Sprintf("%s@%s (of %s)", p.Name, p.Version, p.Closure)
	}
	return p.Name + "@" + p.Version
}

// target is the closure and name of the package that satisfies a requirement of
// something in a closure.
func (r Requirement) target(closure string) [2]string {
	return [2]string{cmp.Or(r.Closure, closure), cmp.Or(r.Provider, r.Name)}
}

// Encode puts l in order and returns it as a file. The error wraps
// [manifests.Errors] when l is not a valid lock.
func (l *Lock) Encode() ([]byte, error) {
	l.Format = Format
	l.sort()
	if errs := l.check(); len(errs) > 0 {
		return nil, fmt.Errorf("encode lock file: %w", errs)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // constraints have < and > in them
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("encode lock file: %w", err)
	}
	return b.Bytes(), nil
}

func (l *Lock) sort() {
	if l.Roots == nil {
		l.Roots = []Requirement{}
	}
	if l.Packages == nil {
		l.Packages = []Package{}
	}
	slices.SortStableFunc(l.Roots, compareRequirements)
	slices.SortStableFunc(l.Packages, func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Closure, b.Closure), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range l.Packages {
		slices.SortStableFunc(p.Dependencies, compareRequirements)
	}
}

func compareRequirements(a, b Requirement) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Closure, b.Closure), cmp.Compare(a.Constraint, b.Constraint))
}
