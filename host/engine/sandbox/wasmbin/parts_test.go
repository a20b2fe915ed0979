package wasmbin_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// roundTrip takes a module apart and puts it together: once more makes no
// difference, and a compiler takes what it took before.
func roundTrip(t *testing.T, r wazero.Runtime, wasm []byte) {
	t.Helper()
	parts, err := wasmbin.Parse(wasm, wasmbin.DefaultLimits())
	if err != nil {
		return
	}
	out := parts.Encode()
	again, err := wasmbin.Parse(out, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatalf("encoded parts are refused: %v", err)
	}
	if !reflect.DeepEqual(parts, again) {
		t.Fatalf("parts differ after a round\n%+v\n%+v", parts, again)
	}
	if !bytes.Equal(out, again.Encode()) {
		t.Fatal("the same parts were encoded in two ways")
	}
	same := wasmbin.Renumbering{}
	for i, f := range parts.Functions {
		code, err := same.Apply(f.Code)
		if err != nil {
			t.Fatalf("function %d: %v", i, err)
		}
		again.Functions[i].Code = code
	}
	before, after := compiles(r, wasm) == nil, compiles(r, again.Encode()) == nil
	if before != after && !wasmbin.HasExceptions(wasm) {
		t.Fatalf("compiles: %v before, %v after", before, after)
	}
}

func interpreter(tb testing.TB) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(coreFeatures()))
	tb.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func TestPartsRoundTrip(t *testing.T) {
	t.Parallel()
	r := interpreter(t)
	roundTrip(t, r, fullModule())
	for i, m := range corpus(t) {
		if i%7 == 0 || prove() {
			t.Run(m.name, func(t *testing.T) { roundTrip(t, r, m.wasm) })
		}
	}
}

func TestWalkRefusesWhatIsNoCode(t *testing.T) {
	t.Parallel()
	for name, code := range map[string][]byte{
		"unknown":  {0xff},
		"cut":      {0x41},
		"proposal": {0xfe, 0x00},
	} {
		if err := wasmbin.Walk(code, func(*wasmbin.Instruction) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRenumberingAppliesToEveryIndex(t *testing.T) {
	t.Parallel()
	plus := func(n uint32) func(uint32) uint32 { return func(i uint32) uint32 { return i + n } }
	n := wasmbin.Renumbering{Func: plus(1), Type: plus(2), Table: plus(3), Global: plus(4), Elements: plus(5), Data: plus(6)}
	code := []byte{
		0x10, 1, 0x11, 1, 1, 0x12, 1, 0x13, 1, 1, // calls
		0x23, 1, 0x24, 1, 0x25, 1, 0x26, 1, // globals, table.get and set
		0x02, 1, 0x0b, 0x02, 0x40, 0x0b, 0xd2, 1, // blocks, ref.func
		0xfc, 8, 1, 0, 0xfc, 9, 1, 0xfc, 12, 1, 1, 0xfc, 13, 1, // segments
		0xfc, 14, 1, 2, 0xfc, 15, 1, 0xfc, 16, 1, 0xfc, 17, 1, // tables
		0x20, 1, 0x41, 1, 0xfc, 10, 0, 0, 0x0b,
	}
	want := []byte{
		0x10, 2, 0x11, 3, 4, 0x12, 2, 0x13, 3, 4,
		0x23, 5, 0x24, 5, 0x25, 4, 0x26, 4,
		0x02, 3, 0x0b, 0x02, 0x40, 0x0b, 0xd2, 2,
		0xfc, 8, 7, 0, 0xfc, 9, 7, 0xfc, 12, 6, 4, 0xfc, 13, 6,
		0xfc, 14, 4, 5, 0xfc, 15, 4, 0xfc, 16, 4, 0xfc, 17, 4,
		0x20, 1, 0x41, 1, 0xfc, 10, 0, 0, 0x0b,
	}
	got, err := n.Apply(code)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("% x, %v\nwant % x", got, err, want)
	}
}

// FuzzParts: what can be taken apart can be put together.
func FuzzParts(f *testing.F) {
	addSeeds(f)
	r := interpreter(f)
	f.Fuzz(func(t *testing.T, wasm []byte) { roundTrip(t, r, wasm) })
}
