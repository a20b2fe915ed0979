package toolchain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Problem is something that is wrong with a package.
type Problem struct {
	// Refused is true for what keeps it from being installed; else it is only
	// worth knowing.
	Refused bool   `json:"refused"`
	Words   string `json:"words"`
	WayOut  string `json:"way_out,omitempty"`
}

// Check compares a package with itself, as an installation does: whether its
// module is one that may run, exports what its tools name, and imports what its
// manifest asks for and this host offers. offered are the functions that guests
// may import, as "module.name"; nil offers anything. It runs and compiles
// nothing.
func Check(p *bundle.Package, offered []string) []Problem {
	m := p.Manifest()
	all := []Problem{}
	for _, u := range m.Unsupported() {
		all = append(all, Problem{true, u.Path + ": " + u.Message, u.Suggestion})
	}
	path, wasm, err := p.Module()
	if err != nil { // a prompt, or a script that an interpreter runs
		return all
	}
	inspected, err := wasmbin.Inspect(wasm, wasmbin.WidestLimits())
	if err != nil {
		return append(all, Problem{true, fmt.Sprintf("%s: %v", path, err), wasmbin.WayOut})
	}
	all = append(all, checkExports(path, m, inspected)...)
	all = append(all, checkOffered(path, inspected, offered)...)
	found, err := review.Imports(p)
	if err != nil {
		return append(all, Problem{true, err.Error(), ""})
	}
	for _, f := range found {
		all = append(all, Problem{f.Refused, f.Words, f.WayOut})
	}
	return all
}

// checkExports looks for the exports of the tools.
func checkExports(path string, m *manifests.Manifest, w *wasmbin.Module) []Problem {
	var all []Problem
	for _, t := range m.Tools {
		e, ok := w.Export(t.Export)
		switch {
		case !ok || e.Kind != wasmbin.Func:
			all = append(all, Problem{true, fmt.Sprintf("tool %s: %s exports no function %s", t.Name, path, t.Export), wayToExport(t.Export, w)})
		case len(e.Type.Params) > 0 || len(e.Type.Results) > 1 || len(e.Type.Results) == 1 && e.Type.Results[0] != wasmbin.I32:
			all = append(all, Problem{
				true, fmt.Sprintf("tool %s: the function %s takes parameters, or returns something else than one i32", t.Name, t.Export),
				"a tool reads its input from the host; export a function without parameters",
			})
		}
	}
	return all
}

// wayToExport suggests the export that is most like the one that is missing.
func wayToExport(name string, w *wasmbin.Module) string {
	var names []string
	for _, e := range w.Exports {
		if e.Kind == wasmbin.Func && len(e.Type.Params) == 0 {
			names = append(names, e.Name)
		}
	}
	if best, ok := nearest.Name(name, names); ok {
		return fmt.Sprintf("did you mean %s? the module exports: %s", best, strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return "the module exports no function that could be a tool: mark one as an export"
	}
	return "the module exports: " + strings.Join(names, ", ")
}

// checkOffered looks for imports that no host function answers: a function that
// was declared and is defined nowhere becomes one.
func checkOffered(path string, w *wasmbin.Module, offered []string) []Problem {
	var all []Problem
	for _, i := range w.Imports {
		if offered == nil || slices.Contains(offered, i.Module+"."+i.Name) {
			continue
		}
		out := "this host offers no function of that name"
		if i.Module == "env" {
			out = "it is declared in the source, and defined in no file that is compiled"
		}
		all = append(all, Problem{true, fmt.Sprintf("%s imports %s of %s", path, i.Name, i.Module), out})
	}
	return all
}

// Refusal sums up what keeps a package from being installed; nil when nothing
// does. It is a [fault.Error] of [fault.KindVerification].
func Refusal(name string, all []Problem) error {
	i := slices.IndexFunc(all, func(p Problem) bool { return p.Refused })
	if i < 0 {
		return nil
	}
	var lines []string
	for _, p := range all {
		if p.Refused {
			lines = append(lines, p.Words)
		}
	}
	return fault.Errorf(fault.KindVerification, "%s cannot be installed: %s", name, strings.Join(lines, "\n")).WithHint("%s", all[i].WayOut)
}
