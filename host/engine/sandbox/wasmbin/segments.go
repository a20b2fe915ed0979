package wasmbin

// Flags of an element segment (core specification 5.5.12).
const (
	elemPassive  = 1 // or, with elemExplicit, declarative
	elemExplicit = 2 // names its table, or is declarative
	elemExprs    = 4 // entries are expressions
)

func (d *decoder) elementSection() {
	n := d.count("element segments", d.limits.ElementSegments, 2)
	for i := 0; i < n && d.err == nil; i++ {
		d.elementSegment()
		d.elems++
	}
}

func (d *decoder) elementSegment() {
	at := d.pos
	flags := d.u32()
	if flags > 7 {
		d.malformed(at, "unknown element flags %d", flags)
		return
	}
	if flags&elemPassive == 0 {
		d.activeOffset(flags)
	}
	if flags&(elemPassive|elemExplicit) != 0 {
		d.elementKind(flags)
	}
	d.elementEntries(flags)
}

func (d *decoder) activeOffset(flags uint32) {
	at := d.pos
	table := uint32(0)
	if flags&elemExplicit != 0 {
		table = d.u32()
	}
	if int64(table) >= int64(d.tables) {
		d.malformed(at, "table %d of %d", table, d.tables)
	}
	d.constExpr()
}

func (d *decoder) elementKind(flags uint32) {
	if flags&elemExprs != 0 {
		d.refType()
		return
	}
	at := d.pos
	if k := d.u8(); k != 0 {
		d.malformed(at, "unknown element kind 0x%02x", k)
	}
}

func (d *decoder) elementEntries(flags uint32) {
	at := d.pos
	n := d.count("element entries", d.limits.ElementEntries, 1)
	if d.entries += n; d.entries > d.limits.ElementEntries {
		d.tooLarge(at, "more than %d element entries", d.limits.ElementEntries)
	}
	for ; n > 0 && d.err == nil; n-- {
		if flags&elemExprs != 0 {
			d.constExpr()
		} else {
			d.declare(d.index("function", d.funcs))
		}
	}
}

// declare notes a function that is mentioned outside of code, and so may be
// referred to in code.
func (d *decoder) declare(function uint32) {
	if d.err == nil {
		d.declared[function] = true
	}
}

func (d *decoder) dataSection() {
	at := d.pos
	n := d.count("data segments", d.limits.DataSegments, 2)
	if d.dataCount && n != d.datas {
		d.malformed(at, "%d data segments, but %d declared", n, d.datas)
	}
	for i := 0; i < n && d.err == nil; i++ {
		d.dataSegment()
	}
}

func (d *decoder) dataSegment() {
	at := d.pos
	switch flags := d.u32(); flags {
	case 0:
		d.activeData(at)
	case 1:
	case 2:
		if i := d.u32(); i != 0 {
			d.unsupported(at, "memory %d needs multi-memory", i)
		}
		d.activeData(at)
	default:
		d.malformed(at, "unknown data flags %d", flags)
	}
	n := d.size("data segment")
	d.skip(n)
	d.segmentBytes = append(d.segmentBytes, n)
	d.module.DataBytes += n
}

func (d *decoder) activeData(at int) {
	if !d.memory {
		d.malformed(at, "data segment without a memory")
	}
	d.constExpr()
}

// constExpr reads a constant expression with its end (core specification
// 3.3.10 and the extended-const proposal).
func (d *decoder) constExpr() {
	in := instr{}
	for d.err == nil {
		d.next(&in, &d.bounds)
		if d.err != nil || in.op == opEnd {
			return
		}
		if in.op == opRefFunc {
			d.declare(in.x)
		}
		if !in.constant() {
			d.malformed(in.at, "opcode 0x%02x in a constant expression", in.op)
		}
	}
}

// constant reports whether an instruction may be in a constant expression.
// Those of i32 and i64 that add, subtract and multiply are of extended-const.
func (in *instr) constant() bool {
	switch in.op {
	case opI32Const, opI64Const, opF32Const, opF64Const, opGlobalGet, opRefNull, opRefFunc:
		return true
	case opSIMD:
		return in.sub == simdConst
	}
	return in.op >= opI32Add && in.op <= opI32Mul || in.op >= opI64Add && in.op <= opI64Mul
}
