package findings

import (
	"encoding/binary"
	"iter"
)

// Sections of a module (core specification 5.5.2).
const (
	sectionCustom = 0
	sectionData   = 11
)

// A part is a part of a module's bytes.
type part struct {
	from, to int
	section  byte
	name     string // of a custom section
}

// texts yields the parts of a module that may hold text: the contents of its
// data segments and its custom sections. It goes by the layout of the format
// alone, and ends where that is broken: whether the module is valid is for
// others.
func texts(wasm []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		r := reader{b: wasm, at: len(magic)}
		for r.at < len(wasm) && !r.bad {
			id := r.byte()
			n := r.uint()
			end := r.at + n
			if r.bad || n > len(wasm)-r.at {
				return
			}
			if !sectionTexts(&reader{b: wasm[:end], at: r.at}, id, yield) {
				return
			}
			r.at = end
		}
	}
}

// sectionTexts yields the texts of the section that r is at the beginning of,
// and reports false when no more are wanted.
func sectionTexts(r *reader, id byte, yield func(part) bool) bool {
	switch id {
	case sectionCustom:
		name := r.take(r.uint())
		return r.bad || yield(part{r.at, len(r.b), id, string(name)})
	case sectionData:
		for n := r.uint(); n > 0 && !r.bad; n-- {
			from, to := r.segment()
			if !r.bad && !yield(part{from, to, id, ""}) {
				return false
			}
		}
	}
	return true
}

// A reader reads the numbers of the binary format. Once something is bad, all
// that it returns is zero.
type reader struct {
	b   []byte
	at  int
	bad bool
}

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.bad = true
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// uint reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) uint() int {
	v, n := binary.Uvarint(r.b[min(r.at, len(r.b)):])
	if n <= 0 || n > 5 || v > 1<<32-1 || r.bad {
		r.bad = true
		return 0
	}
	r.at += n
	return int(v)
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b)-r.at {
		r.bad = true
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

// segment reads a data segment and returns where its content stands (core
// specification 5.5.14).
func (r *reader) segment() (from, to int) {
	flags := r.uint()
	if flags == 2 {
		r.uint() // memory
	}
	if flags != 1 {
		r.skipConst()
	}
	n := r.uint()
	from = r.at
	r.take(n)
	return from, r.at
}

// skipConst passes over a constant expression: constants, globals and
// arithmetic, up to end.
func (r *reader) skipConst() {
	for !r.bad {
		switch op := r.byte(); op {
		case 0x0b: // end
			return
		case 0x41, 0x42, 0x23: // i32.const, i64.const, global.get
			for !r.bad && r.byte()&0x80 != 0 {
			}
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub and mul of either size
		default:
			r.bad = true
		}
	}
}
