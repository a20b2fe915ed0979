// Package invoke makes calls of skills, for whoever makes them: a person at a terminal,
// a program, an agent in a task. It finds what is called, takes the grants that hold for
// the call, runs the tool or asks the model, records it where that is wanted, and
// makes a proposal where policies ask a person. There is no other way to call a skill
// from outside of the host.
package invoke

import (
	"cmp"
	"context"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/llm/skillmodel"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/prompt"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
)

// Parts are what a [Service] works on. All but Warm are needed.
type Parts struct {
	Skills     *Skills
	Sources    *source.Fetcher
	Runner     *runner.Runner
	Approvals  *approval.Store
	Secrets    *secret.Vault
	Recordings *recording.Archive
	Replays    *replay.Replayer
	Sessions   *session.Store
	// Ceilings are what no call may exceed.
	Ceilings limit.Set
	// Warm is called when a call begins, to open meanwhile what its record needs.
	Warm func(context.Context)
}

// A Service makes calls. It is safe for concurrent use.
type Service struct {
	parts Parts
	log   hclog.Logger
}

// New makes a Service.
func New(log hclog.Logger, p Parts) *Service { return &Service{p, log} }

// An Invocation is one call that somebody wants made. All but Target and By may be left
// out, which allows and asks for less.
type Invocation struct {
	Target Target
	// By is who calls.
	By approval.Principal
	// Input goes to the tool as it is: JSON that fits its schema, where it has one.
	Input []byte
	// Allow is what a person allows for this call alone.
	Allow approval.EphemeralGrant
	// Run and Session are those the call belongs to, for grants that hold for one alone. A
	// skill with sessions goes on with Session; empty for a call that leaves nothing behind.
	Run, Session string
	// Task and Step are those of a goal that the call is made for; empty for none.
	Task, Step string
	// Workspace is the absolute directory against which relative paths resolve.
	Workspace string
	// Limits lower or raise those of the manifest, up to what the host allows. A zero field
	// leaves what holds without it.
	Limits Limits
	// Script is the script that makes the call, for a person who decides about it; nil for
	// another caller.
	Script *approval.Script
	// Config are values an Extism guest reads.
	Config map[string]string
	// Bounds are what the call keeps to beside its grants. An agent's call without has
	// no network and no files.
	Bounds *Bounds
	// Begins is called before the guest runs for the first time: when it fails, the guest
	// does not run. Nil is for nobody.
	Begins func() error
	// Logged is told each line that the call logs as it comes, and must be quick; nil is for
	// nobody.
	Logged func(LogLine)
	// NoCache runs the tool even if its answer is cached, and does not cache the new one.
	// Fresh runs it in a new instance.
	NoCache, Fresh bool
	// Record asks for a recording, which is then part of the answer. RecordTo is a file to
	// write it to, too, where nothing else is than another recording; empty for none.
	Record   bool
	RecordTo string
}

// A Recording is what the guest saw in a call.
type Recording = recording.Recording

// What results are made of.
type (
	// A Result is what came of a call.
	Result = task.Result
	// A LogLine is a line that the guest logged, and a Denial something that was refused.
	LogLine = task.LogLine
	Denial  = task.Denial
)

// Bounds are what a call keeps to beside its grants.
type Bounds = runner.Bounds

// A Notification is what a skill has to say to a person.
type Notification = hostfn.Notification

// An Answer is what came of an invocation.
type Answer struct {
	Result
	// Cuts are the limits that were asked for and that the host makes smaller.
	Cuts []Cut
	// Recording is that of the call; nil when none was asked for, or nothing ran.
	Recording *Recording
	// TooShort names secrets that are too short to be struck out of the recording.
	TooShort []string
}

// Invoke makes a call. What went wrong with a call that was made, or refused, is in the
// answer. With an error and no RunID in the answer no call was made; with an error and one,
// there is no recording of it.
//
// A call of an installed skill that fails because policies ask about what it does waits for
// a person, as a proposal: its error is then of [fault.KindApproval]. When a person has
// approved this very call, byte for byte, that approval is used up.
func (s *Service) Invoke(ctx context.Context, in Invocation) (Answer, error) {
	if err := s.check(ctx, in); err != nil {
		return Answer{}, err
	}
	c, err := s.granted(ctx, in)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Cuts: in.Limits.Within(s.parts.Ceilings).Cut}
	switch {
	case in.Target.IsPrompt():
		a.Result = s.parts.Runner.Ask(ctx, c)
	case in.Record || in.RecordTo != "":
		err = s.record(ctx, in, c, &a)
	default:
		a.Result = s.call(ctx, in, c)
	}
	return a, err
}

// A Rendered is a prompt as a model would be sent it.
type Rendered struct {
	OK     bool       `json:"ok"`
	Skill  string     `json:"skill"`
	Digest string     `json:"digest"`
	RunID  task.RunID `json:"run_id"`
	prompt.Prompt
	// Denials are the files that were refused.
	Denials []Denial `json:"denials"`
}

// Render returns the prompt that a model would be sent, and asks none. Where the result is
// not OK there is no prompt.
func (s *Service) Render(ctx context.Context, in Invocation) (Rendered, Result, error) {
	if err := in.check(); err != nil {
		return Rendered{}, Result{}, err
	}
	if !in.Target.IsPrompt() {
		return Rendered{}, Result{}, fault.Errorf(fault.KindUsage, "%s runs code, and has no prompt to print", in.Target.Label()).
			WithHint("leave %s out to run it", fault.OmitField(fault.FieldRender))
	}
	c, err := s.granted(ctx, in)
	if err != nil {
		return Rendered{}, Result{}, err
	}
	p, res := s.parts.Runner.Render(ctx, c)
	return Rendered{res.OK, res.Skill, res.Digest, res.RunID, p, res.Denials}, res, nil
}

// check refuses what cannot be done before any grant is spent on it.
func (s *Service) check(ctx context.Context, in Invocation) error {
	if err := in.check(); err != nil || !in.Target.IsPrompt() {
		return err
	}
	return s.parts.Runner.Asks(ctx, in.Target.Label())
}

func (in Invocation) check() error {
	if err := approval.CheckPrincipal(in.By); err != nil {
		return err
	}
	if in.Target.run.Package == nil {
		return fault.Errorf(fault.KindUsage, "a call of nothing")
	}
	if err := cmp.Or(checkLimits(in.Limits), in.recordable()); err != nil || !in.Target.IsPrompt() {
		return err
	}
	return in.withoutCode()
}

// withoutCode refuses what has no meaning for a prompt.
func (in Invocation) withoutCode() error {
	type given struct {
		field fault.Field
		set   bool
	}
	var all []given
	for _, l := range limit.All() {
		all = append(all, given{fault.Field(l.Request()), l.Of(in.Limits) != 0})
	}
	for _, f := range append(all, []given{
		{fault.FieldConfig, len(in.Config) > 0},
		{fault.FieldRecord, in.Record || in.RecordTo != ""},
		{fault.FieldNoCache, in.NoCache},
	}...) {
		if f.set {
			return fault.Errorf(fault.KindUsage, "%s has no meaning for a prompt, which is not run", f.field).WithHint("leave %s out", fault.OmitField(f.field))
		}
	}
	return nil
}

// granted is the call with what the skill may do in it. Grants that are good for a number
// of runs are spent last, when nothing is left to be wrong with it.
func (s *Service) granted(ctx context.Context, in Invocation) (runner.Call, error) {
	c := runner.Call{
		Target: in.Target.run, Tool: in.Target.tool, Input: in.Input, Caller: in.By.Actor(), Task: in.Task, Step: in.Step, Allow: in.Allow, Session: in.Session,
		Workspace: in.Workspace, Limits: in.Limits, Config: in.Config, Bounds: in.Bounds, Begins: in.Begins, Logged: in.Logged, NoCache: in.NoCache, Fresh: in.Fresh,
	}
	if _, agent := in.By.(approval.Agent); agent && c.Bounds == nil {
		c.Bounds = &runner.Bounds{Offline: true}
	}
	skill, ok := in.Target.Installed()
	if !ok {
		return c, nil
	}
	var err error
	c.Target.Granted, err = s.parts.Approvals.ConsumeGrants(ctx, skill, approval.Use{Run: in.Run, Session: in.Session, Input: in.Input})
	return c, err
}

// call makes a call, and counts what models it asked.
func (s *Service) call(ctx context.Context, in Invocation, c runner.Call) task.Result {
	if s.parts.Warm != nil {
		s.parts.Warm(ctx)
	}
	ctx, asked := skillmodel.Counting(ctx)
	c.Models = asked.Use
	res := s.asked(ctx, in, c)
	res.Models = asked.Use()
	return res
}
