package invoke

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Target is what an address leads to. Only [Service.Find] and [Service.Local] make one;
// the zero value cannot be called. It says nothing of what the skill may do: that is
// found out at each call.
type Target struct {
	run       runner.Target
	name      string // as it was called, without the tool
	tool      string
	installed *registry.Skill
	notes     []string
}

// Label is how messages name it.
func (t Target) Label() string { return t.run.Label }

// Package is what would be run.
func (t Target) Package() *bundle.Package { return t.run.Package }

// Manifest is that of its package.
func (t Target) Manifest() *manifests.Manifest { return t.run.Package.Manifest() }

// Tool is the tool that the address named; empty for none.
func (t Target) Tool() string { return t.tool }

// Installed returns the installed version; false for what was found at a path or
// fetched, which has no grants.
func (t Target) Installed() (registry.Skill, bool) {
	if t.installed == nil {
		return registry.Skill{}, false
	}
	return *t.installed, true
}

// Notes say what a person should know of a package that was made of something else.
func (t Target) Notes() []string { return t.notes }

// Bare is the target without grants, for replays.
func (t Target) Bare() runner.Target { return t.run }

// IsPrompt reports whether the target's tool is text for a model, which no code runs for.
func (t Target) IsPrompt() bool {
	m := t.Manifest()
	_, script := m.Script(t.tool)
	return m.Type.IsPrompt() && !script
}

// Describe returns the tool that a call would use; false when it has none of that name.
func (t Target) Describe() (manifests.Tool, bool) { return t.Manifest().Callable(t.tool) }

// Find finds what an address means. What was revoked is refused, with a
// [fault.KindVerification] error, and what is disabled. Only a person reaches what is at
// a path, or fetches a source; progress is told how much of it came, as in
// [source.Options]; nil for nobody.
func (s *Service) Find(ctx context.Context, by approval.Principal, a Address, progress func(done, total int64)) (Target, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Target{}, err
	}
	if a.Installed() {
		t, skill, err := s.parts.Skills.Called(ctx, a.Ref)
		return Target{run: t, name: a.skill(), tool: a.Tool, installed: &skill}, elsewhere(a, err)
	}
	got, err := s.fetch(ctx, by, a, progress)
	if err != nil {
		return Target{}, err
	}
	t, err := s.parts.Skills.Uninstalled(ctx, a.Path+a.Source, got)
	if err != nil {
		return Target{run: t, name: a.skill(), tool: a.Tool}, err
	}
	notes, err := s.refused(ctx, got.Package.Digest())
	return Target{run: t, name: a.skill(), tool: a.Tool, notes: append(notes, got.Notes...)}, err
}

// elsewhere says of an installed skill that was not found that there is a file of its name.
func elsewhere(a Address, err error) error {
	if e := fault.AsError(err); e != nil && errors.Is(err, registry.ErrNotFound) && exists(a.Ref.Name) {
		return e.WithHint("there is a file of that name: to run it, write ./%s", a)
	}
	return err
}

// refused says who turned a package down that is run without being installed, which
// nobody has to allow: it is granted nothing.
func (s *Service) refused(ctx context.Context, d manifests.Digest) ([]string, error) {
	if err := s.parts.Skills.parts.CatchUp(ctx); err != nil {
		return nil, err
	}
	r, err := s.parts.Approvals.Refused(ctx, d)
	if r == nil || err != nil {
		return nil, err
	}
	return []string{r.Words()}, nil
}

// Look is [Service.Find] for a path, also of what was revoked: to look at, not to run.
func (s *Service) Look(ctx context.Context, by approval.Principal, path string) (*bundle.Package, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	got, err := s.fetch(ctx, by, Address{Path: path}, nil)
	if err != nil {
		return nil, err
	}
	return got.Package, nil
}

// Read returns the package of an installed version, also of one that is disabled: to look
// at, not to run.
func (s *Service) Read(ctx context.Context, by approval.Principal, ref manifests.Ref) (*bundle.Package, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	if ref.Tool != "" {
		return nil, fault.Errorf(fault.KindUsage, "%s names a tool", ref).WithHint("name the skill alone: %s", ref.Name)
	}
	if err := s.parts.Skills.parts.CatchUp(ctx); err != nil {
		return nil, err
	}
	skill, err := s.parts.Skills.parts.Registry.Lookup(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.parts.Skills.parts.Registry.Package(ctx, skill.Digest)
}

// Local is the target of a tool of a package that was just read or built; tool is empty for
// its only one. What was revoked is refused, as in [Service.Find].
func (s *Service) Local(ctx context.Context, by approval.Principal, label, tool string, p *bundle.Package) (Target, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Target{}, err
	}
	if p == nil {
		return Target{}, fault.Errorf(fault.KindUsage, "%s: a package is needed", label)
	}
	t, err := s.parts.Skills.Uninstalled(ctx, label, &source.Fetched{Package: p, Kind: source.KindDirectory, Location: label})
	return Target{run: t, name: label, tool: tool}, err
}

// fetch gets what is at a path or a source.
func (s *Service) fetch(ctx context.Context, by approval.Principal, a Address, progress func(done, total int64)) (*source.Fetched, error) {
	_, person := by.(approval.Human)
	switch {
	case !person:
		return nil, fault.Errorf(fault.KindDenied, "only a person may run what is not installed, and %s is not one", by.Actor())
	case a == Address{}:
		return nil, fault.Errorf(fault.KindUsage, "the address is empty").WithHint("it names an installed skill, a path or a source")
	case a.Source != "":
		return s.fetchFrom(ctx, a.Source, progress)
	case adopt.IsExtism(a.Path) && exists(a.Path):
		return s.fetchFrom(ctx, a.Path, progress)
	}
	if err := toolchain.Current(a.Path); err != nil {
		return nil, err
	}
	p, err := source.Runnable(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(a.Path) == bundle.Extension { // with who signed it
		return s.fetchFrom(ctx, notName(a.Path), progress)
	}
	return &source.Fetched{Package: p, Kind: source.KindDirectory, Location: a.Path}, nil
}

func (s *Service) fetchFrom(ctx context.Context, text string, progress func(done, total int64)) (*source.Fetched, error) {
	r, err := source.ParseArgument(text)
	if err != nil {
		return nil, err
	}
	return s.parts.Sources.Fetch(ctx, r, source.Options{Progress: progress})
}

// notName writes a path so that it is not taken for a name.
func notName(path string) string {
	if strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	return "." + string(filepath.Separator) + path
}
