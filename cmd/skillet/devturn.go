package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/host/watch"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A reload is what came of one change: a line of --json.
type reload struct {
	Event   string   `json:"event"`
	OK      bool     `json:"ok"`
	Changed []string `json:"changed"`
	// Skill is name@version of what serves now, with its digest; empty when
	// nothing could be installed yet.
	Skill  string           `json:"skill,omitempty"`
	Digest manifests.Digest `json:"digest,omitempty"`
	// Replaced is true when a new version serves since then.
	Replaced bool                `json:"replaced"`
	Problems []toolchain.Problem `json:"problems,omitempty"`
	Compiler string              `json:"compiler,omitempty"`
	Cases    *casesRun           `json:"cases,omitempty"`
	Error    *fault.Error        `json:"error,omitempty"`
	// BuildMS, InstallMS and TestMS are the times of the steps in milliseconds, and
	// TotalMS that from saving to the result.
	BuildMS   float64 `json:"build_ms"`
	InstallMS float64 `json:"install_ms"`
	TestMS    float64 `json:"test_ms"`
	TotalMS   float64 `json:"total_ms"`
}

// reload builds, installs and tests what is there now.
func (d *developer) reload(ctx context.Context, change watch.Change) reload {
	r := reload{Event: "result", Changed: append([]string{}, change.Paths...)}
	err := d.steps(ctx, change, &r)
	if r.Error = explain(err); err != nil {
		r.Compiler = compilerOutput(err)
	}
	r.OK = err == nil
	r.TotalMS = milliseconds(time.Since(change.At))
	return r
}

// steps are those of a reload. What fails ends it; the version that serves is only
// replaced when the build and the check succeed.
func (d *developer) steps(ctx context.Context, change watch.Change, r *reload) error {
	p, err := d.build(ctx, r)
	if err != nil {
		return err
	}
	if err := d.install(ctx, p, r); err != nil {
		return err
	}
	began := time.Now()
	defer func() { r.TestMS = milliseconds(time.Since(began)) }()
	return d.tests(ctx, p, change, r)
}

// build builds the project, and compares what came out with the manifest.
func (d *developer) build(ctx context.Context, r *reload) (*bundle.Package, error) {
	began := time.Now()
	defer func() { r.BuildMS = milliseconds(time.Since(began)) }()
	_, p, err := d.t.buildPackage(ctx, d.b, d.dir)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fault.Errorf(fault.KindNotFound, "%s has no manifest", d.dir).WithHint("write a skill.json; `skillet new` shows one")
	}
	r.Problems, err = d.t.checkBuilt(p)
	return p, err
}

// install makes the package the version that serves, unless the manifest wants
// the first one to stay.
func (d *developer) install(ctx context.Context, p *bundle.Package, r *reload) error {
	began := time.Now()
	defer func() { r.InstallMS = milliseconds(time.Since(began)) }()
	if s := p.Manifest().Development; d.installed && s != nil && s.HotReload != nil && !*s.HotReload {
		return nil
	}
	if err := d.h.CatchUp(ctx); err != nil {
		return err
	}
	me := d.t.person()
	plan, err := d.h.Installer.Plan(ctx, install.Request{
		Package: p, Source: d.dir, Origin: registry.OriginDevelopment, ProposedBy: me.Actor(), Person: me, Workspace: d.dir,
	})
	if err != nil {
		return err
	}
	out, err := d.h.Installer.Develop(ctx, me, plan, d.allow)
	if err != nil {
		return err
	}
	d.installed = true
	r.Skill, r.Digest, r.Replaced = out.Skill.Ref(), out.Skill.Digest, !out.Unchanged
	return nil
}

// report shows what came of a reload.
func (d *developer) report(r reload) {
	t := d.t
	if t.json {
		t.event(r)
		return
	}
	if r.Error != nil {
		t.tell(r.Error)
	}
	stays := ""
	switch {
	case r.Skill == "" && d.installed:
		stays = "; the version before it stays"
	case r.Replaced:
		stays = "; it serves now"
	}
	t.say("%s %s%s%s", when(time.Now()), r.words(), stays, changedBy(r.Changed))
}

// words says in a line what came of a reload.
func (r reload) words() string {
	name, verdict := r.Skill, "ok"
	if name == "" {
		name = "build"
	}
	if r.Error != nil {
		verdict = "failed"
	}
	tests := ""
	if r.Cases != nil {
		tests = ", " + r.Cases.words()
	}
	return plain(name) + " " + verdict + " in " + millis(r.TotalMS) + tests
}

func changedBy(paths []string) string {
	const shown = 3
	if len(paths) == 0 {
		return ""
	}
	text := strings.Join(paths[:min(len(paths), shown)], ", ")
	if len(paths) > shown {
		text += " and others"
	}
	return " (" + plain(text) + ")"
}

// event prints a line of JSON.
func (t *terminal) event(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t.filled(v)); err == nil {
		_, _ = io.WriteString(t.out, escaped(b.String())) // a stream that is closed is told at the end
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// tests runs what test_framework names: the tests of the language, and the cases
// that the change concerns.
func (d *developer) tests(ctx context.Context, p *bundle.Package, change watch.Change, r *reload) error {
	if d.c.Bool("no-tests") {
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
			err = project.Test(ctx, d.b.Settings)
		}
		if text := compilerOutput(err); text != "" && !d.t.json {
			d.t.note("%s", plainLines(text))
		}
		failed = err
	}
	if !f.IntegrationTests {
		return failed
	}
	return errors.Join(failed, d.cases(ctx, p, concerned(change.Paths), f.MockServices, r))
}

// concerned are the files of cases that a change concerns, below tests; nil for
// all of them, when something else changed too.
func concerned(paths []string) []string {
	if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return !strings.HasPrefix(p, "tests/") }) {
		return nil
	}
	return paths
}
