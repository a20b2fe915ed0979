package invoke

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// asked makes a call, and a proposal of it where policies ask about what it does.
func (s *Service) asked(ctx context.Context, in Invocation, c runner.Call) task.Result {
	skill, ok := in.Target.Installed()
	if !ok {
		return s.parts.Runner.Run(ctx, c)
	}
	manifest, tool, input := c.Target.Package.Manifest(), c.Tool, c.Input
	call := func() approval.ToolCall {
		tc := approval.NewToolCall(skill.Name, skill.Digest, toolName(manifest, tool), input)
		if in.Script != nil {
			script := *in.Script
			script.Actor, tc.Script = c.Caller, &script
		}
		return tc
	}
	lease, err := s.parts.Approvals.TakeCallApproval(ctx, c.Target.Granted, call)
	if err != nil {
		return refused(skill, c, err)
	}
	if lease.ID() != "" {
		c.Lease, c.NoCache = lease, true
	}
	if c.Recorder == nil && s.parts.Recordings.Keeps() {
		c.Recorder = recording.NewRecorder()
		defer s.keep(ctx, c.Recorder)
	}
	res := s.parts.Runner.Run(ctx, c)
	asked := askedAbout(res.Denials, lease)
	if res.OK || len(asked) == 0 {
		return res
	}
	tc := call()
	p, err := s.parts.Approvals.ProposeCall(ctx, approval.Proposal{
		ID: approval.NewID(), Type: approval.TypeCall, Title: titleOf(skill, tc),
		Skill: skill.Name, Version: skill.Version, Call: &tc, Requested: asked, ProposedBy: c.Caller,
		Origin: string(skill.Origin), Limits: c.Target.Package.Manifest().Limits(),
	})
	if err != nil {
		res.Error = fault.AsError(err)
		return res
	}
	res.Error = fault.Errorf(fault.KindApproval, "%s waits for approval: %s: %w", skill.Ref()+":"+tc.Tool, res.Error.Message, &approval.WaitsError{Proposal: p.ID}).
		WithHint("look at it with %s, then %s and make the same call again", fault.ShowProposal(p.ID), fault.Approve(p.ID))
	return res
}

// titleOf is what a proposal of a call is called.
func titleOf(s registry.Skill, c approval.ToolCall) string {
	title := "call " + s.Ref() + ":" + c.Tool + " once with this input"
	if c.Script != nil {
		title += ", for a script"
	}
	return title
}

// refused is the result of a call that was not made.
func refused(s registry.Skill, c runner.Call, err error) task.Result {
	return task.Result{
		RunID: task.NewRunID(), Skill: s.Ref(), Digest: string(s.Digest), Tool: c.Tool,
		Logs: []task.LogLine{}, Denials: []task.Denial{}, Error: fault.AsError(err),
	}
}

// toolName is the tool that a call means which names tool, or none.
func toolName(m *manifests.Manifest, tool string) string {
	if tool != "" {
		return tool
	}
	t, _ := m.DefaultTool()
	return t.Name
}

// askedAbout is what policies ask about in a call: what was refused now, and, so
// that one approval is enough, what an approval that is used up let through. It
// is nil when nothing was refused for that reason.
func askedAbout(denials []task.Denial, used approval.CallApproval) []approval.Ask {
	var asks []approval.Ask
	for _, d := range denials {
		c, err := capability.Parse(d.Capability)
		if !d.Asks || err != nil {
			continue
		}
		asks = append(asks, approval.Ask{
			Capability: c, Words: c.Words(), Reason: d.Reason, New: true, Effect: policies.Ask.String(), Policies: d.Policies,
		})
	}
	if len(asks) == 0 {
		return nil
	}
	for _, c := range used.Set().All() {
		asks = append(asks, approval.Ask{Capability: c, Words: c.Words(), Effect: policies.Ask.String()})
	}
	return asks
}
