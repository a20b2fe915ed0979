// Package qjs is the recipe of the JavaScript interpreter: where QuickJS comes
// from, the driver that joins it to the host's interface, and what scripts find
// besides the language. It refuses to know scripts and packages; host/author/script
// builds the one and uses the other.
package qjs

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
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

//go:embed prelude.js
var prelude string

// Prelude returns the script that runs before any other. It is the input of the
// export init.
func Prelude() []byte {
	var names []string
	for _, f := range guestapi.Functions() {
		names = append(names, f.Name)
	}
	return []byte(strings.Replace(prelude, "<functions>", strings.Join(names, `", "`), 1))
}

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
	d, err := wasmlink.Assemble(driverText())
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

// driverText is the text of the driver with what is written by a table: the
// functions of the host, and an export for each tool.
func driverText() string {
	imports, calls := hostCalls()
	return withTools(strings.NewReplacer("<imports>", imports, "<calls>", calls).Replace(driver))
}

// hostCalls writes the imports of the host's functions, and the code that calls
// the one whose number is $f: each block ends where its function is called.
func hostCalls() (imports, calls string) {
	var i, blocks, labels, ends strings.Builder
	all := guestapi.Functions()
	for n, f := range all {
		fmt.Fprintf(&i, "  (import %q %q (func $%s (param i32 i32 i32 i32) (result i64)))\n", guestapi.Module, f.Name, f.Name)
		fmt.Fprintf(&blocks, "block $%s ", all[len(all)-1-n].Name)
		fmt.Fprintf(&labels, "$%s ", f.Name)
		fmt.Fprintf(&ends, "    end (return (call $%s (local.get $m) (local.get $n) (local.get $b) (local.get $s)))\n", f.Name)
	}
	return i.String(), fmt.Sprintf("    %s\n      (br_table %s(local.get $f))\n%s    (i64.const 0)", blocks.String(), labels.String(), ends.String())
}

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
