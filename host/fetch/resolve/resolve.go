package resolve

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/manifests/semver"
)

// A Source knows what is published. It is asked only about names that something
// under consideration needs, and at most once about each; it may be slow. An
// error ends the resolution. Its answers must not change while it lasts.
type Source interface {
	// Versions returns the published versions of the skill called name, in any
	// order; none when there is no such skill. Of versions that differ in build
	// metadata only, the last by [semver.Version.CompareBuild] counts.
	Versions(ctx context.Context, name string) ([]semver.Version, error)
	// Package returns what a published version needs.
	Package(ctx context.Context, name string, v semver.Version) (Package, error)
	// Offers returns who provides the interface called name. It is asked only
	// about names that no skill has.
	Offers(ctx context.Context, name string) ([]Offer, error)
}

// A Package is what one version of a skill needs.
type Package struct {
	// Dependencies are in any order, each name at most once.
	Dependencies []Dependency
}

// A Dependency is a need for a skill, or for an interface.
type Dependency struct {
	Name  string
	Range semver.Range
	// Optional says that it may be left out.
	Optional bool
	// Isolated says that it is to have a closure of its own.
	Isolated bool
}

// An Offer says that a version of a skill provides a version of an interface.
type Offer struct {
	Skill     string
	Version   semver.Version // of the skill
	Interface semver.Version
}

// A Request is what a person wants.
type Request struct {
	// Roots are what was asked for, in any order. A name may come more than once;
	// then all its constraints hold, unless they are isolated.
	Roots []Dependency
	// Prefer is an earlier answer to keep to where that is possible, such as what
	// is locked; nil for none.
	Prefer *Graph
	// Renew are names for which Prefer does not count; All of them with RenewAll.
	Renew    []string
	RenewAll bool
	// OmitOptional leaves out every dependency that is optional.
	OmitOptional bool
	// MaxSteps bounds the work, see [ErrTooHard]; 0 means [DefaultMaxSteps].
	MaxSteps int
}

// DefaultMaxSteps is how many choices and conclusions a resolution may make when
// the request does not say. Hundreds of skills need a few thousand; a puzzle made
// to be hard ends after some ten seconds.
const DefaultMaxSteps = 30_000

// MaxPublished is how many versions, or offers, of one name are taken from a
// source. More are an error that wraps [ErrTooHard].
const MaxPublished = 20_000

// Errors a caller may test for.
var (
	// ErrConflict is what a [*Conflict] wraps.
	ErrConflict = errors.New("no versions fit together")
	// ErrTooHard means that a bound was reached without an answer.
	ErrTooHard = errors.New("gave up")
)

// Resolve chooses a version of everything that req needs. The error is a
// [*Conflict] when no choice fits, wraps [ErrTooHard] when it takes more steps
// than allowed, and otherwise is the source's or the context's.
func Resolve(ctx context.Context, source Source, req Request) (*Graph, error) {
	s := newSolver(source, req)
	if err := s.solve(ctx); err != nil {
		return nil, fmt.Errorf("resolve dependencies: %w", err)
	}
	if err := s.solveOptional(ctx); err != nil {
		return nil, fmt.Errorf("resolve optional dependencies: %w", err)
	}
	return s.graph(), nil
}
