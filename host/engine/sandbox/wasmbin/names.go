package wasmbin

import "unicode/utf8"

// Subsections of the name section (core specification, appendix 7.4). Others
// are passed over.
const (
	subModuleName    = 0
	subFunctionNames = 1
	subLocalNames    = 2
)

// customSection checks the name of a custom section, and of the name section
// the counts and sizes, because a compiler may read it. The content is not
// kept.
func (d *decoder) customSection() {
	at := d.pos
	if d.custom += d.left(); d.custom > d.limits.CustomBytes {
		d.tooLarge(at, "custom sections of more than %d bytes", d.limits.CustomBytes)
		return
	}
	if name := d.name("name", d.left()); name != "name" {
		d.skip(d.left())
		return
	}
	if d.named {
		d.malformed(at, "name section is repeated")
	}
	d.named = true
	for d.more() {
		d.nameSubsection()
	}
}

func (d *decoder) nameSubsection() {
	id := d.u8()
	n := d.size("subsection")
	whole := d.end
	if d.err == nil {
		d.end = d.pos + n
	}
	switch id {
	case subModuleName:
		d.name("module name", d.left())
	case subFunctionNames:
		d.nameMap()
	case subLocalNames:
		d.indirectNameMap()
	default:
		d.skip(d.left())
	}
	if d.left() > 0 {
		d.malformed(d.pos, "%d bytes too many in subsection %d", d.left(), id)
	}
	d.end = whole
}

func (d *decoder) nameMap() {
	for n := d.count("names", d.left(), 2); n > 0 && d.err == nil; n-- {
		d.u32()
		d.skipName()
	}
}

func (d *decoder) indirectNameMap() {
	for n := d.count("name maps", d.left(), 2); n > 0 && d.err == nil; n-- {
		d.u32()
		d.nameMap()
	}
}

// skipName reads a name without keeping it.
func (d *decoder) skipName() {
	at := d.pos
	n := d.size("name")
	if !utf8.Valid(d.b[d.pos : d.pos+n]) {
		d.malformed(at, "name is not UTF-8")
		return
	}
	d.skip(n)
}
