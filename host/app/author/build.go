package author

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/author/toolchain/wheels"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A BuildRequest says what is to be built.
type BuildRequest struct {
	// Path is the directory of a skill, or a script that has no manifest.
	Path string
	// Output is a file to write beside: the module to a .wasm file, or the package, not
	// signed, to a .skill file. Of a script that has no manifest, a package is written
	// in any case, to NAME-VERSION.skill where Output is empty.
	Output string
	// Timeout bounds the compiler; 0 means [DefaultTimeout].
	Timeout  time.Duration
	Progress Progress
}

// Built is what came of a build, also of one that failed.
type Built struct {
	// OK is true when nothing failed.
	OK bool `json:"ok"`
	toolchain.Built
	// Packages are those of Python that were brought into the folder of an Agent Skill.
	Packages []string `json:"packages,omitempty"`
	// Problems are what is wrong with the package, and what is worth knowing.
	Problems []Problem `json:"problems"`
	// Output is what was written beside the module; empty for nothing.
	Output string `json:"output,omitempty"`
	// Compiler is what the compiler said of source that does not compile.
	Compiler string `json:"compiler,omitempty"`
	// Error is for the edge, which says in its own words why a build failed.
	Error *fault.Error `json:"error,omitempty"`
}

// Build builds the module of a skill where it is, and compares what came out with the
// manifest as an installation does. A compiler runs with the rights of the person; scripts
// take none, and are built in the sandbox. Errors are [fault.Error]s: of
// [fault.KindSkill] for source that does not compile, of [fault.KindNotFound] for a
// compiler that is missing, of [fault.KindVerification] for a package that could not be
// installed.
func (s *Service) Build(ctx context.Context, by approval.Human, r BuildRequest) (Built, error) {
	if err := by.Check(); err != nil {
		return Built{Problems: []Problem{}}, err
	}
	return s.build(ctx, r)
}

func (s *Service) build(ctx context.Context, r BuildRequest) (out Built, err error) {
	defer func() { out.OK, out.Compiler = err == nil, CompilerOutput(err) }()
	if isScript(r.Path) {
		return s.buildScript(ctx, r)
	}
	out, p, err := s.buildPackage(ctx, r)
	if err != nil {
		return out, err
	}
	if p == nil {
		if out.Output = r.Output; out.Output == "" {
			return out, nil
		}
		return out, writeModule(filepath.Join(out.Dir, filepath.FromSlash(out.Module)), out.Output)
	}
	if out.Problems, err = check(p); err != nil {
		return out, err
	}
	out.Output, err = writeBuilt(p, r.Output)
	return out, err
}

// buildPackage builds a directory in place and reads the package in it; nil when it has no
// manifest.
func (s *Service) buildPackage(ctx context.Context, r BuildRequest) (Built, *bundle.Package, error) {
	out := Built{Problems: []Problem{}}
	var err error
	if isAgentSkill(r.Path) {
		out.Dir = r.Path
		out.Packages, err = vendor(ctx, r)
	} else {
		out.Built, err = s.buildModule(ctx, r)
	}
	if err != nil {
		return out, nil, err
	}
	p, err := bundle.ReadDir(out.Dir)
	if errors.Is(err, bundle.ErrNoManifest) {
		return out, nil, nil
	}
	return out, p, err
}

// buildModule builds a directory in place, and does nothing for one that has no source.
func (s *Service) buildModule(ctx context.Context, r BuildRequest) (toolchain.Built, error) {
	defer r.Progress.step("building " + filepath.Base(r.Path))()
	return toolchain.Build(ctx, r.Path, s.compilers(r.Timeout))
}

// isAgentSkill reports whether the manifest of a directory is a SKILL.md: it has no module.
func isAgentSkill(dir string) bool {
	is := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	return is(manifests.FileSkillMD) && !slices.ContainsFunc(manifests.FileNames(), is)
}

// vendor brings the Python packages that the folder of an Agent Skill names into it.
func vendor(ctx context.Context, r BuildRequest) ([]string, error) {
	defer r.Progress.step("looking for the packages of " + filepath.Base(r.Path))()
	return wheels.Vendor(ctx, r.Path)
}

// CompilerOutput is what the compiler said, when that is why an error of the service is;
// else it is empty.
func CompilerOutput(err error) string {
	wrong := (*toolchain.SourceError)(nil)
	if errors.As(err, &wrong) {
		return wrong.Output
	}
	return ""
}

// check compares a package with itself, and refuses what could not be installed.
func check(p *bundle.Package) ([]Problem, error) {
	all := toolchain.Check(p, offered())
	return all, toolchain.Refusal(p.Manifest().Name, all)
}

// writeBuilt writes a package, or its module, to a file; "" writes nothing.
func writeBuilt(p *bundle.Package, out string) (string, error) {
	switch {
	case out == "":
		return "", nil
	case filepath.Ext(out) == ".wasm":
		_, wasm, err := p.Module()
		if err != nil {
			return "", err
		}
		return out, os.WriteFile(out, wasm, 0o644)
	case filepath.Ext(out) == bundle.Extension:
		return out, writePackage(p, out)
	}
	return "", fault.Errorf(fault.KindUsage, "write %s: it is neither a .wasm nor a %s file", out, bundle.Extension)
}

func writePackage(p *bundle.Package, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	return errors.Join(p.WriteArchive(f), f.Close())
}

func writeModule(from, to string) error {
	if filepath.Ext(to) != ".wasm" {
		return fault.Errorf(fault.KindUsage, "write %s: only a directory with a manifest becomes a package", to).
			WithHint("write a skill.json, or name a .wasm file")
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("write the module: %w", err)
	}
	return os.WriteFile(to, b, 0o644)
}
