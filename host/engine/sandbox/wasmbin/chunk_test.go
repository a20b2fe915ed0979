package wasmbin_test

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero/api"

	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

const (
	chunkPages   = 160 // 10 MiB
	chunkSegment = 3<<20 + 77
)

// longModule exports fill, copy and init with the operands of the instruction,
// and drop, which drops the segment that init reads.
func longModule() []byte {
	m := w.New()
	m.Memory(chunkPages, chunkPages)
	m.ExportMemory("memory")
	segment := make([]byte, chunkSegment)
	for i := range segment {
		segment[i] = byte(i * i >> 8)
	}
	seg := m.PassiveData(segment)
	three := w.Sig("i32 i32 i32", "")
	operands := w.Code(w.LocalGet(0), w.LocalGet(1), w.LocalGet(2))
	m.ExportFunc("fill", m.Func(three, "", operands, w.MemoryFill()))
	m.ExportFunc("copy", m.Func(three, "", operands, w.MemoryCopy()))
	m.ExportFunc("init", m.Func(three, "", operands, w.MemoryInit(seg)))
	m.ExportFunc("drop", m.Func(w.Sig("", ""), "", w.Op(0xfc, 9), w.U32(uint32(seg))))
	return m.Bytes()
}

// operation is a call of an export of longModule.
type operation struct {
	export string
	args   []uint64
}

const chunk = 1 << 20

// operations are calls around the limits of chunks, the memory and the segment.
func operations() []operation {
	const end = chunkPages << 16
	var list []operation
	add := func(export string, to, from, n uint64) {
		list = append(list, operation{export, []uint64{to, from, n}})
	}
	for _, n := range []uint64{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 5*chunk + 12_345} {
		add("fill", 17, n&0xff, n)
		add("fill", end-n, 3, n)
		add("fill", end-n+1, 4, n)
		add("copy", 5, 1000, n)
		add("copy", 1000, 5, n)
		add("copy", 7*chunk, 0, n)
		add("copy", end-n, end-n-1, n)
		add("copy", end-n+1, 0, n)
		add("copy", 0, end-n+1, n)
		add("copy", 1, 0, n)
		add("copy", 64, 64, n)
		add("init", 3, 5, n)
		add("init", end-n, 0, n)
		add("init", 0, chunkSegment-n, n)
		add("init", 0, chunkSegment-n+1, n)
	}
	add("fill", 0, 1, 1<<32-1)
	add("copy", 1<<32-1, 0, 1<<31)
	add("init", 1<<32-1, 1<<32-1, 1<<32-1)
	list = append(list, operation{"drop", nil})
	add("init", 0, 0, 0)
	add("init", 0, 0, 1)
	add("init", 0, 0, 2*chunk)
	return list
}

// Long bulk operations are split, and do what one instruction does: the same
// bytes, the same traps, and nothing written when they trap.
func TestLongOperationsBehaveTheSame(t *testing.T) {
	t.Parallel()
	wasm := longModule()
	want := plain(t, wasm, runtimeConfig())
	got := metered(t, wasm, newMeter(1_000_000, plenty))
	for _, m := range []api.Module{want, got} {
		b, _ := m.Memory().Read(0, chunkPages<<16)
		r := rand.NewChaCha8([32]byte{1})
		r.Read(b)
	}
	for _, o := range operations() {
		call(t, want, got, o)
	}
}

func call(t *testing.T, want, got api.Module, o operation) {
	t.Helper()
	_, wantErr := want.ExportedFunction(o.export).Call(t.Context(), o.args...)
	_, err := got.ExportedFunction(o.export).Call(t.Context(), o.args...)
	if cause(err) != cause(wantErr) {
		t.Errorf("%v: %v, want %v", o, cause(err), cause(wantErr))
	}
	if checksum(got) != checksum(want) {
		t.Fatalf("%v: memory differs", o)
	}
}

func checksum(m api.Module) uint32 {
	b, _ := m.Memory().Read(0, m.Memory().Size())
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// Between the chunks of a long operation the guest calls tick, whatever is
// left in the counter; what the operation costs does not depend on that.
func TestLongOperationsTick(t *testing.T) {
	t.Parallel()
	for _, o := range []operation{
		{"fill", []uint64{0, 1, 8 * chunk}}, {"copy", []uint64{0, chunk, 8 * chunk}},
		{"copy", []uint64{chunk, 0, 8 * chunk}}, {"init", []uint64{0, 0, chunkSegment}},
	} {
		for _, slice := range []int64{1, plenty} {
			m := newMeter(slice, plenty)
			g := metered(t, longModule(), m)
			if _, err := g.ExportedFunction(o.export).Call(t.Context(), o.args...); err != nil {
				t.Fatal(err)
			}
			if want := int(o.args[2]-1) / chunk; m.ticks < want {
				t.Errorf("%v: %d ticks, want at least %d", o, m.ticks, want)
			}
			const entry, operands = 2, 3
			bulk := uint64(32)
			if o.export == "init" {
				bulk = 16
			}
			if want := int64(entry + operands + bulk + o.args[2]/16); g.used() != want {
				t.Errorf("%v: slice %d used %d, want %d", o, slice, g.used(), want)
			}
		}
	}
}

// Short operations do not tick.
func TestShortOperationsDoNotTick(t *testing.T) {
	t.Parallel()
	m := newMeter(plenty, plenty)
	g := metered(t, longModule(), m)
	for _, o := range []operation{{"fill", []uint64{0, 1, chunk}}, {"copy", []uint64{0, 5, chunk}}, {"init", []uint64{0, 0, chunk}}} {
		m.ticks = 0
		call(t, g, g, o)
		if m.ticks > 1 {
			t.Errorf("%v: %d ticks", o, m.ticks)
		}
	}
}

// BenchmarkBulk fills 1 GiB of memory at once, and says how long it is between
// two ticks.
func BenchmarkBulk(b *testing.B) {
	m := w.New()
	const pages = 16_384
	m.Memory(pages, pages)
	m.ExportFunc("run", m.Func(w.Sig("i32", ""), "", w.I32Const(0), w.LocalGet(0), w.I32Const(pages<<16), w.MemoryFill()))
	meter := newMeter(1_000_000, plenty)
	f := metered(b, m.Bytes(), meter).ExportedFunction("run")
	b.SetBytes(pages << 16)
	for b.Loop() {
		if _, err := f.Call(b.Context(), 7); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(meter.ticks), "µs/tick")
}
