package wasmbin

// Kinds of clauses of a try_table.
const (
	catchTag    = 0
	catchTagRef = 1
	catchAll    = 2
	catchAllRef = 3
)

// clause says where a try_table goes on with an exception. Labels do not count
// the try_table.
type clause struct {
	kind       byte
	tag, label uint32
}

// any reports whether a clause takes exceptions of every tag.
func (k clause) any() bool { return k.kind >= catchAll }

// ref reports whether a clause passes the exception itself on.
func (k clause) ref() bool { return k.kind == catchTagRef || k.kind == catchAllRef }

// tryTable reads the immediates of a try_table.
func (c *cursor) tryTable(in *instr, b *bounds) {
	c.exceptions = true
	in.bt = c.blockType(b)
	in.x = uint32(c.count("catch clauses", b.branchTargets, 2))
	in.labels = c.pos
	for i := uint32(0); i < in.x && c.err == nil; i++ {
		c.clause(b)
	}
}

func (c *cursor) clause(b *bounds) (k clause) {
	at := c.pos
	if k.kind = c.u8(); k.kind > catchAllRef {
		c.malformed(at, "unknown catch clause 0x%02x", k.kind)
	}
	if !k.any() {
		k.tag = c.index("tag", b.tags)
	}
	k.label = c.u32()
	return k
}

// passed is how many values a clause passes on.
func (d *decoder) passed(k clause) (n int) {
	if !k.any() {
		n = len(d.module.Types[d.tagTypes[k.tag]].Params)
	}
	if k.ref() {
		n++
	}
	return n
}

func (d *decoder) tagSection() {
	n := d.count("tags", d.limits.Types, 2)
	for i := 0; i < n && d.err == nil; i++ {
		at := d.pos
		if a := d.u8(); a != 0 {
			d.malformed(at, "unknown tag attribute 0x%02x", a)
		}
		if t := d.index("type", d.types); d.err == nil {
			d.checkTag(at, d.module.Types[t])
			d.tagTypes = append(d.tagTypes, t)
		}
	}
	d.tags, d.exceptions = len(d.tagTypes), true
}

// payloadBits bounds what an exception carries: it has to fit a global.
const payloadBits = 64

func (d *decoder) checkTag(at int, t FuncType) {
	bits := 0
	for _, p := range t.Params {
		if p < F64 {
			d.unsupported(at, "an exception that carries a %v: only numbers are taken", p)
		}
		bits += p.bits()
	}
	if bits > payloadBits {
		d.unsupported(at, "an exception of %d bytes, at most %d", bits/8, payloadBits/8)
	}
	if len(t.Results) > 0 {
		d.malformed(at, "a tag with results")
	}
}

// bits is the width of a number.
func (t ValueType) bits() int {
	if t == I64 || t == F64 {
		return 64
	}
	return 32
}

// checkImported refuses functions of the host that take or return exceptions,
// which no host could do anything with.
func (d *decoder) checkImported(at int, t FuncType) {
	if t.mentions(ExnRef) {
		d.unsupported(at, "an imported function takes or returns an exception")
	}
}

// moreRoom is by how much a module may pass the limits of its declarations once
// its exceptions are written as branches. What it costs to compile may not be more.
const moreRoom = 4

// withoutExceptions returns a decoder of the same module without exceptions:
// itself if there are none.
func (d *decoder) withoutExceptions() (*decoder, error) {
	if !d.exceptions {
		return d, nil
	}
	at := d.found[secCode].at
	p := d.parts()
	lowerExceptions(p, d)
	out := newDecoder(p.Encode(), d.limits.wider())
	if out.decode() != nil {
		out.err.Offset, out.err.Section = at, sectionNames[secCode]
		out.err.Message = "with its exceptions written as branches: " + out.err.Message
		return nil, out.err
	}
	return out, nil
}

// wider are the limits for what lowerExceptions makes of a module.
func (l Limits) wider() Limits {
	w := l
	for _, n := range []*int{&w.ModuleBytes, &w.Types, &w.Functions, &w.Globals, &w.BodyBytes, &w.Nesting, &w.Blocks} {
		*n = moreRoom*(*n) + 16
	}
	return w
}
