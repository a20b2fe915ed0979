package runner

import (
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Context is what the audit log keeps of a call because policies look at it.
type Context struct {
	// Began is when the call began, in the zone in which policies were asked.
	Began time.Time `json:"began"`
	// Caller is who called, and ArgumentsFrom who made the arguments, as policies know them.
	Caller        policies.Caller `json:"caller"`
	ArgumentsFrom string          `json:"arguments_from"`
	// Session is the one the call was to go on with; empty for none.
	Session string `json:"session,omitempty"`
}

// describe says what policies can look at of a run, once its tool is known. Whatever lasts, it
// is the same to its end.
func (a *run) describe() {
	c := &a.about
	c.Tool, c.Arguments = a.result.Tool, a.call.Input
	c.Caller = policies.ParseCaller(a.call.Caller)
	c.Task, c.Session, c.Began = a.call.Task, a.call.Session, a.result.StartedAt.Local()
	switch {
	case a.part == asCall:
		c.From = policies.FromSkill
	case a.from != nil: // with the same input
		c.From = a.from.about.From
	default:
		c.From = c.Caller.From()
	}
}

// context is what is recorded of a run for policies that look at it.
func (a *run) context() *Context {
	if a.policies == nil || !a.policies.LooksAtCalls() || a.about.Began.IsZero() {
		return nil
	}
	return &Context{a.about.Began, a.about.Caller, a.about.From, a.about.Session}
}

// permitted asks policies whether the tool may be called, with these arguments. In a replay
// and on a stage nothing is called.
func (r *Runner) permitted(a *run) error {
	a.describe()
	if a.imagined() || a.policies == nil || !a.policies.AsksOfCalls() {
		return nil
	}
	skill := capability.Request{Action: capability.Skill, Resource: a.manifest.Name}
	_, approved := a.approved().Allows(skill)
	d := a.lifted().Decide(a.policies, policies.Query{
		Phase: policies.PhaseTool, Principal: a.principal(), Call: &a.about, Approved: approved, Home: r.settings.Home,
	}, skill)
	if d.Effect == policies.Allow {
		return nil
	}
	den := task.Denial{Request: policies.ActionCall + ":" + a.about.Tool, Policies: d.Policies, Reason: d.Reason, Count: 1}
	if d.Effect == policies.Ask { // who approves, approves a call of the skill
		den.Asks, den.Capability = true, skill.String()
		if a.call.Target.Origin == registry.OriginPath {
			den.Hinted(fault.Hintf("run it again with %s", fault.SetField(fault.FieldAllow, den.Capability)))
		}
	}
	a.result.Denials = mergeDenials(a.result.Denials, []task.Denial{den})
	return denial(a, den)
}

// decision shows how policies decide about a request of the run.
func (a *run) decision(request string) fault.Remedy {
	show := fault.ShowDecision(a.manifest.Name, request)
	if a.policies != nil && a.policies.LooksAtCalls() {
		show = show.With(fault.FieldRun, string(a.result.RunID))
	}
	return show
}
