package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/host/llm/budget"
	"github.com/skillet-run/skillet/host/llm/skillmodel"
	"github.com/skillet-run/skillet/host/orchestrator"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider/local"
	"github.com/skillet-run/skillet/policies/capability"
)

// working is the orchestrator of a home, once somebody has asked for it. The zero
// value is ready to use.
type working struct {
	mu           sync.Mutex
	orchestrator *orchestrator.Orchestrator
	allowed      map[string]approval.OneRun // by task, while this process works on it
}

// RunTask works on a task until it ends, waits or is paused, see
// [orchestrator.Orchestrator.Run]. allow is what a person allows its calls for as
// long as this process works on it: each skill has of it what its manifest asks
// for, within the directories of the task.
func (h *Host) RunTask(ctx context.Context, id string, allow approval.OneRun) (task.Run, error) {
	o, err := h.Tasks(ctx)
	if err != nil {
		return task.Run{}, err
	}
	h.tasks.allow(id, allow)
	defer h.tasks.allow(id, approval.OneRun{})
	longest := seconds(h.Config.Settings().Tasks.TimeoutSeconds)
	timer := time.AfterFunc(longest, func() {
		why := fmt.Sprintf("it took longer than %s, the setting tasks.timeout_seconds", longest)
		if _, err := o.Cancel(context.WithoutCancel(ctx), id, "host:tasks", why); err != nil {
			h.Log.Warn("a task that takes too long could not be ended", "task", id, "err", err)
		}
	})
	defer timer.Stop()
	return o.Run(ctx, id)
}

// Converse answers a turn of a conversation, see [orchestrator.Orchestrator.Converse],
// with what a person allows as in [Host.RunTask].
func (h *Host) Converse(ctx context.Context, turn orchestrator.Turn, allow approval.OneRun, emit func(orchestrator.Update) error) (orchestrator.Reply, error) {
	o, err := h.Tasks(ctx)
	if err != nil {
		return orchestrator.Reply{}, err
	}
	id := ""
	defer func() { h.tasks.allow(id, approval.OneRun{}) }()
	return o.Converse(ctx, turn, func(u orchestrator.Update) error {
		if id == "" { // it acknowledges before it works
			id = u.TaskID
			h.tasks.allow(id, allow)
		}
		return emit(u)
	})
}

func (w *working) allow(id string, o approval.OneRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.allowed == nil {
		w.allowed = map[string]approval.OneRun{}
	}
	w.allowed[id] = o
	if o.Actor() == "" {
		delete(w.allowed, id)
	}
}

// allows is what a person allowed a task's calls of a skill.
func (w *working) allows(id string, m *manifests.Manifest) approval.OneRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allowed[id].Only(func(c capability.Capability) bool { return m.AsksFor(c.Action()) })
}

// Tasks gets goals done, with the agents, tools and models of the home.
func (h *Host) Tasks(ctx context.Context) (*orchestrator.Orchestrator, error) {
	h.tasks.mu.Lock()
	defer h.tasks.mu.Unlock()
	if h.tasks.orchestrator != nil {
		return h.tasks.orchestrator, nil
	}
	models, err := h.Models(ctx)
	if err != nil {
		return nil, err
	}
	ledger, err := h.Budget(ctx)
	if err != nil {
		return nil, err
	}
	remembered, err := h.Memory(ctx)
	if err != nil {
		return nil, err
	}
	p := orchestrator.Ports{
		Models: models, Tools: toolbox{h}, Agents: staff{h}, Budget: ledger, Memory: remembered, Proposals: inbox{h},
	}
	if h.notifier != nil {
		p.Notifier = taskNotifier{h.notifier}
	}
	h.tasks.orchestrator = orchestrator.New(h.Log.Named("task"), h.store, h.Events, p, h.taskSettings())
	return h.tasks.orchestrator, nil
}

func (h *Host) taskSettings() orchestrator.Settings {
	s := h.Config.Settings()
	return orchestrator.Settings{
		Steady:      func(model string) bool { return model == local.Planner },
		ApproveFrom: task.Risk(s.Tasks.ApproveRisk), Redact: h.redactor(context.Background()).Text,
		MaxTask: task.Budget{Tokens: s.Budget.Task.Tokens, MicroUSD: budget.MicroUSD(s.Budget.Task.USD)},
		Lease:   seconds(s.Tasks.TakeoverSeconds),
		Agent:   builtin.General, Planner: builtin.Planner, Conversation: builtin.Conversation,
	}
}

// toolbox are the tools of installed skills, for tasks. What a tool may do was
// granted to its skill; a task takes away from that, and adds nothing.
type toolbox struct{ h *Host }

// List implements [orchestrator.Tools].
func (b toolbox) List(ctx context.Context, t task.Task) ([]orchestrator.Tool, error) {
	var all []orchestrator.Tool
	err := b.h.eachActive(ctx, true, func(_ registry.Skill, m *manifests.Manifest) { all = append(all, toolsOf(m)...) })
	if err != nil {
		return nil, err
	}
	return chosen(all, t.Tools)
}

// toolsOf are the tools of a skill that a task can call: those for the host alone are
// left out.
func toolsOf(m *manifests.Manifest) []orchestrator.Tool {
	if !m.Type.IsCode() {
		return nil
	}
	p := m.Security.Permissions
	var all []orchestrator.Tool
	for _, t := range m.Tools {
		if p.KV != nil && p.KV.Migrate == t.Name {
			continue
		}
		all = append(all, orchestrator.Tool{
			Skill: m.Name, Tool: t.Name, Description: described(m, t), InputSchema: t.InputSchema,
			ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Untrusted: p.Network != nil || p.FileRead != nil,
		})
	}
	return all
}

// described is what a model reads of a tool.
func described(m *manifests.Manifest, t manifests.Tool) string {
	if t.Description == "" {
		return m.Description
	}
	return t.Description
}

// chosen are the tools that a task names; all when it names none.
func chosen(all []orchestrator.Tool, names []string) ([]orchestrator.Tool, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []orchestrator.Tool
	for _, name := range names {
		found := false
		for _, t := range all {
			if name != t.Skill && name != t.Skill+":"+t.Tool {
				continue
			}
			found = true
			if !slices.ContainsFunc(some, func(o orchestrator.Tool) bool { return o.Skill == t.Skill && o.Tool == t.Tool }) {
				some = append(some, t)
			}
		}
		if !found {
			return nil, fault.Errorf(fault.KindNotFound, "the tool %s is not installed", name).
				WithHint("`skillet list` shows what is installed; a task names SKILL or SKILL:TOOL")
		}
	}
	return some, nil
}

// MissingTools are those of some names of skills and tools that no task can call now: the
// skill is not installed, or has no such tool.
func (h *Host) MissingTools(ctx context.Context, names []string) ([]string, error) {
	all, err := toolbox{h}.List(ctx, task.Task{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := chosen(all, []string{name})
		return err == nil
	}), nil
}

// Call implements [orchestrator.Tools].
func (b toolbox) Call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) task.Result {
	began := time.Now()
	res, err := b.call(ctx, c, pays, begins)
	if err != nil {
		return task.Result{
			RunID: task.NewRunID(), StartedAt: began.UTC(), FinishedAt: time.Now().UTC(), Skill: c.Skill, Tool: c.Tool,
			Logs: []task.LogLine{}, Denials: []task.Denial{}, Error: Explain(err),
		}
	}
	if !res.OK {
		res.Error = Explain(res.Error)
	}
	return res
}

func (b toolbox) call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) (task.Result, error) {
	by, ok := approval.ParseAgent(c.Caller)
	if !ok {
		return task.Result{}, fault.Errorf(fault.KindDenied, "a task's calls are made by agents, and %q is none", c.Caller)
	}
	target, err := b.h.invoke.Find(ctx, by, invoke.Address{Ref: manifests.Ref{Name: c.Skill}, Tool: c.Tool}, nil)
	if err != nil {
		return task.Result{}, err
	}
	in := invoke.Invocation{
		Target: target, By: by, Input: c.Args, Bounds: bounds(c), Begins: begins,
		Allow:  b.h.tasks.allows(c.Task, target.Manifest()),
		Limits: runner.Limits{Wall: time.Duration(c.TimeoutMS) * time.Millisecond},
	}
	if len(c.Roots) > 0 {
		in.Workspace = c.Roots[0]
	}
	ctx = skillmodel.With(ctx, skillmodel.Caller{Lease: pays, Task: c.Task, Step: c.Step, Agent: by.Name(), Private: true})
	a, err := b.h.invoke.Invoke(ctx, in)
	return a.Result, err
}

// bounds are what a task's call keeps to whatever was granted.
func bounds(c task.ToolCall) *runner.Bounds {
	b := &runner.Bounds{Offline: !c.AllowNetwork, AskFrom: c.AskFrom}
	if c.AllowFS {
		b.Roots = c.Roots
	}
	return b
}

// staff are the agents of the home: those that come with the program, those that are
// installed as packages, and those that are defined in files.
type staff struct{ h *Host }

// Definitions implements [orchestrator.Agents].
func (s staff) Definitions(ctx context.Context) ([]orchestrator.Definition, error) {
	all, err := s.h.AgentDefinitions(ctx)
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
func (s staff) Agent(ctx context.Context, name string) (agent.Agent, error) {
	spec, err := s.spec(ctx, name)
	if err != nil {
		s.h.withdraw(ctx, plugins.KindAgent, name, err)
		return nil, err
	}
	return s.h.Plugins().Agent(ctx, spec)
}

// spec says how the process of an agent is started.
func (s staff) spec(ctx context.Context, name string) (plugins.Spec, error) {
	a, err := s.h.Agent(ctx, name)
	if err != nil {
		return plugins.Spec{}, err
	}
	if a.Origin == AgentPackage {
		return s.h.pluginSpec(ctx, a.pkg)
	}
	return plugins.Spec{Name: builtin.Name, Kind: plugins.KindAgent, Args: servePlugin(builtin.Name)}, nil
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

// Agent is the agent of a name: a [fault.KindNotFound] error when there is none, and one
// of [fault.KindVerification] when it cannot be used.
func (h *Host) Agent(ctx context.Context, name string) (AgentEntry, error) {
	all, err := h.AgentDefinitions(ctx)
	if err != nil {
		return AgentEntry{}, err
	}
	i := slices.IndexFunc(all, func(a AgentEntry) bool { return a.Name == name })
	if i < 0 || all[i].Definition == nil && all[i].Origin == AgentFile {
		_, err := h.Agents.Get(name) // says which one may be meant, or what is wrong with its file
		return AgentEntry{}, err
	}
	if all[i].Definition == nil {
		return all[i], fault.Errorf(fault.KindVerification, "the agent %s cannot be used: %s", name, all[i].Problem)
	}
	return all[i], nil
}

// AgentDefinitions are the agents there are: those of the program, of packages and
// of files. A file stands in for an agent of its name, a package for none of the
// program's.
func (h *Host) AgentDefinitions(ctx context.Context) ([]AgentEntry, error) {
	var all []AgentEntry
	for _, d := range builtin.Definitions() {
		all = append(all, AgentEntry{Name: d.Name, Origin: AgentBuiltin, Definition: &d, AnyTool: len(d.Tools) == 0})
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(all, func(e AgentEntry) bool { return e.Name == name })
	}
	installed, err := h.pluginPackages(ctx, manifests.KindAgent)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		s := installed[name]
		m, err := h.Registry.Manifest(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		e := AgentEntry{Name: name, Origin: AgentPackage, Version: s.Version, AnyTool: true, pkg: s, Definition: &agentdef.Definition{
			Name: name, Description: m.Description, Tier: agentdef.TierSmart, MaxIterations: agentdef.DefaultIterations * 4,
		}}
		if taken(name) {
			e.Definition, e.Problem = nil, "an agent of that name comes with the program"
		}
		all = append(all, e)
	}
	defined, err := h.Agents.List()
	for _, d := range defined {
		all = slices.DeleteFunc(all, func(e AgentEntry) bool { return e.Name == d.Name })
		all = append(all, AgentEntry{Name: d.Name, Origin: AgentFile, Definition: d.Definition, Problem: d.Problem})
	}
	return all, err
}

// inbox takes what agents wrote to the approval desk.
type inbox struct{ h *Host }

// Propose implements [orchestrator.Proposals].
func (i inbox) Propose(ctx context.Context, taskID string, s agent.Skill) (string, error) {
	p, err := bundle.FromFiles(s.Files)
	if err != nil {
		return "", Explain(err)
	}
	o, err := i.h.Tasks(ctx)
	if err != nil {
		return "", err
	}
	r, err := o.Get(ctx, taskID)
	if err != nil {
		return "", err
	}
	plan, err := i.h.Installer.Plan(ctx, install.Request{
		Package: p, Source: "task:" + taskID, Origin: registry.OriginGenerated, ProposedBy: approval.NewAgent(r.Agent).Actor(), Rationale: s.Rationale,
	})
	if err != nil {
		return "", err
	}
	out, err := i.h.Installer.Submit(ctx, plan)
	switch {
	case out.Proposal != nil && (err == nil || errors.Is(err, install.ErrWaits)):
		return out.Proposal.ID, nil
	case err != nil:
		return "", err
	}
	return "", fault.Errorf(fault.KindConflict, "%s is installed already, with these bytes", plan.Skill)
}

// taskNotifier tells the person what becomes of tasks.
type taskNotifier struct{ n hostfn.Notifier }

// Notify implements [orchestrator.Notifier].
func (t taskNotifier) Notify(ctx context.Context, n orchestrator.Notice) error {
	severity := "info"
	if n.State == task.Failed {
		severity = "warning"
	}
	return t.n.Notify(ctx, hostfn.Notification{Skill: "task", RunID: n.Task, Severity: severity, Title: n.Title, Text: n.Text})
}
