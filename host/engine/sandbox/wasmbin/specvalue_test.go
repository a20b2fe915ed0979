package wasmbin_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// specValue is an argument or an expected result in a test script.
type specValue struct {
	Type     string          `json:"type"`
	LaneType string          `json:"lane_type"`
	Value    json.RawMessage `json:"value"`
}

// words is how many 64-bit words a value takes.
func (v specValue) words() int {
	if v.Type == "v128" {
		return 2
	}
	return 1
}

// stack encodes an argument as wazero wants it.
func (v specValue) stack() ([]uint64, error) {
	if v.Type == "v128" {
		return v.lanes()
	}
	var s string
	if err := json.Unmarshal(v.Value, &s); err != nil {
		return nil, err
	}
	if s == "null" {
		return []uint64{0}, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if signed, e := strconv.ParseInt(s, 10, 64); err != nil && e == nil {
		if n, err = uint64(signed), nil; v.Type == "i32" {
			n = uint64(uint32(signed))
		}
	}
	if v.Type == "externref" {
		n++ // 0 is null
	}
	return []uint64{n}, err
}

// laneBits is the width of a vector's lanes.
func (v specValue) laneBits() int {
	bits, _ := strconv.Atoi(v.LaneType[1:])
	return bits
}

func (v specValue) lanes() ([]uint64, error) {
	var lanes []string
	if err := json.Unmarshal(v.Value, &lanes); err != nil {
		return nil, err
	}
	out := make([]uint64, 2)
	for i, s := range lanes {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, err
		}
		out[i*v.laneBits()/64] |= n << (i * v.laneBits() % 64)
	}
	return out, nil
}

// matches reports whether got is the expected value.
func (v specValue) matches(got []uint64) bool {
	if v.Type == "v128" {
		return v.lanesMatch(got)
	}
	var s string
	if err := json.Unmarshal(v.Value, &s); err != nil {
		return v.Value == nil // any reference
	}
	switch v.Type {
	case "externref", "funcref":
		want, err := v.stack()
		return err != nil || want[0] == got[0]
	case "i32", "f32":
		return numberMatches(s, 32, got[0])
	}
	return numberMatches(s, 64, got[0])
}

func (v specValue) lanesMatch(got []uint64) bool {
	var lanes []string
	if err := json.Unmarshal(v.Value, &lanes); err != nil {
		return false
	}
	bits := v.laneBits()
	for i, s := range lanes {
		if !numberMatches(s, bits, got[i*bits/64]>>(i*bits%64)) {
			return false
		}
	}
	return true
}

// numberMatches compares the low bits of a number with what a script says: a
// number, or a kind of NaN.
func numberMatches(s string, bits int, got uint64) bool {
	mask := uint64(1)<<bits - 1
	exponent, quiet := uint64(0x7f800000), uint64(0x400000)
	if bits == 64 {
		mask, exponent, quiet = 1<<64-1, 0x7ff0000000000000, 0x8000000000000
	}
	switch s {
	case "nan:canonical":
		return got&(mask>>1) == exponent|quiet
	case "nan:arithmetic":
		return got&(exponent|quiet) == exponent|quiet
	}
	want, err := strconv.ParseUint(s, 10, 64)
	if signed, e := strconv.ParseInt(s, 10, 64); err != nil && e == nil {
		want, err = uint64(signed), nil
	}
	return err == nil && want&mask == got&mask
}

// acted is what came of an action.
type acted struct {
	values []uint64
	trap   string
	refs   []bool // results that are references, whose values are addresses
}

func (a acted) same(b acted) bool {
	if trap(a.trap) != trap(b.trap) || len(a.values) != len(b.values) {
		return false
	}
	if slices.Contains(a.refs, true) {
		return true
	}
	return slices.Equal(a.values, b.values)
}

// trap is a trap as code without exceptions has it.
func trap(text string) string {
	switch text {
	case "wasm error: uncaught exception", "wasm error: null reference":
		return "wasm error: unreachable"
	}
	return text
}

// do invokes an export or reads a global.
func do(t *testing.T, m api.Module, c command) acted {
	t.Helper()
	if c.Action.Type == "get" {
		return acted{values: []uint64{m.ExportedGlobal(c.Action.Field).Get()}}
	}
	var args []uint64
	for _, v := range c.Action.Args {
		a, err := v.stack()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, a...)
	}
	f := m.ExportedFunction(c.Action.Field)
	values, err := f.Call(context.Background(), args...)
	a := acted{values: values, trap: cause(err)}
	for _, r := range f.Definition().ResultTypes() {
		a.refs = append(a.refs, r == api.ValueType(wasmbin.FuncRef) || r == api.ValueTypeExternref)
	}
	return a
}
