package runner

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Scripts makes modules of packages whose command is an interpreter.
type Scripts interface {
	// Module returns the module of such a package. by is the interpreter's package;
	// nil for the one that is installed, and is the target's. Errors are
	// [fault.Error]s that name the script's file, line and column where the script is
	// wrong, and the way to an interpreter that is missing: those wrap
	// [registry.ErrNotFound].
	Module(ctx context.Context, t Target, by *bundle.Package) ([]byte, error)
}

// code returns the module that a target runs, and its name for errors: the path
// in the package, or the script. What is only looked at or tested may also be made
// by an interpreter that is about to be installed with it.
func (r *Runner) code(ctx context.Context, t Target, looked bool) (code, error) {
	m := t.Package.Manifest()
	if !m.Interpreted() {
		f, err := t.Package.ModuleFile()
		if err != nil {
			err = fault.Wrap(fault.KindVerification, err)
		}
		return code{f.Path, f.Digest, func() ([]byte, error) { return t.Package.Read(f.Path) }}, err
	}
	if r.settings.Scripts == nil {
		return code{}, fault.Errorf(fault.KindNotFound, "%s needs the interpreter %s, and there is none here", t.Label, m.Command)
	}
	wasm, err := r.settings.Scripts.Module(ctx, t, nil)
	if looked && errors.Is(err, registry.ErrNotFound) {
		if by := r.seen(m.Command); by != nil {
			wasm, err = r.settings.Scripts.Module(ctx, t, by)
		}
	}
	return code{m.Args[0], manifests.DigestOf(wasm), func() ([]byte, error) { return wasm, nil }}, err
}

// code is the module of a target. It may be large, and is read only when it has to be
// compiled.
type code struct {
	path   string // of the module or the script, in the package
	digest manifests.Digest
	read   func() ([]byte, error)
}

// maxSeen is how many interfaces are remembered with who provides them.
const maxSeen = 16

// see remembers a package that was checked and provides interfaces, for the
// scripts that are looked at together with it.
func (r *Runner) see(p *bundle.Package) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.checked) >= maxSeen { // whatever its name, a package is kept in memory
		clear(r.checked)
	}
	for name := range p.Manifest().Provides {
		if len(r.checked) < maxSeen {
			r.checked[name] = p
		}
	}
}

func (r *Runner) seen(name string) *bundle.Package {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checked[name]
}
