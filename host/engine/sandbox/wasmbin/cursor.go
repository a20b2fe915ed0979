package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// cursor reads a module. Positions are offsets in the whole module; end is
// where the part being read (a section, a function body) stops. The first
// failure sticks: it moves the cursor to its end, and every later read returns
// zero, so that callers may check err once per item.
type cursor struct {
	b        []byte
	pos, end int
	section  string
	err      *Error
	// exceptions says that something of exception-handling was read.
	exceptions bool
}

func (c *cursor) fail(kind error, at int, format string, args ...any) {
	if c.err != nil {
		return
	}
	c.err = &Error{Offset: at, Section: c.section, Message: fmt.Sprintf(format, args...), kind: kind}
	c.pos = c.end
}

func (c *cursor) malformed(at int, format string, args ...any) {
	c.fail(ErrMalformed, at, format, args...)
}

func (c *cursor) tooLarge(at int, format string, args ...any) {
	c.fail(ErrTooLarge, at, format, args...)
}

func (c *cursor) unsupported(at int, format string, args ...any) {
	c.fail(ErrUnsupported, at, format, args...)
}

func (c *cursor) left() int { return c.end - c.pos }

// more reports whether bytes are left and nothing failed so far.
func (c *cursor) more() bool { return c.err == nil && c.pos < c.end }

func (c *cursor) u8() byte {
	if c.pos >= c.end {
		c.malformed(c.pos, "cut short")
		return 0
	}
	c.pos++
	return c.b[c.pos-1]
}

// u32 reads an unsigned LEB128 of 32 bits (core specification 5.2.2).
func (c *cursor) u32() uint32 {
	if c.pos < c.end && c.b[c.pos] < 0x80 {
		c.pos++
		return uint32(c.b[c.pos-1])
	}
	return c.longU32()
}

func (c *cursor) longU32() uint32 {
	at := c.pos
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if v > 1<<32-1 {
			c.malformed(at, "number does not fit 32 bits")
		}
		return uint32(v)
	}
	c.malformed(at, "number is longer than 5 bytes")
	return 0
}

// signed reads a signed LEB128 of the given width in bits: 32, 33 or 64.
func (c *cursor) signed(bits int) int64 {
	at := c.pos
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if bits-shift < 7 {
			c.checkUnused(at, b, bits-shift)
		}
		return extend(v, shift+7)
	}
	c.malformed(at, "number is longer than %d bits allow", bits)
	return 0
}

// checkUnused checks that the bits of the last byte that do not fit repeat the
// sign bit, which is the highest of the used ones.
func (c *cursor) checkUnused(at int, b byte, used int) {
	high := int8(b<<1) >> used // the sign bit and what is above it, sign extended
	if high != 0 && high != -1 {
		c.malformed(at, "number does not fit its bits")
	}
}

func extend(v int64, bits int) int64 {
	if bits >= 64 {
		return v
	}
	return v << (64 - bits) >> (64 - bits)
}

func (c *cursor) skip(n int) {
	if n > c.left() {
		c.malformed(c.pos, "cut short: %d bytes needed, %d left", n, c.left())
		return
	}
	c.pos += n
}

// size reads a length in bytes that cannot be more than what is left.
func (c *cursor) size(what string) int {
	at := c.pos
	n := c.u32()
	if int64(n) > int64(c.left()) {
		c.malformed(at, "%s of %d bytes declared, %d left", what, n, c.left())
		return 0
	}
	return int(n)
}

// count reads the number of entries of a vector of which each takes at least
// each bytes.
func (c *cursor) count(what string, limit, each int) int {
	at := c.pos
	n := int64(c.u32())
	if n > int64(c.left()/each) {
		c.malformed(at, "%d %s declared in %d bytes", n, what, c.left())
		return 0
	}
	if n > int64(limit) {
		c.tooLarge(at, "%d %s, at most %d", n, what, limit)
		return 0
	}
	return int(n)
}

func (c *cursor) name(what string, limit int) string {
	at := c.pos
	n := c.size(what)
	if n > limit {
		c.tooLarge(at, "%s of %d bytes, at most %d", what, n, limit)
		return ""
	}
	s := c.b[c.pos : c.pos+n]
	if !utf8.Valid(s) {
		c.malformed(at, "%s is not UTF-8", what)
		return ""
	}
	c.pos += n
	return string(s)
}

// index reads an index that must be below n.
func (c *cursor) index(what string, n int) uint32 {
	at := c.pos
	i := c.u32()
	if int64(i) >= int64(n) {
		c.malformed(at, "%s %d of %d", what, i, n)
		return 0
	}
	return i
}

// valueType reads a type of values.
func (c *cursor) valueType() ValueType {
	at := c.pos
	t := ValueType(c.u8())
	if c.err == nil && !t.known() {
		c.foreignType(at, byte(t))
	}
	c.exceptions = c.exceptions || t == ExnRef
	return t
}

// refType reads a type of references.
func (c *cursor) refType() ValueType {
	at := c.pos
	t := c.valueType()
	switch {
	case c.err != nil || t == FuncRef || t == ExternRef:
	case t == ExnRef:
		c.unsupported(at, "a table or segment of exceptions")
	default:
		c.malformed(at, "%v is not a reference type", t)
	}
	return t
}

func (t ValueType) known() bool {
	return (t >= V128 && t <= I32) || t == FuncRef || t == ExternRef || t == ExnRef
}

// foreignType refuses a type this host does not know, by the proposal that
// defines it where there is one.
func (c *cursor) foreignType(at int, t byte) {
	switch {
	case t == 0x63 || t == 0x64:
		c.unsupported(at, "type 0x%02x needs typed-function-references", t)
	case t >= 0x6a && t <= 0x6e, t >= 0x71 && t <= 0x74, t == 0x77 || t == 0x78:
		c.unsupported(at, "type 0x%02x needs gc", t)
	default:
		c.malformed(at, "unknown type 0x%02x", t)
	}
}
