package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/manifests"
)

// A Playback is what a replay shows the guest in place of the world.
type Playback struct {
	// Host answers host functions, and Looks says what is seen of the clock, of
	// randomness and of files.
	Host  hostfn.Tape
	Looks wasi.Tape
	// As is the recorded call: configuration, seed, and whether there was a real
	// clock and randomness are its.
	As *recording.Recording
	// Exact applies the limits of the recorded call, under the host's ceilings, and
	// refuses a package or module that is not the recorded one with a
	// [fault.KindVerification] error. Otherwise limits are the package's.
	Exact bool
	// Wall is the longest it may take; zero means the limit that holds otherwise.
	Wall time.Duration
}

// Replay runs a guest as a recorded call ran, with nothing real behind it: it is
// lent no grants, files, store, secrets or network, and only the playback
// answers. It runs in a process of its own where there are such. In the audit log
// it is a run whose part is "replay". The outcome is the zero value when the
// guest was not run.
func (r *Runner) Replay(ctx context.Context, t Target, p Playback) (task.Result, recording.Outcome) {
	t.Origin, t.Granted, t.Canary = registry.OriginPath, approval.Granted{}, nil
	a := r.begin(Call{Target: t, Tool: p.As.Tool, Input: p.As.Input, Caller: "host:replay", NoCache: true, Limits: limit.Set{Seconds: p.Wall.Seconds()}, play: &p}, asReplay, nil)
	a.finish(r.settle(ctx, a))
	r.recorded(ctx, a)
	return a.result, a.outcome
}

// lendReplayed makes the environment of a guest that nothing is lent.
func (r *Runner) lendReplayed(a *attempt) {
	p := a.call.play
	a.env = hostfn.NewEnv(hostfn.Settings{
		LogBytes: a.limits.LogBytes, Config: p.As.Config, Tape: p.Host, RunID: string(a.result.RunID),
		Log: r.log,
	})
}

// exactly reports whether the run is to be that of a recorded call.
func (a *run) exactly() bool { return a.call.play != nil && a.call.play.Exact }

// hostTape is what host functions pass.
func (a *run) hostTape() hostfn.Tape {
	if a.call.Recorder != nil {
		return a.call.Recorder
	}
	return a.call.Tape
}

// taped gives the call of a guest what its looks at the world pass.
func (a *attempt) taped(c sandbox.Call) (sandbox.Call, error) {
	switch {
	case a.call.play != nil:
		return a.played(c)
	case a.call.Recorder != nil:
		a.call.Recorder.Begin(a.head(c))
		c.Tape = a.call.Recorder
	default:
		c.Tape = a.call.Looks
	}
	return a.staged(c), nil
}

// played is the call as it was recorded.
func (a *attempt) played(c sandbox.Call) (sandbox.Call, error) {
	p := a.call.play
	if err := a.isRecorded(c); p.Exact && err != nil {
		return c, err
	}
	c.FS, c.Tape, c.Config = nil, p.Looks, p.As.Config
	c.Restart = p.As.Restart && p.Exact || c.Restart
	c.Clock, c.Random, c.Seed = p.As.Clock, p.As.Random, p.As.Seed
	return c, nil
}

// isRecorded refuses a recording that says of itself what is not so.
func (a *attempt) isRecorded(c sandbox.Call) error {
	as, man := a.call.play.As, a.manifest
	for _, claim := range []struct {
		what      string
		has, says string
	}{
		{"the package", string(a.call.Target.Package.Digest()), string(as.Digest)},
		{"the module", a.module.Info().Digest, string(as.Module)},
		{"the skill", man.Name, as.Skill},
		{"the version", man.Version, as.Version},
		{"the function", c.Export, as.Export},
	} {
		if claim.has != claim.says {
			return fault.Errorf(fault.KindVerification, "replay %s: %s is %s, and the recording says %s", as.Ref(), claim.what, claim.has, clip(line(claim.says), maxRequest)).
				WithHint("the recording is of another package: %s compares it with this one", fault.SetField(fault.FieldCompare))
		}
	}
	if !slices.Equal(c.Args, as.Args) {
		return fault.Errorf(fault.KindVerification, "replay %s: the recording says other arguments of the module than its manifest", as.Ref()).
			WithHint("the recording was changed: record the call again")
	}
	return nil
}

// head is what is known of a call before the guest runs.
func (a *attempt) head(c sandbox.Call) recording.Recording {
	t := a.call.Target
	head := recording.Recording{
		Skill: a.manifest.Name, Version: a.manifest.Version, Digest: t.Package.Digest(), Module: manifests.Digest(a.module.Info().Digest),
		Tool: a.tool.Name, Export: c.Export, Args: c.Args, Input: c.Input, Config: c.Config,
		Grants: a.granted.Strings(), Workspace: a.call.Workspace,
		Clock: c.Clock, Random: c.Random, Seed: c.Seed, Restart: c.Restart,
		Limits: recording.LimitsOf(c.Limits.Filled()),
	}
	if t.Origin == registry.OriginPath {
		head.Path = t.Label
	}
	if a.turn != nil {
		head.Inexact = "the call went on with what a session keeps, which is not part of the recording"
	}
	return head
}

// ended keeps how an attempt ended, for a recording or the report of a replay.
// ran is how the guest ended, and err what the caller is told.
func (a *attempt) ended(err error) {
	if a.call.Recorder == nil && a.call.play == nil || !a.ran {
		return
	}
	o := recording.Outcome{
		OK: err == nil, Output: a.reply.Output, ExitCode: a.reply.ExitCode, Stderr: a.reply.Stderr, Ending: endingOf(a.guestErr),
		Logs: append([]task.LogLine{}, a.env.Logs()...), Denials: append([]task.Denial{}, a.env.Denials()...),
		Fuel: a.reply.Fuel, PeakMemoryBytes: a.reply.PeakMemoryBytes, HostCalls: a.reply.HostCalls,
		DurationMS: duration.Milliseconds(a.reply.Duration),
	}
	if err != nil {
		o.Error = a.callerError(err)
	}
	clipDenials(o.Denials)
	if a.outcome = o; a.call.Recorder != nil {
		a.call.Recorder.End(o)
	}
}

// endingOf says how a guest ended. What a host function said that ended it is not
// part of it: a replay has its kind and nothing else.
func endingOf(err error) recording.Ending {
	if err == nil {
		return recording.Ending{}
	}
	e := recording.Ending{Reason: Judge(err).Reason}
	e.Clock = errors.Is(err, sandbox.ErrTime) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	var guest *sandbox.GuestError
	var limit *sandbox.LimitError
	var trap *sandbox.TrapError
	switch {
	case errors.As(err, &limit):
		e.Message = limit.What + " limit of " + limit.Limit
	case errors.As(err, &guest):
		e.Kind, e.Message = guest.Kind, guest.Message
	case errors.As(err, &trap) && trap.Unwrap() == nil:
		e.Message = trap.Reason
	}
	return e
}
