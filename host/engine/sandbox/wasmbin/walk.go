package wasmbin

import "math"

// Instruction is one instruction of a function or constant expression.
type Instruction struct {
	// Op is its opcode; behind the prefixes 0xfc and 0xfd Sub is the rest of it.
	Op  byte
	Sub uint32
	// X and Y are its immediates that are indexes: of a label, local, global,
	// function, table, segment or tag; for call_indirect the type and the table; for
	// table.init and table.copy the table (of the destination), and the segment
	// or the source in Y; for elem.drop the segment in Y.
	X, Y uint32
	// BlockType is the type index of a block, or negative for the short forms.
	BlockType int64
	// Bytes is the whole instruction. It aliases the code.
	Bytes []byte
}

// Walk reads the instructions of a function's code, or of a constant
// expression, and calls each for every one, with a value that is good until it
// returns. It checks that instructions are known and whole, and no index. The
// error is an *Error whose offset is in the code.
func Walk(code []byte, each func(in *Instruction)) error {
	c := cursor{b: code, end: len(code), section: "code"}
	in, b := instr{}, anything()
	var out Instruction
	for c.more() {
		c.next(&in, &b)
		if c.err == nil {
			out = Instruction{in.op, in.sub, in.x, in.y, in.bt, code[in.at:in.end]}
			each(&out)
		}
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// anything is bounds that every index is within.
func anything() bounds {
	const most = math.MaxInt32
	return bounds{
		types: most, funcs: most, tables: most, globals: most, elems: most, datas: most,
		tags: most, memory: true, dataCount: true, branchTargets: most,
	}
}

// Renumbering says which index stands for which. A nil function keeps them.
type Renumbering struct {
	Func, Type, Table, Global, Elements, Data func(uint32) uint32
}

// Apply writes code with its indexes renumbered. The error is that of [Walk].
func (n *Renumbering) Apply(code []byte) ([]byte, error) {
	out := make([]byte, 0, len(code)+len(code)/8)
	err := Walk(code, func(in *Instruction) { out = n.append(out, in) })
	return out, err
}

func (n *Renumbering) append(out []byte, in *Instruction) []byte {
	switch in.Op {
	case opCall, opReturnCall, opRefFunc:
		return appendIndexed(out, in.Op, to(n.Func, in.X))
	case opCallIndirect, opReturnCallIndirect:
		return appendU32(appendIndexed(out, in.Op, to(n.Type, in.X)), to(n.Table, in.Y))
	case opGlobalGet, opGlobalSet:
		return appendIndexed(out, in.Op, to(n.Global, in.X))
	case opTableGet, opTableSet:
		return appendIndexed(out, in.Op, to(n.Table, in.X))
	case opBlock, opLoop, opIf:
		if in.BlockType >= 0 {
			return appendSigned(append(out, in.Op), int64(to(n.Type, uint32(in.BlockType))))
		}
	case opMisc:
		return n.appendBulk(out, in)
	}
	return append(out, in.Bytes...)
}

func (n *Renumbering) appendBulk(out []byte, in *Instruction) []byte {
	b := appendIndexed(out, opMisc, in.Sub)
	switch in.Sub {
	case miscMemoryInit:
		return append(appendU32(b, to(n.Data, in.X)), 0)
	case miscDataDrop:
		return appendU32(b, to(n.Data, in.X))
	case miscTableInit:
		return appendU32(appendU32(b, to(n.Elements, in.Y)), to(n.Table, in.X))
	case miscElemDrop:
		return appendU32(b, to(n.Elements, in.Y))
	case miscTableCopy:
		return appendU32(appendU32(b, to(n.Table, in.X)), to(n.Table, in.Y))
	case miscTableGrow, miscTableSize, miscTableFill:
		return appendU32(b, to(n.Table, in.X))
	}
	return append(out, in.Bytes...)
}

// to maps an index.
func to(f func(uint32) uint32, i uint32) uint32 {
	if f == nil {
		return i
	}
	return f(i)
}
