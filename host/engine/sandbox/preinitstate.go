package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

// Renamed is an export of a module and the name it gets in another.
type Renamed struct{ Name, As string }

// A State is where a call of [PreinitExport] ended.
type State struct {
	// Output is what the initialisation wrote to the output.
	Output  []byte
	memory  []byte
	globals []uint64 // the mutable ones
	module  *wasmlink.Module
}

// ReadState reads what a call of [PreinitExport] wrote. wasm is the module that
// ran, as [Preinitialisable] made it. Errors: [ErrRefused] and [ErrPreinit].
func ReadState(wasm, output []byte) (*State, error) {
	m, err := wasmlink.Decode(wasm)
	if err != nil {
		return nil, fmt.Errorf("pre-initialise: %w: %w", ErrRefused, err)
	}
	s := &State{module: m}
	if err := s.read(output); err != nil {
		return nil, fmt.Errorf("pre-initialise: %w: %w", ErrPreinit, err)
	}
	return s, nil
}

// Module makes a module that starts in the state: its memory and its globals
// hold what they held then, and nothing runs when it is instantiated. It exports
// what is listed, under its new name, and the memory as "memory". The same wasm
// and output give the same bytes. It can be asked for one module. Errors:
// [ErrPreinit] for exports that are not there.
func (s *State) Module(exports ...Renamed) ([]byte, error) {
	s.apply(s.module)
	names, err := rename(s.module, exports)
	if err != nil {
		return nil, fmt.Errorf("pre-initialise: %w: %w", ErrPreinit, err)
	}
	linked, err := wasmlink.Link(names, wasmlink.Unit{Module: s.module})
	if err != nil {
		return nil, fmt.Errorf("pre-initialise: %w: %w", ErrPreinit, err)
	}
	return linked.Encode(), nil
}

// rename replaces the exports of a module and returns their names.
func rename(m *wasmlink.Module, exports []Renamed) (names []string, err error) {
	var list []wasmbin.ExportedItem
	for _, r := range exports {
		e, ok := m.Export(r.Name)
		if !ok {
			return nil, fmt.Errorf("it exports no %s", r.Name)
		}
		if slices.Contains(names, r.As) {
			return nil, fmt.Errorf("two exports would be %s", r.As)
		}
		e.Name = r.As
		list, names = append(list, e), append(names, r.As)
	}
	if !slices.Contains(names, "memory") {
		list, names = append(list, wasmbin.ExportedItem{Name: "memory", Kind: wasmbin.MemoryKind}), append(names, "memory")
	}
	m.Exports = list
	return names, nil
}

// read takes an output apart from its end.
func (s *State) read(output []byte) error {
	var mutable uint64
	for _, g := range s.module.Globals {
		if g.Mutable {
			mutable++
		}
	}
	if len(output) < stateTrailer {
		return fmt.Errorf("%d bytes are not a state", len(output))
	}
	trailer := output[len(output)-stateTrailer:]
	pages, globals := binary.LittleEndian.Uint64(trailer), binary.LittleEndian.Uint64(trailer[8:])
	left := uint64(len(output) - stateTrailer)
	if globals != mutable || globals > left/8 || pages > (left-8*globals)/pageBytes || pages < uint64(s.module.Memory.Min) {
		return fmt.Errorf("%d bytes are not a state of %d pages and %d globals", len(output), pages, mutable)
	}
	values := output[left-8*globals:]
	for i := range globals {
		s.globals = append(s.globals, binary.LittleEndian.Uint64(values[8*i:]))
	}
	memory := left - 8*globals - pages*pageBytes
	s.Output, s.memory = output[:memory:memory], output[memory:left-8*globals]
	return nil
}

// apply makes the state what the module starts with.
func (s *State) apply(m *wasmlink.Module) {
	next := 0
	for i := range m.Globals {
		if g := &m.Globals[i]; g.Mutable {
			g.Init = constant(g.Type, s.globals[next])
			next++
		}
	}
	m.HasStart = false
	m.Memory.Min = uint32(len(s.memory) / pageBytes)
	m.Memory.Max = max(m.Memory.Max, m.Memory.Min)
	m.Data = append(keepPassive(m.Data), runs(s.memory)...)
}

// keepPassive leaves the segments that instructions can still name. Active ones
// are empty after instantiation, and passive ones that are empty take their
// place, so that the others keep their indexes.
func keepPassive(data []wasmbin.Data) []wasmbin.Data {
	last := 0
	kept := make([]wasmbin.Data, len(data))
	for i, d := range data {
		kept[i] = wasmbin.Data{Mode: wasmbin.Passive}
		if d.Mode == wasmbin.Passive {
			kept[i], last = d, i+1
		}
	}
	return kept[:last]
}

// runGap is how many zeros in a row end a run: a segment takes up to 10 bytes,
// and a little time.
const runGap = 256

// runs are the data segments for what is not zero in a memory.
func runs(memory []byte) (list []wasmbin.Data) {
	for at := 0; at < len(memory); {
		start := at + zeros(memory[at:])
		if start == len(memory) {
			break
		}
		end := start + run(memory[start:])
		offset := append(appendSigned([]byte{0x41}, int32(start)), 0x0b)
		list = append(list, wasmbin.Data{Offset: offset, Bytes: memory[start:end:end]})
		at = end
	}
	return list
}

// zeros counts the zeros a slice begins with.
func zeros(b []byte) int {
	var none [4096]byte
	n := 0
	for len(b)-n >= len(none) && bytes.Equal(b[n:n+len(none)], none[:]) {
		n += len(none)
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

// run is the length of what begins a slice up to runGap zeros in a row, or its
// end, without the zeros.
func run(b []byte) int {
	last := 0 // behind the last byte that is not zero
	for i := 0; i < len(b) && i-last < runGap; i++ {
		if b[i] != 0 {
			last = i + 1
		}
	}
	return last
}

// constant is the constant expression of a global's value, given as bits.
func constant(t wasmbin.ValueType, bits uint64) []byte {
	var b []byte
	switch t {
	case wasmbin.I32:
		b = appendSigned([]byte{0x41}, int32(bits))
	case wasmbin.I64:
		b = appendSigned([]byte{0x42}, int64(bits))
	case wasmbin.F32:
		b = binary.LittleEndian.AppendUint32([]byte{0x43}, uint32(bits))
	case wasmbin.F64:
		b = binary.LittleEndian.AppendUint64([]byte{0x44}, bits)
	}
	return append(b, 0x0b)
}

// appendSigned appends a signed LEB128.
func appendSigned[T int32 | int64](b []byte, v T) []byte {
	for v > 63 || v < -64 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
