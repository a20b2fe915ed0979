package author

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/author/watch"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Turn is what came of one change.
type Turn struct {
	// Event is "result".
	Event string `json:"event"`
	OK    bool   `json:"ok"`
	// Changed are the files that changed, below the directory; empty in the first turn.
	Changed []string `json:"changed"`
	// Skill is name@version of what serves now, with its digest; empty when
	// nothing could be installed yet.
	Skill  string           `json:"skill,omitempty"`
	Digest manifests.Digest `json:"digest,omitempty"`
	// Replaced is true when a new version serves since then, and Before when a version of
	// an earlier turn stays.
	Replaced bool      `json:"replaced"`
	Before   bool      `json:"-"`
	Problems []Problem `json:"problems,omitempty"`
	// Compiler is what the compiler said of source that does not compile, or the tests
	// of the language.
	Compiler string       `json:"compiler,omitempty"`
	Cases    *CasesRun    `json:"cases,omitempty"`
	Error    *fault.Error `json:"error,omitempty"`
	// BuildMS, InstallMS and TestMS are the times of the steps in milliseconds, and
	// TotalMS that from saving to the result.
	BuildMS   float64 `json:"build_ms"`
	InstallMS float64 `json:"install_ms"`
	TestMS    float64 `json:"test_ms"`
	TotalMS   float64 `json:"total_ms"`
}

// A CasesRun is what came of the test cases.
type CasesRun struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Left is how many were not run, because the change did not concern them.
	Left int `json:"left"`
	// Failures are the results of those that failed.
	Failures []CaseResult `json:"failures"`
}

// turn builds, installs and tests what is there now, and reports that.
func (d *developer) turn(ctx context.Context, change watch.Change) (Turn, error) {
	t := Turn{Event: "result", Changed: append([]string{}, change.Paths...)}
	err := d.steps(ctx, change, &t)
	if t.Error = fault.AsError(err); err != nil {
		t.Compiler = CompilerOutput(err)
	}
	t.OK, t.Before = err == nil, t.Skill == "" && d.installed
	t.TotalMS = duration.Milliseconds(time.Since(change.At))
	if d.request.Turn != nil {
		d.request.Turn(t)
	}
	return t, err
}

// steps are those of a turn. What fails ends it; the version that serves is only
// replaced when the build and the check succeed.
func (d *developer) steps(ctx context.Context, change watch.Change, t *Turn) error {
	p, err := d.build(ctx, t)
	if err != nil {
		return err
	}
	if err := d.install(ctx, p, t); err != nil {
		return err
	}
	began := time.Now()
	defer func() { t.TestMS = duration.Milliseconds(time.Since(began)) }()
	return d.tests(ctx, p, change, t)
}

// build builds the project, and compares what came out with the manifest.
func (d *developer) build(ctx context.Context, t *Turn) (*bundle.Package, error) {
	began := time.Now()
	defer func() { t.BuildMS = duration.Milliseconds(time.Since(began)) }()
	_, p, err := d.s.buildPackage(ctx, BuildRequest{Path: d.dir, Timeout: d.request.Timeout, Progress: d.request.Progress})
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fault.Errorf(fault.KindNotFound, "%s has no manifest", d.dir).WithHint("write a skill.json; %s shows one", fault.New())
	}
	t.Problems, err = check(p)
	return p, err
}

// install makes the package the version that serves, unless the manifest wants
// the first one to stay.
func (d *developer) install(ctx context.Context, p *bundle.Package, t *Turn) error {
	began := time.Now()
	defer func() { t.InstallMS = duration.Milliseconds(time.Since(began)) }()
	if err := d.unrevoked(ctx, p); err != nil {
		return err
	}
	if s := p.Manifest().Development; d.installed && s != nil && s.HotReload != nil && !*s.HotReload {
		return nil
	}
	plan, err := d.home.Installer.Plan(ctx, install.Request{
		Package: p, Source: d.dir, Origin: registry.OriginDevelopment, ProposedBy: d.by.Actor(), Person: d.by, Workspace: d.dir,
	})
	if err != nil {
		return err
	}
	out, err := d.home.Installer.Develop(ctx, d.by, plan, d.request.Allow)
	if err != nil {
		return err
	}
	d.installed = true
	t.Skill, t.Digest, t.Replaced = out.Skill.Ref(), out.Skill.Digest, !out.Unchanged
	return nil
}

// unrevoked refuses what was revoked, in the home of development, and in that of the
// person, where they know what may not run.
func (d *developer) unrevoked(ctx context.Context, p *bundle.Package) error {
	if err := d.home.CatchUp(ctx); err != nil {
		return err
	}
	if _, err := d.home.Invoke.Local(ctx, d.by, d.dir, "", p); err != nil || !d.s.parts.There() {
		return err
	}
	own, err := d.s.state(ctx)
	if err == nil {
		_, err = own.Invoke.Local(ctx, d.by, d.dir, "", p)
	}
	return err
}

// tests runs what test_framework names: the tests of the language, and the cases
// that the change concerns.
func (d *developer) tests(ctx context.Context, p *bundle.Package, change watch.Change, t *Turn) error {
	if d.request.NoTests {
		return nil
	}
	f := manifests.TestFramework{IntegrationTests: true, MockServices: true}
	if s := p.Manifest().Development; s != nil && s.TestFramework != nil {
		f = *s.TestFramework
	}
	var failed error
	if f.UnitTests {
		project, err := toolchain.Recognise(d.dir)
		if err == nil {
			err = project.Test(ctx, d.s.compilers(d.request.Timeout))
		}
		failed = err
	}
	if !f.IntegrationTests {
		return failed
	}
	return errors.Join(failed, d.cases(ctx, p, concerned(change.Paths), f.MockServices, t))
}

// concerned are the files of cases that a change concerns, below tests; nil for
// all of them, when something else changed too.
func concerned(paths []string) []string {
	if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return !strings.HasPrefix(p, "tests/") }) {
		return nil
	}
	return paths
}
