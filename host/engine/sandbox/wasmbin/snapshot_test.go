package wasmbin_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// snapshotOptions is options with everything a host needs to restore.
var snapshotOptions = wasmbin.Options{MaxMemoryPages: 65_536, MaxTableElems: 10_000_000, Fuel: true, Snapshot: true}

// pageMemory is the memory of one instance, of at most max bytes.
type pageMemory struct {
	bytes []byte
	max   uint64
	take  uint64 // size to answer with, once
}

func (m *pageMemory) Reallocate(size uint64) []byte {
	switch {
	case m.take > 0:
		size, m.take = m.take, 0
	case size > m.max:
		return nil
	}
	for uint64(len(m.bytes)) < size {
		m.bytes = append(m.bytes, make([]byte, size-uint64(len(m.bytes)))...)
	}
	return m.bytes[:size:size]
}

func (m *pageMemory) Free() {}

// withMaxPages makes the memory of the next instance refuse more than i allows.
func withMaxPages(ctx context.Context, i *wasmbin.Instrumented) (context.Context, *pageMemory) {
	m := &pageMemory{max: uint64(i.MaxPages) << 16}
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return m })), m
}

// statefulModule counts its calls in a global and in memory; its start
// function counts as ten. run returns the sum of both.
func statefulModule() []byte {
	m := w.New()
	m.Memory(1, 3)
	m.ExportMemory("memory")
	m.Global(w.I32, false, w.I32Const(5))
	m.Global(w.I64, true, w.I64Const(1))
	m.Global(w.F32, true, w.Op(0x43, 0, 0, 0x80, 0x3f))
	count := func(n int32) []byte {
		return w.Code(w.GlobalGet(1), w.I64Const(int64(n)), w.Op(0x7c), w.GlobalSet(1),
			w.I32Const(0), w.I32Const(0), w.Load(0x28, 0), w.I32Const(n), w.Op(0x6a), w.Store(0x36, 0))
	}
	start := m.Func(w.Sig("", ""), "", count(10))
	run := m.Func(w.Sig("", "i64"), "", count(1), w.GlobalGet(1), w.I32Const(0), w.Load(0x28, 0), w.Op(0xad), w.Op(0x7c))
	m.ExportFunc("run", run)
	m.ExportFunc("grow", m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.MemoryGrow()))
	m.Start(start)
	return m.Bytes()
}

func snapshotInstance(t *testing.T, wasm []byte, o wasmbin.Options) (*wasmbin.Instrumented, api.Module, *pageMemory) {
	t.Helper()
	i, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t, runtimeConfig())
	_, err = r.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithFunc(newMeter(1_000, plenty).tick).Export(wasmbin.TickName).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, memory := withMaxPages(t.Context(), i)
	mod, err := r.InstantiateWithConfig(ctx, i.Wasm, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	return i, mod, memory
}

func mustCall(t *testing.T, m api.Module, name string, args ...uint64) uint64 {
	t.Helper()
	got, err := m.ExportedFunction(name).Call(t.Context(), args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got) == 0 {
		return 0
	}
	return got[0]
}

func TestSnapshotExportsWhatRestoresAnInstance(t *testing.T) {
	t.Parallel()
	i, mod, _ := snapshotInstance(t, statefulModule(), snapshotOptions)
	want := []wasmbin.ExportedGlobal{{Name: "skillet:global:1", Type: wasmbin.I64}, {Name: "skillet:global:2", Type: wasmbin.F32}}
	if !reflect.DeepEqual(i.Globals, want) || i.Start != "skillet:start" || i.Pinned != nil || i.MaxPages != 3 {
		t.Fatalf("got %+v, %q, %v, %d pages", i.Globals, i.Start, i.Pinned, i.MaxPages)
	}
	globals := make([]api.MutableGlobal, len(i.Globals))
	for k, g := range i.Globals {
		globals[k] = mod.ExportedGlobal(g.Name).(api.MutableGlobal)
	}
	if got := globals[0].Get(); got != 1 {
		t.Errorf("the start function ran at instantiation: the global is %d, want 1", got)
	}
	mustCall(t, mod, i.Start)
	first := mustCall(t, mod, "run")
	globals[0].Set(11)
	mod.Memory().WriteUint32Le(0, 10)
	if again := mustCall(t, mod, "run"); first != 23 || again != first {
		t.Errorf("first call %d, restored %d, want 23", first, again)
	}
}

// A full memory can be shrunk by the host, and grown no further by the guest.
func TestSnapshotLeavesRoomToTakePagesBack(t *testing.T) {
	t.Parallel()
	i, mod, memory := snapshotInstance(t, statefulModule(), snapshotOptions)
	if got := int32(mustCall(t, mod, "grow", 2)); got != 1 {
		t.Fatalf("grow by 2: %d, want 1", got)
	}
	if got := int32(mustCall(t, mod, "grow", 1)); got != -1 {
		t.Fatalf("grow beyond %d pages: %d, want -1", i.MaxPages, got)
	}
	memory.take = 1 << 16
	if _, ok := mod.Memory().Grow(1); !ok || mod.Memory().Size() != 1<<16 {
		t.Errorf("pages were not taken back: %v, %d bytes", ok, mod.Memory().Size())
	}
	if got := int32(mustCall(t, mod, "grow", 2)); got != 1 {
		t.Errorf("grow by 2 again: %d, want 1", got)
	}
}

func TestSnapshotMaximum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		max            int
		pages          uint32
		want, declared uint32
	}{{3, 100, 3, 4}, {300, 100, 100, 101}, {w.NoMax, 100, 100, 101}, {w.NoMax, 65_536, 65_536, 65_536}, {65_535, 65_536, 65_535, 65_536}} {
		m := w.New()
		m.Memory(1, c.max)
		o := wasmbin.Options{MaxMemoryPages: c.pages, Snapshot: true}
		i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wasmbin.Inspect(i.Wasm, wasmbin.DefaultLimits())
		if err != nil || i.MaxPages != c.want || got.Memory.Max != c.declared {
			t.Errorf("%d of %d: %d pages, declared %d, %v", c.max, c.pages, i.MaxPages, got.Memory.Max, err)
		}
	}
}

// Without the option nothing of it is there.
func TestNoSnapshot(t *testing.T) {
	t.Parallel()
	i, mod, _ := snapshotInstance(t, statefulModule(), options)
	if i.Globals != nil || i.Start != "" || i.Pinned != nil || i.MaxPages != 3 {
		t.Errorf("got %+v, %q, %v, %d pages", i.Globals, i.Start, i.Pinned, i.MaxPages)
	}
	if got := mustCall(t, mod, "run"); got != 23 {
		t.Errorf("got %d, want 23: the start function did not run", got)
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		code []byte
		want []string
	}{
		{"nothing", w.Code(w.I32Const(0), w.CallIndirect(0, 0)), nil},
		{"table.size and memory.fill", w.Code(w.Op(0xfc, 16, 0), w.Drop(), w.I32Const(0), w.I32Const(0), w.I32Const(0), w.MemoryFill()), nil},
		{"table.set", w.Code(w.I32Const(0), w.Op(0xd0, 0x70), w.Op(0x26, 0)), []string{"table.set writes a table"}},
		{"table.grow", w.Code(w.Op(0xd0, 0x70), w.I32Const(0), w.Op(0xfc, 15, 0), w.Drop()), []string{"table.grow grows a table"}},
		{"table.fill", w.Code(w.I32Const(0), w.Op(0xd0, 0x70), w.I32Const(0), w.Op(0xfc, 17, 0)), []string{"table.fill writes a table"}},
		{"table.copy", w.Code(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Op(0xfc, 14, 0, 0)), []string{"table.copy writes a table"}},
		{"table.init and elem.drop", w.Code(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Op(0xfc, 12, 0, 0), w.Op(0xfc, 13, 0)),
			[]string{"table.init writes a table", "elem.drop drops an element segment"}},
		{"data.drop", w.Op(0xfc, 9, 0), []string{"data.drop drops a data segment"}},
	}
	for _, c := range cases {
		m := w.New()
		m.Memory(1, 1)
		m.Table(w.FuncRef, 1, 1)
		m.PassiveData([]byte("x"))
		m.Elem(0, m.Func(w.Sig("", ""), "", c.code))
		i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), snapshotOptions)
		if err != nil || !slices.Equal(i.Pinned, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, i.Pinned, err, c.want)
		}
	}
}

func TestPinnedByGlobals(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Global(w.V128, true, w.Op(append([]byte{0xfd, 12}, make([]byte, 16)...)...))
	m.Global(w.FuncRef, true, w.Op(0xd0, w.FuncRef))
	m.Global(w.FuncRef, true, w.Op(0xd0, w.FuncRef))
	m.Global(w.ExternRef, false, w.Op(0xd0, w.ExternRef))
	i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), snapshotOptions)
	want := []string{"a mutable global is a v128", "a mutable global is a funcref"}
	if err != nil || !slices.Equal(i.Pinned, want) || len(i.Globals) != 3 {
		t.Errorf("got %v, %v, %v, want %v", i.Pinned, i.Globals, err, want)
	}
}

// The names of what is added cannot be taken by the module.
func TestSnapshotNamesAreReserved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"skillet:global:0", "skillet:start"} {
		m := w.New()
		m.ExportFunc(name, m.Func(w.Sig("", ""), ""))
		checkRefusal(t, m.Bytes(), wasmbin.DefaultLimits(), wasmbin.ErrUnsupported, "reserved: names that start with")
	}
}

// A start function that is imported is exported and called like any other.
func TestSnapshotOfAnImportedStart(t *testing.T) {
	t.Parallel()
	m := w.New()
	m.Start(m.ImportFunc("env", "begin", w.Sig("", "")))
	i, err := wasmbin.Instrument(m.Bytes(), wasmbin.DefaultLimits(), wasmbin.Options{Snapshot: true})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	r := newRuntime(t, runtimeConfig())
	_, err = r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() { calls++ }).Export("begin").Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mod, err := r.Instantiate(t.Context(), i.Wasm)
	if err != nil || calls != 0 {
		t.Fatalf("%v, %d calls at instantiation", err, calls)
	}
	if mustCall(t, mod, i.Start); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}
