package host

import (
	"context"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/llm/skillmodel"
	"github.com/skillet-run/skillet/host/recording"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Call makes a call, of an installed skill, or of none when that is nil. One of an
// installed skill that fails because policies ask about what it does waits for a
// person, as a proposal: its error is then of [task.KindApproval]. When a person
// has approved this very call, byte for byte, that approval is used up.
func (h *Host) Call(ctx context.Context, installed *registry.Skill, c runner.Call) task.Result {
	h.expectRecord(ctx)
	ctx, asked := skillmodel.Counting(ctx)
	res := h.call(ctx, installed, c)
	res.Models = asked.Use()
	return res
}

// expectRecord has the key that signs the record of the first call be opened while that
// call is made. What is wrong with it is found when the record is signed.
func (h *Host) expectRecord(ctx context.Context) {
	h.keyed.Do(func() {
		h.aside.Go(func() { _, _ = h.AuditKeys.Ring(context.WithoutCancel(ctx)) })
	})
}

func (h *Host) call(ctx context.Context, installed *registry.Skill, c runner.Call) task.Result {
	if installed == nil {
		return h.Runner.Run(ctx, c)
	}
	s := *installed
	tc := approval.NewToolCall(s.Name, s.Digest, toolName(c), c.Input)
	lease, err := h.Desk.TakeLease(ctx, tc)
	if err != nil {
		return h.failed(s, c, err)
	}
	if lease.ID() != "" {
		c.Lease, c.NoCache = lease, true
	}
	if c.Recorder == nil && h.Recordings.Keeps() {
		c.Recorder = recording.NewRecorder()
		defer h.keep(ctx, c.Recorder)
	}
	res := h.Runner.Run(ctx, c)
	asked := askedAbout(res.Denials, lease)
	if res.OK || len(asked) == 0 {
		return res
	}
	p, err := h.Desk.ProposeCall(ctx, approval.Proposal{
		ID: approval.NewID(), Type: approval.TypeCall, Title: "call " + s.Ref() + ":" + tc.Tool + " once with this input",
		Skill: s.Name, Version: s.Version, Call: &tc, Requested: asked, ProposedBy: c.Caller,
		Origin: string(s.Origin), Limits: c.Target.Package.Manifest().Limits(),
	})
	if err != nil {
		res.Error = task.AsError(err)
		return res
	}
	res.Error = task.Errorf(task.KindApproval, "%s waits for approval: %s: proposal %s", s.Ref()+":"+tc.Tool, res.Error.Message, p.ID).
		WithHint("look at it with `skillet approvals show %s`, then `skillet approvals approve %s` and make the same call again", p.ID, p.ID)
	return res
}

// failed is the result of a call that was not made.
func (h *Host) failed(s registry.Skill, c runner.Call, err error) task.Result {
	return task.Result{
		RunID: task.NewRunID(), Skill: s.Ref(), Digest: string(s.Digest), Tool: c.Tool,
		Logs: []task.LogLine{}, Denials: []task.Denial{}, Error: task.AsError(err),
	}
}

// toolName is the tool that a call means.
func toolName(c runner.Call) string {
	if c.Tool != "" {
		return c.Tool
	}
	t, _ := c.Target.Package.Manifest().DefaultTool()
	return t.Name
}

// askedAbout is what policies ask about in a call: what was refused now, and, so
// that one approval is enough, what an approval that is used up let through. It
// is nil when nothing was refused for that reason.
func askedAbout(denials []task.Denial, used approval.Lease) []approval.Ask {
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
