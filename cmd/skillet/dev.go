package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/host/watch"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// devDir is the directory in a project that belongs to dev.
const devDir = ".skillet-dev"

func (t *terminal) devCommand() *cli.Command {
	return &cli.Command{
		Name:      "dev",
		Usage:     "build, install and test a skill each time it is saved",
		ArgsUsage: "[DIR]",
		Description: "Works in a home of its own, in " + devDir + " of the project, whose path it prints: another terminal\n" +
			"runs what was built last with `skillet --home THAT run NAME`. A version that does not build, or does not\n" +
			"fit its manifest, is shown with what is wrong, and the one before it stays. What the manifest asks for is\n" +
			"not granted in that home, only what --allow gives; test cases have the grants that they name. Compilers, and tests of the language\n" +
			"itself, run with your rights: work only on projects that you trust.\n\n" +
			"The section \"development\" of the manifest is honoured: debug_mode shows the host's own log,\n" +
			"session_isolation begins with an empty home each time, hot_reload: false leaves the version alone that was\n" +
			"installed at the beginning, and test_framework says which tests are run.\n\n" +
			"Examples:\n  skillet dev\n  skillet dev ./word-count --allow \"fs.read:$PWD/**\"\n  skillet dev --once\n  skillet dev --json",
		Flags: append(buildFlags(),
			&cli.BoolFlag{Name: "once", Usage: "do it once, and end with the exit code of that"},
			&cli.StringSliceFlag{Name: "allow", Usage: "grant this `CAPABILITY` to the skill in the home of dev; may be repeated"},
			&cli.BoolFlag{Name: "no-tests", Usage: "run no test cases"},
		),
		Action: t.withoutHome(t.dev),
	}
}

func (t *terminal) dev(ctx context.Context, c *cli.Context) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	d, err := t.newDeveloper(ctx, c, at)
	if err != nil {
		return err
	}
	defer d.close(ctx)
	d.greet()
	if c.Bool("once") {
		return d.once(ctx)
	}
	return d.watch(ctx)
}

// A developer works on one project.
type developer struct {
	t     *terminal
	c     *cli.Context
	h     *host.Host
	b     builder
	dir   string // absolute, without symbolic links
	home  string
	allow []capability.Capability
	// temporary is the directory that goes when dev ends; empty for none.
	temporary string
	// installed is true once a version is.
	installed bool
}

// newDeveloper opens the home of a project.
func (t *terminal) newDeveloper(ctx context.Context, c *cli.Context, at string) (*developer, error) {
	d := &developer{t: t, c: c, b: t.builders(c)}
	var err error
	if d.allow, err = capabilities(c.StringSlice("allow")); err != nil {
		return nil, fmt.Errorf("--allow: %w", err)
	}
	if st, err := os.Stat(at); err != nil || !st.IsDir() {
		return nil, fault.Errorf(fault.KindNotFound, "%s is not a directory", at).WithHint("name the directory of a skill; `skillet new` makes one")
	}
	if d.dir, err = filepath.EvalSymlinks(at); err == nil {
		d.dir, err = absolute(d.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", at, err)
	}
	settings := d.settings()
	if err := d.makeHome(c, settings); err != nil {
		return nil, err
	}
	o := t.options(c, d.home)
	if settings.DebugMode && t.getenv("SKILLET_LOG_LEVEL") == "" {
		o.Environ = append(slices.Clone(o.Environ), "SKILLET_LOG_LEVEL=debug")
	}
	d.h, err = host.Open(ctx, o)
	if err != nil {
		d.removeTemporary()
		return nil, err
	}
	return d, nil
}

// settings are what the manifest says about development, as it is now. One that
// cannot be read says nothing: the build says why.
func (d *developer) settings() manifests.Development {
	p, err := toolchain.Recognise(d.dir)
	if err != nil || p.Manifest == nil || p.Manifest.Development == nil {
		return manifests.Development{}
	}
	return *p.Manifest.Development
}

// makeHome chooses the home: what --home says, a new one for each time, or the one
// of the project.
func (d *developer) makeHome(c *cli.Context, s manifests.Development) (err error) {
	switch {
	case c.IsSet("home"):
		d.home, err = d.t.home(c)
		return err
	case s.SessionIsolation:
		d.temporary, err = os.MkdirTemp("", "skillet-dev-")
		d.home = filepath.Join(d.temporary, "home")
		return err
	}
	d.home, err = homeOfProject(d.dir, d.t.getenv)
	return err
}

func (d *developer) removeTemporary() {
	if d.temporary != "" {
		_ = os.RemoveAll(d.temporary) // nothing in it is missed, and a restart cleans up
	}
}

// close ends the work. The bytes of versions that were replaced go.
func (d *developer) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	d.b.close(ctx)
	_, err := d.h.Installer.Sweep(ctx, false)
	if err = errors.Join(err, d.h.Close(ctx)); err != nil {
		d.t.note("skillet: close %s: %s", d.home, plain(err.Error()))
	}
	d.removeTemporary()
}

// greeting is the first line of --json.
type greeting struct {
	Event string `json:"event"`
	Dir   string `json:"dir"`
	Home  string `json:"home"`
}

func (d *developer) greet() {
	if d.t.json {
		d.t.event(greeting{"ready", d.dir, d.home})
		return
	}
	d.t.note("in another terminal: skillet --home %s run NAME", quoteWord(d.home))
}

func (d *developer) once(ctx context.Context) error {
	r := d.reload(ctx, watch.Change{At: time.Now()})
	d.report(r)
	if r.Error != nil {
		return reported{r.Error.Kind}
	}
	return ctx.Err()
}

// watch goes on until somebody ends it, which is no failure.
func (d *developer) watch(ctx context.Context) error {
	w, err := watch.Open(d.dir, watch.Settings{Ignore: d.outputs()})
	if err != nil {
		return err
	}
	defer w.Close()
	for change := (watch.Change{At: time.Now()}); ctx.Err() == nil; {
		d.report(d.reload(ctx, change))
		if change, err = w.Next(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// outputs are what a build writes into the project.
func (d *developer) outputs() []string {
	all := []string{devDir, "*" + bundle.Extension, "*.sigstore.json", "*.wasm"}
	if p, err := toolchain.Recognise(d.dir); err == nil && p.Language == "" {
		all = all[:len(all)-1] // the module is the source: somebody else builds it
	}
	return all
}

// quoteWord is a word as a shell takes it.
func quoteWord(word string) string {
	if strings.ContainsAny(word, " \t\"'$&;()<>|*?[]#~`\\") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
