package runner

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A module is one that is loaded here, or one that runs in worker processes.
type module interface {
	Info() sandbox.Info
	Call(context.Context, sandbox.Call) (sandbox.Result, error)
	Close(context.Context) error
}

// moduleKey names a module by its bytes and by where it runs.
type moduleKey struct {
	digest manifests.Digest
	domain string // of the worker processes; empty for this process
}

// module returns the compiled module of a target, compiling it at its first use;
// fresh is true when it did. domain is that of the run, and staged says that it is one of a
// test.
func (r *Runner) module(ctx context.Context, t Target, domain string, staged bool) (m module, fresh bool, err error) {
	c, err := r.code(ctx, t, staged)
	if err != nil {
		return nil, false, err
	}
	key := moduleKey{c.digest, domain}
	r.mu.Lock()
	m, ok := r.modules[key]
	r.mu.Unlock()
	if ok {
		return m, false, nil
	}
	if m, err = r.open(ctx, c, domain != ""); err != nil {
		return nil, false, err
	}
	m, err = r.keep(ctx, key, m)
	return m, err == nil, err
}

// open compiles a module. Nothing of one that runs apart is loaded here.
func (r *Runner) open(ctx context.Context, c code, apart bool) (m module, err error) {
	wasm, err := c.read()
	if err != nil {
		return nil, err
	}
	if apart {
		m, err = r.settings.Workers.Load(ctx, wasm)
	} else {
		m, err = r.sandbox.Load(ctx, wasm)
	}
	if err != nil {
		return nil, loadError(c.path, err)
	}
	return m, nil
}

// keep remembers a compiled module, unless another call was first.
func (r *Runner) keep(ctx context.Context, key moduleKey, m module) (module, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.modules[key]; ok {
		return first, m.Close(ctx)
	}
	r.modules[key] = m
	return m, nil
}

// inspect compiles a package's module and describes it.
func (r *Runner) inspect(ctx context.Context, p *bundle.Package) (sandbox.Info, error) {
	c, err := r.code(ctx, Target{Label: p.Manifest().Name + "@" + p.Manifest().Version, Package: p, Origin: registry.OriginPath}, true)
	if err != nil {
		return sandbox.Info{}, err
	}
	m, err := r.open(ctx, c, r.settings.Workers != nil)
	if err != nil {
		return sandbox.Info{}, err
	}
	return m.Info(), m.Close(ctx)
}

// Check loads a package's module and looks for the exports its tools name, and
// whether it can go on with the data that the installed skill of its name keeps.
// It runs no code of the package. Errors are [fault.Error]s of
// [fault.KindVerification], and of [fault.KindConflict] for data that it cannot
// bring to its own schema version.
func (r *Runner) Check(ctx context.Context, p *bundle.Package) error {
	man := p.Manifest()
	switch {
	case man.Type.IsPlugin():
		return checkPlugin(p)
	case man.Type.IsMCP():
		return checkMCP(man)
	case !man.Type.IsCode():
		return nil
	}
	info, err := r.inspect(ctx, p)
	if err != nil {
		return err
	}
	if err := r.fitsState(ctx, man); err != nil {
		return err
	}
	if err := fitsSessions(man, info); err != nil {
		return err
	}
	exports := map[string]sandbox.FuncType{}
	for _, e := range info.Exports {
		exports[e.Name] = e
	}
	for _, t := range man.Tools {
		f, ok := exports[t.Export]
		if ok && (len(f.Params) > 0 || len(f.Results) > 1 || len(f.Results) == 1 && f.Results[0] != sandbox.I32) {
			return fault.Errorf(fault.KindVerification, "tool %s: the function %s of %s takes parameters, or returns something else than one i32", t.Name, t.Export, man.Command).
				WithHint("a tool reads its input from the host; export a function without parameters")
		}
		if !ok {
			return fault.Errorf(fault.KindVerification, "tool %s: %s exports no function %s", t.Name, man.Command, t.Export).
				WithHint("set \"export\" of the tool to a function the module exports")
		}
	}
	r.see(p)
	return nil
}
