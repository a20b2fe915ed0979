// Package builtin has the agents that come with the program: one that reaches a
// goal with tools, and some that do one kind of work. Each is a definition, a YAML
// file in the directory definitions, and a way of working; a definition whose name
// is not known here works as "general" does, by its own prompt.
//
// The package knows the contract of agents and of documents. It refuses to know
// the host: what it does, it does by an [agent.Host], and it keeps nothing between
// two tasks.
package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins/agent"
)

// Name is what the agent calls itself.
const Name = "builtin"

// A role is a way of working.
type role struct {
	// plan says how the goal would be reached; nil decides as it goes.
	plan func(context.Context, *work) (agent.Plan, error)
	run  func(context.Context, *work) (agent.Report, error)
}

// builtins serves all built-in definitions, and those of others.
type builtins struct {
	log     hclog.Logger
	version string
	roles   map[string]role
}

// New makes the agent that works by [agent.Task.Agent]: by the name of a built-in
// definition, or as [General] does by the prompt of the task. version is its own.
// A nil log writes nothing.
func New(log hclog.Logger, version string) agent.Agent {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &builtins{log, version, map[string]role{
		General:      {run: runGeneral},
		Planner:      {plan: makePlan, run: runPlanner},
		Code:         {run: runCode},
		Research:     {run: runResearch},
		FileOps:      {run: runFileOps},
		Conversation: {run: runConversation},
	}}
}

// Info implements [agent.Agent].
func (b *builtins) Info(ctx context.Context) (agent.Info, error) {
	return agent.Info{Name: Name, Version: b.version, Description: "Plans and acts with tools: general, planner, code, research, fileops, conversation, and definitions in YAML."}, ctx.Err()
}

// Health implements [agent.Agent]: it can always work.
func (b *builtins) Health(ctx context.Context) error { return ctx.Err() }

// Plan implements [agent.Agent].
func (b *builtins) Plan(ctx context.Context, t agent.Task, h agent.Host) (agent.Plan, error) {
	w, r, err := b.start(t, h)
	if err != nil {
		return agent.Plan{}, fmt.Errorf("plan task %s: %w", t.ID, err)
	}
	if r.plan == nil {
		return w.oneStep(w.task.Agent), ctx.Err()
	}
	return r.plan(ctx, w)
}

// Run implements [agent.Agent].
func (b *builtins) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	w, r, err := b.start(t, h)
	if err != nil {
		return agent.Report{}, fmt.Errorf("run task %s: %w", t.ID, err)
	}
	report, err := r.run(ctx, w)
	w.log.Debug("agent ended", "done", report.Done, "thoughts", w.thoughts, "calls", w.tally.calls, "error", err)
	return report, err
}

var (
	errNoGoal = errors.New("the goal is empty")
	errNoHost = errors.New("no host")
)

func (b *builtins) start(t agent.Task, h agent.Host) (*work, role, error) {
	if h == nil {
		return nil, role{}, errNoHost
	}
	if t.Goal == "" {
		return nil, role{}, errNoGoal
	}
	if t.Agent == "" {
		t.Agent = General
	}
	r, ok := b.roles[t.Agent]
	if !ok {
		r = b.roles[General]
	}
	return newWork(b.log.With("task", t.ID, "agent", t.Agent), t, h), r, nil
}

func runGeneral(ctx context.Context, w *work) (agent.Report, error) {
	l := w.loop()
	return l.report(ctx)
}

// runPlanner does what a step that names the planner asks for: there is no plan to
// make any more, so it decides as it goes.
func runPlanner(ctx context.Context, w *work) (agent.Report, error) {
	d, _ := Definition(General)
	w.task.SystemPrompt = d.SystemPrompt
	return runGeneral(ctx, w)
}

// runConversation tells the person that work has begun before the first thought,
// which may take a while.
func runConversation(ctx context.Context, w *work) (agent.Report, error) {
	if err := w.tell(ctx, "I am on it: "+brief(w.task.Goal)); err != nil {
		return w.failed(err, "")
	}
	return runGeneral(ctx, w)
}
