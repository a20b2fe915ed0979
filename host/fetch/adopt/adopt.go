// Package adopt makes packages of what was made for other hosts and has no
// manifest of ours: of a module alone, of the manifest of an Extism plug-in, and,
// for their building, of the scripts of an Agent Skills folder; and it reads
// policies of Wassette. What a foreign document demands becomes what is asked for,
// in the words of our own manifest, and what cannot be honoured is said line by
// line.
//
// The package grants nothing, runs nothing, and fetches nothing by itself.
package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// modulePath is where the module is in a package that is made here.
const modulePath = "main.wasm"

// version is the version of what has none.
const version = "0.0.0"

// Module makes a package of a .wasm file: each function it exports that could be
// a tool is one, and it asks for nothing.
func Module(path string) (*bundle.Package, error) {
	wasm, err := readFile(path, bundle.MaxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("open module %s: %w", path, err)
	}
	tools, err := toolsOf(wasm, path)
	if err != nil {
		return nil, err
	}
	m := manifests.Manifest{
		Name: skillName("wasm-" + stem(path)), Description: moduleOnly, Version: version,
		Type: manifests.KindCodeInline, Command: filepath.Base(path), Tools: tools,
	}
	return pack(m, wasm)
}

// moduleOnly is the description of a module that came without a manifest.
const moduleOnly = "a module without a manifest"

// IsModule reports whether m was made by [Module]: nobody wrote it, so nobody can
// be asked to change it.
func IsModule(m *manifests.Manifest) bool {
	return m.Description == moduleOnly && strings.HasPrefix(m.Name, "wasm-")
}

// pack makes a package of a manifest and its module.
func pack(m manifests.Manifest, wasm []byte) (*bundle.Package, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return bundle.FromFiles(map[string][]byte{manifests.FileJSON: append(b, '\n'), m.Command: wasm})
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	b, err := openfile.ReadRegular(path, limit)
	switch {
	case errors.Is(err, openfile.ErrNotRegular):
		return nil, fault.Errorf(fault.KindUsage, "%w", openfile.ErrNotRegular).WithHint("name a file")
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fmt.Errorf("%w: more than %d bytes", bundle.ErrTooLarge, limit)
	}
	return b, err
}

// stem is the name of a file without its extension.
func stem(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

var notInName = lazyregexp.New(`[^a-z0-9]+`)

// skillName is text as the name of a skill.
func skillName(text string) string {
	name := strings.Trim(notInName().ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimRight(name[:min(len(name), 64)], "-") // the longest a name can be
}

// toolsOf are the tools of a module; label names it in errors.
func toolsOf(wasm []byte, label string) ([]manifests.Tool, error) {
	m, err := wasmbin.Inspect(wasm, wasmbin.WidestLimits())
	if err != nil {
		return nil, fault.Errorf(fault.KindVerification, "%s: %w", label, err).WithHint("%s", wasmbin.WayOut)
	}
	tools := exported(m)
	if len(tools) == 0 {
		return nil, fault.Errorf(fault.KindVerification, "%s exports no function that could be a tool", label).
			WithHint("a tool is a function without parameters; a WASI command has _start")
	}
	return tools, nil
}

// exported are the exports that can be called as tools: those without parameters
// that are not part of an ABI's start-up. The main function of an Extism plug-in
// that exports others is not a tool.
func exported(m *wasmbin.Module) []manifests.Tool {
	var tools []manifests.Tool
	command := slices.ContainsFunc(m.Exports, func(e wasmbin.Export) bool { return e.Kind == wasmbin.Func && e.Name == manifests.ExportWASI })
	for _, e := range m.Exports {
		switch {
		case e.Kind != wasmbin.Func, e.Name == manifests.ExportWASI:
		case command && strings.HasPrefix(e.Name, "__"): // what _start calls, such as __main_void
		case len(e.Type.Params) == 0 && len(e.Type.Results) <= 1 && isToolName(e.Name) && !madeByToolchain(e.Name):
			tools = append(tools, manifests.Tool{Name: e.Name, Description: "exported by the module"})
		}
	}
	plugin := slices.ContainsFunc(m.Imports, func(i wasmbin.Import) bool { return strings.HasPrefix(i.Module, "extism:") })
	if command && (len(tools) == 0 || !plugin) {
		tools = append(tools, manifests.Tool{Name: "run", Description: "the WASI command", Export: manifests.ExportWASI})
	}
	return tools
}

func isToolName(name string) bool {
	_, err := manifests.ParseRef("a:" + name)
	return err == nil
}

// startUp are exports that toolchains make for themselves.
var startUp = map[string]bool{"_initialize": true, "__wasm_call_ctors": true, "hs_init": true, "__wasm_apply_data_relocs": true}

func madeByToolchain(name string) bool { return startUp[name] || strings.HasPrefix(name, "asyncify_") }
