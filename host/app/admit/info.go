package admit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

// What views are made of.
type (
	// A Grant is a capability that a person gave to a version.
	Grant = approval.Grant
	// Bounds are the limits of a skill as they hold on this host.
	Bounds = limit.Bounds
	// A Comparison is a package beside the active version of the same skill.
	Comparison = review.Comparison
	// An Ask is a capability that a package asks for, and an Upgrade what becomes different
	// with it.
	Ask     = approval.Ask
	Upgrade = review.Upgrade
	// ReadByModels is what models read of a skill.
	ReadByModels = review.ReadByModels
	// An Isolation is how a skill is kept apart from others, and who decided that.
	Isolation = runner.Isolation
	// A TrialReport says how the trial of a new version stands.
	TrialReport = runner.Report
)

// IsolationProcess is the mode of a skill that runs in processes of its own.
const IsolationProcess = runner.IsolationProcess

// Info is everything about a package.
type Info struct {
	Digest    manifests.Digest    `json:"digest"`
	Installed *Skill              `json:"installed,omitempty"`
	Manifest  *manifests.Manifest `json:"manifest"`
	Files     []bundle.File       `json:"files"`
	Bounds
	Grants []Grant `json:"grants"`
	// Isolation is how an installed skill is kept apart from others; nil for a skill
	// without code, and for a package that is not installed.
	Isolation *Isolation `json:"isolation,omitempty"`
	// Login is how the login stands at the MCP server that it is; nil for none.
	Login *ServerLogin `json:"login,omitempty"`
	// Python is the installed skill that runs its Python scripts, as NAME@VERSION, or "none";
	// empty for a skill without such scripts.
	Python string `json:"python,omitempty"`
	// PythonWants is a module that its scripts import and that the interpreter in Python
	// has not, for which there is another one: cpython-office.
	PythonWants string `json:"python_wants,omitempty"`
	// Canary is how the trial of a new version stands; nil when there is none.
	Canary *TrialReport `json:"canary,omitempty"`
	// Former are the versions that were active before, the latest first.
	Former []Skill `json:"former,omitempty"`
	// Difference is what is different from the active version, when asked for.
	Difference *Comparison `json:"difference,omitempty"`
	// Asks is what it asks for.
	Asks []manifests.RequestedCapability `json:"-"`
}

// Version is that of how the installed version stands; empty for what is not installed.
func (i Info) Version() seen.Version {
	if i.Installed == nil {
		return ""
	}
	return seen.Of(*i.Installed)
}

// An InfoRequest says what is to be looked at.
type InfoRequest struct {
	// Of is an installed skill or a path.
	Of invoke.Address
	// Difference compares it with the active version, in brief; with Full
	// nothing is left out.
	Difference, Full bool
	// Workspace is the absolute directory that relative paths in the manifest mean.
	// Without it, a manifest with relative paths is an error.
	Workspace string
}

// noPython stands for the interpreter that is missing.
const noPython = "none"

// python names what runs the Python scripts of a package.
func (s *Service) python(ctx context.Context, p *bundle.Package) (string, error) {
	m := p.Manifest()
	if m.AgentSkill == nil || !slices.ContainsFunc(m.AgentSkill.Scripts, func(c manifests.Script) bool { return c.Interpreter == "python" }) {
		return "", nil
	}
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return "", err
	}
	commands, err := adopt.FolderCommands(p)
	if err != nil {
		return "", err
	}
	for _, name := range append(commands, "python") {
		for _, skill := range all {
			if !skill.Active || skill.CheckEnabled() != nil {
				continue
			}
			man, err := s.parts.Registry.Manifest(ctx, skill.Digest)
			if err != nil {
				return "", err
			}
			if _, ok := man.Provides[name]; ok {
				return skill.Name + "@" + skill.Version, nil
			}
		}
	}
	return noPython, nil
}

// Info returns everything about a package that is installed or at a path, also one that
// may not be run.
func (s *Service) Info(ctx context.Context, by approval.Principal, r InfoRequest) (Info, error) {
	if err := s.ready(ctx, by); err != nil {
		return Info{}, err
	}
	p, skill, err := s.look(ctx, by, r.Of)
	if err != nil {
		return Info{}, err
	}
	m := p.Manifest()
	in := Info{Digest: p.Digest(), Installed: skill, Manifest: m, Files: p.Files(), Bounds: m.Limits().Within(s.parts.Ceilings), Grants: []Grant{}}
	if skill != nil {
		if err := s.addState(ctx, &in, *skill); err != nil {
			return Info{}, err
		}
	}
	if r.Difference || r.Full {
		c, err := s.compare(ctx, p, r.Full)
		if err != nil {
			return Info{}, err
		}
		in.Difference = &c
	}
	if in.Python, err = s.python(ctx, p); err != nil {
		return Info{}, err
	}
	if in.Python != "" && !strings.HasPrefix(in.Python, adopt.OfficeCommand+"@") {
		if in.PythonWants, err = adopt.WantsOffice(p); err != nil {
			return Info{}, err
		}
	}
	in.Asks, err = m.Requests(r.Workspace)
	return in, err
}

// look finds a package that is installed or at a path.
func (s *Service) look(ctx context.Context, by approval.Principal, of invoke.Address) (*bundle.Package, *Skill, error) {
	switch {
	case of.Path != "":
		p, err := s.parts.Invoke.Look(ctx, by, of.Path)
		return p, nil, err
	case !of.Installed():
		return nil, nil, fault.Errorf(fault.KindUsage, "%q names neither an installed skill nor a path", of.Source).
			WithHint("%s shows what is installed; a path begins with ./ or /", fault.List(fault.Skills))
	}
	skill, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: of.Ref.Name, Version: of.Ref.Version})
	if err != nil {
		return nil, nil, err
	}
	p, err := s.parts.Registry.Package(ctx, skill.Digest)
	return p, &skill, err
}

// addState adds how an installed version stands.
func (s *Service) addState(ctx context.Context, in *Info, skill Skill) (err error) {
	if in.Grants, err = s.parts.Approvals.Grants(ctx, skill.Digest); err != nil {
		return err
	}
	if in.Login, err = s.login(ctx, in.Manifest); err != nil {
		return err
	}
	if m := in.Manifest; m.Type.IsCode() || m.AgentSkill != nil && len(m.AgentSkill.Scripts) > 0 {
		isolation, err := s.parts.Runner.IsolationOf(approval.SkillPrincipal(skill))
		if err != nil {
			return err
		}
		in.Isolation = &isolation
	}
	if in.Former, err = s.parts.Registry.History(ctx, skill.Name); err != nil || skill.Canary == nil {
		return err
	}
	report, err := s.parts.Runner.Canary(ctx, skill.Name, *skill.Canary)
	in.Canary = &report
	return err
}

// A Tool is one tool of a skill.
type Tool struct {
	Skill   string `json:"-"`
	Version string `json:"-"`
	manifests.Tool
}

// Tool returns the tool that an address names. It fails with a [fault.KindNotFound] error
// when the skill has none of that name.
func (s *Service) Tool(ctx context.Context, by approval.Principal, of invoke.Address) (Tool, error) {
	if err := s.ready(ctx, by); err != nil {
		return Tool{}, err
	}
	p, _, err := s.look(ctx, by, of)
	if err != nil {
		return Tool{}, err
	}
	m := p.Manifest()
	tool, ok := m.Callable(of.Tool)
	if !ok {
		var names []string
		for _, one := range m.Tools {
			names = append(names, one.Name)
		}
		return Tool{}, fault.Errorf(fault.KindNotFound, "%s@%s has no tool %s", m.Name, m.Version, of.Tool).WithHint("its tools are: %s", strings.Join(names, ", "))
	}
	return Tool{m.Name, m.Version, tool}, nil
}

// A CompareRequest says what is compared.
type CompareRequest struct {
	// Package is put beside the active version of its skill.
	Package *bundle.Package
	// Full asks for everything; otherwise long parts are shortened.
	Full bool
}

// Compare puts a package beside the active version of its skill. Of a skill that is not
// installed, the texts are left out unless all is wanted: nothing can be different in them.
func (s *Service) Compare(ctx context.Context, by approval.Principal, r CompareRequest) (Comparison, error) {
	if err := s.ready(ctx, by); err != nil {
		return Comparison{}, err
	}
	if r.Package == nil {
		return Comparison{}, fault.Errorf(fault.KindUsage, "compare: no package")
	}
	return s.compare(ctx, r.Package, r.Full)
}

func (s *Service) compare(ctx context.Context, p *bundle.Package, full bool) (Comparison, error) {
	before, version, err := s.active(ctx, p.Manifest().Name)
	if err != nil {
		return Comparison{}, err
	}
	limits := review.Brief()
	switch {
	case full:
		limits = review.Limits{}
	case before == nil:
		limits.Lines = -1
	}
	return Comparison{With: version, Difference: review.Compare(before, p, limits)}, nil
}

// active is the active version of a skill; nil when it is not installed, or only an
// alias of another.
func (s *Service) active(ctx context.Context, name string) (*bundle.Package, string, error) {
	skill, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: name})
	if errors.Is(err, registry.ErrNotFound) || err == nil && skill.Name != name {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	p, err := s.parts.Registry.Package(ctx, skill.Digest)
	return p, skill.Version, err
}
