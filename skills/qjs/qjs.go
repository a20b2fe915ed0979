// Package qjs is the recipe of the JavaScript interpreter: where QuickJS comes
// from, the driver that joins it to the host's interface, and what scripts find
// besides the language. It refuses to know scripts and packages; host/script
// builds the one and uses the other.
package qjs

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/sandbox/wasmlink"
)

// The npm package with the engine, QuickJS-NG compiled to a WASI reactor, and
// the file in it. MIT licence.
const (
	PackageName = "quickjs-wasi"
	Version     = "3.6.2"
	Integrity   = "sha512-FCqGtGOrMgzUiIrMNMA2YnsOxCNwo31dzqXvclXUC6xeT35NJLKXQJsvbeCTjvoFAwZgEAPg8U6+KAPDGXn8Mg=="
	EnginePath  = "package/quickjs.wasm"
)

// Tools is how many functions a script can export.
const Tools = 64

//go:embed driver.wat
var driver string

// Prelude is the script that runs before any other. It is the input of the
// export init.
//
//go:embed prelude.js
var Prelude []byte

// Manifest is the manifest of the interpreter's package, without its version of
// the build.
//
//go:embed manifest.json
var Manifest []byte

// Readme is what the package says about itself.
//
//go:embed README.md
var Readme []byte

// Link joins the engine with the driver. The result imports WASI and the host's
// interface, and exports init, which takes the prelude as its input; load, which
// takes a program; eval, the tool of the interpreter itself; and the tools of a
// loaded program, tool0 and on.
func Link(engine []byte) ([]byte, error) {
	m, err := wasmlink.Decode(engine)
	if err != nil {
		return nil, fmt.Errorf("link the JavaScript engine: %w", err)
	}
	d, err := wasmlink.Assemble(withTools(driver))
	if err != nil {
		return nil, fmt.Errorf("link the JavaScript engine: %w", err)
	}
	exports := []string{"memory", "_initialize", "init", "load", "eval"}
	for i := range Tools {
		exports = append(exports, ToolExport(i))
	}
	linked, err := wasmlink.Link(exports, wasmlink.Unit{Names: []string{"engine"}, Module: m},
		wasmlink.Unit{Names: []string{"env"}, Module: d})
	if err != nil {
		return nil, fmt.Errorf("link the JavaScript engine: %w", err)
	}
	return linked.Encode(), nil
}

// ToolExport is the export that runs a tool of a loaded program by its number.
func ToolExport(i int) string { return fmt.Sprint("tool", i) }

// withTools adds an export for each tool to the text of the driver.
func withTools(text string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(strings.TrimSpace(text), ")"))
	for i := range Tools {
		fmt.Fprintf(&b, "  (func (export %q) (result i32) (call $enter (i32.const %d)))\n", ToolExport(i), i)
	}
	b.WriteString(")\n")
	return b.String()
}
