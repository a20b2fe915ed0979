package wasmtest

import (
	"encoding/binary"
	"math"
	"slices"
)

// Empty is the block type of a block without parameters and results.
const Empty byte = 0x40

// U32 encodes an unsigned number in LEB128.
func U32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// S64 encodes a signed number in LEB128.
func S64(v int64) []byte {
	var out []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}

// Code joins pieces of code.
func Code(parts ...[]byte) []byte { return slices.Concat(parts...) }

// Op is an instruction given by its bytes: Op(0x6a) is i32.add.
func Op(b ...byte) []byte { return b }

// I32Const is i32.const.
func I32Const(v int32) []byte { return slices.Concat(Op(0x41), S64(int64(v))) }

// I64Const is i64.const.
func I64Const(v int64) []byte { return slices.Concat(Op(0x42), S64(v)) }

// F64Const is f64.const.
func F64Const(v float64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(v))
}

// LocalGet is local.get.
func LocalGet(i int) []byte { return indexed(0x20, i) }

// LocalSet is local.set.
func LocalSet(i int) []byte { return indexed(0x21, i) }

// LocalTee is local.tee.
func LocalTee(i int) []byte { return indexed(0x22, i) }

// GlobalGet is global.get.
func GlobalGet(i int) []byte { return indexed(0x23, i) }

// GlobalSet is global.set.
func GlobalSet(i int) []byte { return indexed(0x24, i) }

// Call is call.
func Call(f int) []byte { return indexed(0x10, f) }

// ReturnCall is return_call.
func ReturnCall(f int) []byte { return indexed(0x12, f) }

// CallIndirect is call_indirect through a table.
func CallIndirect(typeIndex, table int) []byte {
	return slices.Concat(indexed(0x11, typeIndex), U32(uint32(table)))
}

// ReturnCallIndirect is return_call_indirect through a table.
func ReturnCallIndirect(typeIndex, table int) []byte {
	return slices.Concat(indexed(0x13, typeIndex), U32(uint32(table)))
}

// RefFunc is ref.func.
func RefFunc(f int) []byte { return indexed(0xd2, f) }

// Throw is throw.
func Throw(tag int) []byte { return indexed(0x08, tag) }

// ThrowRef is throw_ref.
func ThrowRef() []byte { return Op(0x0a) }

// Catch is a clause of a try_table, CatchRef one that passes the exception on, and
// CatchAll and CatchAllRef are the same for all tags.
func Catch(tag, label int) []byte { return clause(0, tag, label) }

// CatchRef: see Catch.
func CatchRef(tag, label int) []byte { return clause(1, tag, label) }

// CatchAll: see Catch.
func CatchAll(label int) []byte { return indexed(2, label) }

// CatchAllRef: see Catch.
func CatchAllRef(label int) []byte { return indexed(3, label) }

func clause(kind byte, tag, label int) []byte {
	return slices.Concat(indexed(kind, tag), U32(uint32(label)))
}

// TryTable is try_table with its code and end. blockType is encoded.
func TryTable(blockType []byte, clauses [][]byte, code ...[]byte) []byte {
	return slices.Concat(Op(0x1f), blockType, U32(uint32(len(clauses))), slices.Concat(clauses...), Code(code...), Op(0x0b))
}

// Br is br.
func Br(label int) []byte { return indexed(0x0c, label) }

// BrIf is br_if.
func BrIf(label int) []byte { return indexed(0x0d, label) }

// BrTable is br_table: the labels, then the default.
func BrTable(labels []int, def int) []byte {
	out := indexed(0x0e, len(labels))
	for _, l := range labels {
		out = append(out, U32(uint32(l))...)
	}
	return append(out, U32(uint32(def))...)
}

// Block is a block with a one-byte block type (Empty or a value type).
func Block(blockType byte, code ...[]byte) []byte { return nest(0x02, blockType, code) }

// Loop is a loop.
func Loop(blockType byte, code ...[]byte) []byte { return nest(0x03, blockType, code) }

// If is an if without else.
func If(blockType byte, code ...[]byte) []byte { return nest(0x04, blockType, code) }

// IfElse is an if with both arms.
func IfElse(blockType byte, then, otherwise []byte) []byte {
	return nest(0x04, blockType, [][]byte{then, Op(0x05), otherwise})
}

// Load is a load instruction such as 0x28 (i32.load) with offset and no
// alignment hint.
func Load(op byte, offset uint32) []byte { return slices.Concat(Op(op, 0), U32(offset)) }

// Store is a store instruction such as 0x36 (i32.store).
func Store(op byte, offset uint32) []byte { return Load(op, offset) }

// MemoryGrow is memory.grow.
func MemoryGrow() []byte { return Op(0x40, 0) }

// MemorySize is memory.size.
func MemorySize() []byte { return Op(0x3f, 0) }

// MemoryFill is memory.fill.
func MemoryFill() []byte { return Op(0xfc, 11, 0) }

// MemoryCopy is memory.copy.
func MemoryCopy() []byte { return Op(0xfc, 10, 0, 0) }

// MemoryInit is memory.init from a data segment.
func MemoryInit(segment int) []byte {
	return slices.Concat(Op(0xfc, 8), U32(uint32(segment)), Op(0))
}

// Drop is drop.
func Drop() []byte { return Op(0x1a) }

// Return is return.
func Return() []byte { return Op(0x0f) }

// Unreachable is unreachable.
func Unreachable() []byte { return Op(0x00) }

func indexed(op byte, i int) []byte { return slices.Concat(Op(op), U32(uint32(i))) }

func nest(op, blockType byte, code [][]byte) []byte {
	return slices.Concat(Op(op, blockType), Code(code...), Op(0x0b))
}
