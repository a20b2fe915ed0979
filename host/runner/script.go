package runner

import (
	"context"

	"github.com/skillet-run/skillet/host/task"
)

// Scripts makes modules of packages whose command is an interpreter.
type Scripts interface {
	// Module returns the module of such a package. Errors are [task.Error]s that
	// name the script's file, line and column where the script is wrong, and the
	// way to an interpreter that is missing.
	Module(ctx context.Context, t Target) ([]byte, error)
}

// code returns the module that a target runs, and its name for errors: the path
// in the package, or the script.
func (r *Runner) code(ctx context.Context, t Target) (path string, wasm []byte, err error) {
	m := t.Package.Manifest()
	if !m.Interpreted() {
		path, wasm, err = t.Package.Module()
		if err != nil {
			err = task.Wrap(task.KindVerification, err)
		}
		return path, wasm, err
	}
	if r.settings.Scripts == nil {
		return "", nil, task.Errorf(task.KindNotFound, "%s needs the interpreter %s, and there is none here", t.Label, m.Command)
	}
	wasm, err = r.settings.Scripts.Module(ctx, t)
	return m.Args[0], wasm, err
}
