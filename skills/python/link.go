// Package python makes the Python interpreter that script skills run on: the
// WebAssembly build of MicroPython that its authors publish for browsers, with
// everything it wants of one answered inside of the module, and a library of
// what MicroPython lacks.
//
// It knows the one build it was written for, and refuses to know scripts and
// packages; host/author/script builds the one and uses the other.
package python

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// The npm package with the engine, MicroPython compiled by Emscripten, and files
// in it. MIT licence, whose text Readme has: the package only names it.
const (
	PackageName = "@micropython/micropython-webassembly-pyscript"
	Version     = "1.27.0"
	Integrity   = "sha512-DnXx4EqxgkeaFESrS3uKrL7mLMk4mRTd0mMzaOd3HUSiZUOAE7t11uLnjf3ftF87N2xm4knHnWEKcVK4IYIUDA=="
	EnginePath  = "package/micropython.wasm"
	LicencePath = "package/package.json"
)

// Manifest is the manifest of the interpreter's package.
//
//go:embed manifest.json
var Manifest []byte

// Readme is what the package says about itself.
//
//go:embed README.md
var Readme []byte

// What of the interpreter's memory and code is relied on. They are those of
// release 1.27.0 in the npm package micropython-webassembly-pyscript.
const (
	stateAddress = 185108 // mp_state_ctx
	collectStart = 78     // gc_collect_start
	collectEnd   = 80     // gc_collect_end
	collector    = 1278   // gc_collect
	allocator    = 82     // gc_alloc
	addHeap      = 83     // gc_try_add_heap
	hashName     = 91     // qstr_compute_hash
	findName     = 93     // qstr_find_strn
	internName   = 95     // qstr_from_strn
	namesAddress = 105384 // mp_qstr_const_pool
	stackGlobal  = 0      // __stack_pointer
	breakAddress = 179028 // where its sbrk keeps the beginning of what is free
	heapBase     = 186864 // what is there at first
)

// Sizes in bytes.
const (
	stackBytes   = 256 << 10 // stack of C
	pystackBytes = 128 << 10 // frames of Python functions
	stackReserve = 16 << 10  // what may be used of stackBytes past the limit that is checked
	heapBytes    = 1 << 20   // at first; it grows
)

// frozenAddress is where the driver and the library are in memory: where the
// heap of C would begin, whose beginning init moves behind them.
const frozenAddress = 186880

// Tools is how many tools a script can have: the interpreter has an export for
// each.
const Tools = 64

//go:embed glue.wat
var glue string

//go:embed replaced.wat
var replacedText string

//go:embed driver.py all:lib
var sources embed.FS

// firstHostFunction is the number in the driver of the first function of the host that
// has the one shape; the others follow in the order of their description.
const firstHostFunction = 7

// Link makes the interpreter of the engine, which is micropython.wasm of the
// package. It exports init, which makes the interpreter, load, and a function
// for each tool.
func Link(engine []byte) ([]byte, error) {
	m, err := wasmlink.Decode(engine)
	if err != nil {
		return nil, fmt.Errorf("link python: %w", err)
	}
	if err := prepare(m); err != nil {
		return nil, fmt.Errorf("link python: %w", err)
	}
	text, err := glueText(m)
	if err != nil {
		return nil, fmt.Errorf("link python: %w", err)
	}
	g, err := wasmlink.Assemble(text)
	if err != nil {
		return nil, fmt.Errorf("link python: %w", err)
	}
	exports := []string{"memory", "init", "load", "eval"}
	for i := range Tools {
		exports = append(exports, ToolExport(i))
	}
	linked, err := wasmlink.Link(exports,
		wasmlink.Unit{Names: []string{"engine"}, Module: m}, wasmlink.Unit{Names: []string{"env"}, Module: g})
	if err != nil {
		return nil, fmt.Errorf("link python: %w", err)
	}
	return linked.Encode(), nil
}

// ToolExport is the export that runs a tool of a loaded program by its number.
func ToolExport(i int) string { return "tool" + strconv.Itoa(i) }

// prepare changes the interpreter's own code: how it leaves frames, and how it
// collects garbage.
func prepare(m *wasmlink.Module) error {
	defined := uint32(len(m.Imports))
	if uint64(collector) >= uint64(defined)+uint64(len(m.Functions)) || !m.HasMemory {
		return fmt.Errorf("not the interpreter it was written for")
	}
	if err := replaceFunctions(m); err != nil {
		return err
	}
	err := m.Unwind(wasmlink.Unwinding{
		Module: "env", Throw: "_emscripten_throw_longjmp", Catch: "invoke_", Flag: "unwinding",
		Collector: collector, Stack: stackGlobal,
	})
	if err != nil {
		return err
	}
	m.Exports = append(m.Exports, wasmbin.ExportedItem{Name: "stack", Kind: wasmbin.GlobalKind, Index: stackGlobal})
	for i := range m.Imports {
		if im := &m.Imports[i]; im.Module == "wasi_snapshot_preview1" && im.Name != "fd_write" {
			im.Module = "env"
		}
	}
	return nil
}

// replaceFunctions puts the functions of replaced.wat in the place of the
// interpreter's. Those of its own that they call become its last functions.
func replaceFunctions(m *wasmlink.Module) error {
	text := strings.NewReplacer(append(statePlaces(), "<names>", strconv.Itoa(namesAddress))...).Replace(replacedText)
	with, err := wasmlink.Assemble(text)
	if err != nil {
		return err
	}
	defined := uint32(len(m.Imports))
	to := []uint32{collectStart, collectEnd, addHeap, hashName}
	for _, f := range []uint32{allocator, findName, internName} {
		to = append(to, defined+uint32(len(m.Functions)))
		m.Functions = append(m.Functions, m.Functions[f-defined])
	}
	n := wasmbin.Renumbering{
		Func:   func(i uint32) uint32 { return to[i] },
		Global: func(uint32) uint32 { return stackGlobal },
	}
	for i, index := range []uint32{collector, allocator, findName, internName} {
		f := &m.Functions[index-defined]
		f.Locals = with.Functions[i].Locals
		if f.Code, err = n.Apply(with.Functions[i].Code); err != nil {
			return err
		}
	}
	return nil
}

// statePlaces are the addresses of parts of the interpreter's state, as pairs
// for a replacer.
func statePlaces() (pairs []string) {
	for _, offset := range []int{4, 8, 12, 16, 48, 384, 940, 944} {
		pairs = append(pairs, fmt.Sprintf("<state+%d>", offset), strconv.Itoa(stateAddress+offset))
	}
	return pairs
}

// glueText fills in the glue.
func glueText(m *wasmlink.Module) (string, error) {
	data, driver, length, err := frozen()
	if err != nil {
		return "", err
	}
	end := (driver + length + 15) &^ 15
	m.Memory = wasmbin.Memory{Min: uint32(end>>16) + 1, Max: 1 << 16, HasMax: true}
	imports, calls := hostCalls()
	fill := map[string]string{
		"imports": imports, "calls": calls, "invokes": invokes(m), "data": data, "exports": toolExports(),
		"stacks": strconv.Itoa(stackBytes + pystackBytes), "stack": strconv.Itoa(stackBytes),
		"stacks+15": strconv.Itoa(stackBytes + pystackBytes + 15),
		"limit":     strconv.Itoa(stackBytes - stackReserve), "heap": strconv.Itoa(heapBytes),
		"break": strconv.Itoa(breakAddress), "free": strconv.Itoa(end),
		"driver": strconv.Itoa(driver), "driverLength": strconv.Itoa(length),
	}
	pairs := statePlaces()
	for name, value := range fill {
		pairs = append(pairs, "<"+name+">", value)
	}
	return strings.NewReplacer(pairs...).Replace(glue), nil
}

// hostCalls writes the imports of the host's functions, and the code that calls
// the one of a number.
func hostCalls() (imports, calls string) {
	var i, c strings.Builder
	for n, f := range guestapi.Functions() {
		fmt.Fprintf(&i, "(import \"skillet:host/v1\" %q (func $host_%s (param i32 i32 i32 i32) (result i64)))\n", f.Name, f.Name)
		fmt.Fprintf(&c, "(if (i32.eq (local.get $number) (i32.const %d)) (then (local.set $lengths (call $host_%s "+
			"(local.get $a) (local.get $b) (local.get $c) (local.get $d)))))\n", n+firstHostFunction, f.Name)
	}
	return i.String(), c.String()
}

func toolExports() string {
	var b strings.Builder
	b.WriteString("(func (export \"load\") (result i32) (call $call (i32.const -1)))\n(func (export \"eval\") (result i32) (call $call (i32.const -2)))\n")
	for i := range Tools {
		fmt.Fprintf(&b, "(func (export %q) (result i32) (call $call (i32.const %d)))\n", ToolExport(i), i)
	}
	return b.String()
}

// invokes writes the functions that call one of the table and catch what comes
// out of it.
func invokes(m *wasmlink.Module) string {
	var b strings.Builder
	for i, im := range m.Imports {
		if !strings.HasPrefix(im.Name, "invoke_") {
			continue
		}
		t := m.TypeOf(uint32(i))
		var params, args, results string
		for p := 1; p < len(t.Params); p++ {
			params += " " + t.Params[p].String()
			args += fmt.Sprintf("(local.get %d)", p)
		}
		if len(t.Results) > 0 {
			results = "(result " + t.Results[0].String() + ")"
		}
		fmt.Fprintf(&b, `(func (export %q) (param i32%s) %s (local $stack i32)
    (local.set $stack (global.get $stack))
    %s (call_indirect (param%s) %s (local.get 0))
    (call $catch (local.get $stack)))
`, im.Name, params, results, args, params, results)
	}
	return b.String()
}

// frozen writes the data segments of the library and the driver, and says where
// the driver is. The driver begins with a table of the library.
func frozen() (data string, driver, length int, err error) {
	var b, table strings.Builder
	at := frozenAddress
	segment := func(content string) {
		fmt.Fprintf(&b, "(data (i32.const %d) \"%s\")\n", at, escape(content))
		at += len(content)
	}
	table.WriteString("_FROZEN = {")
	err = fs.WalkDir(sources, "lib", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(sources, name)
		fmt.Fprintf(&table, "%q: (%d, %d), ", strings.TrimPrefix(name, "lib/"), at, len(content))
		segment(string(content))
		return err
	})
	if err != nil {
		return "", 0, 0, err
	}
	table.WriteString("}\n_HOST = {")
	for i, f := range guestapi.Functions() {
		fmt.Fprintf(&table, "%q: %d, ", f.Name, i+firstHostFunction)
	}
	table.WriteString("}\n")
	code, err := fs.ReadFile(sources, "driver.py")
	if err != nil {
		return "", 0, 0, err
	}
	driver = at
	length = len(code) + table.Len()
	segment(table.String() + string(code))
	return b.String(), driver, length, nil
}

// escape writes bytes as the content of a string of the text format.
func escape(s string) string {
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
