package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// assemble makes a module of text that is right.
func assemble(t testing.TB, text string) []byte {
	t.Helper()
	m, err := wasmlink.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	return m.Encode()
}

// initialised counts what its initialisation does in every kind of state.
const initialised = `(module
  (import "skillet:host/v1" "output_write" (func $write (param i32 i32)))
  (import "skillet:host/v1" "input_length" (func $length (result i64)))
  (import "skillet:host/v1" "input_read" (func $read (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1 4)
  (global $i (mut i32) (i32.const -5))
  (global $l (mut i64) (i64.const 0))
  (global $f (mut f32) (f32.const 0))
  (global $d (mut f64) (f64.const 0))
  (data $later "later")
  (data (i32.const 16) "now")
  (start $begin)
  (func $begin (global.set $i (i32.add (global.get $i) (i32.const 1))))
  (func (export "_initialize") (global.set $i (i32.add (global.get $i) (i32.const 2))))
  (func (export "prepare") (result i32)
    (global.set $l (i64.const 0x8000000000000001))
    (global.set $f (f32.const -0.1))
    (global.set $d (f64.const nan))
    (drop (memory.grow (i32.const 1)))
    (drop (call $read (i32.const 66000) (i64.const 0) (i32.wrap_i64 (call $length))))
    (call $write (i32.const 16) (i32.const 3))
    (i32.load8_u (i32.const 66000)))
  (func (export "run") (result i32)
    (i32.store (i32.const 200) (global.get $i))
    (i64.store (i32.const 204) (global.get $l))
    (f32.store (i32.const 212) (global.get $f))
    (f64.store (i32.const 216) (global.get $d))
    (i32.store (i32.const 224) (memory.size))
    (memory.init $later (i32.const 228) (i32.const 0) (i32.const 5))
    (i32.store8 (i32.const 233) (i32.load8_u (i32.const 66001)))
    (i32.store8 (i32.const 16) (i32.add (i32.load8_u (i32.const 16)) (i32.const 1)))
    (i32.store8 (i32.const 234) (i32.load8_u (i32.const 16)))
    (call $write (i32.const 200) (i32.const 35))
    (i32.const 0)))`

func preinitialise(t testing.TB, text string, input string, exports ...sandbox.Renamed) (made, output []byte, err error) {
	t.Helper()
	wasm, err := sandbox.Preinitialisable(assemble(t, text), "prepare")
	if err != nil {
		t.Fatal(err)
	}
	limits := sandbox.PreinitLimits(4 << 20)
	limits.Fuel = 100_000_000
	s, err := newRuntime(t, sandbox.Options{}).Preinitialise(context.Background(), wasm, sandbox.Call{Input: []byte(input), Limits: limits})
	if err != nil {
		return nil, nil, err
	}
	made, err = s.Module(exports...)
	return made, s.Output, err
}

func TestPreinitialisedStartsWhereTheInitialisationEnded(t *testing.T) {
	t.Parallel()
	made, output, err := preinitialise(t, initialised, "\x00!", sandbox.Renamed{Name: "run", As: "tool"})
	if err != nil {
		t.Fatal(err)
	}
	if string(output) != "now" {
		t.Errorf("the initialisation wrote %q", output)
	}
	again, _, err := preinitialise(t, initialised, "\x00!", sandbox.Renamed{Name: "run", As: "tool"})
	if err != nil || !bytes.Equal(made, again) {
		t.Errorf("a second time gave other bytes, %v", err)
	}
	m := load(t, made)
	if names := m.Info().Exports; len(names) != 1 || names[0].Name != "tool" || m.Info().MemoryMinPages != 2 {
		t.Fatalf("exports %v, %d pages", names, m.Info().MemoryMinPages)
	}
	want := binaryOf(t, int32(-2), int64(math.MinInt64+1), float32(-0.1), math.Float64frombits(0x7ff8000000000001), uint32(2))
	want = append(want, "later!o"...)
	for range 3 {
		r, err := m.Call(context.Background(), sandbox.Call{Export: "tool"})
		if err != nil || !bytes.Equal(r.Output, want) {
			t.Fatalf("%q, %v\nwant %q", r.Output, err, want)
		}
	}
}

func TestPreinitialisePassesOnWhatTheInitialisationSays(t *testing.T) {
	t.Parallel()
	_, _, err := preinitialise(t, initialised, "\x07", sandbox.Renamed{Name: "run", As: "run"})
	var guest *sandbox.GuestError
	if !errors.As(err, &guest) || guest.Code != 7 {
		t.Errorf("error %v", err)
	}
	forever := strings.Replace(initialised, "(drop (memory.grow (i32.const 1)))", "(loop (br 0))", 1)
	if _, _, err := preinitialise(t, forever, "\x00"); !errors.Is(err, sandbox.ErrFuel) {
		t.Errorf("endless initialisation: %v", err)
	}
}

func TestPreinitialisableRefusesStateItCannotTell(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"table.set writes a table": `(module (memory 1) (table 1 funcref) (func (table.set (i32.const 0) (ref.null func))))`,
		"is a funcref":             `(module (memory 1) (global (mut funcref) (ref.null func)))`,
		"data.drop drops":          `(module (memory 1) (data $d "x") (func (data.drop $d)))`,
		"no memory":                `(module)`,
		"already":                  `(module (memory 1) (func (export "preinit")))`,
		"no function prepare":      `(module (memory 1))`,
		"takes parameters":         `(module (memory 1) (func (export "prepare") (param i32)))`,
	} {
		_, err := sandbox.Preinitialisable(assemble(t, text), "prepare")
		if !errors.Is(err, sandbox.ErrPreinit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := sandbox.Preinitialisable([]byte("no module")); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("error %v", err)
	}
}

func TestReadStateRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	wasm, err := sandbox.Preinitialisable(assemble(t, initialised))
	if err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string][]byte{
		"nothing":      nil,
		"zeros":        make([]byte, 100),
		"too short":    binaryOf(t, make([]byte, 32), int64(1), int64(4)),
		"few globals":  binaryOf(t, make([]byte, 64<<10), int64(1), int64(0)),
		"huge numbers": binaryOf(t, make([]byte, 64<<10), int64(-1), int64(-1)),
	} {
		if _, err := sandbox.ReadState(wasm, output); !errors.Is(err, sandbox.ErrPreinit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := sandbox.ReadState(wasm, binaryOf(t, make([]byte, 64<<10+32), int64(1), int64(4)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Module(sandbox.Renamed{Name: "nobody"}); !errors.Is(err, sandbox.ErrPreinit) {
		t.Errorf("unknown export: %v", err)
	}
}

// FuzzReadState: any output gives a module that is accepted, or an error.
func FuzzReadState(f *testing.F) {
	wasm, err := sandbox.Preinitialisable(assemble(f, initialised))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add(binaryOf(f, make([]byte, 64<<10+32), int64(1), int64(4)))
	f.Fuzz(func(t *testing.T, output []byte) {
		s, err := sandbox.ReadState(wasm, output)
		if err != nil {
			return
		}
		made, err := s.Module(sandbox.Renamed{Name: "run", As: "run"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wasmbin.Inspect(made, wasmbin.DefaultLimits()); err != nil {
			t.Fatal(err)
		}
	})
}

func binaryOf(t testing.TB, values ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A module made by Go's compiler goes on after its initialisation, too.
func TestPreinitialiseGo(t *testing.T) {
	t.Parallel()
	if testing.Short() { // under the race detector, for which nothing is in it that a small module has not
		t.Skip("it compiles three large modules")
	}
	wasm, err := w.BuildGo("host/engine/sandbox/testdata/goreactor", "-buildmode=c-shared")
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t, sandbox.Options{})
	able, err := sandbox.Preinitialisable(wasm)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Preinitialise(context.Background(), able, sandbox.Call{Limits: sandbox.PreinitLimits(64 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Module(sandbox.Renamed{Name: "run", As: "run"})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := loadIn(t, r, wasm).Call(context.Background(), sandbox.Call{Export: "run"})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := loadIn(t, r, made).Call(context.Background(), sandbox.Call{Export: "run"})
	if err != nil || string(fast.Output) != string(slow.Output) || len(fast.Output) == 0 {
		t.Fatalf("%q, %v, want %q", fast.Output, err, slow.Output)
	}
	if fast.Fuel*10 > slow.Fuel {
		t.Errorf("%d units of fuel after %d: the initialisation runs again", fast.Fuel, slow.Fuel)
	}
}
