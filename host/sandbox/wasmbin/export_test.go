package wasmbin

// InspectOwn is Inspect for a module that Instrument wrote.
func InspectOwn(wasm []byte, l Limits) (*Module, error) {
	d := newDecoder(wasm, l)
	d.reserved = true
	if err := d.decode(); err != nil {
		return nil, err
	}
	return d.module, nil
}

// InstrumentExactly is Instrument with a charge in front of every instruction:
// slow, but beyond doubt. The meter must never charge less.
func InstrumentExactly(wasm []byte, l Limits, o Options) ([]byte, error) {
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, err
	}
	r := newRewriter(d, o)
	r.out = append(r.out, r.b[:headerBytes]...)
	for _, id := range sectionOrder {
		if id == secCode && r.found[secCode].at > 0 {
			r.exactCode()
		} else {
			r.section(id)
		}
	}
	return r.out, nil
}

func (r *rewriter) exactCode() {
	s := r.found[secCode]
	r.pos, r.end, r.scratch = s.at, s.end, r.scratch[:0]
	n := r.entryCount()
	r.scratch = appendU32(r.scratch, uint32(n))
	for i := 0; i < n; i++ {
		r.exactBody(uint32(r.imported + i))
	}
	r.out = appendSection(r.out, secCode, r.scratch)
}

func (r *rewriter) exactBody(index uint32) {
	size := int(r.u32())
	section := r.end
	r.end = r.pos + size
	from := r.pos
	groups, locals := r.localGroups()
	w := &r.code
	w.local = uint32(len(r.typeOf(index).Params) + locals)
	code := r.pos
	r.planExactly()
	w.body = w.body[:0]
	r.writeLocals(from, code, groups)
	r.pos = code
	r.writeCode()
	r.scratch = appendU32(r.scratch, uint32(len(w.body)))
	r.scratch = append(r.scratch, w.body...)
	r.end = section
}

func (r *rewriter) planExactly() {
	w := &r.code
	w.edits, w.used = w.edits[:0], false
	w.charges = append(w.charges[:0], charge{at: r.pos, cost: costEntry, check: true})
	for r.pos < r.end {
		r.next(&w.in, &r.bounds)
		r.edit()
		if w.in.op != opElse { // nothing may stand between an arm and its else
			w.charges = append(w.charges, charge{at: w.in.at, cost: int64(w.in.cost)})
		}
		if w.in.op == opLoop {
			w.charges = append(w.charges, charge{at: w.in.end, cost: costOne, check: true})
		}
	}
}
