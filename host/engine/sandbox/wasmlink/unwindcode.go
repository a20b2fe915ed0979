package wasmlink

import (
	"encoding/binary"
	"fmt"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Opcodes the rewriting of unwinding calls names (core specification 5.4).
const (
	codeUnreachable  = 0x00
	codeBlock        = 0x02
	codeLoop         = 0x03
	codeIf           = 0x04
	codeElse         = 0x05
	codeEnd          = 0x0b
	codeBr           = 0x0c
	codeBrIf         = 0x0d
	codeBrTable      = 0x0e
	codeReturn       = 0x0f
	codeCall         = 0x10
	codeCallIndirect = 0x11
	codeTailCall     = 0x12
	codeTailIndirect = 0x13
	codeSelect       = 0x1b
	codeLocalGet     = 0x20
	codeLocalSet     = 0x21
	codeLocalTee     = 0x22
	codeGlobalGet    = 0x23
	codeGlobalSet    = 0x24
	codeStore        = 0x36
	codeConst        = 0x41
	codeAdd          = 0x6a
	codeSub          = 0x6b
	codeMisc         = 0xfc
)

// emptyType is the block type of a block without a result.
const emptyType = 0x40

// instruction is a decoded instruction.
type instruction struct {
	op     byte
	sub    uint32 // behind a prefix
	x      uint32 // label, local, global or function; the type of an indirect call
	block  int64  // type of a block
	labels []uint32
	bytes  []byte
}

// result is what a block leaves, 0 for nothing.
func (in *instruction) result() wasmbin.ValueType {
	if in.block&0x7f == emptyType {
		return 0
	}
	return wasmbin.ValueType(in.block & 0x7f)
}

// decode reads the instructions of a function, and checks those indexes that
// the rewriting relies on.
func (m *Module) decode(code []byte) ([]instruction, error) {
	var list []instruction
	var fault error
	depth := 1
	err := wasmbin.Walk(code, func(in *wasmbin.Instruction) {
		next := instruction{op: in.Op, sub: in.Sub, x: in.X, block: in.BlockType, bytes: in.Bytes}
		depth = m.follow(&next, depth)
		if depth < 0 && fault == nil {
			fault = fmt.Errorf("instruction %d does not fit the module", len(list))
		}
		list = append(list, next)
	})
	if err == nil {
		err = fault
	}
	if err == nil && depth != 0 {
		err = fmt.Errorf("a block has no end")
	}
	return list, err
}

// follow returns how many blocks are open behind an instruction, the function
// counted, or a negative number when it cannot be where it is.
func (m *Module) follow(in *instruction, depth int) int {
	fits := depth > 0
	switch in.op {
	case codeBlock, codeLoop, codeIf:
		depth++
	case codeEnd:
		depth--
	case codeBr, codeBrIf:
		fits = fits && int64(in.x) < int64(depth)
	case codeBrTable:
		in.labels = readLabels(in.bytes)
		for _, l := range in.labels {
			fits = fits && int64(l) < int64(depth)
		}
	case codeCall:
		fits = fits && int64(in.x) < int64(len(m.Imports)+len(m.Functions))
	case codeCallIndirect:
		fits = fits && int64(in.x) < int64(len(m.Types))
	}
	if !fits {
		return -1 << 31
	}
	return depth
}

// readLabels reads the labels of a br_table with the default.
func readLabels(b []byte) []uint32 {
	n, size := binary.Uvarint(b[1:])
	b = b[1+size:]
	labels := make([]uint32, 0, n+1)
	for range n + 1 {
		l, size := binary.Uvarint(b)
		labels = append(labels, uint32(l))
		b = b[size:]
	}
	return labels
}

// A stackEffect is what the instructions from first to last do to the operand
// stack: how many they pop, and what they push, 0 for nothing. Control
// instructions, calls, variables and select are not in the tables.
type stackEffect struct {
	first, last byte
	pops        int
	push        wasmbin.ValueType
}

var stackEffects = [...]stackEffect{
	{0x01, 0x01, 0, 0}, {0x1a, 0x1a, 1, 0}, // nop, drop
	{0x28, 0x28, 1, wasmbin.I32}, {0x29, 0x29, 1, wasmbin.I64}, {0x2a, 0x2a, 1, wasmbin.F32}, {0x2b, 0x2b, 1, wasmbin.F64},
	{0x2c, 0x2f, 1, wasmbin.I32}, {0x30, 0x35, 1, wasmbin.I64}, {0x36, 0x3e, 2, 0}, // loads, stores
	{0x3f, 0x3f, 0, wasmbin.I32}, {0x40, 0x40, 1, wasmbin.I32}, // memory.size, memory.grow
	{0x41, 0x41, 0, wasmbin.I32}, {0x42, 0x42, 0, wasmbin.I64}, {0x43, 0x43, 0, wasmbin.F32}, {0x44, 0x44, 0, wasmbin.F64},
	{0x45, 0x45, 1, wasmbin.I32}, {0x46, 0x4f, 2, wasmbin.I32}, {0x50, 0x50, 1, wasmbin.I32}, {0x51, 0x66, 2, wasmbin.I32}, // comparisons
	{0x67, 0x69, 1, wasmbin.I32}, {0x6a, 0x78, 2, wasmbin.I32}, {0x79, 0x7b, 1, wasmbin.I64}, {0x7c, 0x8a, 2, wasmbin.I64},
	{0x8b, 0x91, 1, wasmbin.F32}, {0x92, 0x98, 2, wasmbin.F32}, {0x99, 0x9f, 1, wasmbin.F64}, {0xa0, 0xa6, 2, wasmbin.F64},
	{0xa7, 0xab, 1, wasmbin.I32}, {0xac, 0xb1, 1, wasmbin.I64}, {0xb2, 0xb6, 1, wasmbin.F32}, {0xb7, 0xbb, 1, wasmbin.F64}, // conversions
	{0xbc, 0xbc, 1, wasmbin.I32}, {0xbd, 0xbd, 1, wasmbin.I64}, {0xbe, 0xbe, 1, wasmbin.F32}, {0xbf, 0xbf, 1, wasmbin.F64},
	{0xc0, 0xc1, 1, wasmbin.I32}, {0xc2, 0xc4, 1, wasmbin.I64},
}

// miscEffects are those behind the prefix 0xfc: conversions, memory.init,
// data.drop, memory.copy and memory.fill.
var miscEffects = [...]stackEffect{
	{0, 3, 1, wasmbin.I32}, {4, 7, 1, wasmbin.I64}, {8, 8, 3, 0}, {9, 9, 0, 0}, {10, 11, 3, 0},
}

// effect looks an instruction up in the tables.
func (in *instruction) effect() (stackEffect, bool) {
	table, op := stackEffects[:], uint32(in.op)
	if in.op == codeMisc {
		table, op = miscEffects[:], in.sub
	}
	for _, e := range table {
		if op >= uint32(e.first) && op <= uint32(e.last) {
			return e, true
		}
	}
	return stackEffect{}, false
}
