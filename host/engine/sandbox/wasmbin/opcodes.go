package wasmbin

// imm says which immediates follow an opcode (core specification 5.4).
type imm byte

const (
	immUnknown imm = iota // no instruction of a known proposal
	immThreads
	immExceptions
	immFuncRefs
	immGC
	immRelaxed
	immNone
	immBlock    // block type
	immLabel    // label
	immLabels   // labels and a default
	immFunc     // function
	immIndirect // type and table
	immTypes    // vector of one value type
	immLocal
	immGlobal
	immTry       // block type and clauses
	immTag       // tag
	immException // none, of exception-handling
	immTable
	immMemory  // alignment and offset
	immMemByte // reserved zero byte
	immI32
	immI64
	imm4
	imm8
	immRefType
	immMisc // 0xfc prefix
	immSIMD // 0xfd prefix
	immDataMem
	immData
	immMemMem
	immElemTable
	immElem
	immTableTable
	imm16
	immLanes // 16 lane numbers
	immLane
	immMemoryLane
	imms // how many there are
)

// opcode is what the decoder and the meter know about one instruction.
type opcode struct {
	imm  imm
	cost uint8 // fuel, see the package comment
}

// opcodeRange gives the opcodes first to last the same properties.
type opcodeRange struct {
	first, last byte
	opcode
}

// Opcodes the checks, the meter and the rewriter name.
const (
	opUnreachable        = 0x00
	opBlock              = 0x02
	opLoop               = 0x03
	opIf                 = 0x04
	opElse               = 0x05
	opThrow              = 0x08
	opThrowRef           = 0x0a
	opEnd                = 0x0b
	opBr                 = 0x0c
	opBrIf               = 0x0d
	opBrTable            = 0x0e
	opReturn             = 0x0f
	opCall               = 0x10
	opCallIndirect       = 0x11
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opDrop               = 0x1a
	opSelect             = 0x1b
	opSelectTyped        = 0x1c
	opTryTable           = 0x1f
	opLocalGet           = 0x20
	opLocalSet           = 0x21
	opLocalTee           = 0x22
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opTableGet           = 0x25
	opTableSet           = 0x26
	opMemorySize         = 0x3f
	opMemoryGrow         = 0x40
	opI32Const           = 0x41
	opI64Const           = 0x42
	opF32Const           = 0x43
	opF64Const           = 0x44
	opI32Eq              = 0x46
	opI32LtU             = 0x49
	opI32LeU             = 0x4d
	opI32GtU             = 0x4b
	opI64LtS             = 0x53
	opI64GeS             = 0x59
	opI64GtU             = 0x56
	opI32Add             = 0x6a
	opI32Sub             = 0x6b
	opI32Mul             = 0x6c
	opI64Add             = 0x7c
	opI64Sub             = 0x7d
	opI64Mul             = 0x7e
	opI64Shl             = 0x86
	opI64ShrU            = 0x88
	opI64Or              = 0x84
	opI32Eqz             = 0x45
	opI32WrapI64         = 0xa7
	opI64ExtendI32U      = 0xad
	opI32ReinterpretF32  = 0xbc
	opI64ReinterpretF64  = 0xbd
	opF32ReinterpretI32  = 0xbe
	opF64ReinterpretI64  = 0xbf
	opRefNull            = 0xd0
	opRefFunc            = 0xd2
	opMisc               = 0xfc
	opSIMD               = 0xfd

	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	simdConst      = 12
	simdI64Splat   = 18
	simdI64Extract = 29
	simdI64Replace = 30

	blockEmpty = 0x40
)

// Plain opcodes. Those left out are unknown.
var plainOpcodes = expand([]opcodeRange{
	{0x00, 0x00, opcode{immNone, costFree}}, // unreachable
	{0x01, 0x01, opcode{immNone, costFree}}, // nop
	{opBlock, opBlock, opcode{immBlock, costFree}},
	{opLoop, opLoop, opcode{immBlock, costFree}},
	{opIf, opIf, opcode{immBlock, costOne}},
	{opElse, opElse, opcode{immNone, costFree}},
	{0x06, 0x07, opcode{immExceptions, costFree}},
	{opThrow, opThrow, opcode{immTag, costOne}},
	{0x09, 0x09, opcode{immExceptions, costFree}},
	{opThrowRef, opThrowRef, opcode{immException, costOne}},
	{opEnd, opEnd, opcode{immNone, costFree}},
	{opBr, opBrIf, opcode{immLabel, costOne}},
	{opBrTable, opBrTable, opcode{immLabels, costTable}},
	{opReturn, opReturn, opcode{immNone, costOne}},
	{opCall, opCall, opcode{immFunc, costCall}},
	{opCallIndirect, opCallIndirect, opcode{immIndirect, costIndirect}},
	{opReturnCall, opReturnCall, opcode{immFunc, costCall}},
	{opReturnCallIndirect, opReturnCallIndirect, opcode{immIndirect, costIndirect}},
	{0x14, 0x15, opcode{immFuncRefs, costFree}},
	{0x18, 0x19, opcode{immExceptions, costFree}},
	{0x1a, 0x1a, opcode{immNone, costFree}},                   // drop
	{0x1b, 0x1b, opcode{immNone, costOne}},                    // select
	{opSelectTyped, opSelectTyped, opcode{immTypes, costOne}}, // select with a type
	{opTryTable, opTryTable, opcode{immTry, costFree}},
	{0x20, 0x22, opcode{immLocal, costOne}},
	{0x23, 0x24, opcode{immGlobal, costOne}},
	{0x25, opTableSet, opcode{immTable, costTable}},
	{0x28, 0x3e, opcode{immMemory, costOne}},    // loads and stores
	{0x3f, 0x3f, opcode{immMemByte, costTable}}, // memory.size
	{opMemoryGrow, opMemoryGrow, opcode{immMemByte, costGrow}},
	{opI32Const, opI32Const, opcode{immI32, costOne}},
	{opI64Const, opI64Const, opcode{immI64, costOne}},
	{opF32Const, opF32Const, opcode{imm4, costOne}},
	{opF64Const, opF64Const, opcode{imm8, costOne}},
	{0x45, 0x6c, opcode{immNone, costOne}},
	{0x6d, 0x70, opcode{immNone, costDivide}}, // i32 division
	{0x71, 0x7e, opcode{immNone, costOne}},
	{0x7f, 0x82, opcode{immNone, costDivide}}, // i64 division
	{0x83, 0x90, opcode{immNone, costOne}},
	{0x91, 0x91, opcode{immNone, costDivide}}, // f32.sqrt
	{0x92, 0x94, opcode{immNone, costOne}},
	{0x95, 0x95, opcode{immNone, costDivide}}, // f32.div
	{0x96, 0x9e, opcode{immNone, costOne}},
	{0x9f, 0x9f, opcode{immNone, costDivide}}, // f64.sqrt
	{0xa0, 0xa2, opcode{immNone, costOne}},
	{0xa3, 0xa3, opcode{immNone, costDivide}}, // f64.div
	{0xa4, 0xc4, opcode{immNone, costOne}},
	{opRefNull, opRefNull, opcode{immRefType, costOne}},
	{0xd1, 0xd1, opcode{immNone, costOne}}, // ref.is_null
	{opRefFunc, opRefFunc, opcode{immFunc, costTable}},
	{0xd3, 0xd3, opcode{immGC, costFree}},
	{0xd4, 0xd6, opcode{immFuncRefs, costFree}},
	{0xfb, 0xfb, opcode{immGC, costFree}},
	{opMisc, opMisc, opcode{immMisc, costFree}},
	{opSIMD, opSIMD, opcode{immSIMD, costFree}},
	{0xfe, 0xfe, opcode{immThreads, costFree}},
})

// Opcodes behind the prefix 0xfc.
var miscOpcodes = expand([]opcodeRange{
	{0, 7, opcode{immNone, costOne}}, // saturating truncation
	{miscMemoryInit, miscMemoryInit, opcode{immDataMem, costBulk}},
	{miscDataDrop, miscDataDrop, opcode{immData, costBulk}},
	{miscMemoryCopy, miscMemoryCopy, opcode{immMemMem, costMove}},
	{miscMemoryFill, miscMemoryFill, opcode{immMemByte, costMove}},
	{miscTableInit, miscTableInit, opcode{immElemTable, costBulk}},
	{miscElemDrop, miscElemDrop, opcode{immElem, costBulk}},
	{miscTableCopy, miscTableCopy, opcode{immTableTable, costBulk}},
	{miscTableGrow, miscTableGrow, opcode{immTable, costGrow}},
	{miscTableSize, miscTableSize, opcode{immTable, costTable}},
	{miscTableFill, miscTableFill, opcode{immTable, costBulk}},
})

// Opcodes behind the prefix 0xfd, up to 0xff; those from 0x100 on are
// relaxed-simd.
var simdOpcodes = expand([]opcodeRange{
	{0x00, 0x0b, opcode{immMemory, costSIMD}},
	{simdConst, simdConst, opcode{imm16, costSIMD}},
	{0x0d, 0x0d, opcode{immLanes, costSIMD}}, // i8x16.shuffle
	{0x0e, 0x14, opcode{immNone, costSIMD}},
	{0x15, 0x22, opcode{immLane, costSIMD}},
	{0x23, 0x53, opcode{immNone, costSIMD}},
	{0x54, 0x5b, opcode{immMemoryLane, costSIMD}},
	{0x5c, 0x5d, opcode{immMemory, costSIMD}},
	{0x5e, 0x99, opcode{immNone, costSIMD}},
	{0x9b, 0xa1, opcode{immNone, costSIMD}},
	{0xa3, 0xa4, opcode{immNone, costSIMD}},
	{0xa7, 0xae, opcode{immNone, costSIMD}},
	{0xb1, 0xb1, opcode{immNone, costSIMD}},
	{0xb5, 0xba, opcode{immNone, costSIMD}},
	{0xbc, 0xc1, opcode{immNone, costSIMD}},
	{0xc3, 0xc4, opcode{immNone, costSIMD}},
	{0xc7, 0xce, opcode{immNone, costSIMD}},
	{0xd1, 0xd1, opcode{immNone, costSIMD}},
	{0xd5, 0xe1, opcode{immNone, costSIMD}},
	{0xe3, 0xe6, opcode{immNone, costSIMD}},
	{0xe7, 0xe7, opcode{immNone, costDivide}}, // f32x4.div
	{0xe8, 0xed, opcode{immNone, costSIMD}},
	{0xef, 0xef, opcode{immNone, costDivide}}, // f64x2.sqrt
	{0xf0, 0xf2, opcode{immNone, costSIMD}},
	{0xf3, 0xf3, opcode{immNone, costDivide}}, // f64x2.div
	{0xf4, 0xff, opcode{immNone, costSIMD}},
})

func expand(ranges []opcodeRange) (table [256]opcode) {
	for _, r := range ranges {
		for op := int(r.first); op <= int(r.last); op++ {
			table[op] = r.opcode
		}
	}
	return table
}

// proposal names what an opcode that is not supported belongs to.
func (i imm) proposal() string {
	switch i {
	case immThreads:
		return "threads"
	case immExceptions:
		return "legacy exception-handling: have it compiled to try_table"
	case immFuncRefs:
		return "typed-function-references"
	case immGC:
		return "gc"
	case immRelaxed:
		return "relaxed-simd"
	}
	return ""
}
