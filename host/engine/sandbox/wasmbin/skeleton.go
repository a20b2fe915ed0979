package wasmbin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Modules that differ in what [Skeleton] leaves out have the same machine code.
// It is of use for those with much data and little code: programs that an
// interpreter runs, each with the interpreter's code.
const (
	minSkeletonData = 64 << 10
	maxSkeletonCode = 1 << 20
	// For modules with so much data there may be more code.
	muchSkeletonData = 4 << 20
	mostSkeletonCode = 16 << 20
)

// Skeleton returns what the machine code of an instrumented module depends on:
// the module without the contents and the size of its memory, with zero in its
// mutable globals of numbers, and with numbers for the names of the functions it
// exports. ok is false when there is no use in that: for modules with less than 64 KiB
// of data or more than 1 MiB of code (16 MiB if they have 4 MiB of data), with passive
// data segments behind active ones, or with globals that begin with anything but a
// constant.
// Passive segments stay, without their contents; a module whose code names others
// has a skeleton that does not compile.
func Skeleton(wasm []byte) (skeleton []byte, ok bool) {
	s := skeletoniser{stubWriter: stubWriter{cursor: cursor{b: wasm, end: len(wasm), section: "module"}}}
	if s.pos = headerBytes; len(wasm) < headerBytes {
		return nil, false
	}
	s.measure()
	if s.data < minSkeletonData || s.code > maxSkeletonCode && (s.code > mostSkeletonCode || s.data < muchSkeletonData) {
		return nil, false
	}
	s.out = append(make([]byte, 0, len(wasm)), wasm[:headerBytes]...)
	for s.left() > 0 && s.err == nil && !s.unfit {
		s.copySection()
	}
	return s.out, s.err == nil && !s.unfit
}

type skeletoniser struct {
	stubWriter
	data, code int // bytes of the two sections
	passive    int // segments at the beginning of the data section
	unfit      bool
}

// measure looks at the two sections, before anything is written.
func (s *skeletoniser) measure() {
	for c := s.cursor; c.left() > 0 && c.err == nil; {
		id := c.u8()
		n := c.size("section")
		switch {
		case c.err != nil:
		case id == secCode:
			s.code = n
		case id == secData:
			s.data = n
			d := cursor{b: c.b, pos: c.pos, end: c.pos + n, section: "data"}
			s.countPassive(&d)
			s.unfit = s.unfit || d.err != nil
		}
		c.skip(n)
	}
}

func (s *skeletoniser) countPassive(d *cursor) {
	active := false
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		switch d.u32() {
		case 0:
			active = true
			g := globalZeroer{cursor: *d}
			g.expression()
			*d, s.unfit = g.cursor, s.unfit || g.unfit
		case 1:
			s.passive++
			s.unfit = s.unfit || active
		default:
			s.unfit = true
			return
		}
		d.skip(d.size("data"))
	}
}

// emptyData is a data section of passive segments without contents.
func (s *skeletoniser) emptyData() []byte {
	return append(appendU32(nil, uint32(s.passive)), bytes.Repeat([]byte{1, 0}, s.passive)...)
}

func (s *skeletoniser) copySection() {
	id := s.u8()
	n := s.size("section")
	if s.err != nil {
		return
	}
	content := s.b[s.pos : s.pos+n]
	at := s.pos
	s.skip(n)
	switch id {
	case secData:
		content = s.emptyData()
	case secDataCount:
		content = appendU32(nil, uint32(s.passive))
	case secMemory:
		c := cursor{b: s.b, pos: at, end: at + n, section: "memory"}
		content = emptyMemory(&c, content)
		s.unfit = s.unfit || c.err != nil
	case secExport:
		c := cursor{b: s.b, pos: at, end: at + n, section: "export"}
		content = unnamedExports(&c)
		s.unfit = s.unfit || c.err != nil
	case secGlobal:
		g := globalZeroer{cursor: cursor{b: s.b, pos: at, end: at + n, section: "global"}}
		content = g.section()
		s.unfit = s.unfit || g.unfit || g.err != nil
	}
	s.out = appendSection(s.out, id, content)
}

// emptyMemory is a memory section with a memory that starts with no page.
func emptyMemory(c *cursor, section []byte) []byte {
	n, flags := c.u32(), c.u8()
	c.u32()
	if c.err != nil || n != 1 {
		return section
	}
	return append(append(appendU32(nil, n), flags, 0), c.b[c.pos:c.end]...)
}

// unnamedExports is an export section with numbers for the names of functions.
func unnamedExports(c *cursor) []byte {
	n := c.u32()
	out := appendU32(nil, n)
	for i := range n {
		from := c.pos
		c.skip(c.size("name"))
		named := c.b[from:c.pos]
		kind := c.u8()
		index := c.u32()
		if c.err != nil {
			return nil
		}
		if Kind(kind) == Func {
			named = appendName(nil, strconv.Itoa(int(i)))
		}
		out = appendU32(append(append(out, named...), kind), index)
	}
	return out
}

// globalZeroer copies a global section.
type globalZeroer struct {
	cursor
	out   []byte
	unfit bool
}

// zeroes are the constant expressions of zero.
func zeroes() map[ValueType][]byte {
	return map[ValueType][]byte{
		I32: {opI32Const, 0, opEnd},
		I64: {opI64Const, 0, opEnd},
		F32: append(append([]byte{opF32Const}, make([]byte, 4)...), opEnd),
		F64: append(append([]byte{opF64Const}, make([]byte, 8)...), opEnd),
	}
}

func (g *globalZeroer) section() []byte {
	n, zero := g.u32(), zeroes()
	g.out = appendU32(nil, n)
	for ; n > 0 && g.err == nil && !g.unfit; n-- {
		typ, mutable := g.u8(), g.u8()
		from := g.pos
		g.expression()
		init := g.b[from:g.pos]
		if z, number := zero[ValueType(typ)]; number && mutable == 1 {
			g.unfit = g.unfit || init[0] != z[0]
			init = z
		}
		g.out = append(append(g.out, typ, mutable), init...)
	}
	return g.out
}

// expression reads an expression of one instruction; others do not fit.
func (g *globalZeroer) expression() {
	switch g.u8() {
	case opI32Const:
		g.signed(32)
	case opI64Const:
		g.signed(64)
	case opF32Const:
		g.skip(4)
	case opF64Const:
		g.skip(8)
	case opGlobalGet, opRefFunc:
		g.u32()
	case opRefNull:
		g.u8()
	default:
		g.unfit = true
		return
	}
	g.unfit = g.u8() != opEnd || g.unfit
}

// IsStub reports whether a module ends like a [Stub]. No instrumented module
// does: they have no custom sections.
func IsStub(wasm []byte) bool {
	last := appendSection(nil, secCustom, append(appendName(nil, stubSection), make([]byte, stubSum)...))
	return len(wasm) > len(last) && bytes.HasPrefix(wasm[len(wasm)-len(last):], last[:len(last)-stubSum])
}

// CodeDigest is the SHA-256 of what of a module takes work to compile, in hexadecimal
// digits: of its types, its imports and its code. It is that of nothing for bytes whose
// sections cannot be told apart.
func CodeDigest(wasm []byte) string {
	h := sha256.New()
	c := cursor{b: wasm, pos: min(headerBytes, len(wasm)), end: len(wasm), section: "module"}
	for c.more() {
		from := c.pos
		id := c.u8()
		c.skip(c.size("section"))
		switch id {
		case secType, secImport, secFunction, secTag, secCode:
			h.Write(wasm[from:c.pos])
		}
	}
	if c.err != nil {
		h.Reset()
	}
	return hex.EncodeToString(h.Sum(nil))
}
