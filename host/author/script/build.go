package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// Source is a program: files, and the path of the first one in them.
type Source struct {
	Files fs.FS
	Main  string
}

// Build makes a module of a program that exports its tools and needs nothing
// else. interpreter is the module of the interpreter's package. Errors are
// [fault.Error]s: of [fault.KindVerification] for a program that is wrong, with its
// file, line and column; of [fault.KindLimit] for one that is too large, and for top-level code that does
// not end.
func Build(ctx context.Context, run Runner, in Interpreter, interpreter []byte, s Source) ([]byte, error) {
	program, err := programOf(ctx, run, in, s)
	if err != nil {
		return nil, err
	}
	if len(program) > MaxProgram {
		return nil, fault.Errorf(fault.KindLimit, "%s: the program has %d bytes with all it imports, at most %d", s.Main, len(program), MaxProgram)
	}
	wall := buildTime
	if path.Ext(s.Main) == ".json" {
		wall = folderTime
	}
	state, err := in.initialise(ctx, run, interpreter, program, wall)
	if err != nil {
		return nil, in.explain(s.Main, err)
	}
	tools, err := in.tools(state.Output)
	if err != nil {
		return nil, fault.Errorf(fault.KindVerification, "%s: %w", s.Main, err).WithHint("write: export function NAME(input) { return ... }, with the name of the tool, or of its export in the manifest")
	}
	wasm, err := state.Module(tools...)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	return wasm, nil
}

// initialise runs a module's initialisation with an input, for so long at most.
func (in Interpreter) initialise(ctx context.Context, run Runner, wasm, input []byte, wall time.Duration) (*sandbox.State, error) {
	r, err := run.Run(ctx, wasm, sandbox.Call{Export: sandbox.PreinitExport, Input: input, Limits: in.limits(wall)})
	if err != nil {
		return nil, err
	}
	return sandbox.ReadState(wasm, r.Output)
}

var errNoTools = errors.New("it offers no function; export one for each tool of the manifest")

// unused renames an export that is not a tool, to a name that no function has.
func unused(name string) sandbox.Renamed { return sandbox.Renamed{Name: name, As: "unused:" + name} }

// tools reads the names load has written, and says which export is which tool.
func (in Interpreter) tools(output []byte) (list []sandbox.Renamed, err error) {
	var names []string
	if err := json.Unmarshal(bytes.TrimSpace(output), &names); err != nil {
		return nil, fmt.Errorf("the interpreter did not say which tools there are: %w", err)
	}
	switch {
	case len(names) == 0:
		return nil, errNoTools
	case len(names) > in.Tools:
		return nil, fmt.Errorf("it offers %d functions, at most %d", len(names), in.Tools)
	}
	if in.Alike {
		list = append(list, unused(sandbox.PreinitExport))
		for _, name := range append(slices.Clone(in.Keep), loadExport) {
			list = append(list, unused(name))
		}
	}
	for i, name := range names {
		list = append(list, sandbox.Renamed{Name: in.Tool(i), As: name})
	}
	for i := len(names); in.Alike && i < in.Tools; i++ {
		list = append(list, unused(in.Tool(i)))
	}
	return list, nil
}
