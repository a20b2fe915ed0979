package work

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/llm/skillmodel"
	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/plugins/agent"
)

// toolCatalog has the tools of installed skills for the orchestrator. What a tool may do was
// granted to its skill; a task takes away from that, and adds nothing.
type toolCatalog struct{ s *Service }

// List implements [orchestrator.Tools].
func (b toolCatalog) List(ctx context.Context, t task.Task) ([]orchestrator.Tool, error) {
	var all []orchestrator.Tool
	err := b.s.parts.Models.Plugins.eachActive(ctx, true, func(_ registry.Skill, m *manifests.Manifest) { all = append(all, toolsOf(m)...) })
	if err != nil {
		return nil, err
	}
	return chosen(all, t.Tools)
}

// toolsOf are the tools of a skill that a task can call: those for the host alone are
// left out.
func toolsOf(m *manifests.Manifest) []orchestrator.Tool {
	if !m.Type.IsCode() && !m.Type.IsMCP() {
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
			ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Untrusted: p.Network != nil || p.FileRead != nil || m.Type.IsMCP(),
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
				Hinted(fault.Hintf("%s shows what is installed; a task names SKILL or SKILL:TOOL", fault.List(fault.Skills)))
		}
	}
	return some, nil
}

// Call implements [orchestrator.Tools].
func (b toolCatalog) Call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) task.Result {
	began := time.Now()
	res, err := b.call(ctx, c, pays, begins)
	if err != nil {
		return task.Result{
			RunID: task.NewRunID(), StartedAt: began.UTC(), FinishedAt: time.Now().UTC(), Skill: c.Skill, Tool: c.Tool,
			Logs: []task.LogLine{}, Denials: []task.Denial{}, Error: b.s.parts.Explain(err),
		}
	}
	if !res.OK {
		res.Error = b.s.parts.Explain(res.Error)
	}
	return res
}

func (b toolCatalog) call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) (task.Result, error) {
	by, ok := approval.ParseAgent(c.Caller)
	if !ok {
		return task.Result{}, fault.Errorf(fault.KindDenied, "only agents make the calls of a task, and %q is not one", c.Caller)
	}
	target, err := b.s.parts.Invoke.Find(ctx, by, invoke.Address{Ref: manifests.Ref{Name: c.Skill}, Tool: c.Tool}, nil)
	if err != nil {
		return task.Result{}, err
	}
	if begins != nil {
		begins = sync.OnceValue(begins) // a call that is made again has begun
	}
	in := invoke.Invocation{
		Target: target, By: by, Input: c.Args, Task: c.Task, Step: c.Step, Bounds: bounds(c), Begins: begins,
		Allow:  b.s.allows(c.Task, target.Manifest()),
		Limits: invoke.Limits{Seconds: float64(c.TimeoutMS) / 1000},
	}
	if len(c.Roots) > 0 {
		in.Workspace = c.Roots[0]
	}
	ctx = skillmodel.With(ctx, skillmodel.Caller{Lease: pays, Task: c.Task, Step: c.Step, Agent: by.Name(), Private: true})
	for {
		a, err := b.s.parts.Invoke.Invoke(ctx, in)
		if err != nil {
			return a.Result, err
		}
		if again, err := b.s.asks(ctx, c.Task, &in, a); err != nil || !again {
			return a.Result, err
		}
	}
}

// bounds are what a task's call keeps to whatever was granted.
func bounds(c task.ToolCall) *runner.Bounds {
	b := &runner.Bounds{Offline: !c.AllowNetwork, AskFrom: c.AskFrom}
	if c.AllowFS {
		b.Roots = c.Roots
	}
	return b
}

// proposalSink proposes the skills that agents wrote.
type proposalSink struct{ s *Service }

// Propose implements [orchestrator.Proposals].
func (i proposalSink) Propose(ctx context.Context, taskID string, s agent.Skill) (string, error) {
	p, err := bundle.FromFiles(s.Files)
	if err != nil {
		return "", i.s.parts.Explain(err)
	}
	o, err := i.s.open(ctx)
	if err != nil {
		return "", err
	}
	r, err := o.Get(ctx, taskID)
	if err != nil {
		return "", err
	}
	plan, err := i.s.parts.Installer.Plan(ctx, install.Request{
		Package: p, Source: "task:" + taskID, Origin: registry.OriginGenerated, ProposedBy: approval.NewAgent(r.Agent).Actor(), Rationale: s.Rationale,
	})
	if err != nil {
		return "", err
	}
	out, err := i.s.parts.Installer.Submit(ctx, plan)
	switch {
	case out.Proposal != nil && (err == nil || errors.Is(err, install.ErrWaits)):
		return out.Proposal.ID, nil
	case err != nil:
		return "", err
	}
	return "", fault.Errorf(fault.KindConflict, "%s is installed already, with these bytes", plan.Skill)
}

// taskNotifier tells the person what becomes of tasks that no one watches.
type taskNotifier struct{ s *Service }

// Notify implements [orchestrator.Notifier].
func (t taskNotifier) Notify(ctx context.Context, n orchestrator.Notice) error {
	if t.s.watched(n.Task) {
		return nil
	}
	severity := "info"
	if n.State == task.Failed {
		severity = "warning"
	}
	return t.s.parts.Notifier.Notify(ctx, hostfn.Notification{Skill: "task", RunID: n.Task, Severity: severity, Title: n.Title, Text: n.Text})
}
