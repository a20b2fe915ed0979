// Package runner turns one tool call into one result: it loads the module,
// lends the guest exactly what it was granted, arms the limits, and judges and
// records what came back.
//
// It decides nothing about installing and approving, and prints nothing.
package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Target is what is run: a package, and what it may do.
type Target struct {
	// Label names it in results: name@version, or the path it was read from.
	Label   string
	Package *bundle.Package
	Origin  registry.Origin
	// Granted is what the package may do; the zero value is nothing.
	Granted capability.Set
}

// A Call is one tool call.
type Call struct {
	Target Target
	// Tool names one of the package's tools; empty means its only one.
	Tool string
	// Input goes to the tool as it is. A tool with an input schema takes JSON
	// that fits it.
	Input []byte
	// Allow is what a person allowed for this run alone.
	Allow approval.OneRun
	// Workspace is the absolute directory relative paths resolve against.
	Workspace string
	// Caller is who called, for the audit log: "human:ada".
	Caller string
	// Limits lower or raise the manifest's limits; zero fields keep them. The
	// ceilings of [Settings] hold in any case.
	Limits Limits
	// Config are the values an Extism guest reads with config_get.
	Config map[string]string
}

// Limits are a caller's wishes. Zero fields mean the manifest's.
type Limits struct {
	MemoryBytes uint64
	Fuel        uint64
	Wall        time.Duration
}

// Settings are what the runner never goes beyond.
type Settings struct {
	// Home is the host's directory, which guests never see, and Own are files of
	// its own outside of it.
	Home string
	Own  []string
	// Ceilings bound every call, whatever a manifest or a caller says.
	Ceilings Limits
	// HTTPTimeout bounds one request of a guest; HTTPBytes its response body.
	HTTPTimeout time.Duration
	HTTPBytes   int64
}

// A Runner runs tools. It is safe for concurrent use.
type Runner struct {
	log      hclog.Logger
	kv       store.KV
	sandbox  *sandbox.Runtime
	policies *policies.Set
	secrets  hostfn.SecretSource
	notifier hostfn.Notifier
	calls    *journal.Journal
	settings Settings

	mu      sync.Mutex
	modules map[manifests.Digest]*sandbox.Module
}

// New makes a Runner.
func New(log hclog.Logger, kv store.KV, s *sandbox.Runtime, p *policies.Set, secrets hostfn.SecretSource, n hostfn.Notifier, calls *journal.Journal, settings Settings) *Runner {
	return &Runner{
		log: log, kv: kv, sandbox: s, policies: p, secrets: secrets, notifier: n, calls: calls,
		settings: settings, modules: map[manifests.Digest]*sandbox.Module{},
	}
}

// attempt is one call on its way through the phases.
type attempt struct {
	call     Call
	tool     manifests.Tool
	manifest *manifests.Manifest
	module   *sandbox.Module
	limits   sandbox.Limits
	env      *hostfn.Env
	reply    sandbox.Result
	result   task.Result
}

// Run makes the call. Whatever happens is in the result; it has an [task.Error]
// when OK is false.
func (r *Runner) Run(ctx context.Context, c Call) task.Result {
	a := &attempt{call: c, manifest: c.Target.Package.Manifest()}
	a.result = task.Result{
		RunID: task.NewRunID(), StartedAt: time.Now().UTC(), Skill: c.Target.Label,
		Digest: string(c.Target.Package.Digest()), Tool: c.Tool,
		Logs: []task.LogLine{}, Denials: []task.Denial{},
	}
	err := r.phases(ctx, a)
	r.finish(a, err)
	if err := r.record(ctx, a); err != nil {
		a.result.OK, a.result.Data, a.result.Raw = false, nil, nil
		a.result.Error = task.AsError(fmt.Errorf("record the run in the audit log: %w", err))
	}
	return a.result
}

// phases runs the steps of a call in order, to the first that fails.
func (r *Runner) phases(ctx context.Context, a *attempt) error {
	for _, phase := range []func(context.Context, *attempt) error{
		r.choose, r.admit, r.load, r.lend, r.execute, r.accept,
	} {
		if err := phase(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the tool.
func (r *Runner) choose(_ context.Context, a *attempt) error {
	if !a.manifest.Type.IsCode() {
		return task.Errorf(task.KindUsage, "%s is a %s skill: it has no code to run", a.call.Target.Label, a.manifest.Type).
			WithHint("it is text for a conversation with a model; read it with `skillet info %s`", a.manifest.Name)
	}
	if ps := a.manifest.Unsupported(); len(ps) > 0 {
		return task.Errorf(task.KindUsage, "%s asks for what this host cannot honour: %s: %s", a.call.Target.Label, ps[0].Path, ps[0].Message).
			WithHint("%s", ps[0].Suggestion)
	}
	tool, ok := a.manifest.DefaultTool()
	if a.call.Tool != "" {
		tool, ok = a.manifest.Tool(a.call.Tool)
	}
	if !ok {
		return noTool(a)
	}
	a.tool, a.result.Tool = tool, tool.Name
	return nil
}

func noTool(a *attempt) error {
	var names []string
	for _, t := range a.manifest.Tools {
		names = append(names, t.Name)
	}
	if a.call.Tool == "" {
		return task.Errorf(task.KindUsage, "%s has several tools", a.call.Target.Label).
			WithHint("name one behind a colon, such as `skillet run %s:%s`; its tools are: %s", a.call.Target.Label, names[0], orList(names))
	}
	e := task.Errorf(task.KindNotFound, "%s has no tool %s", a.call.Target.Label, a.call.Tool)
	if best, ok := task.Nearest(a.call.Tool, names); ok {
		return e.WithHint("did you mean %s? its tools are: %s", best, orList(names))
	}
	return e.WithHint("its tools are: %s", orList(names))
}

// admit checks the input, and the limits that were asked for.
func (r *Runner) admit(_ context.Context, a *attempt) error {
	if len(a.tool.InputSchema) > 0 {
		if !json.Valid(a.call.Input) {
			return task.Errorf(task.KindUsage, "the input of %s is not JSON", a.tool.Name).
				WithHint("give an object, `--input '{...}'`, or key=value pairs; `skillet info %s` shows the schema", a.manifest.Name)
		}
		if err := a.manifest.ValidateInput(a.tool, a.call.Input); err != nil {
			return task.Wrap(task.KindUsage, err).WithHint("`skillet info %s` shows what %s takes", a.manifest.Name, a.tool.Name)
		}
	}
	a.limits = r.limits(a)
	return nil
}

// limits are the manifest's, changed as the caller wished, under the ceilings.
func (r *Runner) limits(a *attempt) sandbox.Limits {
	m, want, top := a.manifest.Limits(), a.call.Limits, r.settings.Ceilings
	l := sandbox.DefaultLimits()
	l.MemoryBytes = bounded(want.MemoryBytes, m.MemoryBytes, top.MemoryBytes)
	l.Fuel = bounded(want.Fuel, m.Fuel, top.Fuel)
	l.Wall = bounded(want.Wall, time.Duration(m.Seconds*float64(time.Second)), top.Wall)
	l.OutputBytes, l.HostCalls = m.OutputBytes, m.HostCalls
	l.Files.FileBytes = m.FileSizeBytes
	return l
}

// bounded is want, or else usual, but no more than top; a zero top is none.
func bounded[T uint64 | time.Duration](want, usual, top T) T {
	if want == 0 {
		want = usual
	}
	if top > 0 {
		want = min(want, top)
	}
	return want
}

// load compiles the module, or finds it compiled.
func (r *Runner) load(ctx context.Context, a *attempt) error {
	m, err := r.module(ctx, a.call.Target.Package)
	a.module = m
	return err
}

// lend makes the environment of the guest: everything it may do, for one call.
func (r *Runner) lend(_ context.Context, a *attempt) error {
	t := a.call.Target
	a.env = hostfn.NewEnv(hostfn.Settings{
		Granted:  t.Granted.Union(a.call.Allow.Set()),
		Policies: r.policies,
		Principal: policies.Principal{
			Skill: a.manifest.Name, Version: a.manifest.Version, Digest: string(t.Package.Digest()), Origin: string(t.Origin),
		},
		Home: r.settings.Home, Own: r.settings.Own, Workspace: a.call.Workspace,
		Limits: hostfn.Limits{Files: a.limits.Files, LogBytes: a.limits.LogBytes},
		KV:     r.kv, KVQuotaBytes: a.manifest.Limits().KVBytes, KVSchema: kvSchema(a.manifest),
		Secrets: r.secrets, Injections: injections(a.manifest), Notifier: r.notifier,
		Log: r.log.With("run_id", string(a.result.RunID), "skill", t.Label), Config: a.call.Config,
		MaxHTTPBytes: r.settings.HTTPBytes, HTTPTimeout: r.settings.HTTPTimeout, RunID: string(a.result.RunID),
	})
	return nil
}

func kvSchema(m *manifests.Manifest) int {
	if kv := m.Security.Permissions.KV; kv != nil {
		return kv.SchemaVersion
	}
	return 0
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
	a.reply, err = a.module.Call(ctx, sandbox.Call{
		Export: a.tool.Export, Input: a.call.Input, Args: arguments(a), Limits: a.limits, FS: fs,
		Clock:  a.env.Allows(capability.Request{Action: capability.Clock}),
		Random: a.env.Allows(capability.Request{Action: capability.Random}),
		Config: a.call.Config, Env: a.env, Log: a.env.Log,
	})
	return err
}

// arguments are those of a WASI command: the manifest's, then the tool's name
// where there are several to choose from.
func arguments(a *attempt) []string {
	if a.tool.Export != manifests.ExportWASI {
		return nil
	}
	args := a.manifest.Args
	if len(a.manifest.Tools) > 1 {
		args = append(args[:len(args):len(args)], a.tool.Name)
	}
	return args
}

// accept checks the answer against the tool's schema.
func (r *Runner) accept(_ context.Context, a *attempt) error {
	if len(a.tool.OutputSchema) == 0 {
		return nil
	}
	if err := a.manifest.ValidateOutput(a.tool, a.reply.Output); err != nil {
		return task.Wrap(task.KindSkill, err).WithHint("the skill answered with something its own manifest does not allow: report it to its author")
	}
	return nil
}

// module returns the compiled module of a package, compiling it at its first use.
func (r *Runner) module(ctx context.Context, p *bundle.Package) (*sandbox.Module, error) {
	path, wasm, err := p.Module()
	if err != nil {
		return nil, task.Wrap(task.KindVerification, err)
	}
	d := manifests.DigestOf(wasm)
	r.mu.Lock()
	m, ok := r.modules[d]
	r.mu.Unlock()
	if ok {
		return m, nil
	}
	if m, err = r.sandbox.Load(ctx, wasm); err != nil {
		return nil, loadError(path, err)
	}
	return r.keep(ctx, d, m)
}

// keep remembers a compiled module, unless another call was first.
func (r *Runner) keep(ctx context.Context, d manifests.Digest, m *sandbox.Module) (*sandbox.Module, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.modules[d]; ok {
		return first, m.Close(ctx)
	}
	r.modules[d] = m
	return m, nil
}

// Check loads a package's module and looks for the exports its tools name. It
// runs no code of the package. Errors are [task.Error]s of
// [task.KindVerification].
func (r *Runner) Check(ctx context.Context, p *bundle.Package) error {
	man := p.Manifest()
	if !man.Type.IsCode() {
		return nil
	}
	m, err := r.module(ctx, p)
	if err != nil {
		return err
	}
	exports := map[string]sandbox.FuncType{}
	for _, e := range m.Info().Exports {
		exports[e.Name] = e
	}
	for _, t := range man.Tools {
		f, ok := exports[t.Export]
		if ok && (len(f.Params) > 0 || len(f.Results) > 1 || len(f.Results) == 1 && f.Results[0] != sandbox.I32) {
			return task.Errorf(task.KindVerification, "tool %s: the function %s of %s takes parameters, or returns something else than one i32", t.Name, t.Export, man.Command).
				WithHint("a tool reads its input from the host; export a function without parameters")
		}
		if !ok {
			return task.Errorf(task.KindVerification, "tool %s: %s exports no function %s", t.Name, man.Command, t.Export).
				WithHint("set \"export\" of the tool to a function the module exports")
		}
	}
	return nil
}

// Forget deletes what the installed skill of that name kept between its runs.
func (r *Runner) Forget(ctx context.Context, skill string) error {
	return hostfn.DeleteState(ctx, r.kv, policies.Principal{Skill: skill, Origin: policies.OriginUser})
}
