package wasmbin

// Cutting says what [Cut] leaves of a module.
type Cutting struct {
	// Exports take the place of the module's own. Their indexes are not checked by Cut;
	// who reads the result does.
	Exports []ExportedItem
	// Listed reports whether a function that an element segment holds is wanted for
	// that. Nil wants all.
	Listed func(function uint32) bool
}

// Cut takes the code out of a module that nothing can reach any more: what it leaves
// is the exports, functions that are listed, and what these call or refer to. All
// others do nothing but trap, and one of them takes their place in element segments,
// so that a call through a table traps as well. Indexes stay, so that what code and data
// say of functions holds; custom sections are dropped, and exceptions kept as they are. The same module and
// Cutting give the same bytes. The error is an *Error.
func Cut(wasm []byte, l Limits, c Cutting) ([]byte, error) {
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, err
	}
	cut := cutter{decoder: d, cutting: c, used: make([]bool, d.funcs), bodies: d.codeSpans()}
	cut.reach()
	return cut.write(), nil
}

type cutter struct {
	*decoder
	cutting Cutting
	bodies  []span // of each defined function: with its locals
	used    []bool
	pending []uint32
	trap    uint32 // a function that is not used; imported ones count as used
	traps   bool   // there is one
}

// codeSpans says where the body of each function is.
func (d *decoder) codeSpans() []span {
	s := d.found[secCode]
	if s.at == 0 {
		return nil
	}
	c := cursor{b: d.b, pos: s.at, end: s.end, section: "code"}
	list := make([]span, c.u32())
	for i := range list {
		n := int(c.u32())
		list[i] = span{c.pos, c.pos + n}
		c.pos += n
	}
	return list
}

func (c *cutter) use(f uint32) {
	if int64(f) < int64(len(c.used)) && !c.used[f] {
		c.used[f] = true
		if int(f) >= c.imported {
			c.pending = append(c.pending, f)
		}
	}
}

// reach finds all that is used.
func (c *cutter) reach() {
	for _, e := range c.cutting.Exports {
		if e.Kind == Func {
			c.use(e.Index)
		}
	}
	if c.module.HasStart {
		c.use(c.start)
	}
	p := c.parts()
	for _, g := range p.Globals {
		c.expression(g.Init)
	}
	for _, e := range p.Elements {
		for _, f := range e.Functions {
			if c.listed(f) {
				c.use(f)
			}
		}
		for _, x := range e.Exprs {
			c.expression(x)
		}
	}
	for len(c.pending) > 0 {
		f := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		c.expression(skipLocals(c.b, c.bodies[int(f)-c.imported]))
	}
	for f := c.imported; f < len(c.used) && !c.traps; f++ {
		c.trap, c.traps = uint32(f), !c.used[f]
	}
}

func (c *cutter) listed(f uint32) bool { return c.cutting.Listed == nil || c.cutting.Listed(f) }

// skipLocals is the code of a body.
func skipLocals(b []byte, s span) []byte {
	c := cursor{b: b, pos: s.at, end: s.end, section: "code"}
	for groups := c.u32(); groups > 0; groups-- {
		c.u32()
		c.u8()
	}
	return b[c.pos:s.end:s.end]
}

// expression uses the functions that code mentions.
func (c *cutter) expression(code []byte) {
	r := cursor{b: code, end: len(code), section: "code"}
	var in instr
	for r.more() {
		r.next(&in, &c.bounds)
		switch in.op {
		case opCall, opReturnCall, opRefFunc:
			c.use(in.x)
		}
	}
}

// write writes the module.
func (c *cutter) write() []byte {
	out := append(make([]byte, 0, len(c.b)/4), c.b[:headerBytes]...)
	for _, id := range sectionOrder {
		s := c.found[id]
		content := c.b[s.at:s.end]
		switch id {
		case secExport:
			content = nil
			for _, e := range c.cutting.Exports {
				content = append(content, encodeExport(e.Name, e.Kind, e.Index)...)
			}
			content = append(appendU32(nil, uint32(len(c.cutting.Exports))), content...)
		case secElement:
			content = c.elements(content)
		case secCode:
			content = c.code()
		}
		if s.at != 0 || id == secExport {
			out = appendSection(out, id, content)
		}
	}
	return out
}

// elements is the element section, in which what is not used is the trap.
func (c *cutter) elements(content []byte) []byte {
	if len(content) == 0 {
		return content
	}
	p := parser{decoder: c.decoder, parts: &Parts{}}
	s := c.found[secElement]
	p.pos, p.end = s.at, s.end
	n := p.u32()
	out := appendU32(nil, n)
	for p.entry = 0; p.entry < int(n); p.entry++ {
		from, before := p.pos, len(p.parts.Elements)
		p.elementEntry()
		e := p.parts.Elements[before]
		if e.Exprs != nil {
			out = append(out, p.b[from:p.pos]...)
			continue
		}
		head := cursor{b: p.b, pos: from, end: p.pos, section: "element"}
		out = c.elementEntryOf(out, &head, e)
	}
	return out
}

// elementEntryOf copies an element segment of functions.
func (c *cutter) elementEntryOf(out []byte, r *cursor, e Elements) []byte {
	from := r.pos
	flags := r.u32()
	if flags&elemPassive == 0 {
		if flags&elemExplicit != 0 {
			r.u32()
		}
		r.pos += len(e.Offset)
	}
	if flags&(elemPassive|elemExplicit) != 0 {
		r.u8()
	}
	out = appendU32(append(out, r.b[from:r.pos]...), uint32(len(e.Functions)))
	for _, f := range e.Functions {
		if !c.used[f] && c.traps {
			f = c.trap
		}
		out = appendU32(out, f)
	}
	return out
}

// code is the code section: what is not used traps.
func (c *cutter) code() []byte {
	out := appendU32(nil, uint32(len(c.bodies)))
	for i, s := range c.bodies {
		if c.used[c.imported+i] {
			out = append(appendU32(out, uint32(s.end-s.at)), c.b[s.at:s.end]...)
		} else {
			out = append(out, 3, 0, opUnreachable, opEnd)
		}
	}
	return out
}
