package wasmbin

// instr is one decoded instruction.
type instr struct {
	at, end int // offsets of its first byte and behind its last
	op      byte
	sub     uint32 // opcode behind a prefix
	opcode
	x, y   uint32 // immediates: label, index; number of branch targets
	labels int    // offset of the branch targets, or of the clauses of a try_table
	value  int64  // constant of i32.const
	bt     int64  // block type: a type index, or negative for the short forms
}

// bounds is what the immediates of an instruction are checked against.
type bounds struct {
	types, funcs, tables, globals, elems, datas, tags int
	memory, dataCount                                 bool
	branchTargets                                     int
}

// next reads one instruction into in.
func (c *cursor) next(in *instr, b *bounds) {
	in.at = c.pos
	in.op = c.u8()
	in.opcode = plainOpcodes[in.op]
	switch in.imm {
	case immMisc:
		c.misc(in)
	case immSIMD:
		c.simd(in)
	}
	if in.imm <= immRelaxed {
		c.refuseOpcode(in)
		return
	}
	if in.imm < immTable {
		c.controlImmediates(in, b)
	} else {
		c.dataImmediates(in, b)
	}
	in.end = c.pos
}

func (c *cursor) misc(in *instr) {
	in.sub = c.u32()
	in.opcode = opcode{}
	if in.sub < 256 {
		in.opcode = miscOpcodes[in.sub]
	}
}

// simd reads the opcode behind 0xfd. Only the shortest encoding is accepted:
// wazero reads one byte and takes the second byte of a longer one (always 0x01
// in the shortest encoding) for a nop, so any other would be read as something
// else there than here.
func (c *cursor) simd(in *instr) {
	at := c.pos
	in.sub = c.u32()
	short := c.pos-at == 1 || (c.pos-at == 2 && in.sub >= 0x80)
	switch {
	case in.sub >= 256:
		in.opcode = opcode{imm: immUnknown}
		if in.sub < 0x114 {
			in.opcode.imm = immRelaxed
		}
	case !short:
		c.malformed(in.at, "opcode 0xfd 0x%x is not in its shortest encoding", in.sub)
	default:
		in.opcode = simdOpcodes[in.sub]
	}
}

func (c *cursor) refuseOpcode(in *instr) {
	name := "opcode 0x%02x"
	args := []any{in.op}
	if in.op == opMisc || in.op == opSIMD {
		name, args = name+" 0x%02x", append(args, in.sub)
	}
	if p := in.imm.proposal(); p != "" {
		c.unsupported(in.at, name+" needs %s", append(args, p)...)
		return
	}
	c.malformed(in.at, "unknown "+name, args...)
}

// controlImmediates reads the immediates of control, parametric and variable
// instructions. Labels and locals are checked by the body, which knows them.
func (c *cursor) controlImmediates(in *instr, b *bounds) {
	switch in.imm {
	case immNone:
	case immBlock:
		in.bt = c.blockType(b)
	case immLabel, immLocal:
		in.x = c.u32()
	case immLabels:
		in.x = uint32(c.count("branch targets", b.branchTargets, 1))
		in.labels = c.pos
		for i := uint32(0); i <= in.x; i++ {
			c.u32()
		}
	case immFunc:
		in.x = c.index("function", b.funcs)
	case immIndirect:
		in.x = c.index("type", b.types)
		in.y = c.index("table", b.tables)
	case immTypes:
		if n := c.count("select types", c.left(), 1); n != 1 {
			c.malformed(in.at, "select with %d types", n)
		}
		c.valueType()
	case immGlobal:
		in.x = c.index("global", b.globals)
	case immTry:
		c.tryTable(in, b)
	case immTag:
		in.x = c.index("tag", b.tags)
		c.exceptions = true
	case immException:
		c.exceptions = true
	}
}

// dataImmediates reads the immediates of table, memory, numeric, reference and
// vector instructions.
func (c *cursor) dataImmediates(in *instr, b *bounds) {
	switch in.imm {
	case immTable:
		in.x = c.index("table", b.tables)
	case immMemory:
		c.memoryArg(in, b)
	case immMemByte:
		c.memoryIndex(in, b)
	case immI32:
		in.value = c.signed(32)
	case immI64:
		c.signed(64)
	case imm4:
		c.skip(4)
	case imm8:
		c.skip(8)
	case imm16:
		c.skip(16)
	case immRefType:
		c.heapType()
	case immLane:
		c.skip(1)
	case immLanes:
		c.skip(16)
	case immMemoryLane:
		c.memoryArg(in, b)
		c.skip(1)
	default:
		c.bulkImmediates(in, b)
	}
}

func (c *cursor) bulkImmediates(in *instr, b *bounds) {
	switch in.imm {
	case immDataMem:
		in.x = c.dataIndex(b)
		c.memoryIndex(in, b)
	case immData:
		in.x = c.dataIndex(b)
	case immMemMem:
		c.memoryIndex(in, b)
		c.memoryIndex(in, b)
	case immElemTable:
		in.y = c.index("element segment", b.elems)
		in.x = c.index("table", b.tables)
	case immElem:
		in.y = c.index("element segment", b.elems)
	case immTableTable:
		in.x = c.index("table", b.tables)
		in.y = c.index("table", b.tables)
	}
}

func (c *cursor) dataIndex(b *bounds) uint32 {
	if !b.dataCount {
		c.malformed(c.pos, "data segment used in code without a data count section")
	}
	return c.index("data segment", b.datas)
}

func (c *cursor) memoryIndex(in *instr, b *bounds) {
	at := c.pos
	i := c.u8()
	if c.err != nil {
		return
	}
	if !b.memory {
		c.malformed(in.at, "memory instruction without a memory")
	} else if i != 0 {
		c.unsupported(at, "memory %d needs multi-memory", i)
	}
}

func (c *cursor) memoryArg(in *instr, b *bounds) {
	at := c.pos
	align := c.u32()
	switch {
	case !b.memory:
		c.malformed(in.at, "memory instruction without a memory")
	case align >= 64 && align < 128:
		c.unsupported(at, "memory argument 0x%x needs multi-memory", align)
	case align > 31:
		c.malformed(at, "alignment 2^%d", align)
	}
	c.u32()
}

// blockType reads a block type: a type index, or one of the negative short
// forms, which take one byte.
func (c *cursor) blockType(b *bounds) int64 {
	at := c.pos
	v := c.signed(33)
	if c.err != nil {
		return 0
	}
	if v >= 0 {
		if v >= int64(b.types) {
			c.malformed(at, "block type %d of %d", v, b.types)
		}
		return v
	}
	if t := ValueType(v & 0x7f); c.pos-at != 1 {
		c.malformed(at, "block type is not in its shortest encoding")
	} else if t != blockEmpty && !t.known() {
		c.foreignType(at, byte(t))
	} else if t == ExnRef {
		c.exceptions = true
	}
	return v
}

// heapType reads the type of ref.null.
func (c *cursor) heapType() {
	at := c.pos
	t := c.u8()
	c.exceptions = c.exceptions || t == byte(ExnRef)
	if c.err != nil || t == byte(FuncRef) || t == byte(ExternRef) || t == byte(ExnRef) {
		return
	}
	if t&0x40 == 0 || t >= 0x80 {
		c.unsupported(at, "reference to a type index needs typed-function-references")
		return
	}
	c.foreignType(at, t)
}
