package author

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// An Engine is an interpreter that this program knows to make a skill of.
type Engine struct {
	Name      string `json:"name"`
	Source    string `json:"source"`
	Integrity string `json:"integrity"`
	// Files are the endings of scripts it runs.
	Files []string `json:"files"`
	// Installed is the skill that provides it; empty when none does, or for one of
	// [KnownEngines].
	Installed string `json:"installed,omitempty"`
	// Error says why what provides it is not run.
	Error *fault.Error `json:"error,omitempty"`
}

// KnownEngines are the interpreters that this program knows.
func KnownEngines() []Engine {
	var all []Engine
	for _, in := range script.Interpreters() {
		all = append(all, Engine{Name: in.Name, Source: in.Origin.String(), Integrity: in.Origin.Digest(), Files: in.Extensions})
	}
	return all
}

// Interpreter is the name of the interpreter in which new skills of a language run; empty
// for a language that is compiled.
func Interpreter(l Language) string {
	main := map[Language]string{toolchain.JS: "main.js", toolchain.TS: "main.ts", toolchain.Python: "main.py"}[l]
	in, _ := script.ForFile(main)
	return in.Name
}

// Engines are the interpreters that this program knows, and which skills provide them.
func (s *Service) Engines(ctx context.Context, by approval.Principal) ([]Engine, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	h, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	all := KnownEngines()
	for i, e := range all {
		provider, err := h.Scripts.Provider(ctx, e.Name)
		failed := fault.AsError(err)
		if failed != nil && failed.Kind != fault.KindDenied {
			return nil, err
		}
		all[i].Installed, all[i].Error = provider, failed
	}
	return all, nil
}

// EngineAddresses are what an installation takes for the packages of interpreters. The
// error is a [fault.Error] of [fault.KindUsage] for a name that is not known, and for
// none.
func EngineAddresses(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, fault.Errorf(fault.KindUsage, "name an interpreter").WithHint("there are %s", strings.Join(script.Names(), " and "))
	}
	var all []string
	for _, name := range names {
		if _, ok := script.Find(name); !ok {
			return nil, unknownInterpreter("engine", name)
		}
		all = append(all, "engine:"+name)
	}
	return all, nil
}

// A BuildEnginesRequest says which packages of interpreters are to be made.
type BuildEnginesRequest struct {
	// Names are those of the interpreters.
	Names []string
	// Dir is the directory to write to, which is made; empty for the working directory.
	Dir      string
	Progress Progress
}

// An EngineBuilt is the package of an interpreter that was written.
type EngineBuilt struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Path    string `json:"path"`
}

// BuildEngines writes the packages of interpreters, with engines from the npm registry or
// from where they were kept. The same version of this program makes the same files.
func (s *Service) BuildEngines(ctx context.Context, by approval.Human, r BuildEnginesRequest) ([]EngineBuilt, error) {
	if err := by.Check(); err != nil {
		return nil, err
	}
	if len(r.Names) == 0 {
		_, err := EngineAddresses(nil)
		return nil, err
	}
	h, err := s.parts.Home(ctx)
	if err != nil {
		return nil, err
	}
	if r.Dir != "" {
		if err := os.MkdirAll(r.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("build engines: %w", err)
		}
	}
	var made []EngineBuilt
	for _, name := range r.Names {
		done := r.Progress.step("building " + name)
		files, err := h.Scripts.Engine(ctx, name)
		done()
		if err != nil {
			return nil, err
		}
		m, err := packFiles(files, r.Dir)
		if err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	return made, nil
}

// packFiles packs files as NAME-VERSION.skill in a directory.
func packFiles(files map[string][]byte, dir string) (EngineBuilt, error) {
	p, err := bundle.FromFiles(files)
	if err != nil {
		return EngineBuilt{}, err
	}
	out, err := writeBuilt(p, filepath.Join(dir, p.FileName()))
	return EngineBuilt{p.Manifest().Name, p.Manifest().Version, string(p.Digest()), out}, err
}
