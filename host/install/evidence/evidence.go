// Package evidence gathers what a person should know before deciding about a
// package: what is different from the active version, what a scan found, what the
// package's own test cases come to, and which installed skills are much like it.
//
// It decides nothing and makes nothing safe to print: what it returns holds the
// package's own text. All of it is bounded, whatever the package is.
package evidence

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Evidence is what is known of a package.
type Evidence struct {
	// With is the active version that it is compared with; empty for none.
	With string `json:"compared_with,omitempty"`
	review.Difference
	// Upgrade is what becomes different from With, in words; nil when there is
	// nothing to compare with.
	Upgrade *review.Upgrade `json:"upgrade,omitempty"`
	// Interprets are the interfaces for which it can be the interpreter of scripts.
	Interprets []string `json:"interprets,omitempty"`
	// Findings are those of the static scan.
	Findings findings.Report `json:"findings"`
	// Tests are what the test cases of the package came to, in brief; nil when they
	// were not run.
	Tests *casetest.Report `json:"tests,omitempty"`
	// Replays are what the package did on recorded calls; nil when there are none,
	// or they were not replayed.
	Replays *replay.Shadow `json:"replays,omitempty"`
	// Similar are installed skills that are much like it, the most alike first.
	Similar []Similar `json:"similar"`
}

// Compared is the package beside the active version of its skill.
func (e Evidence) Compared() review.Comparison {
	return review.Comparison{With: e.With, Difference: e.Difference}
}

// Options say what is gathered.
type Options struct {
	// Limits bound the difference.
	Limits review.Limits
	// Signer is the verified signer of the package, empty for none. Workspace is the
	// absolute directory that relative paths of its manifest mean; without one there
	// is no Upgrade.
	Signer    string
	Workspace string
	// Tests has the package's tests run.
	Tests bool
	// Replay replays recorded calls against the package, with nothing done for real;
	// nil leaves that out. It returns nil when there are none.
	Replay func(context.Context, *bundle.Package) (*replay.Shadow, error)
}

// A Collector gathers evidence.
type Collector struct {
	registry *registry.Registry
	tester   *casetest.Tester
}

// New makes a Collector. The tester must run cases in worker processes: they are code
// that nobody has looked at.
func New(r *registry.Registry, t *casetest.Tester) *Collector { return &Collector{r, t} }

// Collect gathers the evidence about a package. Of a skill that is not installed
// the texts are left out of the difference, as nothing can be different in them.
func (c *Collector) Collect(ctx context.Context, p *bundle.Package, o Options) (Evidence, error) {
	var e Evidence
	active, before, err := c.active(ctx, p.Manifest().Name)
	if err != nil {
		return e, err
	}
	if before == nil && o.Limits != (review.Limits{}) {
		o.Limits.Lines = -1
	}
	e.With, e.Difference = active.Version, review.Compare(before, p, o.Limits)
	if before != nil && o.Workspace != "" && active.Digest != p.Digest() {
		was := review.Side{Package: before, Signer: active.Signer, Workspace: o.Workspace}
		if e.Upgrade, err = review.CompareSides(was, review.Side{Package: p, Signer: o.Signer, Workspace: o.Workspace}); err != nil {
			return e, err
		}
	}
	if e.Interprets, err = review.Interprets(p); err != nil {
		e.Interprets = nil // the difference says what is wrong with the module
	}
	if e.Findings, err = findings.Scan(ctx, p); err != nil {
		return e, err
	}
	if e.Similar, err = c.similar(ctx, p.Manifest()); err != nil {
		return e, err
	}
	if o.Replay != nil {
		if e.Replays, err = o.Replay(ctx, p); err != nil {
			return e, err
		}
	}
	if !o.Tests {
		return e, nil
	}
	t, err := c.tester.Run(ctx, p, casetest.Strangers())
	t = t.Brief()
	e.Tests = &t
	return e, err
}

// active is the active version of a skill; nil when it is not installed, or only
// an alias of another.
func (c *Collector) active(ctx context.Context, skill string) (registry.Skill, *bundle.Package, error) {
	s, err := c.registry.Lookup(ctx, manifests.Ref{Name: skill})
	if errors.Is(err, registry.ErrNotFound) || err == nil && s.Name != skill {
		return registry.Skill{}, nil, nil
	}
	if err != nil {
		return s, nil, err
	}
	p, err := c.registry.Package(ctx, s.Digest)
	return s, p, err
}
