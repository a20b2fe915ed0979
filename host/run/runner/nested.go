package runner

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
)

// MaxNested is how many calls may be made from within each other: a skill that
// calls a skill is two.
const MaxNested = 8

// maxCalls is how many calls of other skills a result lists.
const maxCalls = 100

// callees runs other skills for the guest of a run. What one of them may do is
// what it was granted itself: of what a person allowed for the calling run alone,
// or approved, nothing is passed on.
type callees struct {
	r *Runner
	a *run
}

// CallSkill runs a tool of another skill, in the time that is left to the caller.
// Of what goes wrong there the caller's guest learns what any caller would, except
// what the skill was denied.
func (c callees) CallSkill(ctx context.Context, call hostfn.SkillCall) ([]byte, error) {
	next, err := c.prepare(ctx, call)
	if err != nil {
		return nil, answerTo(ctx, fault.AsError(err))
	}
	res := c.r.serve(ctx, next, asCall, c.a)
	c.a.called(res)
	if !res.OK {
		return nil, answerTo(ctx, res.Error)
	}
	return res.Raw, nil
}

// prepare finds what is called, and what it may do.
func (c callees) prepare(ctx context.Context, call hostfn.SkillCall) (Call, error) {
	r, a := c.r, c.a
	if r.settings.Skills == nil {
		return Call{}, fault.Errorf(fault.KindNotFound, "%s cannot be called: this host has no installed skills", call.Skill)
	}
	t, err := r.settings.Skills.Target(ctx, a.call.Target, manifests.Ref{Name: call.Skill})
	if err != nil {
		return Call{}, err
	}
	if err := a.mayNest(t); err != nil {
		return Call{}, err
	}
	next := Call{Target: t, Tool: call.Tool, Input: call.Input, Workspace: a.call.Workspace, Bounds: a.call.Bounds, Caller: a.call.Caller, Task: a.call.Task, Step: a.call.Step, Session: call.Session, as: call.Skill}
	next.Target.Granted, err = r.settings.Skills.Granted(ctx, next)
	return next, err
}

// mayNest refuses a call of a skill that is being called already, further up, and
// one that is nested too deep.
func (a *run) mayNest(t Target) error {
	names, circle := []string{t.Package.Manifest().Name}, false
	for at := a; at != nil; at = at.from {
		names = append(names, at.manifest.Name)
		circle = circle || owner(at.call.Target) == owner(t)
	}
	slices.Reverse(names)
	way := strings.Join(names, " -> ")
	switch {
	case circle:
		return fault.Errorf(fault.KindConflict, "the calls go in a circle: %s", way).WithHint("a skill cannot be called from within its own call")
	case len(names) > MaxNested:
		return fault.Errorf(fault.KindLimit, "more than %d calls within each other: %s", MaxNested, way)
	}
	return nil
}

// called notes a call that was made from within the run.
func (a *run) called(res task.Result) {
	if len(a.result.Calls) < maxCalls {
		a.result.Calls = append(a.result.Calls, task.Nested{
			RunID: res.RunID, Skill: res.Skill, Tool: res.Tool, OK: res.OK, Error: res.Error, DurationMS: res.DurationMS, Calls: res.Calls,
		})
	}
}

// onBehalfOf is the skill whose guest, or fallback, asked for the run.
func (a *run) onBehalfOf() string {
	if a.from == nil {
		return ""
	}
	return a.from.call.Target.Label
}

// nestedBySentinel is what a guest is told of refusals that say more to a person:
// how others fared with the skill.
var nestedBySentinel = []struct {
	is   error
	kind hostfn.Kind
	text string
}{
	{context.Canceled, hostfn.KindTimeout, "the call was cancelled"},
	{sandbox.ErrTime, hostfn.KindTimeout, "the skill took too long"},
	{context.DeadlineExceeded, hostfn.KindTimeout, "the skill took too long"},
	{ErrOverloaded, hostfn.KindLimit, "the skill is busy"},
	{session.ErrBusy, hostfn.KindLimit, "the session is in use by another call"},
	{ErrRate, hostfn.KindLimit, "the skill is called too often"},
	{ErrOpen, hostfn.KindLimit, "the skill is not called for a while, because it failed"},
	{registry.ErrNotFound, hostfn.KindNotFound, "skill not found"},
	{sandbox.ErrTrap, hostfn.KindFailed, "the skill crashed"},
}

// nestedByKind says which kind of error a guest is told for the others, and
// whether it is told the words.
var nestedByKind = map[fault.Kind]struct {
	kind  hostfn.Kind
	words bool
}{
	fault.KindUsage:    {hostfn.KindInvalid, true},
	fault.KindNotFound: {hostfn.KindNotFound, true},
	fault.KindConflict: {hostfn.KindConflict, true},
	fault.KindLimit:    {hostfn.KindLimit, true},
	fault.KindSkill:    {hostfn.KindFailed, true},
}

// Told is what a guest is told of a call that failed, and that was not refused.
func Told(e *fault.Error) *hostfn.Failure {
	f, _ := answerTo(context.Background(), e).(*hostfn.Failure)
	return f
}

// answerTo is what a guest is told of a call that failed.
func answerTo(ctx context.Context, e *fault.Error) error {
	var reported *sandbox.GuestError
	var limit *sandbox.LimitError
	switch {
	case e.Kind == fault.KindDenied || e.Kind == fault.KindApproval: // not even by what the skill said then
		return &hostfn.Failure{Kind: hostfn.KindFailed, Message: "the skill could not do it"}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	for _, row := range nestedBySentinel {
		if errors.Is(e, row.is) {
			return &hostfn.Failure{Kind: row.kind, Message: row.text}
		}
	}
	switch how, told := nestedByKind[e.Kind]; {
	case errors.As(e, &limit):
		return &hostfn.Failure{Kind: hostfn.KindLimit, Message: limit.What + " limit of " + limit.Limit + " reached"}
	case errors.As(e, &reported):
		return &hostfn.Failure{Kind: reportedKind(reported.Kind), Message: clip(reported.Error(), maxMessage)}
	case told && how.words:
		return &hostfn.Failure{Kind: how.kind, Message: clip(e.Message, maxMessage)}
	}
	return &hostfn.Failure{Kind: hostfn.KindFailed, Message: "the skill could not be run"}
}

var kindWord = lazyregexp.New(`^[a-z][a-z0-9_]{0,63}$`)

// reportedKind is the kind of error that a skill reported, as its caller is told
// it. It cannot speak for the host.
func reportedKind(kind string) hostfn.Kind {
	if !kindWord().MatchString(kind) || hostfn.Kind(kind) == hostfn.KindDenied {
		return hostfn.KindFailed
	}
	return hostfn.Kind(kind)
}
