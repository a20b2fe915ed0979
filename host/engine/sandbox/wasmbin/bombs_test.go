package wasmbin_test

import (
	"bytes"
	"slices"

	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// bomb is a module that harms a process that compiles it with wazero alone.
type bomb struct {
	name string
	wasm []byte
	hang bool // it does not die of it, but is busy for longer than anyone waits
}

// bombs returns the modules that must not reach the compiler.
func bombs() []bomb {
	oneType := w.Section(1, []byte{1, 0x60, 0, 0})
	oneFunc := slices.Concat(oneType, w.Section(3, []byte{1, 0}))
	big := []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 4,294,967,295
	return []bomb{
		{"functions that are not there", raw(oneType, w.Section(3, big)), false},
		{"globals that are not there", raw(w.Section(6, big)), false},
		{"data that is not there", raw(w.Section(11, big)), false},
		{"code that is not there", raw(oneFunc, w.Section(10, big)), false},
		{"imports that are not there", raw(w.Section(2, big)), false},
		{"parameters that are not there", raw(w.Section(1, []byte{1, 0x60}, big)), false},
		{"names that are not there", raw(w.Section(0, w.Name("name"), []byte{1, 5}, big)), false},
		{"locals' names that are not there", raw(w.Section(0, w.Name("name"), []byte{2, 7, 1, 0}, big)), false},
		{"exports that are not there", raw(w.Section(7, big)), true},
		{"elements that are not there", raw(w.Section(4, []byte{1, 0x70, 0, 1}), w.Section(9, []byte{1, 1, 0}, big)), false},
		{"4 G locals", raw(oneFunc, w.Section(10, []byte{1, 8, 1}, big, []byte{0x7f, 0x0b})), false},
		{"call of a function with a bad type", badCallee(), false},
		{"br_table of a million", code(w.LocalGet(0), w.BrTable(make([]int, 1_000_000), 0)), true},
		{"100,000 nested blocks", code(bytes.Repeat([]byte{0x02, 0x40}, 100_000), bytes.Repeat([]byte{0x0b}, 100_000)), true},
		{"40,000 nested loops", code(bytes.Repeat([]byte{0x03, 0x40}, 40_000), bytes.Repeat([]byte{0x0b}, 40_000)), true},
		{"3,000 locals in 3,000 loops", localsInLoops(3_000), true},
		{"100,000 branches", code(bytes.Repeat(w.Code(w.LocalGet(0), w.BrIf(0)), 100_000)), true},
	}
}

// badCallee is a call of a function, still to come, whose type does not exist.
func badCallee() []byte {
	return raw(w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(3, []byte{2, 0, 9}),
		w.Section(10, []byte{2, 4, 0, 0x10, 1, 0x0b, 2, 0, 0x0b}))
}

func localsInLoops(n int) []byte {
	m := w.New()
	body := slices.Concat([]byte{1}, w.U32(uint32(n)), []byte{w.I32},
		bytes.Repeat([]byte{0x03, 0x40}, n))
	for i := range n {
		body = append(body, w.Code(w.LocalGet(i), w.I32Const(1), w.Op(0x6a), w.LocalSet(i))...)
	}
	body = append(body, bytes.Repeat([]byte{0x0b}, n+1)...)
	m.RawFunc(m.Type(w.Sig("", "")), body)
	return m.Bytes()
}
