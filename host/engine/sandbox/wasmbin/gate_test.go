package wasmbin_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// raw is a module of the given sections.
func raw(sections ...[]byte) []byte {
	return slices.Concat(w.Header(), slices.Concat(sections...))
}

// code is a module with a memory, two tables and one function of that code.
func code(parts ...[]byte) []byte {
	m := w.New()
	m.Memory(1, w.NoMax)
	m.Table(w.FuncRef, 1, w.NoMax)
	m.Func(w.Sig("i32", ""), "", parts...)
	return m.Bytes()
}

func imports(kind byte, desc ...byte) []byte {
	m := w.New()
	m.Type(w.Sig("", ""))
	m.Import("env", "x", kind, desc)
	return m.Bytes()
}

func export(name string, kind byte) []byte {
	m := w.New()
	m.Func(w.Sig("", ""), "")
	m.Export(name, kind, 0)
	return m.Bytes()
}

func exnImport() []byte {
	m := w.New()
	m.ImportFunc("env", "x", w.Sig("exnref", ""))
	return m.Bytes()
}

// refusal is a module that must be refused.
type refusal struct {
	name string
	wasm []byte
	kind error
	text string // part of the message
}

var maxU32 = []byte{0xff, 0xff, 0xff, 0xff, 0x0f}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(sectionRefusals(), codeRefusals()) {
		t.Run(c.name, func(t *testing.T) {
			checkRefusal(t, c.wasm, wasmbin.DefaultLimits(), c.kind, c.text)
		})
	}
}

func sectionRefusals() []refusal {
	bad, no := wasmbin.ErrMalformed, wasmbin.ErrUnsupported
	return []refusal{
		{"empty", nil, bad, "not a WebAssembly module"},
		{"text format", []byte("(module)"), bad, "not a WebAssembly module"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), bad, "version 02000000"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), no, "component"},
		{"cut section", raw([]byte{1, 5, 0}), bad, "section of 5 bytes declared, 1 left"},
		{"unknown section", raw(w.Section(42)), bad, "unknown section 42"},
		{"tag section out of order", raw(w.Section(6, []byte{0}), w.Section(13, []byte{0})), bad, "out of order"},
		{"tag attribute", raw(w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(13, []byte{1, 1, 0})), bad, "tag attribute 0x01"},
		{"tag of no type", raw(w.Section(13, []byte{1, 0, 0})), bad, "type 0 of 0"},
		{"tag with results", raw(w.Section(1, []byte{1, 0x60, 0, 1, w.I32}), w.Section(13, []byte{1, 0, 0})), bad, "a tag with results"},
		{"tag of a reference", raw(w.Section(1, []byte{1, 0x60, 1, w.FuncRef, 0}), w.Section(13, []byte{1, 0, 0})), no, "carries a funcref"},
		{"tag of a vector", raw(w.Section(1, []byte{1, 0x60, 1, w.V128, 0}), w.Section(13, []byte{1, 0, 0})), no, "carries a v128"},
		{"tag of 12 bytes", raw(w.Section(1, []byte{1, 0x60, 2, w.I32, w.F64, 0}), w.Section(13, []byte{1, 0, 0})), no, "an exception of 12 bytes, at most 8"},
		{"section repeated", raw(w.Section(1, []byte{0}), w.Section(1, []byte{0})), bad, "repeated or out of order"},
		{"section out of order", raw(w.Section(2, []byte{0}), w.Section(1, []byte{0})), bad, "out of order"},
		{"data count behind code", raw(w.Section(10, []byte{0}), w.Section(12, []byte{0})), bad, "out of order"},
		{"bytes behind the entries", raw(w.Section(1, []byte{0, 0})), bad, "1 bytes too many"},
		{"types cannot fit", raw(w.Section(1, maxU32)), bad, "4294967295 types declared in 0 bytes"},
		{"number of 6 bytes", raw(w.Section(1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), bad, "longer than 5 bytes"},
		{"number of 33 bits", raw(w.Section(1, []byte{0xff, 0xff, 0xff, 0xff, 0x1f})), bad, "does not fit 32 bits"},
		{"custom section name", raw(w.Section(0, w.Name("\xff"))), bad, "not UTF-8"},
		{"name section repeated", raw(w.Section(0, w.Name("name")), w.Section(0, w.Name("name"))), bad, "name section is repeated"},
		{"name subsection too long", raw(w.Section(0, w.Name("name"), []byte{0, 3, 1, 'x', 0})), bad, "1 bytes too many in subsection 0"},
		{"function name cut short", raw(w.Section(0, w.Name("name"), []byte{1, 3, 1, 0, 9})), bad, "name of 9 bytes"},
		{"function name", raw(w.Section(0, w.Name("name"), []byte{1, 4, 1, 0, 1, 0xff})), bad, "not UTF-8"},
		{"gc type", raw(w.Section(1, []byte{1, 0x5f, 0, 0})), no, "needs gc"},
		{"unknown type form", raw(w.Section(1, []byte{1, 0x61, 0, 0})), bad, "type form 0x61"},
		{"import with an exnref", exnImport(), no, "takes or returns an exception"},
		{"reference that is an exception", raw(w.Section(1, []byte{1, 0x60, 1, 0x64, 0x69, 0})), no, "typed-function-references"},
		{"typed reference", raw(w.Section(1, []byte{1, 0x60, 1, 0x64, 0x70, 0})), no, "typed-function-references"},
		{"unknown value type", raw(w.Section(1, []byte{1, 0x60, 1, 0x01, 0})), bad, "unknown type 0x01"},
		{"memory import", imports(w.KindMemory, 0, 1), no, `"env"."x" is a memory: only functions`},
		{"table import", imports(w.KindTable, w.FuncRef, 0, 1), no, "is a table"},
		{"global import", imports(w.KindGlobal, w.I32, 0), no, "is a global"},
		{"tag import", imports(w.KindTag, 0, 0), no, "is a tag: only functions"},
		{"import of unknown kind", imports(9, 0), bad, "unknown kind 9"},
		{"import with a bad type", imports(w.KindFunc, 7), bad, "type 7 of 1"},
		{"import of tick", reservedImport(), no, "reserved for the host"},
		{"function with a bad type", raw(w.Section(1, []byte{0}), w.Section(3, []byte{1, 0})), bad, "type 0 of 0"},
		{"functions without code", raw(w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(3, []byte{1, 0})), bad, "no code"},
		{"code without functions", raw(w.Section(10, []byte{1, 2, 0, 0x0b})), bad, "1 function bodies for 0"},
		{"table with init", raw(w.Section(4, []byte{1, 0x40, 0, 0x70, 0, 0})), no, "typed-function-references"},
		{"table of exceptions", raw(w.Section(4, []byte{1, 0x69, 0, 0})), no, "table or segment of exceptions"},
		{"table of numbers", raw(w.Section(4, []byte{1, 0x7f, 0, 0})), bad, "not a reference type"},
		{"table maximum", raw(w.Section(4, []byte{1, 0x70, 1, 5, 4})), bad, "maximum 4 is below minimum 5"},
		{"shared memory", raw(w.Section(5, []byte{1, 3, 1, 2})), no, "needs threads"},
		{"memory64", raw(w.Section(5, []byte{1, 4, 1})), no, "memory64"},
		{"page size", raw(w.Section(5, []byte{1, 8, 1, 0})), no, "custom-page-sizes"},
		{"two memories", raw(w.Section(5, []byte{2, 0, 1, 0, 1})), no, "multi-memory"},
		{"memory beyond 4 GiB", raw(w.Section(5, []byte{1, 0, 0x81, 0x80, 4})), bad, "65537 pages"},
		{"global mutability", raw(w.Section(6, []byte{1, 0x7f, 2, 0x41, 0, 0x0b})), bad, "mutability 0x02"},
		{"global init not constant", raw(w.Section(6, []byte{1, 0x7f, 0, 0x20, 0, 0x0b})), bad, "in a constant expression"},
		{"global init without end", raw(w.Section(6, []byte{1, 0x7f, 0, 0x41, 0})), bad, "cut short"},
		{"export of nothing", export("f", w.KindMemory), bad, "memory 0 of 0"},
		{"export of no tag", export("f", w.KindTag), bad, "tag 0 of 0"},
		{"export with our prefix", export(wasmbin.FuelGlobal, w.KindFunc), no, "reserved"},
		{"export repeated", repeatedExport(), bad, `export "f" is repeated`},
		{"start of nothing", raw(w.Section(8, []byte{0})), bad, "function 0 of 0"},
		{"start with parameters", badStart(), bad, "takes parameters"},
		{"element flags", raw(w.Section(9, []byte{1, 8, 0})), bad, "element flags 8"},
		{"element without table", raw(w.Section(9, []byte{1, 0, 0x41, 0, 0x0b, 0})), bad, "table 0 of 0"},
		{"element of nothing", raw(w.Section(4, []byte{1, 0x70, 0, 1}), w.Section(9, []byte{1, 0, 0x41, 0, 0x0b, 1, 0})), bad, "function 0 of 0"},
		{"element kind", raw(w.Section(9, []byte{1, 1, 1, 0})), bad, "element kind 0x01"},
		{"data flags", raw(w.Section(11, []byte{1, 3, 0})), bad, "data flags 3"},
		{"data without memory", raw(w.Section(11, []byte{1, 0, 0x41, 0, 0x0b, 0})), bad, "without a memory"},
		{"data in memory 1", raw(w.Section(5, []byte{1, 0, 1}), w.Section(11, []byte{1, 2, 1, 0x41, 0, 0x0b, 0})), no, "multi-memory"},
		{"data count", raw(w.Section(12, []byte{2}), w.Section(11, []byte{1, 1, 0})), bad, "1 data segments, but 2 declared"},
		{"data count without data", raw(w.Section(12, []byte{2})), bad, "no data section"},
	}
}

func codeRefusals() []refusal {
	bad, no := wasmbin.ErrMalformed, wasmbin.ErrUnsupported
	return []refusal{
		{"unknown opcode", code(w.Op(0x27)), bad, "unknown opcode 0x27"},
		{"atomics", code(w.Op(0xfe, 0x10, 2, 0)), no, "needs threads"},
		{"legacy try", code(w.Op(0x06, 0x40)), no, "legacy exception-handling"},
		{"throw of no tag", code(w.Throw(0)), bad, "tag 0 of 0"},
		{"catch of no tag", code(w.TryTable([]byte{w.Empty}, [][]byte{w.Catch(0, 0)})), bad, "tag 0 of 0"},
		{"catch branches out", code(w.TryTable([]byte{w.Empty}, [][]byte{w.CatchAll(1)})), bad, "label 1 of 1"},
		{"unknown catch", code(w.TryTable([]byte{w.Empty}, [][]byte{w.Op(4, 0)})), bad, "catch clause 0x04"},
		{"catch clauses cannot fit", code(w.Op(0x1f, w.Empty), maxU32), bad, "catch clauses declared in"},
		{"call_ref", code(w.Op(0x14, 0)), no, "typed-function-references"},
		{"struct.new", code(w.Op(0xfb, 0, 0)), no, "needs gc"},
		{"relaxed simd", code(w.Op(0xfd, 0x80, 2)), no, "relaxed-simd"},
		{"unknown vector opcode", code(w.Op(0xfd, 0x9a, 1)), bad, "unknown opcode 0xfd 0x9a"},
		{"unknown bulk opcode", code(w.Op(0xfc, 18)), bad, "unknown opcode 0xfc 0x12"},
		{"long vector opcode", code(w.Op(0xfd, 0x80, 0x00)), bad, "shortest encoding"},
		{"vector opcode that hides a loop", code(w.Op(0xfd, 0x8e, 0x81, 0x00)), bad, "shortest encoding"},
		{"block type of nothing", code(w.Op(0x02, 9, 0x0b)), bad, "block type 9 of 1"},
		{"long block type", code(w.Op(0x02, 0xc0, 0x7f, 0x0b)), bad, "shortest encoding"},
		{"block of typed reference", code(w.Op(0x02, 0x63, 0x70, 0x0b)), no, "typed-function-references"},
		{"else without if", code(w.Block(w.Empty, w.Op(0x05))), bad, "else without if"},
		{"second else", code(w.LocalGet(0), w.If(w.Empty, w.Op(0x05, 0x05))), bad, "else without if"},
		{"branch out", code(w.Br(1)), bad, "label 1 of 1"},
		{"branch table out", code(w.LocalGet(0), w.BrTable([]int{0, 3}, 0)), bad, "label 3 of 1"},
		{"branch targets cannot fit", code(w.Op(0x0e), maxU32), bad, "branch targets declared in"},
		{"call of nothing", code(w.Call(1)), bad, "function 1 of 1"},
		{"call_indirect of no type", code(w.CallIndirect(3, 0)), bad, "type 3 of 1"},
		{"call_indirect of no table", code(w.CallIndirect(0, 3)), bad, "table 3 of 1"},
		{"local of nothing", code(w.LocalGet(1)), bad, "local 1 of 1"},
		{"global of nothing", code(w.GlobalGet(0)), bad, "global 0 of 0"},
		{"table of nothing", code(w.Op(0x25, 1)), bad, "table 1 of 1"},
		{"second memory", code(w.Op(0x3f, 1)), no, "memory 1 needs multi-memory"},
		{"memory argument of another", code(w.Op(0x28, 0x40, 0, 0)), no, "multi-memory"},
		{"alignment", code(w.Op(0x28, 32, 0)), bad, "alignment 2^32"},
		{"no memory", withoutMemory(), bad, "without a memory"},
		{"data.drop without count", code(w.Op(0xfc, 9, 0)), bad, "data count section"},
		{"elem.drop of nothing", code(w.Op(0xfc, 13, 0)), bad, "element segment 0 of 0"},
		{"select of two types", code(w.Op(0x1c, 2, 0x7f, 0x7f)), bad, "select with 2 types"},
		{"reference to gc type", code(w.Op(0xd0, 0x6e)), no, "needs gc"},
		{"i32 of 33 bits", code(w.Op(0x41, 0xff, 0xff, 0xff, 0xff, 0x4f)), bad, "does not fit"},
		{"i32 of 6 bytes", code(w.Op(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), bad, "longer than 32 bits"},
		{"i64 of 65 bits", code(w.Op(0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02)), bad, "does not fit"},
		{"code behind the end", code(w.Op(0x0b)), bad, "goes on after its end"},
		{"no end", unended(), bad, "cut short"},
		{"body of nothing", raw(w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(3, []byte{1, 0}), w.Section(10, []byte{1, 9, 0})), bad, "function body"},
	}
}

func checkRefusal(t *testing.T, wasm []byte, l wasmbin.Limits, kind error, text string) {
	t.Helper()
	m, err := wasmbin.Inspect(wasm, l)
	var e *wasmbin.Error
	if !errors.As(err, &e) {
		t.Fatalf("accepted, or not our error: %v, %v", m, err)
	}
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("got %q, want %q in it", err, text)
	}
	if e.Offset < 0 || e.Offset > len(wasm) || e.Section == "" || !strings.Contains(err.Error(), fmt.Sprintf("(at byte %d)", e.Offset)) {
		t.Errorf("%q does not say where: offset %d of %d, section %q", err, e.Offset, len(wasm), e.Section)
	}
	if _, err2 := wasmbin.Instrument(wasm, l, options); err2 == nil {
		t.Errorf("Instrument accepts what Inspect refuses: %v", err)
	}
}

func reservedImport() []byte {
	m := w.New()
	m.ImportFunc(wasmbin.TickModule, wasmbin.TickName, w.Sig("", ""))
	return m.Bytes()
}

func repeatedExport() []byte {
	m := w.New()
	f := m.Func(w.Sig("", ""), "")
	m.ExportFunc("f", f)
	m.ExportFunc("f", f)
	return m.Bytes()
}

func badStart() []byte {
	m := w.New()
	m.Start(m.Func(w.Sig("i32", ""), ""))
	return m.Bytes()
}

func withoutMemory() []byte {
	m := w.New()
	m.Func(w.Sig("", ""), "", w.I32Const(0), w.Load(0x28, 0), w.Drop())
	return m.Bytes()
}

func unended() []byte {
	m := w.New()
	m.RawFunc(m.Type(w.Sig("", "")), []byte{0, 0x02, 0x40, 0x0b})
	return m.Bytes()
}

// The error of a refusal deep in a module says at which byte.
func TestErrorOffset(t *testing.T) {
	t.Parallel()
	wasm := code(w.I32Const(0), w.Drop(), w.Op(0x27))
	_, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
	var e *wasmbin.Error
	if !errors.As(err, &e) || e.Offset != bytes.LastIndexByte(wasm, 0x27) || e.Section != "code" {
		t.Errorf("got %v, want byte %d of the code section", err, bytes.LastIndexByte(wasm, 0x27))
	}
}

// limitCase sets a limit to n and builds a module that needs n.
type limitCase struct {
	name  string
	limit func(l *wasmbin.Limits, n int)
	build func(n int) []byte
}

// Each limit accepts what is at it and refuses what is one above.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(sectionLimits(), functionLimits()) {
		t.Run(c.name, func(t *testing.T) {
			l := wasmbin.DefaultLimits()
			c.limit(&l, 20)
			if _, err := wasmbin.Inspect(c.build(20), l); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			checkRefusal(t, c.build(21), l, wasmbin.ErrTooLarge, "")
		})
	}
}

func sectionLimits() []limitCase {
	type limits = wasmbin.Limits
	repeat := func(n int, part []byte) []byte { return bytes.Repeat(part, n) }
	return []limitCase{
		{"ModuleBytes", func(l *limits, n int) { l.ModuleBytes = n + 100 }, func(n int) []byte {
			return raw(w.Section(0, w.Name("x"), make([]byte, n+88)))
		}},
		{"CustomBytes", func(l *limits, n int) { l.CustomBytes = 2 * n }, func(n int) []byte {
			return raw(w.Section(0, make([]byte, n)), w.Section(0, make([]byte, n)))
		}},
		{"Types", func(l *limits, n int) { l.Types = n }, func(n int) []byte {
			return raw(w.Section(1, w.U32(uint32(n)), repeat(n, []byte{0x60, 0, 0})))
		}},
		{"Imports", func(l *limits, n int) { l.Imports = n }, func(n int) []byte {
			m := w.New()
			for range n {
				m.ImportFunc("env", "f", w.Sig("", ""))
			}
			return m.Bytes()
		}},
		{"Functions", func(l *limits, n int) { l.Functions = n }, func(n int) []byte {
			m := w.New()
			for range n {
				m.Func(w.Sig("", ""), "")
			}
			return m.Bytes()
		}},
		{"Tables", func(l *limits, n int) { l.Tables = n }, func(n int) []byte {
			return raw(w.Section(4, w.U32(uint32(n)), repeat(n, []byte{0x70, 0, 0})))
		}},
		{"Globals", func(l *limits, n int) { l.Globals = n }, func(n int) []byte {
			return raw(w.Section(6, w.U32(uint32(n)), repeat(n, []byte{0x7f, 0, 0x41, 0, 0x0b})))
		}},
		{"Exports", func(l *limits, n int) { l.Exports = n }, func(n int) []byte {
			m := w.New()
			f := m.Func(w.Sig("", ""), "")
			for i := range n {
				m.ExportFunc(fmt.Sprint(i), f)
			}
			return m.Bytes()
		}},
		{"ElementSegments", func(l *limits, n int) { l.ElementSegments = n }, func(n int) []byte {
			return raw(w.Section(9, w.U32(uint32(n)), repeat(n, []byte{1, 0, 0})))
		}},
		{"ElementEntries", func(l *limits, n int) { l.ElementEntries = n }, func(n int) []byte {
			m := w.New()
			m.Table(w.FuncRef, 100, w.NoMax)
			f := m.Func(w.Sig("", ""), "")
			m.Elem(0, slices.Repeat([]int{f}, n-1)...)
			m.Elem(0, f)
			return m.Bytes()
		}},
		{"DataSegments", func(l *limits, n int) { l.DataSegments = n }, func(n int) []byte {
			return raw(w.Section(11, w.U32(uint32(n)), repeat(n, []byte{1, 0})))
		}},
		{"DataSegments by count", func(l *limits, n int) { l.DataSegments = n }, func(n int) []byte {
			return raw(w.Section(12, w.U32(uint32(n))), w.Section(11, w.U32(uint32(n)), repeat(n, []byte{1, 0})))
		}},
		{"NameBytes", func(l *limits, n int) { l.NameBytes = n }, func(n int) []byte {
			return export(strings.Repeat("x", n), w.KindFunc)
		}},
		{"Params", func(l *limits, n int) { l.Params = n }, func(n int) []byte {
			return raw(w.Section(1, []byte{1, 0x60}, w.U32(uint32(n)), repeat(n, []byte{0x7f}), []byte{0}))
		}},
		{"Results", func(l *limits, n int) { l.Results = n }, func(n int) []byte {
			return raw(w.Section(1, []byte{1, 0x60, 0}, w.U32(uint32(n)), repeat(n, []byte{0x7f})))
		}},
		{"MemoryPages", func(l *limits, n int) { l.MemoryPages = uint32(n) }, func(n int) []byte {
			return raw(w.Section(5, []byte{1, 0}, w.U32(uint32(n))))
		}},
		{"TableElems", func(l *limits, n int) { l.TableElems = uint32(n) }, func(n int) []byte {
			return raw(w.Section(4, []byte{1, 0x70, 0}, w.U32(uint32(n))))
		}},
	}
}

func functionLimits() []limitCase {
	type limits = wasmbin.Limits
	repeat := func(n int, part []byte) []byte { return bytes.Repeat(part, n) }
	return []limitCase{
		{"BodyBytes", func(l *limits, n int) { l.BodyBytes = n + 2 }, func(n int) []byte {
			return code(repeat(n, []byte{1}))
		}},
		{"Locals", func(l *limits, n int) { l.Locals = n }, func(n int) []byte {
			m := w.New()
			m.RawFunc(m.Type(w.Sig("", "")), slices.Concat([]byte{2, 1, 0x7f}, w.U32(uint32(n-1)), []byte{0x7e, 0x0b}))
			return m.Bytes()
		}},
		{"Nesting", func(l *limits, n int) { l.Nesting = n }, func(n int) []byte {
			return code(repeat(n, []byte{0x02, 0x40}), repeat(n, []byte{0x0b}))
		}},
		{"Blocks", func(l *limits, n int) { l.Blocks = n }, func(n int) []byte {
			return code(repeat(n, w.Block(w.Empty)))
		}},
		{"LocalsTimesBlocks", func(l *limits, n int) { l.LocalsTimesBlocks = n }, func(n int) []byte {
			return code(repeat(n, w.Block(w.Empty))) // one parameter
		}},
		{"BranchTargets", func(l *limits, n int) { l.BranchTargets = n }, func(n int) []byte {
			return code(w.LocalGet(0), w.BrTable(make([]int, n), 0))
		}},
		{"FunctionWork", func(l *limits, n int) { l.FunctionWork = int64(n) + 52 }, func(n int) []byte {
			return code(repeat(n, []byte{1})) // 50 for the function, 1 each for its parameter and end
		}},
		{"CompileWork", func(l *limits, n int) { l.CompileWork = int64(n) + 53 }, func(n int) []byte {
			return code(repeat(n, []byte{1})) // and 1 for the parameter of its type
		}},
	}
}

// What a module declares does not make Inspect allocate more than a small
// multiple of its size. Not parallel: other tests allocate too.
func TestInspectAllocatesLittle(t *testing.T) {
	for _, b := range bombs() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wasmbin.Inspect(b.wasm, wasmbin.DefaultLimits())
		runtime.ReadMemStats(&after)
		if n, most := after.TotalAlloc-before.TotalAlloc, uint64(16*len(b.wasm)+16<<10); n > most {
			t.Errorf("%s: %d bytes, %d allocated, want at most %d", b.name, len(b.wasm), n, most)
		}
	}
}
