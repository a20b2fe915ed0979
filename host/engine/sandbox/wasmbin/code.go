package wasmbin

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// codeWriter writes function bodies. Its slices are reused.
type codeWriter struct {
	meter
	checker
	ends    loopEnds // see restructure
	labels  []label  // see place
	looping int      // loops among them
	entry   charge
	edits   []edit // in order of at
	body    []byte
	in      instr
	types   []ValueType // of parameters and locals
	local   uint32      // index of the added i32 local
	used    bool        // whether the local is needed
}

// edit replaces the instruction from at to end.
type edit struct {
	at, end int
	op      byte
	x       uint32
	length  *lengthCharge // charge in front of a bulk instruction
	bulk    bool          // x is the function that stands for it when it moves much
}

// lengthCharge says how an instruction is charged by its last operand, an
// unsigned 32-bit number.
type lengthCharge struct {
	right, left int64 // shifts from the operand to fuel
	most        uint32
	clamp       bool // the operand counts as most at the most
}

// codeContent returns the content of the code section.
func (r *rewriter) codeContent() []byte {
	s := r.found[secCode]
	r.pos, r.end, r.scratch = s.at, s.end, make([]byte, 0, s.end-s.at+(s.end-s.at)/4)
	n := r.entryCount()
	list := make([]source, n)
	for i := range list {
		list[i] = r.source(uint32(r.imported + i))
	}
	if r.maxCallCost > 0 {
		r.setCallCosts(list)
	}
	section := r.cursor
	for i := range list {
		r.functionBody(&list[i])
	}
	r.cursor = section
	return r.codeEntries(n)
}

// codeEntries puts the bodies written so far and those added together.
func (r *rewriter) codeEntries(n int) []byte {
	if n == 0 {
		return nil
	}
	all := appendU32(nil, uint32(n+len(r.add.bodies)))
	all = append(all, r.scratch...)
	for _, b := range r.add.bodies {
		all = append(appendU32(all, uint32(len(b))), b...)
	}
	return all
}

// source is what the body of a function is written from.
type source struct {
	index    uint32
	locals   cursor // at the declarations of its locals
	code     cursor // its code, or what was made of it
	unrolled []unrolled
}

// source reads the body of a function, and restructures it.
func (r *rewriter) source(index uint32) source {
	section := r.end
	size := int(r.u32())
	r.end = r.pos + size
	s := source{index: index, locals: r.cursor}
	r.localTypes(index)
	whole := r.cursor
	s.locals.end = r.pos
	r.restructure(len(r.typeOf(index).Results) > 0)
	s.code, s.unrolled = r.cursor, r.code.unrolled
	r.cursor = whole
	r.pos, r.end = r.end, section
	return s
}

// open makes a function's code what is read next. It returns how many groups of
// locals it has.
func (r *rewriter) open(s *source) (groups uint32) {
	r.cursor = s.locals
	groups = r.localTypes(s.index)
	r.cursor, r.code.unrolled = s.code, s.unrolled
	return groups
}

func (r *rewriter) functionBody(s *source) {
	groups := r.open(s)
	at := r.pos
	r.plan(s.index)
	r.code.body = r.code.body[:0]
	r.writeLocals(s.locals.b[s.locals.pos:s.locals.end], groups)
	r.pos = at
	r.writeCode()
	r.scratch = appendU32(r.scratch, uint32(len(r.code.body)))
	r.scratch = append(r.scratch, r.code.body...)
}

// restructure replaces the function's code, which is about to be read, by code
// in the same meaning that is cheaper to charge.
func (r *rewriter) restructure(results bool) {
	r.code.unrolled = nil
	r.code.ends = r.code.ends[:0]
	if !r.options.Fuel || !bytes.ContainsRune(r.b[r.pos:r.end], opLoop) {
		return
	}
	if bytes.Contains(r.b[r.pos:r.end], dispatchHead) {
		r.read(rebuildLoops(r.cursor, &r.bounds))
	}
	r.code.ends.find(r.cursor, &r.bounds)
	if r.unrolling > 0 {
		code, list := r.unroll(r.cursor, results)
		if code != nil {
			r.read(code)
		}
		r.code.unrolled = list
	}
}

// read makes code what is read next, unless it is nil.
func (r *rewriter) read(code []byte) {
	if code != nil {
		r.cursor = cursor{b: code, end: len(code), section: "code"}
	}
}

// localTypes reads the local declarations of a function and returns how many
// groups of them there are.
func (r *rewriter) localTypes(index uint32) (groups uint32) {
	w := &r.code
	w.types = append(w.types[:0], r.typeOf(index).Params...)
	groups = r.u32()
	for range groups {
		n := r.u32()
		t := ValueType(r.u8())
		for range n {
			w.types = append(w.types, t)
		}
	}
	w.local = uint32(len(w.types))
	return groups
}

// meterBody finds the charges, checks and edits of a body's code.
func (r *rewriter) meterBody(index uint32) {
	w := &r.code
	start := r.pos
	w.edits, w.used = w.edits[:0], false
	w.begin(w.types)
	w.beginSteps()
	length := int64(none) // of a bulk instruction that is next, if it is constant
	for r.pos < r.end {
		r.next(&w.in, &r.bounds)
		if r.options.Fuel {
			w.addCost(r.callCost(&w.in))
			w.add(&w.in, w.addStep(&w.in), r.cursor)
		}
		if length < 0 || length > smallBulk || !w.in.movesMemory() {
			r.edit()
		}
		if length = none; w.in.op == opI32Const {
			length = w.in.value
		}
	}
	if !r.options.Fuel {
		w.charges = w.charges[:0]
		return
	}
	w.entry = r.entry(index)
	w.entry.at = start
	w.charges = append(w.charges, w.entry)
	slices.Reverse(w.charges)
	for _, at := range w.checks {
		w.charges = append(w.charges, charge{at: at, check: checkHere})
	}
	slices.SortStableFunc(w.charges, func(a, b charge) int { return a.at - b.at })
}

// movesMemory reports whether an instruction is memory.copy or memory.fill.
func (in *instr) movesMemory() bool {
	return in.op == opMisc && (in.sub == miscMemoryCopy || in.sub == miscMemoryFill)
}

// edit notes what becomes of the instruction just read.
func (r *rewriter) edit() {
	w := &r.code
	e := edit{at: w.in.at, end: w.in.end, op: w.in.op}
	switch w.in.op {
	case opCall, opReturnCall:
		e.x = r.function(w.in.x)
	case opRefFunc:
		e.x = r.reference(w.in.x)
	case opMisc, opMemoryGrow:
		if !r.options.Fuel || !r.editBulk(&e) {
			return
		}
	default:
		return
	}
	if e.length != nil || e.op != w.in.op || e.x != w.in.x {
		w.edits = append(w.edits, e)
	}
}

// editBulk edits an instruction that is charged by length, if it is one.
func (r *rewriter) editBulk(e *edit) bool {
	in := &r.code.in
	if h, ok := r.bulkHelper(in); ok {
		e.op, e.x, e.bulk = opCall, h, in.movesMemory()
		r.code.used = r.code.used || e.bulk
		return true
	}
	e.length = r.lengthCharge(in)
	r.code.used = r.code.used || e.length != nil
	return e.length != nil
}

// lengthCharge returns nil for instructions not charged by length.
func (r *rewriter) lengthCharge(in *instr) *lengthCharge {
	if in.op == opMemoryGrow {
		return &lengthCharge{left: unitsPerPage, clamp: true, most: r.module.Memory.limit(r.options)}
	}
	switch in.sub {
	case miscMemoryInit:
		return &lengthCharge{right: bytesPerUnit}
	case miscTableInit, miscTableCopy, miscTableFill:
		return &lengthCharge{left: unitsPerEntry}
	case miscTableGrow:
		return &lengthCharge{left: unitsPerEntry, clamp: true, most: r.module.Tables[in.x].limit(r.options)}
	}
	return nil
}

// writeLocals copies the local declarations, with one more when it is used.
func (r *rewriter) writeLocals(locals []byte, groups uint32) {
	w := &r.code
	if !w.used {
		w.body = append(w.body, locals...)
		return
	}
	_, n := binary.Uvarint(locals)
	w.body = appendU32(w.body, groups+1)
	w.body = append(w.body, locals[n:]...)
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
			w.body = r.appendLengthCharge(w.body, e.length, w.local)
			r.copyCode(e.end)
			continue
		}
		if e.bulk {
			w.body = r.appendSmallBulk(w.body, r.b[e.at:e.end], e.x)
		} else {
			w.body = appendIndexed(w.body, e.op, e.x)
		}
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

// writeCharge writes a charge and its check.
func (r *rewriter) writeCharge(c charge) {
	r.copyCode(c.at)
	if c.cost == 0 && c.check == unchecked {
		return
	}
	r.points++
	b := r.code.body
	switch c.check {
	case unchecked:
		b = r.appendCharge(b, c.cost)
	case checkHere:
		if c.cost > 0 {
			b = r.appendCharge(b, c.cost)
		}
		b = r.appendCheck(b)
	case checkEntry:
		if c.cost == 0 {
			b = r.appendCheck(b)
			break
		}
		b = append(b, opLoop, blockEmpty)
		b = append(r.appendRetry(b, c.cost, nil, 1), opEnd)
	case checkLoop:
		b = r.appendRetry(b, c.cost, r.code.list[c.loop].carried, 1)
	}
	r.code.body = b
}

// appendCharge appends: fuel -= cost.
func (r *rewriter) appendCharge(b []byte, cost int64) []byte {
	b = appendIndexed(b, opGlobalGet, r.fuel)
	b = appendSigned(append(b, opI64Const), cost)
	return appendIndexed(append(b, opI64Sub), opGlobalSet, r.fuel)
}

// appendCheck appends: if fuel < 0 { tick() }.
func (r *rewriter) appendCheck(b []byte) []byte {
	b = r.appendIfUsedUp(b)
	return append(appendIndexed(b, opCall, r.tick), opEnd)
}

func (r *rewriter) appendIfUsedUp(b []byte) []byte {
	b = appendIndexed(b, opGlobalGet, r.fuel)
	return append(b, opI64Const, 0, opI64LtS, opIf, blockEmpty)
}

// appendRetry appends, at the head of a loop, the charge for a turn:
//
//	fuel -= cost; if fuel < 0 { tick(); fuel += cost; continue }
//
// and passes the locals that change from turn to turn through the call. Going
// back to the head keeps the way on free of what the call does to a compiler's
// registers, and passing the locals keeps them in registers.
func (r *rewriter) appendRetry(b []byte, cost int64, carried []uint32, label uint32) []byte {
	b = appendIndexed(r.appendCharge(b, cost), opGlobalGet, r.fuel)
	b = append(b, opI64Const, 0, opI64GeS, opIf, blockEmpty, opElse)
	return r.appendPause(b, cost, carried, label)
}

// appendPause appends the call of a pause helper and what is behind it.
func (r *rewriter) appendPause(b []byte, cost int64, carried []uint32, label uint32) []byte {
	for _, x := range carried {
		b = appendIndexed(b, opLocalGet, x)
	}
	b = appendSigned(append(b, opI64Const), cost)
	b = appendIndexed(b, opCall, r.pauseHelper(carried))
	for i := len(carried) - 1; i >= 0; i-- {
		b = appendIndexed(b, opLocalSet, carried[i])
	}
	return append(appendIndexed(b, opBr, label), opEnd)
}

// appendLengthCharge appends, with n the operand on the stack, which stays
// there: fuel -= min(n, most) >> right << left; if fuel < 0 { tick() }.
func (r *rewriter) appendLengthCharge(b []byte, l *lengthCharge, local uint32) []byte {
	b = appendIndexed(b, opLocalTee, local)
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
	return r.appendCheck(b)
}
