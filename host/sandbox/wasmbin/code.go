package wasmbin

// codeWriter writes function bodies. Its slices are reused.
type codeWriter struct {
	meter
	edits []edit // in order of at
	body  []byte
	in    instr
	local uint32 // index of the added i32 local
	used  bool   // whether the local is needed
}

// edit replaces the instruction from at to end.
type edit struct {
	at, end int
	op      byte
	x       uint32
	length  *lengthCharge // charge in front of a bulk instruction
}

// lengthCharge says how an instruction is charged by its last operand, an
// unsigned 32-bit number.
type lengthCharge struct {
	right, left int64 // shifts from the operand to fuel
	most        uint32
	clamp       bool // the operand counts as most at the most
}

func (r *rewriter) codeSection() {
	n := r.entryCount()
	if n == 0 {
		return
	}
	r.scratch = appendU32(r.scratch, uint32(n))
	for i := 0; i < n; i++ {
		r.functionBody(uint32(r.imported + i))
	}
}

func (r *rewriter) functionBody(index uint32) {
	section := r.end
	size := int(r.u32())
	r.end = r.pos + size
	from := r.pos
	groups, locals := r.localGroups()
	w := &r.code
	w.local = uint32(len(r.typeOf(index).Params) + locals)
	code := r.pos
	r.plan()
	w.body = w.body[:0]
	r.writeLocals(from, code, groups)
	r.pos = code
	r.writeCode()
	r.scratch = appendU32(r.scratch, uint32(len(w.body)))
	r.scratch = append(r.scratch, w.body...)
	r.end = section
}

// localGroups reads the local declarations.
func (r *rewriter) localGroups() (groups uint32, locals int) {
	groups = r.u32()
	for i := uint32(0); i < groups; i++ {
		locals += int(r.u32())
		r.u8()
	}
	return groups, locals
}

// plan finds the charges and edits of a body's code.
func (r *rewriter) plan() {
	w := &r.code
	w.edits, w.used = w.edits[:0], false
	w.begin(r.pos)
	for r.pos < r.end {
		r.next(&w.in, &r.bounds)
		w.add(&w.in)
		r.edit()
	}
	w.finish()
	if !r.options.Fuel {
		w.charges = w.charges[:0]
	}
}

// edit notes what becomes of the instruction just read.
func (r *rewriter) edit() {
	w := &r.code
	e := edit{at: w.in.at, end: w.in.end, op: w.in.op}
	switch w.in.op {
	case opCall, opReturnCall, opRefFunc:
		if e.x = r.function(w.in.x); e.x != w.in.x {
			w.edits = append(w.edits, e)
		}
	case opMisc, opMemoryGrow:
		if e.length = r.lengthCharge(&w.in); e.length != nil {
			w.used = true
			w.edits = append(w.edits, e)
		}
	}
}

// lengthCharge returns nil for instructions not charged by length.
func (r *rewriter) lengthCharge(in *instr) *lengthCharge {
	if !r.options.Fuel {
		return nil
	}
	if in.op == opMemoryGrow {
		return &lengthCharge{left: unitsPerPage, clamp: true, most: r.module.Memory.limit(r.options)}
	}
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		return &lengthCharge{right: bytesPerUnit}
	case miscTableInit, miscTableCopy, miscTableFill:
		return &lengthCharge{left: unitsPerEntry}
	case miscTableGrow:
		return &lengthCharge{left: unitsPerEntry, clamp: true, most: r.module.Tables[in.x].limit(r.options)}
	}
	return nil
}

// writeLocals copies the local declarations, with one more when it is used.
func (r *rewriter) writeLocals(from, code int, groups uint32) {
	w := &r.code
	if !w.used {
		w.body = append(w.body, r.b[from:code]...)
		return
	}
	r.pos = from
	r.u32()
	w.body = appendU32(w.body, groups+1)
	w.body = append(w.body, r.b[r.pos:code]...)
	w.body = append(w.body, 1, byte(I32))
}

// writeCode copies the code with charges and edits.
func (r *rewriter) writeCode() {
	w := &r.code
	charges := w.charges
	for _, e := range w.edits {
		for len(charges) > 0 && charges[0].at <= e.at {
			r.writeCharge(charges[0])
			charges = charges[1:]
		}
		r.copyCode(e.at)
		if e.length != nil {
			r.writeLengthCharge(e.length)
			r.copyCode(e.end)
			continue
		}
		w.body = appendIndexed(w.body, e.op, e.x)
		r.pos = e.end
	}
	for _, c := range charges {
		r.writeCharge(c)
	}
	r.copyCode(r.end)
}

func (r *rewriter) copyCode(at int) {
	r.code.body = append(r.code.body, r.b[r.pos:at]...)
	r.pos = at
}

// writeCharge writes: fuel -= cost; if check && fuel < 0 { tick() }.
func (r *rewriter) writeCharge(c charge) {
	r.copyCode(c.at)
	b := appendIndexed(r.code.body, opGlobalGet, r.fuel)
	b = appendSigned(append(b, opI64Const), c.cost)
	b = appendIndexed(append(b, opI64Sub), opGlobalSet, r.fuel)
	if c.check {
		b = r.appendCheck(b)
	}
	r.code.body = b
}

func (r *rewriter) appendCheck(b []byte) []byte {
	b = appendIndexed(b, opGlobalGet, r.fuel)
	b = append(b, opI64Const, 0, opI64LtS, opIf, blockEmpty)
	return append(appendIndexed(b, opCall, r.tick), opEnd)
}

// writeLengthCharge writes, with n the operand on the stack, which stays there:
// fuel -= min(n, most) >> right << left; if fuel < 0 { tick() }.
func (r *rewriter) writeLengthCharge(l *lengthCharge) {
	local := r.code.local
	b := appendIndexed(r.code.body, opLocalTee, local)
	b = appendIndexed(b, opGlobalGet, r.fuel)
	b = appendIndexed(b, opLocalGet, local)
	if l.clamp {
		b = appendSigned(append(b, opI32Const), int64(int32(l.most)))
		b = appendIndexed(b, opLocalGet, local)
		b = appendSigned(append(b, opI32Const), int64(int32(l.most)))
		b = append(b, opI32LtU, opSelect)
	}
	b = append(b, opI64ExtendI32U)
	if l.right > 0 {
		b = append(appendSigned(append(b, opI64Const), l.right), opI64ShrU)
	}
	if l.left > 0 {
		b = append(appendSigned(append(b, opI64Const), l.left), opI64Shl)
	}
	b = appendIndexed(append(b, opI64Sub), opGlobalSet, r.fuel)
	r.code.body = r.appendCheck(b)
}
