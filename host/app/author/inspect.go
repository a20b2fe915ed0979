package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/review/inspect"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// An InspectRequest says what is to be inspected.
type InspectRequest struct {
	// Module is the file of a module; empty for that of the skill at Address.
	Module  string
	Address invoke.Address
	// Workspace is the absolute directory against which relative paths of a manifest
	// resolve; empty for the working directory.
	Workspace string
	// Fetched is told how much of a source came; nil for nobody.
	Fetched  func(done, total int64)
	Progress Progress
}

// Inspected is what a module is made of, and what it costs.
type Inspected struct {
	// Skill is name@version, and Tools the names of its tools; empty for a module
	// alone.
	Skill string   `json:"skill,omitempty"`
	Path  string   `json:"path"`
	Tools []string `json:"tools,omitempty"`
	// Asks is what its manifest asks for.
	Asks []Ask `json:"asks,omitempty"`
	inspect.Report
	Examination
	// Notes say what a person should know of a package that was made of something else.
	Notes []string `json:"-"`
}

// An Ask is a capability that a manifest asks for.
type Ask struct {
	Capability capability.Capability `json:"capability"`
	Words      string                `json:"words"`
	Reason     string                `json:"reason,omitempty"`
}

// Functions and sections of a module, as [Inspected] has them.
type (
	Function = inspect.Function
	Section  = inspect.Section
)

// A FunctionGroup is the functions of a module that are imported for the same thing.
type FunctionGroup struct {
	// Words say what they are good for.
	Words, Module string
	Names         []string
}

// Groups sorts imported functions by what they are good for, in the order in which that is
// first needed; each name once.
func Groups(all []Function) (groups []FunctionGroup) {
	for _, f := range all {
		i := slices.IndexFunc(groups, func(g FunctionGroup) bool { return g.Words == f.Words && g.Module == f.Module })
		if i < 0 {
			groups, i = append(groups, FunctionGroup{Words: f.Words, Module: f.Module}), len(groups)
		}
		if g := &groups[i]; !slices.Contains(g.Names, f.Name) {
			g.Names = append(g.Names, f.Name)
		}
	}
	return groups
}

// LargestFirst is a sorted copy of sections.
func LargestFirst(all []Section) []Section {
	return slices.SortedStableFunc(slices.Values(all), func(a, b Section) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// Inspect takes a module apart, compiles it, and runs its initialisation in a process of
// its own with nothing granted. It calls no tool.
func (s *Service) Inspect(ctx context.Context, by approval.Principal, r InspectRequest) (Inspected, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Inspected{}, err
	}
	h, err := s.parts.Home(ctx)
	if err != nil {
		return Inspected{}, err
	}
	name := r.Module + r.Address.String()
	out, wasm, err := inspectable(ctx, h, by, r)
	if err != nil {
		return out, err
	}
	if out.Report, err = inspect.Module(wasm); err != nil {
		return out, fault.Wrap(fault.KindVerification, fmt.Errorf("inspect %s: %w", name, err)).WithHint("%s", wasmbin.WayOut)
	}
	defer r.Progress.step("compiling " + filepath.Base(name))()
	if out.Examination, err = examine(ctx, h.Apart, wasm); err != nil {
		return out, fmt.Errorf("inspect %s: %w", name, err)
	}
	return out, nil
}

// inspectable finds the module that a request means.
func inspectable(ctx context.Context, h Home, by approval.Principal, r InspectRequest) (Inspected, []byte, error) {
	if r.Module != "" {
		if _, err := person(by, "inspecting a path"); err != nil {
			return Inspected{}, nil, err
		}
		wasm, err := readModule(r.Module)
		return Inspected{Path: r.Module}, wasm, err
	}
	t, err := h.Invoke.Find(ctx, by, r.Address, r.Fetched)
	if err != nil {
		return Inspected{}, nil, err
	}
	m := t.Manifest()
	path, wasm, err := t.Package().Module()
	if err != nil {
		return Inspected{Notes: t.Notes()}, nil, fault.Wrap(fault.KindUsage, err).WithHint("it has no module to inspect; %s shows what it is", fault.ShowSkill(""))
	}
	out := Inspected{Skill: m.Name + "@" + m.Version, Path: path, Notes: t.Notes()}
	for _, tool := range m.Tools {
		out.Tools = append(out.Tools, tool.Name)
	}
	out.Asks, err = asksOf(m, r.Workspace)
	return out, wasm, err
}

// readModule reads a file that may be a module.
func readModule(path string) ([]byte, error) {
	b, err := openfile.ReadRegular(path, bundle.MaxFileBytes)
	switch {
	case errors.Is(err, openfile.ErrNotRegular):
		return nil, fault.Errorf(fault.KindUsage, "open module %s: it is not a regular file", path).WithHint("name a .wasm file")
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fmt.Errorf("open module %s: more than %d bytes: %w", path, bundle.MaxFileBytes, bundle.ErrTooLarge)
	case err != nil:
		return nil, fmt.Errorf("open module: %w", err)
	}
	return b, nil
}

// asksOf is what a manifest asks for.
func asksOf(m *manifests.Manifest, workspace string) ([]Ask, error) {
	if workspace == "" {
		var err error
		if workspace, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
	}
	requests, err := m.Requests(workspace)
	if err != nil {
		return nil, err
	}
	asks := []Ask{}
	for _, r := range requests {
		asks = append(asks, Ask{r.Capability, r.Capability.Words(), r.Reason})
	}
	return asks, nil
}
