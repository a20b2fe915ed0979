package wasmbin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/sandbox/wasmbin"
)

// script is a test script of the specification as wast2json writes it.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type     string `json:"type"`
	Line     int    `json:"line"`
	Filename string `json:"filename"`
	Action   struct {
		Type   string  `json:"type"`
		Module string  `json:"module"`
		Field  string  `json:"field"`
		Args   []value `json:"args"`
	} `json:"action"`
}

type value struct {
	Type     string          `json:"type"`
	LaneType string          `json:"lane_type"`
	Value    json.RawMessage `json:"value"`
}

// stack encodes an argument as wazero wants it.
func (v value) stack() ([]uint64, error) {
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
	if v.Type == "externref" {
		n++ // 0 is null
	}
	return []uint64{n}, err
}

func (v value) lanes() ([]uint64, error) {
	var lanes []string
	if err := json.Unmarshal(v.Value, &lanes); err != nil {
		return nil, err
	}
	bits, err := strconv.Atoi(v.LaneType[1:])
	if err != nil {
		return nil, err
	}
	out := make([]uint64, 2)
	for i, s := range lanes {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, err
		}
		out[i*bits/64] |= n << (i * bits % 64)
	}
	return out, nil
}

// trio is one module in three forms: as it is, with fuel, and with a charge in
// front of every instruction.
type trio struct {
	plain         api.Module
	fuel, exactly *guest
}

func (m *trio) close() {
	if m == nil {
		return
	}
	for _, i := range []api.Module{m.plain, m.fuel, m.exactly} {
		i.Close(context.Background())
	}
}

// specRuntime is a runtime with the modules that the suite's modules import.
func specRuntime(t *testing.T, dir string, m *meter) wazero.Runtime {
	t.Helper()
	r := newRuntime(t, runtimeConfig())
	wasm, err := os.ReadFile(filepath.Join(dir, "..", "..", "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName("spectest")); err != nil {
		t.Fatal(err)
	}
	_, err = r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithFunc(m.tick).Export(wasmbin.TickName).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// instantiate returns nil for a module that does not come to life: one that the
// gate or wazero refuses, or whose start traps.
func instantiate(t *testing.T, name string, r [3]wazero.Runtime, m *[3]meter, wasm []byte) *trio {
	t.Helper()
	i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		return nil
	}
	exactly, err := wasmbin.InstrumentExactly(wasm, wasmbin.DefaultLimits(), options)
	if err != nil {
		t.Fatal(err)
	}
	var mods [3]api.Module
	var errs [3]error
	for k, form := range [][]byte{wasm, i.Wasm, exactly} {
		m[k] = *newMeter(1_000_000, plenty)
		mods[k], errs[k] = r[k].InstantiateWithConfig(t.Context(), form, wazero.NewModuleConfig().WithName(""))
	}
	if cause(errs[0]) != cause(errs[1]) || cause(errs[0]) != cause(errs[2]) {
		t.Errorf("%s: instantiation: plain %v, with fuel %v, exactly %v", name, errs[0], errs[1], errs[2])
	}
	if errs[0] != nil || errs[1] != nil || errs[2] != nil {
		return nil
	}
	return &trio{mods[0], &guest{mods[1], &m[1]}, &guest{mods[2], &m[2]}}
}

// cause is an error's first line: what follows is the stack.
func cause(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, " (recovered")
	return line
}

// TestSpecificationBehavesTheSame runs every call of the specification's suite
// in the original and in the instrumented module: same results, same traps. And
// what the meter charges is never below the sum over the instructions that ran.
func TestSpecificationBehavesTheSame(t *testing.T) {
	t.Parallel()
	dir, err := corpusDir()
	if err != nil {
		t.Skipf("no corpus: wazero's sources with their test data are not in the module cache: %v", err)
	}
	suites := []string{"v2", "tail-call", "extended-const"}
	if prove() {
		suites = append(suites, "v1") // nearly all of it is in v2 too
	}
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			calls := 0
			paths, err := filepath.Glob(filepath.Join(dir, "spectest", suite, "testdata", "*.json"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no scripts: %v", err)
			}
			for _, path := range paths {
				calls += runScript(t, path)
			}
			t.Logf("%d calls compared", calls)
		})
	}
}

func runScript(t *testing.T, path string) (calls int) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err = json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	var meters [3]meter
	var runtimes [3]wazero.Runtime
	for k := range runtimes {
		runtimes[k] = specRuntime(t, filepath.Dir(path), &meters[k])
	}
	var m *trio
	for _, c := range s.Commands {
		name := fmt.Sprintf("%s:%d", filepath.Base(path), c.Line)
		if c.Type == "module" {
			wasm, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			m.close()
			m = instantiate(t, name, runtimes, &meters, wasm)
			continue
		}
		if m != nil && c.Action.Type == "invoke" && c.Action.Module == "" {
			m.compare(t, name, c)
			calls++
		}
	}
	m.close()
	for _, r := range runtimes {
		r.Close(context.Background())
	}
	return calls
}

func (m *trio) compare(t *testing.T, name string, c command) {
	var args []uint64
	for _, v := range c.Action.Args {
		a, err := v.stack()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		args = append(args, a...)
	}
	if m.plain.ExportedFunction(c.Action.Field) == nil {
		return
	}
	before := [2]int64{m.fuel.used(), m.exactly.used()}
	call := func(i api.Module) ([]uint64, error) {
		return i.ExportedFunction(c.Action.Field).Call(context.Background(), args...)
	}
	want, wantErr := call(m.plain)
	got, err := call(m.fuel)
	_, exactErr := call(m.exactly)
	refs := strings.Contains(fmt.Sprint(resultTypes(m.plain, c.Action.Field)), fmt.Sprint(api.ValueTypeExternref))
	if cause(err) != cause(wantErr) || (!refs && !sameResults(m.plain, c.Action.Field, got, want)) {
		t.Errorf("%s: %s: %v, %v; with fuel %v, %v", name, c.Action.Field, want, cause(wantErr), got, cause(err))
	}
	used, exact := m.fuel.used()-before[0], m.exactly.used()-before[1]
	if err == nil && exactErr == nil && used < exact {
		t.Errorf("%s: %s: charged %d for %d units of work", name, c.Action.Field, used, exact)
	}
}

func resultTypes(m api.Module, function string) []api.ValueType {
	return m.ExportedFunction(function).Definition().ResultTypes()
}

// sameResults compares results but for references to functions, which are
// addresses.
func sameResults(m api.Module, function string, got, want []uint64) bool {
	const funcref = api.ValueType(wasmbin.FuncRef)
	if slices.Contains(resultTypes(m, function), funcref) {
		return len(got) == len(want)
	}
	return slices.Equal(got, want)
}
