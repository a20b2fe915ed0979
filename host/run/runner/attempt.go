package runner

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// attempt is one attempt at a run.
type attempt struct {
	*run
	module  module
	compile time.Duration // 0 when the module was there
	env     *hostfn.Env
	reply   sandbox.Result
	folder  *folder  // what its scripts run with; nil for another target
	scopes  []string // that an MCP server wants a token for

	ran      bool  // the guest was run
	guestErr error // how it ended
}

// attempt runs the guest once. Its error is a [fault.Error].
func (r *Runner) attempt(ctx context.Context, run *run) error {
	a, start := &attempt{run: run}, time.Now()
	ctx, span := trace.Start(ctx, "attempt", trace.String("tool", run.tool.Name))
	err := r.contain(a.run, func() error { return r.phases(ctx, a) })
	denials := a.gather()
	if err != nil {
		err = classified(explain(run, denials, err))
	}
	a.ended(err)
	run.tried(err, time.Since(start))
	span.End(err)
	return err
}

// contain calls f. A panic in it is an error of the run and nothing more, and its
// stack is logged for who looks for the fault.
func (r *Runner) contain(run *run, f func() error) error {
	err := sandbox.Contain(f)
	var fault *sandbox.PanicError
	if errors.As(err, &fault) {
		r.log.Error("fault of the host", "run_id", string(run.result.RunID), "skill", run.call.Target.Label, "panic", fault.Value, "stack", fault.Stack)
	}
	return err
}

// phases runs the steps of an attempt in order, to the first that fails.
func (r *Runner) phases(ctx context.Context, a *attempt) error {
	for _, phase := range []func(context.Context, *attempt) error{r.load, r.lend, r.execute, r.accept} {
		if err := phase(ctx, a); err != nil {
			return err
		}
	}
	a.output = a.reply.Output
	return nil
}

// gather adds what the attempt cost, did and said to its run, and returns what it
// was denied.
func (a *attempt) gather() []task.Denial {
	var denials []task.Denial
	if a.env != nil { // the attempt got as far as being lent something
		denials = a.env.Denials()
		a.adrift = a.env.Adrift()
		a.result.Denials = mergeDenials(a.result.Denials, denials)
		a.result.Logs = append(a.result.Logs, a.env.Logs()...)
		a.uses = mergeUses(a.uses, append(a.env.Uses(), a.looked()...))
	}
	a.result.Logs = append(a.result.Logs, stderrLines(a.reply.Stderr)...)
	a.result.Figures = a.result.Figures.Add(a.figures())
	return denials
}

// looked is what the guest did with the grants of clock and random, which are not
// host functions.
func (a *attempt) looked() []hostfn.Use {
	if a.call.play != nil { // it saw what was recorded
		return nil
	}
	var us []hostfn.Use
	for _, c := range []struct {
		action capability.Action
		used   bool
	}{{capability.Clock, a.reply.Clock}, {capability.Random, a.reply.Random}} {
		if c.used {
			us = append(us, hostfn.Use{Request: string(c.action), Capability: string(c.action), Count: 1})
		}
	}
	return us
}

// figures are what this attempt cost.
func (a *attempt) figures() task.Figures {
	r := a.reply
	return task.Figures{
		Fuel: r.Fuel, PeakMemoryBytes: r.PeakMemoryBytes, HostCalls: r.HostCalls, Attempts: 1,
		DirtyPages: uint64(r.DirtyPages), ResetStrategy: string(r.Strategy), ResetNS: r.ResetTime.Nanoseconds(),
		Pooled: r.Pooled, InstantiateNS: r.InstantiateTime.Nanoseconds(), SnapshotNS: r.SnapshotTime.Nanoseconds(),
		CompileNS: a.compile.Nanoseconds(),
	}
}

// tried notes how an attempt went.
func (a *run) tried(err error, took time.Duration) {
	t := task.Attempt{WaitMS: duration.Milliseconds(a.pause), DurationMS: duration.Milliseconds(took)}
	if err != nil {
		t.Error, t.Reason = a.callerError(err), Judge(err).Reason
		t.Error.Message = clip(t.Error.Message, maxRequest)
	}
	a.tries, a.pause = append(a.tries, t), 0
}

// wall is how long an attempt may take: what is left, when there were others
// before it or it waited.
func (a *run) wall() (time.Duration, error) {
	if a.until.IsZero() || len(a.tries) == 0 && a.queued == 0 {
		return a.limits.Wall, nil
	}
	left := time.Until(a.until)
	if left <= 0 {
		return 0, fault.Errorf(fault.KindLimit, "%w before the guest could be run: the call has waited for too long", sandbox.ErrTime).
			WithHint("raise it for one run with %s, or in the skill's manifest with resilience.timeout", fault.SetField(fault.FieldTimeout))
	}
	return min(a.limits.Wall, left), nil
}

// wallSet is the limit of time that an attempt is told of which may take wall: as it was
// set, and not what other attempts, and a tool that this one stands in for, left of it.
func (r *Runner) wallSet(a *run, wall time.Duration) time.Duration {
	switch {
	case a.call.wall > 0:
		return a.call.wall
	case wall < a.limits.Wall:
		return r.total(a)
	}
	return wall
}

// principal is the skill, as policies and its own state know it.
func (a *run) principal() policies.Principal {
	t := a.call.Target
	return policies.Principal{Skill: a.manifest.Name, Version: a.manifest.Version, Digest: string(t.Package.Digest()), Signer: t.Signer, Origin: string(t.Origin)}
}

// state is where what the skill keeps is kept for this run.
func (a *run) state(kv store.KV) store.KV {
	switch {
	case a.call.scratch != nil:
		return a.call.scratch
	case a.call.Stage != nil:
		return a.call.Stage.KV
	}
	return kv
}

// load compiles the module, or finds it compiled.
func (r *Runner) load(ctx context.Context, a *attempt) error {
	if a.manifest.Type.IsMCP() {
		a.module = mcpCall{r, a}
		return nil
	}
	if s, ok := a.manifest.Script(a.tool.Name); ok {
		return r.loadScript(ctx, a, s)
	}
	return r.loadModule(ctx, a, a.call.Target)
}

// loadModule takes the module of a target for an attempt to run.
func (r *Runner) loadModule(ctx context.Context, a *attempt, t Target) error {
	domain, err := r.domain(a.run)
	if err != nil {
		return err
	}
	m, fresh, err := r.module(ctx, t, domain, a.call.Stage != nil)
	if fresh {
		a.compile = m.Info().CompileTime
	}
	a.module = m
	return err
}

// lend makes the environment of the guest: everything it may do, for one call.
func (r *Runner) lend(ctx context.Context, a *attempt) error {
	if a.call.play != nil {
		r.lendReplayed(a)
		return nil
	}
	now := r.standing(ctx, a.run)
	a.env = hostfn.NewEnv(a.onStage(hostfn.Settings{
		Granted: now.Granted, Policies: now.Policies, Present: r.presentOf(ctx, a.run),
		Beyond: a.beyond, Approved: a.approved(), Lifted: a.lifted(), Principal: a.principal(), Call: &a.about,
		Home: r.settings.Home, Own: r.settings.Own, Workspace: a.call.Workspace,
		Files: a.limits.Files, LogBytes: a.limits.LogBytes, Logged: a.call.Logged,
		KV: a.state(r.kv), KVQuotaBytes: a.manifest.Limits().KVBytes, KVSchema: kvSchema(a.manifest),
		Secrets: r.secrets, Injections: injections(a.manifest), Notifier: r.notifier,
		Skills: callees{r, a.run}, Models: r.settings.Models,
		Log: r.log, Config: a.config(),
		MaxHTTPBytes: r.settings.HTTPBytes, HTTPTimeout: r.settings.HTTPTimeout, RunID: string(a.result.RunID),
		Tape: a.hostTape(),
	}))
	return nil
}

// config are the values an Extism guest reads: the manifest's, and before those
// the caller's.
func (a *run) config() map[string]string {
	if len(a.manifest.Config) == 0 {
		return a.call.Config
	}
	all := maps.Clone(a.manifest.Config)
	maps.Copy(all, a.call.Config)
	return all
}

// approved is what a person approved for this very call.
func (a *run) approved() capability.Set {
	if a.call.Lease.Policies() != nil {
		return a.call.Allow.Set()
	}
	return a.call.Lease.Set().Union(a.call.Allow.Set())
}

// lifted is what a person approved for calls like this one.
func (a *run) lifted() hostfn.Lifted {
	if a.call.Lease.Policies() == nil {
		return hostfn.Lifted{}
	}
	return hostfn.Lifted{Set: a.call.Lease.Set(), Policies: a.call.Lease.Policies()}
}

func injections(m *manifests.Manifest) []hostfn.Injection {
	var is []hostfn.Injection
	for _, s := range m.Security.Permissions.Secrets {
		if s.Inject != nil {
			is = append(is, hostfn.Injection{Secret: s.Name, URL: s.Inject.URL, Header: s.Inject.Header, Prefix: s.Inject.Prefix})
		}
	}
	return is
}

// execute runs the guest.
func (r *Runner) execute(ctx context.Context, a *attempt) error {
	defer a.env.Close()
	fs, err := a.env.FS()
	if err != nil {
		return err
	}
	limits := a.limits
	if limits.Wall, err = a.wall(); err != nil {
		return err
	}
	limits.WallSet = r.wallSet(a.run, limits.Wall)
	c, err := a.taped(a.inFolder(sandbox.Call{
		Export: a.tool.Export, Input: a.call.Input, Args: arguments(a.run), Limits: limits, FS: fs, Scratch: scratch(a.manifest, limits),
		Clock:   a.env.Allows(capability.Request{Action: capability.Clock}),
		Random:  a.env.Allows(capability.Request{Action: capability.Random}),
		Restart: a.manifest.Snapshot == manifests.SnapshotNone || a.call.Fresh,
		Config:  a.config(), Env: a.env, Log: a.env.Log,
		Waits: func(waiting bool) { r.gates.stall(a.chain, waiting) },
	}))
	if err != nil {
		return err
	}
	do := a.module.Call
	if a.turn != nil {
		do = a.goOn
	}
	if a.call.Begins != nil {
		if err := a.call.Begins(); err != nil {
			return err
		}
	}
	ctx, span := trace.Start(ctx, "guest", trace.String("export", c.Export))
	a.reply, err = do(ctx, c)
	span.Set(trace.Int("fuel", int64(a.reply.Fuel)), trace.Int("host_calls", int64(a.reply.HostCalls)))
	span.End(err)
	a.ran, a.guestErr = true, err
	return err
}

// scratch is how many bytes of files a script may have in memory: a quarter of what
// it may have of that. Modules get no such directory.
func scratch(m *manifests.Manifest, l sandbox.Limits) int64 {
	if !m.Interpreted() {
		return 0
	}
	return scratchOf(l)
}

func scratchOf(l sandbox.Limits) int64 { return int64(l.Filled().MemoryBytes / 4) }

// arguments are those of a WASI command: the manifest's, then the tool's name
// where several tools are this command.
func arguments(a *run) []string {
	if a.tool.Export != manifests.ExportWASI {
		return nil
	}
	args := a.manifest.Args
	if len(commands(a.manifest)) > 1 {
		args = append(args[:len(args):len(args)], a.tool.Name)
	}
	return args
}

// commands are the tools that run the WASI command.
func commands(m *manifests.Manifest) (all []manifests.Tool) {
	for _, t := range m.Tools {
		if t.Export == manifests.ExportWASI {
			all = append(all, t)
		}
	}
	return all
}

// accept checks the answer against the tool's schema.
func (r *Runner) accept(_ context.Context, a *attempt) error {
	if len(a.tool.OutputSchema) == 0 {
		return nil
	}
	if err := a.manifest.ValidateOutput(a.tool, a.reply.Output); err != nil {
		return fault.Wrap(fault.KindSkill, err).WithHint("the skill answered with something its own manifest does not allow: report it to its author")
	}
	return nil
}
