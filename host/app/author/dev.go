package author

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/author/watch"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// A DevRequest says which skill its author works on.
type DevRequest struct {
	// Dir is the directory of the skill.
	Dir string
	// Home is the home it is installed in; empty for one of the project's own, in
	// [DevDir], or a temporary one where the manifest wants that.
	Home string
	// Allow is what the skill is granted in that home: exactly that, whatever it asks
	// for.
	Allow []capability.Capability
	// Once ends it after the first turn.
	Once bool
	// NoTests runs no test cases.
	NoTests bool
	// Timeout bounds each run of a compiler; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Ready is told the absolute paths of the project and of the home, once it is open;
	// Case each test case that ends, and Turn what came of each turn. Nil is for nobody.
	Ready func(dir, home string)
	Case  func(CaseResult)
	Turn  func(Turn)
	// Progress is told what takes a while.
	Progress Progress
}

// DevDir is the directory in a project that belongs to [Service.Dev].
const DevDir = ".skillet-dev"

// Dev builds a skill, installs it into a home for its development, and tests it, now and
// each time one of its files changes, until ctx ends, which is not an error. A version
// that cannot be built or installed leaves the one before it in place. What was revoked is
// refused, in the home of the person, too.
//
// With Once there is one turn, whose error is returned. Other errors are
// [fault.Error]s: of [fault.KindNotFound] for what is not a directory, of
// [fault.KindVerification] for a home in the project that Dev did not make.
func (s *Service) Dev(ctx context.Context, by approval.Human, r DevRequest) error {
	if err := by.Check(); err != nil {
		return err
	}
	d, err := s.newDeveloper(ctx, by, r)
	if err != nil {
		return err
	}
	defer d.close(ctx)
	if r.Ready != nil {
		r.Ready(d.dir, d.path)
	}
	if !r.Once {
		return d.watch(ctx)
	}
	_, err = d.turn(ctx, watch.Change{At: time.Now()})
	return errors.Join(err, ctx.Err())
}

// A developer works on one project.
type developer struct {
	s       *Service
	by      approval.Human
	request DevRequest
	dir     string // absolute, without symbolic links
	home    Home
	path    string // of the home
	// temporary is the directory that goes when this ends; empty for none.
	temporary string
	// installed is true once a version is.
	installed bool
}

// newDeveloper opens the home of a project.
func (s *Service) newDeveloper(ctx context.Context, by approval.Human, r DevRequest) (*developer, error) {
	d := &developer{s: s, by: by, request: r}
	if st, err := os.Stat(r.Dir); err != nil || !st.IsDir() {
		return nil, fault.Errorf(fault.KindNotFound, "%s is not a directory", r.Dir).WithHint("name the directory of a skill; %s makes one", fault.New())
	}
	var err error
	if d.dir, err = filepath.EvalSymlinks(r.Dir); err == nil {
		d.dir, err = filepath.Abs(d.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", r.Dir, err)
	}
	settings := d.settings()
	if err := d.makeHome(settings); err != nil {
		return nil, err
	}
	if d.home, err = s.parts.Open(ctx, d.path, settings.DebugMode); err != nil {
		d.removeTemporary()
		return nil, err
	}
	return d, nil
}

// settings are what the manifest says of development, as it is now. One that
// cannot be read says nothing: the build says why.
func (d *developer) settings() manifests.Development {
	p, err := toolchain.Recognise(d.dir)
	if err != nil || p.Manifest == nil || p.Manifest.Development == nil {
		return manifests.Development{}
	}
	return *p.Manifest.Development
}

// makeHome chooses the home: the one that was asked for, a new one for each time, or the
// one of the project.
func (d *developer) makeHome(s manifests.Development) (err error) {
	switch {
	case d.request.Home != "":
		d.path = d.request.Home
		return nil
	case s.SessionIsolation:
		d.temporary, err = os.MkdirTemp("", "skillet-dev-")
		d.path = filepath.Join(d.temporary, "home")
		return err
	}
	d.path, err = homeOfProject(d.dir, d.s.parts.Dir)
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
	_, err := d.home.Installer.Sweep(ctx, false)
	if err = errors.Join(err, d.home.Close(ctx)); err != nil {
		d.s.log.Warn("the home of a project was not closed", "home", d.path, "error", err)
	}
	d.removeTemporary()
}

// watch goes on until somebody ends it, and then returns nil.
func (d *developer) watch(ctx context.Context) error {
	w, err := watch.Open(d.dir, watch.Settings{Ignore: d.outputs()})
	if err != nil {
		return err
	}
	defer w.Close()
	for change := (watch.Change{At: time.Now()}); ctx.Err() == nil; {
		_, _ = d.turn(ctx, change) // which reports its error
		if change, err = w.Next(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// outputs are what a build writes into the project.
func (d *developer) outputs() []string {
	all := []string{DevDir, "*" + bundle.Extension, "*.sigstore.json", "*.wasm"}
	if p, err := toolchain.Recognise(d.dir); err == nil && p.Language == "" {
		all = all[:len(all)-1] // the module is the source: somebody else builds it
	}
	return all
}
