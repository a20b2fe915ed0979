package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/mcpserver"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// mcpCall is the call of an MCP server in the place of that of a module. To the tape it is
// one call of a host function, so that it is recorded, replayed and mocked as one.
type mcpCall struct {
	r *Runner
	a *attempt
}

// Info has the digest of the package in the place of that of a module.
func (m mcpCall) Info() sandbox.Info {
	return sandbox.Info{Digest: string(m.a.call.Target.Package.Digest())}
}

// Close does nothing: servers are of the pool.
func (m mcpCall) Close(context.Context) error { return nil }

// mcpAsk and mcpTold are what the tape is told of a call beside arguments and output.
type mcpAsk struct {
	Tool string `json:"tool"` // as the server calls it
}

type mcpTold struct {
	Failed bool `json:"failed"`
}

// Call makes the call.
func (m mcpCall) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	limits, began := c.Limits.Filled(), time.Now()
	if int64(len(c.Input)) > limits.InputBytes {
		return sandbox.Result{}, fault.Errorf(fault.KindLimit, "%w: an input of %s, of at most %s", sandbox.ErrInput, text.Size(int64(len(c.Input))), text.Size(limits.InputBytes))
	}
	within, cancel := context.WithTimeout(ctx, limits.Wall)
	defer cancel()
	told, err := m.a.env.Server(within, m.a.manifest.MCP.URL == "", mcpAsk{m.a.tool.Export}, c.Input, m.act)
	res := sandbox.Result{HostCalls: 1, Duration: time.Since(began)}
	switch {
	case ctx.Err() != nil && !m.a.imagined():
		return res, ctx.Err()
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return res, fault.Errorf(fault.KindLimit, "%w: the server did not answer within %s", sandbox.ErrTime, limits.Wall).
			WithHint("raise it for one run with %s, or in the manifest with security.resource_limits.max_execution_time", fault.SetField(fault.FieldTimeout))
	case err != nil:
		return res, err
	}
	if err := m.failure(told); err != nil {
		return res, err
	}
	if int64(len(told.Body)) > limits.OutputBytes {
		return res, fault.Errorf(fault.KindLimit, "the server answered %s, of at most %s", text.Size(int64(len(told.Body))), text.Size(limits.OutputBytes)).
			WithHint("raise security.resource_limits.max_output_kb in its manifest")
	}
	res.Output = told.Body
	return res, nil
}

// failure is the error that an answer tells of.
func (m mcpCall) failure(told hostfn.Answer) error {
	f := told.Failure()
	switch {
	case f == nil && string(told.Meta) == `{"failed":true}`:
		return &sandbox.GuestError{Message: text.Short(string(told.Body), maxFailure)}
	case f == nil:
		return nil
	case f.Kind == hostfn.KindDenied:
		return f
	case f.Kind == hostfn.KindLogin:
		return m.a.logIn(f.Message)
	case f.Kind == hostfn.KindChanged:
		return fault.Errorf(fault.KindVerification, "%s", f.Message).
			WithHint("%s shows what is different and asks about it; until then it is not called", fault.Update(m.a.manifest.Name))
	}
	return &sandbox.GuestError{Kind: string(f.Kind), Message: f.Message}
}

// logIn is the error for a server that wants another token: a person gets it.
func (a *attempt) logIn(why string) error {
	remedy := fault.LogInServer(a.manifest.Name).With(fault.FieldURL, a.manifest.MCP.URL)
	for _, s := range a.scopes {
		remedy = remedy.With(fault.FieldScope, s)
	}
	return fault.Errorf(fault.KindSkill, "%s", why).WithHint("log in there: %s; or store a token of it with %s, and add it again with the name of that secret", remedy, fault.SetSecret("NAME"))
}

// maxFailure bounds what is kept of the error of a tool, in bytes.
const maxFailure = 4 << 10

// act makes the call at the server.
func (m mcpCall) act(ctx context.Context) (any, []byte, error) {
	input := m.a.call.Input
	if len(input) == 0 {
		input = []byte("{}")
	}
	var r mcpserver.Result
	var err error
	if m.a.manifest.MCP.URL != "" {
		r, err = mcpserver.Remote{URL: m.a.manifest.MCP.URL, Carrier: m.a.env}.Call(ctx, m.a.tool, input)
	} else {
		r, err = m.atProgram(ctx, input)
	}
	if err != nil {
		return nil, nil, m.a.asHostFailure(err)
	}
	return mcpTold{r.Failed}, r.Output, nil
}

// asHostFailure is an error of a server as the caller is told it.
func (a *attempt) asHostFailure(err error) error {
	var refused *hostfn.DeniedError
	var told *hostfn.Failure
	var scope *mcpserver.ScopeError
	if errors.As(err, &scope) {
		a.scopes = scope.Scopes
	}
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &told):
		return told
	case errors.Is(err, mcpserver.ErrUnknownCaller), errors.Is(err, mcpserver.ErrScope):
		return hostfn.Fail(hostfn.KindLogin, err.Error(), err)
	case errors.Is(err, mcpserver.ErrChanged), errors.Is(err, mcpserver.ErrNotPinned):
		return hostfn.Fail(hostfn.KindChanged, err.Error(), err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return hostfn.Fail(hostfn.KindServer, err.Error(), err)
}

// watchEvery is how often it is looked whether a server may go on with a call.
const watchEvery = 100 * time.Millisecond

// atProgram makes the call at a program, which is ended when what it may do changes.
func (m mcpCall) atProgram(ctx context.Context, input []byte) (r mcpserver.Result, err error) {
	if m.r.settings.Servers == nil {
		return r, fault.Errorf(fault.KindInternal, "this host starts no MCP servers")
	}
	env, owner := m.a.env, string(m.a.call.Target.Package.Digest())
	holds := env.Holds()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if env.Holds() != holds {
				cancel(hostfn.ErrDenied)
				m.r.settings.Servers.Drop(owner)
				return
			}
		}
	}()
	program, err := m.program(ctx)
	if err != nil {
		return r, err
	}
	key := mcpserver.Key(owner, holds, program.Env)
	r, err = m.r.settings.Servers.Call(ctx, owner, key, func() (mcpserver.Program, error) {
		read, write, err := env.Held()
		program.Read, program.Write = read, write
		return program, err
	}, m.a.tool, input)
	if err != nil && errors.Is(context.Cause(ctx), hostfn.ErrDenied) {
		return r, hostfn.Fail(hostfn.KindServer, "what the server may do changed while it worked, and it was ended", err)
	}
	return r, err
}

// program is what is started, without its files.
func (m mcpCall) program(ctx context.Context) (mcpserver.Program, error) {
	man := m.a.manifest
	p := ProgramOf(man)
	for _, s := range man.Security.Permissions.Secrets {
		value, ok, err := m.a.env.Secret(ctx, s.Name)
		if err != nil {
			return p, err
		}
		if ok {
			p.Env, p.Secrets = append(p.Env, s.Env+"="+value), append(p.Secrets, value)
		}
	}
	return p, nil
}

// ProgramOf is the program of an MCP server, without secrets and files.
func ProgramOf(m *manifests.Manifest) mcpserver.Program {
	p := mcpserver.Program{
		Name: m.Name, Command: m.Command, Digest: m.MCP.ProgramDigest, Args: m.Args, Pins: m.MCP.Pins, Unconfined: m.MCP.Unconfined,
		MemoryBytes: uint64(m.Security.ResourceLimits.MaxMemoryMB) << 20,
	}
	for name, value := range m.Config {
		p.Env = append(p.Env, name+"="+value)
	}
	slices.Sort(p.Env)
	return p
}

// checkMCP looks for the program of a server. It starts none.
func checkMCP(m *manifests.Manifest) error {
	if m.MCP.URL != "" {
		return nil
	}
	if err := mcpserver.Verify(ProgramOf(m)); err != nil {
		return fault.Wrap(fault.KindVerification, err).WithHint("make the package on this machine, with what is installed here")
	}
	return nil
}

// Offer asks an MCP server what it offers. The call is with what its target was granted and
// what a person allowed for it, as that of a tool is; its tool and input mean nothing.
func (r *Runner) Offer(ctx context.Context, c Call) (mcpserver.Offer, error) {
	a := &attempt{run: r.begin(c, asAsked, nil)}
	if err := r.barred(ctx, a.run); err != nil {
		return mcpserver.Offer{}, err
	}
	a.limits = r.limits(a.run)
	if err := r.lend(ctx, a); err != nil {
		return mcpserver.Offer{}, err
	}
	defer a.env.Close()
	o, err := mcpCall{r, a}.offer(ctx)
	a.result.Denials = a.env.Denials()
	if err == nil {
		return o, nil
	}
	e := classified(explain(a.run, a.result.Denials, a.refusalOf(a.asHostFailure(err))))
	return o, e
}

// refusalOf is an error with its kind.
func (a *attempt) refusalOf(err error) error {
	var told *hostfn.Failure
	if errors.As(err, &told) && told.Kind == hostfn.KindLogin {
		return a.logIn(told.Message)
	}
	if errors.As(err, &told) && (told.Kind == hostfn.KindServer || told.Kind == hostfn.KindIO) {
		return fault.Errorf(fault.KindSkill, "%s", told.Message)
	}
	if errors.As(err, &told) && told.Kind == hostfn.KindChanged {
		return fault.Errorf(fault.KindVerification, "%s", told.Message)
	}
	return err
}

func (m mcpCall) offer(ctx context.Context) (mcpserver.Offer, error) {
	man := m.a.manifest
	if man.MCP.URL != "" {
		return mcpserver.Remote{URL: man.MCP.URL, Carrier: m.a.env}.Offer(ctx)
	}
	if !m.a.env.Allows(capability.Request{Action: capability.Native}) {
		return mcpserver.Offer{}, fault.Errorf(fault.KindDenied, "%s may not run: it is a program, and was not granted %s", m.a.call.Target.Label, capability.Native)
	}
	p, err := m.program(ctx)
	if err != nil {
		return mcpserver.Offer{}, err
	}
	if p.Read, p.Write, err = m.a.env.Held(); err != nil {
		return mcpserver.Offer{}, err
	}
	return m.r.settings.Servers.Offer(ctx, p)
}
