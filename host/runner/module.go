package runner

import (
	"context"

	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// module returns the compiled module of a package, compiling it at its first use;
// fresh is true when it did.
func (r *Runner) module(ctx context.Context, p *bundle.Package) (m *sandbox.Module, fresh bool, err error) {
	path, wasm, err := p.Module()
	if err != nil {
		return nil, false, task.Wrap(task.KindVerification, err)
	}
	d := manifests.DigestOf(wasm)
	r.mu.Lock()
	m, ok := r.modules[d]
	r.mu.Unlock()
	if ok {
		return m, false, nil
	}
	if m, err = r.sandbox.Load(ctx, wasm); err != nil {
		return nil, false, loadError(path, err)
	}
	m, err = r.keep(ctx, d, m)
	return m, err == nil, err
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

// Check loads a package's module and looks for the exports its tools name, and
// whether it can go on with the data that the installed skill of its name keeps.
// It runs no code of the package. Errors are [task.Error]s of
// [task.KindVerification], and of [task.KindConflict] for data that it cannot
// bring to its own schema version.
func (r *Runner) Check(ctx context.Context, p *bundle.Package) error {
	man := p.Manifest()
	if !man.Type.IsCode() {
		return nil
	}
	m, _, err := r.module(ctx, p)
	if err != nil {
		return err
	}
	if err := r.fitsState(ctx, man); err != nil {
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
