package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// bareManifest is the manifest that a .wasm file without one is given.
type bareManifest struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version"`
	Type        string     `json:"type"`
	Command     string     `json:"command"`
	Tools       []bareTool `json:"tools"`
}

type bareTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Export      string `json:"export,omitempty"`
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// barePackage makes a package of a .wasm file: each function it exports that
// could be a tool is one, and it asks for nothing.
func barePackage(path string) (*bundle.Package, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open module: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, task.Errorf(task.KindUsage, "open module %s: %w", path, fs.ErrInvalid).WithHint("name a .wasm file")
	}
	if st.Size() > bundle.MaxFileBytes {
		return nil, fmt.Errorf("open module %s: %d bytes: %w", path, st.Size(), bundle.ErrTooLarge)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open module: %w", err)
	}
	inspected, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
	if err != nil {
		return nil, task.Errorf(task.KindVerification, "%s: %w", path, err).WithHint("it is not a module this host can run safely")
	}
	m := bareManifest{
		Name: bareName(path), Description: "a module without a manifest", Version: "0.0.0",
		Type: string(manifests.KindCodeInline), Command: filepath.Base(path), Tools: bareTools(inspected),
	}
	if len(m.Tools) == 0 {
		return nil, task.Errorf(task.KindVerification, "%s exports no function that could be a tool", path).
			WithHint("a tool is a function without parameters; a WASI command has _start")
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return bundle.FromFiles(map[string][]byte{"skill.json": b, m.Command: wasm})
}

func bareName(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name := strings.Trim(notInName.ReplaceAllString("wasm-"+base, "-"), "-")
	return strings.TrimRight(name[:min(len(name), 64)], "-") // the longest a name can be
}

// bareTools are the exports that can be called as tools: those without
// parameters that are not part of an ABI's start-up. The main function of an
// Extism plug-in is no tool beside those it exports.
func bareTools(m *wasmbin.Module) []bareTool {
	var tools []bareTool
	command := false
	for _, e := range m.Exports {
		switch {
		case e.Kind != wasmbin.Func:
		case e.Name == manifests.ExportWASI:
			command = true
		case len(e.Type.Params) == 0 && len(e.Type.Results) <= 1 && isToolName(e.Name) && !madeByToolchain(e.Name):
			tools = append(tools, bareTool{e.Name, "exported by the module", ""})
		}
	}
	plugin := slices.ContainsFunc(m.Imports, func(i wasmbin.Import) bool { return strings.HasPrefix(i.Module, "extism:") })
	if command && (len(tools) == 0 || !plugin) {
		tools = append(tools, bareTool{"run", "the WASI command", manifests.ExportWASI})
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
