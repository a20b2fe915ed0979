package wasmbin_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// fullModule has one of everything that Inspect reports.
func fullModule() []byte {
	m := w.New()
	log := m.ImportFunc("env", "log", w.Sig("i32 v128", "funcref"))
	m.Memory(2, 5)
	m.Table(w.ExternRef, 3, w.NoMax)
	m.Table(w.FuncRef, 4, 9)
	m.Global(w.F64, true, w.F64Const(1))
	run := m.Func(w.Sig("i64", "i32 i64"), "f32", w.I32Const(1), w.LocalGet(0))
	start := m.Func(w.Sig("", ""), "")
	m.ExportFunc("run", run)
	m.ExportFunc("log", log)
	m.ExportMemory("memory")
	m.Start(start)
	m.Data(0, []byte("hello"))
	m.Custom("producers", []byte("not even checked"))
	return m.Bytes()
}

func TestInspectSaysWhatAModuleDeclares(t *testing.T) {
	t.Parallel()
	got, err := wasmbin.Inspect(fullModule(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	logType := wasmbin.FuncType{Params: []wasmbin.ValueType{wasmbin.I32, wasmbin.V128}, Results: []wasmbin.ValueType{wasmbin.FuncRef}}
	runType := wasmbin.FuncType{Params: []wasmbin.ValueType{wasmbin.I64}, Results: []wasmbin.ValueType{wasmbin.I32, wasmbin.I64}}
	want := &wasmbin.Module{
		Types:   []wasmbin.FuncType{logType, runType, {}},
		Imports: []wasmbin.Import{{Module: "env", Name: "log", Kind: wasmbin.Func, Type: logType}},
		Exports: []wasmbin.Export{
			{Name: "run", Kind: wasmbin.Func, Index: 1, Type: runType},
			{Name: "log", Kind: wasmbin.Func, Index: 0, Type: logType},
			{Name: "memory", Kind: wasmbin.MemoryKind},
		},
		Tables:    []wasmbin.Table{{Elem: wasmbin.ExternRef, Min: 3}, {Elem: wasmbin.FuncRef, Min: 4, Max: 9, HasMax: true}},
		Globals:   []wasmbin.Global{{Type: wasmbin.F64, Mutable: true}},
		Memory:    wasmbin.Memory{Min: 2, Max: 5, HasMax: true},
		HasMemory: true, HasStart: true, Functions: 2, CodeBytes: 13, DataBytes: 5,
		CompileWork: got.CompileWork,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if e, ok := got.Export("run"); !ok || !e.Type.Equal(runType) {
		t.Errorf("export run: %v, %v", e, ok)
	}
	if _, ok := got.Export("nothing"); ok {
		t.Errorf("an export that is not there was found")
	}
}

func TestWritesTables(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		code []byte
		want bool
	}{
		{"call_indirect", w.Code(w.I32Const(0), w.CallIndirect(0, 0)), false},
		{"table.get", w.Code(w.I32Const(0), w.Op(0x25, 0), w.Drop()), false},
		{"table.size", w.Code(w.Op(0xfc, 16, 0), w.Drop()), false},
		{"memory.fill", w.Code(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.MemoryFill()), false},
		{"table.set", w.Code(w.I32Const(0), w.Op(0xd0, 0x70), w.Op(0x26, 0)), true},
		{"table.grow", w.Code(w.Op(0xd0, 0x70), w.I32Const(0), w.Op(0xfc, 15, 0), w.Drop()), true},
		{"table.fill", w.Code(w.I32Const(0), w.Op(0xd0, 0x70), w.I32Const(0), w.Op(0xfc, 17, 0)), true},
		{"table.copy", w.Code(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Op(0xfc, 14, 0, 0)), true},
		{"table.init", w.Code(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Op(0xfc, 12, 0, 0)), true},
		{"elem.drop", w.Op(0xfc, 13, 0), true},
	}
	for _, c := range cases {
		m := w.New()
		m.Memory(1, 1)
		m.Table(w.FuncRef, 1, 1)
		m.Elem(0, m.Func(w.Sig("", ""), "", c.code))
		got, err := wasmbin.Inspect(m.Bytes(), wasmbin.DefaultLimits())
		if err != nil || got.WritesTables != c.want {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// Inspect must not keep the caller's bytes.
func TestInspectDoesNotAlias(t *testing.T) {
	t.Parallel()
	wasm := fullModule()
	m, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	clear(wasm)
	if m.Exports[0].Name != "run" || m.Types[0].Params[0] != wasmbin.I32 {
		t.Errorf("the result changed with the input")
	}
}

func TestInstrumentAddsMaxima(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name             string
		memory, table    int // declared maxima
		pages, elems     uint32
		wantPages, wantE uint32
	}{
		{"none declared", w.NoMax, w.NoMax, 10, 20, 10, 20},
		{"larger declared", 100, 100, 10, 20, 10, 20},
		{"smaller declared", 3, 4, 10, 20, 3, 4},
		{"just the minimum", w.NoMax, w.NoMax, 2, 3, 2, 3},
	}
	for _, c := range cases {
		m := w.New()
		m.Memory(2, c.memory)
		m.Table(w.FuncRef, 3, c.table)
		for _, fuel := range []bool{true, false} {
			i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), wasmbin.Options{MaxMemoryPages: c.pages, MaxTableElems: c.elems, Fuel: fuel})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			got, err := wasmbin.InspectOwn(i.Wasm, wasmbin.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			wantMemory := wasmbin.Memory{Min: 2, Max: c.wantPages, HasMax: true}
			wantTable := wasmbin.Table{Elem: wasmbin.FuncRef, Min: 3, Max: c.wantE, HasMax: true}
			if got.Memory != wantMemory || got.Tables[0] != wantTable {
				t.Errorf("%s: got %+v and %+v", c.name, got.Memory, got.Tables[0])
			}
		}
	}
}

// A module that starts larger than the options allow is refused.
func TestInstrumentRefusesLargeMinima(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Memory(3, w.NoMax)
	m.Table(w.FuncRef, 4, w.NoMax)
	for _, o := range []wasmbin.Options{
		{MaxMemoryPages: 2, MaxTableElems: 4, Fuel: true},
		{MaxMemoryPages: 3, MaxTableElems: 3, Fuel: true},
		{},
	} {
		if _, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), o); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%+v: got %v, want a limit", o, err)
		}
	}
}

// The limits hold when the guest grows what it has.
func TestGrowthStopsAtTheMaxima(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Memory(1, w.NoMax)
	m.Table(w.FuncRef, 1, w.NoMax)
	m.ExportFunc("memory", m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.MemoryGrow()))
	m.ExportFunc("table", m.Func(w.Sig("i32", "i32"), "", w.Op(0xd0, 0x70), w.LocalGet(0), w.Op(0xfc, 15, 0)))
	i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), wasmbin.Options{MaxMemoryPages: 5, MaxTableElems: 7})
	if err != nil {
		t.Fatal(err)
	}
	mod := plain(t, i.Wasm, runtimeConfig())
	for _, c := range []struct {
		export string
		by     uint64
		want   int32
	}{{"memory", 4, 1}, {"memory", 1, -1}, {"table", 6, 1}, {"table", 1, -1}} {
		got, err := mod.ExportedFunction(c.export).Call(t.Context(), c.by)
		if err != nil || int32(got[0]) != c.want {
			t.Errorf("%s.grow %d: got %v, %v, want %d", c.export, c.by, got, err, c.want)
		}
	}
}

// Without fuel nothing is added, and no index moves.
func TestInstrumentWithoutFuel(t *testing.T) {
	t.Parallel()
	o := wasmbin.Options{MaxMemoryPages: 5, MaxTableElems: 9}
	i, err := wasmbin.Instrument(fullModule(), wasmbin.DefaultLimits(), o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmbin.Inspect(i.Wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Imports, i.Module.Imports) || !reflect.DeepEqual(m.Exports, i.Module.Exports) {
		t.Errorf("imports or exports changed: %+v", m)
	}
	if i.FuelGlobal != "" || i.TickModule != "" || i.TickName != "" {
		t.Errorf("names of what was not added: %+v", i)
	}
}

// Writing is deterministic, and a second rewriting without fuel changes nothing.
func TestInstrumentIsStable(t *testing.T) {
	t.Parallel()
	o := wasmbin.Options{MaxMemoryPages: 5, MaxTableElems: 9}
	once, err := wasmbin.Instrument(fullModule(), wasmbin.DefaultLimits(), o)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := wasmbin.Instrument(once.Wasm, wasmbin.DefaultLimits(), o)
	if err != nil || !slices.Equal(once.Wasm, twice.Wasm) {
		t.Errorf("a second rewriting changed the module: %v", err)
	}
	if strings.Contains(string(once.Wasm), "not even checked") {
		t.Errorf("a custom section was kept")
	}
}

// Every place that holds a function index follows the added import.
func TestFunctionIndexesMove(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Type(w.Sig("", "i64"))
	m.Table(w.FuncRef, 10, w.NoMax)
	answer := func(n int64) int { return m.Func(w.Sig("", "i64"), "", w.I64Const(n)) }
	one, two, three, four := answer(1), answer(2), answer(3), answer(4)
	set := m.Func(w.Sig("", ""), "", w.I32Const(9), w.RefFunc(four), w.Op(0x26, 0)) // the start function
	m.Start(set)
	m.Elem(0, one)
	m.RawElem(w.Code(w.Op(4), w.I32Const(1), w.Op(0x0b, 1), w.RefFunc(two), w.Op(0x0b)))
	m.RawElem(w.Code(w.Op(2, 0), w.I32Const(2), w.Op(0x0b, 0, 1), w.U32(uint32(three))))
	m.RawElem(w.Code(w.Op(3, 0, 1), w.U32(uint32(four)))) // declarative
	m.Global(w.FuncRef, false, w.RefFunc(three))
	m.ExportFunc("run", m.Func(w.Sig("i32", "i64"), "", w.LocalGet(0), w.CallIndirect(0, 0)))
	m.ExportFunc("tail", m.Func(w.Sig("", "i64"), "", w.ReturnCall(two)))
	m.ExportFunc("global", m.Func(w.Sig("", "i64"), "",
		w.I32Const(8), w.GlobalGet(0), w.Op(0x26, 0), w.I32Const(8), w.CallIndirect(0, 0)))
	g := metered(t, m.Bytes(), newMeter(3, plenty))
	for _, c := range []struct {
		export string
		args   []uint64
		want   uint64
	}{
		{"run", []uint64{0}, 1}, {"run", []uint64{1}, 2}, {"run", []uint64{2}, 3}, {"run", []uint64{9}, 4},
		{"tail", nil, 2}, {"global", nil, 3},
	} {
		got, err := g.ExportedFunction(c.export).Call(t.Context(), c.args...)
		if err != nil || got[0] != c.want {
			t.Errorf("%s(%v): got %v, %v, want %d", c.export, c.args, got, err, c.want)
		}
	}
}

// Features are wazero's names of what the tests, and the host, enable.
func TestFeaturesAreWazerosNames(t *testing.T) {
	t.Parallel()
	want := strings.Split(coreFeatures().String(), "|")
	var got []string
	for _, f := range wasmbin.Features() {
		got = append(got, string(f))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFuelPoints(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.ExportFunc("spin", m.Func(w.Signature{}, "", w.Loop(w.Empty, w.Br(0))))
	for _, fuel := range []bool{false, true} {
		i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), wasmbin.Options{Fuel: fuel})
		if err != nil || fuel != (i.FuelPoints > 0) {
			t.Errorf("with fuel %v: %d points, %v", fuel, i.FuelPoints, err)
		}
	}
}
