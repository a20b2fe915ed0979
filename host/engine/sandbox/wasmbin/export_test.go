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

// HasExceptions reports whether a module that the gate takes uses exceptions.
func HasExceptions(wasm []byte) bool {
	d := newDecoder(wasm, DefaultLimits())
	return d.decode() == nil && d.exceptions
}

// InstrumentExactly is Instrument with a charge in front of every instruction:
// slow, but beyond doubt. The meter must never charge less.
func InstrumentExactly(wasm []byte, l Limits, o Options) ([]byte, error) {
	_, d, err := inspect(wasm, l)
	if err != nil {
		return nil, err
	}
	r := newRewriter(d, o)
	r.plan, r.unrolling, r.maxCallCost = r.planExactly, 0, 0
	return r.write(), nil
}

func (r *rewriter) planExactly(uint32) {
	w := &r.code
	w.edits, w.used = w.edits[:0], false
	w.charges = append(w.charges[:0], charge{at: r.pos, cost: costEntry, check: checkHere})
	for r.pos < r.end {
		r.next(&w.in, &r.bounds)
		r.edit()
		if w.in.op != opElse { // nothing may stand between an arm and its else
			w.charges = append(w.charges, charge{at: w.in.at, cost: int64(w.in.cost)})
		}
		if w.in.op == opLoop {
			w.charges = append(w.charges, charge{at: w.in.end, cost: costOne, check: checkHere})
		}
	}
}

// Rebuilt counts the functions of a module whose dispatch loop Instrument makes
// into loops and branches.
func Rebuilt(wasm []byte) (n int) {
	d := newDecoder(wasm, DefaultLimits())
	if d.decode() != nil {
		return 0
	}
	for _, c := range d.functions() {
		if rebuildLoops(c, &d.bounds) != nil {
			n++
		}
	}
	return n
}

// Unrolled counts the loops of a module that Instrument unrolls, in code that
// it does not rebuild.
func Unrolled(wasm []byte) (n int) {
	d := newDecoder(wasm, DefaultLimits())
	if d.decode() != nil {
		return 0
	}
	r := newRewriter(d, Options{Fuel: true})
	for i, c := range r.functions() {
		_, list := r.unroll(c, len(r.typeOf(uint32(r.imported+i)).Results) > 0)
		n += len(list)
	}
	return n
}

// CallCosts counts the functions of a module whose entry is paid for where they
// are called, and those of them that have a door.
func CallCosts(wasm []byte) (callCosts, doors int) {
	d := newDecoder(wasm, DefaultLimits())
	if d.decode() != nil {
		return 0, 0
	}
	r := newRewriter(d, Options{Fuel: true, MaxMemoryPages: 1 << 16, MaxTableElems: 1 << 16})
	r.write()
	for _, f := range r.callCosts {
		if f > 0 {
			callCosts++
		}
	}
	return callCosts, len(r.doors)
}

// functions returns the code of each function.
func (d *decoder) functions() (list []cursor) {
	s := d.found[secCode]
	d.pos, d.end = s.at, s.end
	for range d.u32() {
		size := int(d.u32())
		c := d.cursor
		c.end = c.pos + size
		d.pos += size
		for range c.u32() {
			c.u32()
			c.u8()
		}
		list = append(list, c)
	}
	return list
}
