package wasmlink_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// thrower throws through functions of each type of result, through blocks, loops
// and operands, and counts what runs on that must not.
const thrower = `(module
  (import "env" "throw" (func $throw))
  (import "env" "invoke_ii" (func $invoke (param i32 i32) (result i32)))
  (import "env" "other" (func $other))
  (memory (export "memory") 1)
  (table (export "table") 2 funcref)
  (elem (i32.const 0) $deep $calm)
  (global $stack (export "stack") (mut i32) (i32.const 1024))
  (global $wrong (mut i32) (i32.const 0))
  (func $fail (global.set $wrong (i32.add (global.get $wrong) (i32.const 1))))

  (func $leaf (param $n i32) (result f64)
    (if (i32.eqz (local.get $n)) (then (call $throw) (call $fail)))
    (f64.const 2.5))
  (func $long (param $n i32) (result i64) (local $x f64)
    (loop $again
      (local.set $x (call $leaf (local.get $n)))
      (local.set $n (i32.sub (local.get $n) (i32.const 2)))
      (br_if $again (i32.gt_s (local.get $n) (i32.const -1))))
    (if (i32.eq (local.get $n) (i32.const -2)) (then (call $fail)))
    (i64.trunc_f64_s (local.get $x)))
  (func $single (param $n i32) (result f32)
    (f32.add (f32.const 1) (f32.convert_i64_s (call $long (local.get $n)))))
  (func $deep (param $n i32) (result i32)
    (global.set $stack (i32.sub (global.get $stack) (i32.const 16)))
    (block $out (result i32)
      (drop (br_if $out (i32.const 5) (i32.gt_u (local.get $n) (i32.const 90))))
      (i32.trunc_f32_s (call $single (local.get $n)))
      (if (i32.eq (local.get $n) (i32.const 7)) (then
        (global.set $stack (i32.add (global.get $stack) (i32.const 16)))
        (return (i32.const 70)))))
    (global.set $stack (i32.add (global.get $stack) (i32.const 16))))
  (func $calm (param $n i32) (result i32) (i32.mul (local.get $n) (i32.const 3)))
  (func (export "try") (param $f i32) (param $n i32) (result i32)
    (call $invoke (local.get $f) (local.get $n)))
  (func (export "wrong") (result i32) (i32.add (global.get $wrong) (i32.sub (i32.const 1024) (global.get $stack))))
)`

// catcher answers the imports, as an interpreter's glue does.
const catcher = `(module
  (import "engine" "table" (table 0 funcref))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "flag" (global $flag (mut i32)))
  (func (export "throw") (global.set $flag (i32.const 1)))
  (func (export "other"))
  (func (export "invoke_ii") (param $f i32) (param $n i32) (result i32) (local $at i32)
    (local.set $at (global.get $stack))
    (local.set $n (call_indirect (param i32) (result i32) (local.get $n) (local.get $f)))
    (if (global.get $flag) (then
      (global.set $flag (i32.const 0))
      (global.set $stack (local.get $at))
      (local.set $n (i32.const -1))))
    (local.get $n)))`

var unwinding = wasmlink.Unwinding{Module: "env", Throw: "throw", Catch: "invoke_", Flag: "flag"}

// unwound links a module that was rewritten with its glue.
func unwound(t *testing.T, text, glue string, u wasmlink.Unwinding, exports ...string) []byte {
	t.Helper()
	m := assemble(t, text)
	if err := m.Unwind(u); err != nil {
		t.Fatal(err)
	}
	linked, err := wasmlink.Link(exports, wasmlink.Unit{Names: []string{"engine"}, Module: m},
		wasmlink.Unit{Names: []string{"env"}, Module: assemble(t, glue)})
	if err != nil {
		t.Fatal(err)
	}
	return linked.Encode()
}

func TestUnwind(t *testing.T) {
	t.Parallel()
	m := instantiate(t, unwound(t, thrower, catcher, unwinding, "try", "wrong"))
	for _, c := range []struct{ function, n, want uint64 }{
		{0, 0, 0xffffffff}, {0, 4, 0xffffffff}, {0, 1, 3}, {0, 7, 70}, {0, 91, 5}, {0, 8, 0xffffffff}, {1, 4, 12}, {0, 3, 3},
	} {
		if got := call(t, m, "try", c.function, c.n); got != c.want {
			t.Errorf("function %d of %d: %d, want %d", c.function, c.n, int32(got), int32(c.want))
		}
		if got := call(t, m, "wrong"); got != 0 {
			t.Fatalf("function %d of %d: %d wrong turns, or the stack is not where it was", c.function, c.n, int32(got))
		}
	}
}

// holder has values in parameters, locals, operands and loops while the collector
// adds up what it finds on the stack.
const holder = `(module
  (import "env" "throw" (func $throw))
  (import "env" "invoke_ii" (func $invoke (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table (export "table") 1 funcref)
  (elem (i32.const 0) $found)
  (global $stack (export "stack") (mut i32) (i32.const 4096))
  (func $collect (result i32) (local $at i32) (local $sum i32)
    (local.set $at (global.get $stack))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $at) (i32.const 4096)))
      (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br $next)))
    (memory.fill (global.get $stack) (i32.const 0) (i32.sub (i32.const 4096) (global.get $stack)))
    (local.get $sum))
  (func $found (param i32) (result i32) (call $collect))

  ;; A parameter and a local are used again, another parameter is not.
  (func (export "locals") (param $a i32) (param $b i32) (result i32) (local $c i32)
    (local.set $c (i32.add (local.get $a) (i32.const 100)))
    (i32.sub (call $collect) (i32.mul (i32.const 0) (i32.add (local.get $a) (local.get $c)))))
  ;; An operand lies under the call.
  (func (export "operands") (param $a i32) (param $b i32) (result i32)
    (i32.mul (i32.add (local.get $a) (local.get $b)) (i32.load (i32.const 0)))
    (i32.add (i32.const 3) (local.tee $a (i32.mul (local.get $a) (i32.const 10))))
    (call_indirect (param i32) (result i32) (i32.const 0) (i32.const 0))
    (local.set $b) (drop) (drop)
    (local.get $b))
  ;; The caller's are found too, through the table and what catches.
  (func $inner (param $x i32) (result i32)
    (i32.add (call $invoke (i32.const 0) (i32.const 0)) (i32.mul (local.get $x) (i32.const 0))))
  (func (export "callers") (param $a i32) (param $b i32) (result i32)
    (i32.add (call $inner (local.get $b)) (i32.mul (local.get $a) (i32.const 0))))
  ;; What a loop will read again.
  (func (export "loops") (param $a i32) (param $b i32) (result i32) (local $n i32) (local $sum i32)
    (loop $again
      (if (i32.and (local.get $n) (i32.const 1)) (then (local.set $b (i32.add (local.get $b) (local.get $a)))))
      (local.set $sum (i32.add (local.get $sum) (i32.mul (call $collect) (i32.eqz (local.get $n)))))
      (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 3))))
    (local.get $sum))
)`

func TestUnwindShowsWhatIsInUse(t *testing.T) {
	t.Parallel()
	glue := `(module
  (import "engine" "table" (table 0 funcref))
  (func (export "throw") unreachable)
  (func (export "invoke_ii") (param i32 i32) (result i32) (call_indirect (param i32) (result i32) (local.get 1) (local.get 0))))`
	u := unwinding
	u.Collector, u.Stack = 2, 0
	m := instantiate(t, unwound(t, holder, glue, u, "locals", "operands", "callers", "loops"))
	for name, want := range map[string]uint64{
		"locals":   7 + 107,    // a and c
		"operands": 0 + 3 + 70, // the product with 0, and the sum's operands: 3+70
		"callers":  7 + 50,     // a in the caller, b in inner
		"loops":    7 + 50,     // a and b; n and the sum are 0
	} {
		if got := call(t, m, name, 7, 50); got != want {
			t.Errorf("%s: %d, want %d", name, int32(got), want)
		}
	}
}

func TestUnwindRefuses(t *testing.T) {
	t.Parallel()
	const head = `(module (import "env" "throw" (func $throw)) (memory 1) (global $g (mut i32) (i32.const 0)) `
	for want, c := range map[string]struct {
		text string
		u    wasmlink.Unwinding
	}{
		"does not import":        {`(module (memory 1))`, unwinding},
		"no function 9":          {head + `)`, wasmlink.Unwinding{Module: "env", Throw: "throw", Flag: "flag", Collector: 9}},
		"not a mutable i32":      {head + `(func))`, wasmlink.Unwinding{Module: "env", Throw: "throw", Flag: "flag", Collector: 1, Stack: 4}},
		"is taken":               {head + `(func (export "flag")))`, unwinding},
		"more than one result":   {head + `(func (result i32 i32) call $throw i32.const 1 i32.const 2))`, unwinding},
		"a tail call":            {head + `(func call $throw return_call $throw))`, unwinding},
		"imports memories":       {`(module (import "env" "throw" (func)) (import "a" "b" (memory 1)))`, unwinding},
		"operands of an instruc": {head + `(func $c) (func call $c ref.null func drop))`, wasmlink.Unwinding{Module: "env", Throw: "throw", Flag: "flag", Collector: 1}},
	} {
		err := assemble(t, c.text).Unwind(c.u)
		if !errors.Is(err, wasmlink.ErrUnwind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzUnwind rewrites any module that passes the gate, and expects one that
// passes it too.
func FuzzUnwind(f *testing.F) {
	for _, text := range []string{thrower, holder} {
		f.Add(assemble(f, text).Encode(), uint32(3), uint32(0))
	}
	f.Fuzz(func(t *testing.T, wasm []byte, collector, stack uint32) {
		for _, c := range []uint32{0, collector} {
			m, err := wasmlink.Decode(wasm)
			if err != nil {
				return
			}
			u := unwinding
			u.Collector, u.Stack = c, stack
			if err := m.Unwind(u); err != nil {
				continue
			}
			if _, err := wasmbin.Inspect(m.Encode(), wasmbin.DefaultLimits()); err != nil && !errors.Is(err, wasmbin.ErrTooLarge) {
				t.Errorf("what was rewritten is refused: %v", err)
			}
		}
	})
}

// caller calls itself and a function that may throw, 2^20 times.
const caller = `(module
  (import "env" "throw" (func $throw))
  (memory (export "memory") 1)
  (global $stack (export "stack") (mut i32) (i32.const 32768))
  (func $collect (param $n i32) (if (i32.eq (local.get $n) (i32.const -1)) (then (call $throw))))
  (func $tree (export "tree") (param $n i32) (result i32)
    (call $collect (local.get $n))
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (i32.add (call $tree (i32.sub (local.get $n) (i32.const 1))) (call $tree (i32.sub (local.get $n) (i32.const 1))))))`

// BenchmarkUnwind measures calls as they were, with the flag looked at behind
// them, and with what they hold put into memory too.
func BenchmarkUnwind(b *testing.B) {
	collecting := unwinding
	collecting.Collector = 1
	for _, c := range []struct {
		name string
		u    *wasmlink.Unwinding
	}{{"plain", nil}, {"unwinding", &unwinding}, {"collecting", &collecting}} {
		b.Run(c.name, func(b *testing.B) {
			m := assemble(b, caller)
			if c.u != nil {
				if err := m.Unwind(*c.u); err != nil {
					b.Fatal(err)
				}
			}
			linked, err := wasmlink.Link([]string{"tree"}, wasmlink.Unit{Names: []string{"engine"}, Module: m},
				wasmlink.Unit{Names: []string{"env"}, Module: assemble(b, `(module (func (export "throw")))`)})
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			r := wazero.NewRuntime(ctx)
			defer r.Close(ctx)
			i, err := r.Instantiate(ctx, linked.Encode())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				call(b, i, "tree", 19)
			}
		})
	}
}
