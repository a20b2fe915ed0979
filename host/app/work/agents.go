package work

import (
	"context"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
)

// Agents are what tasks are given to. Their definitions change by proposals, which a person
// decides about.
type Agents struct{ s *Service }

// List returns the agents there are: those of the program, of packages and of files.
func (a *Agents) List(ctx context.Context, by approval.Principal) ([]AgentEntry, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return a.s.agents(ctx)
}

// An AgentView is an agent, with those of its tools that no task can call now.
type AgentView struct {
	AgentEntry
	Missing []string
}

// Show returns an agent: a [fault.KindNotFound] error when there is none of that name, and
// one of [fault.KindVerification] when it cannot be used.
func (a *Agents) Show(ctx context.Context, by approval.Principal, name string) (AgentView, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return AgentView{}, err
	}
	e, err := a.s.agent(ctx, name)
	if err != nil {
		return AgentView{}, err
	}
	missing, err := a.missing(ctx, e.Definition.Tools)
	return AgentView{e, missing}, err
}

// A Definition is a definition of an agent that is proposed.
type Definition struct {
	// Text is YAML or JSON, and File the name of the file it is from, for errors.
	Text []byte
	File string
	// Model names the model that wrote it; empty when whoever hands it in did. Rationale says
	// why, for who decides.
	Model, Rationale string
}

// A ProposedAgent is a proposal, with those of the agent's tools that no task can call now.
type ProposedAgent struct {
	Proposal Proposal
	Missing  []string
}

// Propose proposes a new agent, or another definition of one. It
// changes nothing before a person has approved it. What is not a definition is refused, with
// a [fault.KindUsage] error.
func (a *Agents) Propose(ctx context.Context, by approval.Principal, d Definition) (ProposedAgent, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return ProposedAgent{}, err
	}
	p, err := a.s.parts.Definitions.Propose(ctx, agents.Request{Text: d.Text, File: d.File, ProposedBy: proposer(by, d.Model), Rationale: d.Rationale})
	if err != nil {
		return ProposedAgent{}, err
	}
	missing, err := a.missing(ctx, agents.Tools(*p.Agent))
	return ProposedAgent{p, missing}, err
}

// A Removal is a proposal to remove a definition; Model and Rationale are as in
// [Definition].
type Removal struct{ Name, Model, Rationale string }

// ProposeRemoval proposes to remove the definition of an agent. One that is
// not there is a [fault.KindNotFound] error.
func (a *Agents) ProposeRemoval(ctx context.Context, by approval.Principal, r Removal) (Proposal, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Proposal{}, err
	}
	return a.s.parts.Definitions.ProposeRemoval(ctx, r.Name, proposer(by, r.Model), r.Rationale)
}

// proposer is who wants a change: who hands it in, or the model that wrote it.
func proposer(by approval.Principal, model string) string {
	if model != "" {
		return "model:" + model
	}
	return by.Actor()
}

// MissingTools are those of some names of skills and tools that no task can call now: the
// skill is not installed, or has no such tool.
func (a *Agents) MissingTools(ctx context.Context, by approval.Principal, names []string) ([]string, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return a.missing(ctx, names)
}

func (a *Agents) missing(ctx context.Context, names []string) ([]string, error) {
	all, err := toolCatalog{a.s}.List(ctx, task.Task{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := chosen(all, []string{name})
		return err == nil
	}), nil
}

// agentCatalog has the agents of the home for the orchestrator: those that come with the program, those that are
// installed as packages, and those that are defined in files.
type agentCatalog struct{ s *Service }

// Definitions implements [orchestrator.Agents].
func (s agentCatalog) Definitions(ctx context.Context) ([]orchestrator.Definition, error) {
	all, err := s.s.agents(ctx)
	var defs []orchestrator.Definition
	for _, a := range all {
		if a.Definition != nil {
			defs = append(defs, orchestrator.Definition{Definition: *a.Definition, AnyTool: a.AnyTool})
		}
	}
	return defs, err
}

// Agent implements [orchestrator.Agents]. Of a package that was disabled, removed or
// revoked meanwhile no process goes on.
func (s agentCatalog) Agent(ctx context.Context, name string) (agent.Agent, error) {
	spec, err := s.spec(ctx, name)
	if err != nil {
		s.s.parts.Models.Plugins.withdraw(ctx, plugins.KindAgent, name, err)
		return nil, err
	}
	return s.s.parts.Models.Plugins.Supervisor().Agent(ctx, spec)
}

// spec says how the process of an agent is started.
func (s agentCatalog) spec(ctx context.Context, name string) (plugins.Spec, error) {
	a, err := s.s.agent(ctx, name)
	if err != nil {
		return plugins.Spec{}, err
	}
	if a.Origin == AgentPackage {
		return s.s.parts.Models.Plugins.spec(ctx, a.pkg)
	}
	return plugins.Spec{Name: builtin.Name, Kind: plugins.KindAgent, Args: reexec.Plugin.Arguments(builtin.Name)}, nil
}

// The origins of agents.
const (
	AgentBuiltin = "builtin" // comes with the program
	AgentPackage = "package" // is an installed package
	AgentFile    = "file"    // is defined in a file of the home
)

// An AgentEntry is an agent that tasks can be given to, or why it is none.
type AgentEntry struct {
	Name       string               `json:"name"`
	Origin     string               `json:"origin"`
	Definition *agentdef.Definition `json:"definition,omitempty"`
	// AnyTool says that it may use every tool of its task.
	AnyTool bool `json:"any_tool,omitempty"`
	// Version is that of a package.
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"`

	pkg registry.Skill
}

// agent is the agent of a name: a [fault.KindNotFound] error when there is none, and one
// of [fault.KindVerification] when it cannot be used.
func (s *Service) agent(ctx context.Context, name string) (AgentEntry, error) {
	all, err := s.agents(ctx)
	if err != nil {
		return AgentEntry{}, err
	}
	i := slices.IndexFunc(all, func(a AgentEntry) bool { return a.Name == name })
	if i < 0 || all[i].Definition == nil && all[i].Origin == AgentFile {
		_, err := s.parts.Definitions.Get(name) // says which one may be meant, or what is wrong with its file
		return AgentEntry{}, err
	}
	if all[i].Definition == nil {
		return all[i], fault.Errorf(fault.KindVerification, "the agent %s cannot be used: %s", name, all[i].Problem)
	}
	return all[i], nil
}

// agents are those there are: those of the program, of packages and
// of files. A file stands in for an agent of its name, a package for none of the
// program's.
func (s *Service) agents(ctx context.Context) ([]AgentEntry, error) {
	var all []AgentEntry
	for _, d := range builtin.Definitions() {
		all = append(all, AgentEntry{Name: d.Name, Origin: AgentBuiltin, Definition: &d, AnyTool: len(d.Tools) == 0})
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(all, func(e AgentEntry) bool { return e.Name == name })
	}
	installed, err := s.parts.Models.Plugins.packages(ctx, manifests.KindAgent)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		skill := installed[name]
		m, err := s.parts.Models.Plugins.Registry.Manifest(ctx, skill.Digest)
		if err != nil {
			return nil, err
		}
		e := AgentEntry{Name: name, Origin: AgentPackage, Version: skill.Version, AnyTool: true, pkg: skill, Definition: &agentdef.Definition{
			Name: name, Description: m.Description, Tier: agentdef.TierSmart, MaxIterations: agentdef.DefaultIterations * 4,
		}}
		if taken(name) {
			e.Definition, e.Problem = nil, "an agent of that name comes with the program"
		}
		all = append(all, e)
	}
	defined, err := s.parts.Definitions.List()
	for _, d := range defined {
		all = slices.DeleteFunc(all, func(e AgentEntry) bool { return e.Name == d.Name })
		all = append(all, AgentEntry{Name: d.Name, Origin: AgentFile, Definition: d.Definition, Problem: d.Problem})
	}
	return all, err
}
