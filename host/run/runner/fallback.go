package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Skills finds installed skills, with what they were granted.
type Skills interface {
	// Target returns the skill that ref means to a caller: where that needs a skill
	// of the name, the version that its closure has. What the skill may do is not
	// in it.
	Target(ctx context.Context, caller Target, ref manifests.Ref) (Target, error)
	// Granted is what the target of a call may do in it. A grant that is good for a
	// number of runs counts one.
	Granted(ctx context.Context, c Call) (approval.Granted, error)
}

// backed runs the fallback command when the skill failed at the call, or is left
// alone because it fails. What was denied stays denied, and an input that does
// not fit is the caller's to mend.
func (r *Runner) backed(a *run, next work) work {
	ref, ok := a.manifest.Fallback()
	if !ok || ref.Name == "" && ref.Tool == a.tool.Name {
		return next
	}
	return func(ctx context.Context) error {
		err := next(ctx)
		v := Judge(err)
		if ctx.Err() != nil || v.Skill != Failing && v.Reason != Judge(ErrOpen).Reason {
			return err
		}
		return r.fallBack(ctx, a, ref, err)
	}
}

// fallBack runs the fallback command. When that fails too, the error is the
// call's.
func (r *Runner) fallBack(ctx context.Context, a *run, ref manifests.Ref, failure error) error {
	f := &task.Fallback{Command: a.manifest.Resilience.FallbackCommand, Because: a.callerError(failure)}
	a.result.Fallback = f
	c, err := r.fallbackCall(ctx, a, ref)
	if err != nil {
		f.Error = printable(fault.AsError(err))
		return failure
	}
	res := r.serve(ctx, c, asFallback, a)
	f.RunID, f.Skill, f.Digest, f.Error = res.RunID, res.Skill, res.Digest, res.Error
	a.result.Figures = a.result.Figures.Add(res.Figures)
	a.result.Logs = append(a.result.Logs, res.Logs...)
	a.result.Denials = mergeDenials(a.result.Denials, res.Denials)
	if !res.OK {
		return failure
	}
	if err := a.manifest.ValidateOutput(a.tool, res.Raw); err != nil {
		f.Error = printable(fault.Errorf(fault.KindSkill, "the answer of %s does not fit the tool that failed: %w", f.Command, err))
		return failure
	}
	a.output = res.Raw
	return nil
}

// fallbackCall is the call of the fallback command: with the same input, and
// with what was granted to whose tool it is.
func (r *Runner) fallbackCall(ctx context.Context, a *run, ref manifests.Ref) (Call, error) {
	c := Call{Target: a.call.Target, Tool: ref.Tool, Input: a.call.Input, Workspace: a.call.Workspace, Bounds: a.call.Bounds, Caller: a.call.Caller, Task: a.call.Task, Step: a.call.Step, Limits: a.call.Limits, Begins: a.call.Begins}
	if c.Limits.Seconds > 0 { // the caller's limit is for all of it
		c.Limits.Seconds, c.wall = max(time.Until(a.until), time.Millisecond).Seconds(), cmp.Or(a.call.wall, r.total(a))
	}
	if ref.Name == "" {
		c.Allow, c.Config, c.Session = a.call.Allow, a.call.Config, a.call.Session
		return c, nil
	}
	if err := r.mayCall(ctx, a, ref.Name); err != nil {
		return c, err
	}
	c.as = ref.Name
	var err error
	if c.Target, err = r.settings.Skills.Target(ctx, a.call.Target, ref); err != nil {
		return c, err
	}
	c.Target.Granted, err = r.settings.Skills.Granted(ctx, c)
	return c, err
}

// mayCall asks grants and policies whether the skill may have another one run.
func (r *Runner) mayCall(ctx context.Context, a *run, name string) error {
	if r.settings.Skills == nil {
		return fault.Errorf(fault.KindUsage, "%s cannot be run: this host has no installed skills", name)
	}
	q := capability.Request{Action: capability.Skill, Resource: name}
	now := r.standing(ctx, a)
	by, d, granted := r.judgeCall(a, now, name)
	if granted && d.Effect == policies.Allow {
		a.uses = mergeUses(a.uses, []hostfn.Use{{Request: q.String(), Capability: by.String(), Count: 1}})
		return nil
	}
	den := task.Denial{Request: q.String(), Capability: q.String(), Policies: d.Policies, Reason: d.Reason, Asks: granted && d.Effect == policies.Ask, Count: 1}
	if !granted && d.Effect != policies.Deny {
		den.Reason, den.Policies = "the skill was not granted "+q.String(), nil
		hostfn.Offer(&den, now.Policies, policies.Query{Principal: a.principal(), Home: r.settings.Home}, q.String())
	}
	a.result.Denials = mergeDenials(a.result.Denials, []task.Denial{den})
	return denial(a, den)
}

func denial(a *run, d task.Denial) *fault.Error {
	return wayOut(fault.Errorf(fault.KindDenied, "%s was denied %s: %s", a.call.Target.Label, d.Request, d.Reason), a, d)
}
