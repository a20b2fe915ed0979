package wasmlink_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

func assemble(tb testing.TB, text string) *wasmlink.Module {
	tb.Helper()
	m, err := wasmlink.Assemble(text)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func newRuntime(tb testing.TB) wazero.Runtime {
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall)
	r := wazero.NewRuntimeWithConfig(context.Background(), config)
	tb.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// instantiate compiles and starts a module. It imports nothing but env.twice.
func instantiate(tb testing.TB, wasm []byte) api.Module {
	tb.Helper()
	if _, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits()); err != nil {
		tb.Fatal(err)
	}
	r := newRuntime(tb)
	_, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(n uint32) uint32 { return 2 * n }).Export("twice").Instantiate(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	i, err := r.Instantiate(context.Background(), wasm)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

func call(tb testing.TB, m api.Module, name string, args ...uint64) uint64 {
	tb.Helper()
	results, err := m.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return results[0]
}

// everything uses each field and each way of writing instructions.
const everything = `;; a module
(module
  (type $unary (func (param i32) (result i32)))
  (import "env" "twice" (func $twice (type $unary)))
  (memory $m (export "memory") 1 2)
  (table $t 4 funcref)
  (global $count (export "count") (mut i32) (i32.const 3))
  (global $pi f64 (f64.const 0x1.921fb54442d18p+1))
  (elem $entries (i32.const 1) func $twice $square)
  (elem $spare func $square)
  (elem declare func $main)
  (data $text (i32.const 8) "h\c3\a9\t\u{20ac}" "\"")
  (data $later "later")
  (export "main" (func $main))
  (start $begin)
  (func $begin (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $square (param $x i32) (result i32) local.get $x local.get 0 i32.mul)
  (func $main (param $n i32) (result i32) (local $sum i32) (local i64 i64)
    (; folded (; and nested ;) ;)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $n)))
        (local.set $sum (i32.add (local.get $sum) (call_indirect $t (type $unary) (local.get $n) (i32.const 2))))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br $next)))
    ;; flat
    local.get $sum
    i32.const 100
    i32.gt_u
    if $big (result i32)
      i32.const 0x7f_ff
    else $big
      local.get $sum
    end $big
    (if (result i32) (global.get $count) (then (i32.const 1)) (else (i32.const 0)))
    i32.add)
  (func (export "text") (param $i i32) (result i32)
    (memory.init $later (i32.const 64) (i32.const 0) (i32.const 5))
    (i32.load8_u offset=8 align=1 (local.get $i)))
  (func (export "table") (param i32) (result i32)
    (table.init $t $spare (i32.const 3) (i32.const 0) (i32.const 1))
    (call_indirect (param i32) (result i32) (local.get 0) (i32.const 3)))
  (func (export "pick") (param i32) (result i64) (local i64)
    block $c block $b block $a
      (br_table $a $b $c (local.get 0))
    end (return (i64.const -1))
    end (return (i64.const 0x8000000000000000))
    end i64.const 7 i64.const 8 (select (result i64) (i32.const 0)))
  (func (export "float") (result f64) (f64.add (global.get $pi) (f64.const 1e-3)))
)`

func TestAssembleEveryField(t *testing.T) {
	t.Parallel()
	m := instantiate(t, assemble(t, everything).Encode())
	for _, c := range []struct {
		name string
		args []uint64
		want uint64
	}{
		{"main", []uint64{4}, 31}, // 16+9+4+1, and 1 for the counter
		{"main", []uint64{9}, 0x7fff + 1},
		{"text", []uint64{0}, 'h'},
		{"text", []uint64{56}, 'l'},
		{"text", []uint64{4}, 0xe2},
		{"table", []uint64{7}, 49},
		{"pick", []uint64{0}, 1<<64 - 1},
		{"pick", []uint64{1}, 1 << 63},
		{"pick", []uint64{9}, 8},
		{"float", nil, api.EncodeF64(3.141592653589793 + 1e-3)},
	} {
		if got := call(t, m, c.name, c.args...); got != c.want {
			t.Errorf("%s%v = %d, want %d", c.name, c.args, got, c.want)
		}
	}
	if got := m.ExportedGlobal("count").Get(); got != 4 {
		t.Errorf("count is %d after start", got)
	}
}

func TestAssembleErrorsSayWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"(module":                                       "line 1, column 1: a parenthesis that is never closed",
		"(module))":                                     "column 9: a parenthesis that closes nothing",
		"(module\n (fun))":                              `line 2, column 2: unknown field "fun"`,
		"(module (func i32.addd))":                      `unknown instruction "i32.addd"`,
		"(module (func call $f))":                       "no function $f",
		"(module (func local.get 1))":                   "expected a local of 0",
		"(module (func br 3))":                          "no label 3",
		"(module (func block))":                         "a block has no end",
		"(module (func end))":                           "end of a block that was not begun here",
		"(module (func $f) (func $f))":                  "function $f is declared twice",
		"(module (func) (import \"a\" \"b\" (func)))":   "an import must be before",
		"(module (func (i32.const 4294967296)))":        "is not a number of 32 bits",
		"(module (func i32.const 017))":                 "is not a number of 32 bits",
		"(module (func i32.const))":                     "something is missing here",
		"(module (memory 1) (memory 1))":                "a second memory",
		`(module (data "\zz"))`:                         "unknown escape",
		`(module (data "`:                               "a string that is never closed",
		"(module (; ":                                   "a comment that is never closed",
		"(module (memory 1) (func (i32.load align=3)))": "not a power of two",
		"(module (func (param $a i32) (param $a i32)))": "local $a is declared twice",
		"(module (func block $a end $b))":               "is not the block that is open",
		strings.Repeat("(", 600):                        "nest more than 500 deep",
		"(module (func (if (i32.const 1) (else nop))))": "unknown instruction \"else\"",
	} {
		_, err := wasmlink.Assemble(text)
		var e *wasmlink.TextError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

// engine is a module as a compiler would have made it: it calls what it does not
// have.
const engine = `(module
  (import "driver" "ask" (func $ask (param i32) (result i32)))
  (import "env" "twice" (func $twice (param i32) (result i32)))
  (memory (export "memory") 2)
  (table (export "table") 2 funcref)
  (elem (i32.const 0) $ask $plus)
  (global $sp (export "sp") (mut i32) (i32.const 65536))
  (func $plus (export "plus") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func $unused (export "unused") (result i32) (i32.const 1))
  (func (export "run") (param i32) (result i32) (call $ask (call $twice (local.get 0)))))`

const driver = `(module
  (import "engine" "plus" (func $plus (param i32 i32) (result i32)))
  (import "engine" "memory" (memory 1))
  (import "engine" "table" (table 2 funcref))
  (import "engine" "sp" (global $sp (mut i32)))
  (global $calls (export "calls") (mut i32) (i32.const 0))
  (data $d (i32.const 100) "\2a")
  (func (export "ask") (param $n i32) (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (call $plus (local.get $n) (i32.load8_u (i32.const 100))))
  (func (export "indirect") (param $n i32) (result i32)
    (global.set $sp (i32.const 1))
    (call_indirect (param i32) (result i32) (local.get $n) (i32.const 0))))`

func TestLinkJoinsTwoModules(t *testing.T) {
	t.Parallel()
	d, err := wasmlink.Decode(assemble(t, engine).Encode())
	if err != nil {
		t.Fatal(err)
	}
	exports := []string{"run", "indirect", "calls", "sp", "memory"}
	units := []wasmlink.Unit{
		{Names: []string{"engine"}, Module: d},
		{Names: []string{"elsewhere", "driver"}, Module: assemble(t, driver)},
	}
	linked, err := wasmlink.Link(exports, units...)
	if err != nil {
		t.Fatal(err)
	}
	wasm := linked.Encode()
	again, err := wasmlink.Link(exports, units...)
	if err != nil || !bytes.Equal(wasm, again.Encode()) {
		t.Errorf("linking twice gave two results, %v", err)
	}
	if n := len(linked.Functions); n != 4 {
		t.Errorf("%d functions, want 4: the unused one is left", n)
	}
	m := instantiate(t, wasm)
	if got := call(t, m, "run", 5); got != 52 {
		t.Errorf("run(5) = %d", got)
	}
	if got := call(t, m, "indirect", 5); got != 47 {
		t.Errorf("indirect(5) = %d", got)
	}
	if calls, sp := m.ExportedGlobal("calls").Get(), m.ExportedGlobal("sp").Get(); calls != 2 || sp != 1 {
		t.Errorf("calls %d, sp %d", calls, sp)
	}
	var names []string
	for _, e := range linked.Exports {
		names = append(names, e.Name)
	}
	if strings.Join(names, " ") != strings.Join(exports, " ") {
		t.Errorf("exports %v", names)
	}
}

func TestLinkRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ base, driver, export string }{
		"env exports no function f": {
			`(module (import "env" "f" (func $f)) (export "run" (func $f)))`, `(module)`, "run"},
		"signature": {
			`(module (import "env" "f" (func $f (param i32))) (func (export "run") i32.const 0 call $f))`,
			`(module (func (export "f")))`, "run"},
		"is an import of itself": {
			`(module (import "env" "f" (func $f)) (export "g" (func $f)))`,
			`(module (import "engine" "g" (func $g)) (export "f" (func $g)))`, "g"},
		"two units have a memory": {`(module (memory 1))`, `(module (memory 1))`, ""},
		"two units have a start":  {`(module (func $f) (start $f))`, `(module (func $f) (start $f))`, ""},
		"no unit exports run":     {`(module)`, `(module)`, "run"},
		"only functions can stay": {`(module)`, `(module (import "x" "m" (memory 1)))`, ""},
		"it starts with 1 pages":  {`(module (memory (export "m") 1))`, `(module (import "engine" "m" (memory 2)))`, ""},
		"of another type": {
			`(module (global (export "g") i32 (i32.const 0)))`,
			`(module (import "engine" "g" (global (mut i32))))`, ""},
		"is not exported": {`(module)`, `(module (import "engine" "t" (table 1 funcref)))`, ""},
	} {
		var exports []string
		if c.export != "" {
			exports = []string{c.export}
		}
		base, err := wasmlink.Decode(assemble(t, c.base).Encode())
		if err != nil {
			t.Fatal(err)
		}
		_, err = wasmlink.Link(exports, wasmlink.Unit{Names: []string{"engine"}, Module: base},
			wasmlink.Unit{Names: []string{"env"}, Module: assemble(t, c.driver)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDecodeChecks(t *testing.T) {
	t.Parallel()
	if _, err := wasmlink.Decode([]byte("\x00asm\x01\x00\x00\x00\x03\x02\x01\x00")); !errors.Is(err, wasmbin.ErrMalformed) {
		t.Errorf("error %v", err)
	}
}

// FuzzAssemble: any text is a module that can be encoded, or an error with a
// place.
func FuzzAssemble(f *testing.F) {
	for _, text := range []string{everything, engine, driver, "", "(module)", "(module (func (block (result i32) (loop (br 1 (i32.const 1))))))"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := wasmlink.Assemble(text)
		if err == nil {
			m.Encode()
			return
		}
		if e := err.(*wasmlink.TextError); e.Line < 1 || e.Column < 1 || e.Message == "" {
			t.Errorf("error without a place: %v", e)
		}
	})
}

// FuzzLink: what is decoded can be linked with a driver, and is still a module.
func FuzzLink(f *testing.F) {
	r := newRuntime(f)
	for _, text := range []string{everything, engine, driver, `(module (func (export "f")))`} {
		if m := assemble(f, text); len(m.Shared) == 0 {
			f.Add(m.Encode())
		}
	}
	drive := assemble(f, `(module (func $f (param i32) (result i32) (local.get 0)) (export "ask" (func $f)) (export "twice" (func $f)))`)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmlink.Decode(wasm)
		if err != nil {
			return
		}
		var exports []string
		for _, e := range m.Exports {
			exports = append(exports, e.Name)
		}
		linked, err := wasmlink.Link(exports, wasmlink.Unit{Names: []string{"engine"}, Module: m}, wasmlink.Unit{Names: []string{"env"}, Module: drive})
		if err != nil {
			return
		}
		out := linked.Encode()
		if _, err := wasmbin.Inspect(out, wasmbin.DefaultLimits()); err != nil {
			t.Fatalf("what was linked is refused: %v", err)
		}
		if compiles(r, wasm) && !compiles(r, out) {
			t.Fatal("what was linked does not compile, and did before")
		}
	})
}

func compiles(r wazero.Runtime, wasm []byte) bool {
	defer func() { _ = recover() }() // the engine's compiler may panic
	c, err := r.CompileModule(context.Background(), wasm)
	if err != nil {
		return false
	}
	c.Close(context.Background())
	return true
}
