package wasmlink

import "strings"

// shape says which immediates are written behind an instruction's name.
type shape byte

const (
	plain      shape = iota
	local            // local
	global           // global
	function         // function
	label            // label
	labels           // labels, the last is the default
	indirect         // table and type
	access           // offset= and align=
	memory           // nothing, but the encoding names the memory
	memories         // nothing, but the encoding names the memory twice
	int32s           // a number
	int64s           //
	float32s         //
	float64s         //
	choice           // result types of select
	heap             // func or extern
	table            // table
	tables           // two tables
	segment          // data segment
	initMemory       // data segment, and the encoding names the memory
	elements         // element segment
	initTable        // table and element segment
)

// operation is an instruction: its opcode, or behind 0xfc sub, and the
// alignment of its access to memory as a power of two.
type operation struct {
	op    byte
	sub   byte
	align byte
	shape shape
}

// Opcodes (core specification 5.4) that are written by name here.
const (
	opBlock  = 0x02
	opLoop   = 0x03
	opIf     = 0x04
	opElse   = 0x05
	opEnd    = 0x0b
	opSelect = 0x1c
	opMisc   = 0xfc
)

// operations are all instructions but block, loop, if, else and end.
var operations = buildOperations()

// numeric are the instructions from 0x45 on, in the order of their opcodes.
const numeric = `i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u
i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u
f32.eq f32.ne f32.lt f32.gt f32.le f32.ge f64.eq f64.ne f64.lt f64.gt f64.le f64.ge
i32.clz i32.ctz i32.popcnt i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and i32.or i32.xor
i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr
i64.clz i64.ctz i64.popcnt i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and i64.or i64.xor
i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr
f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign
f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign
i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u
i64.extend_i32_s i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u
f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64
f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32
i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64
i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s`

// accesses are the loads and stores from 0x28 on, each with its natural
// alignment as a power of two.
const accesses = `i32.load 2 i64.load 3 f32.load 2 f64.load 3
i32.load8_s 0 i32.load8_u 0 i32.load16_s 1 i32.load16_u 1
i64.load8_s 0 i64.load8_u 0 i64.load16_s 1 i64.load16_u 1 i64.load32_s 2 i64.load32_u 2
i32.store 2 i64.store 3 f32.store 2 f64.store 3 i32.store8 0 i32.store16 1 i64.store8 0 i64.store16 1 i64.store32 2`

// truncations are the instructions from 0xfc 0 on.
const truncations = `i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u
i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u`

func buildOperations() map[string]operation {
	m := map[string]operation{
		"unreachable":          {op: 0x00},
		"nop":                  {op: 0x01},
		"br":                   {op: 0x0c, shape: label},
		"br_if":                {op: 0x0d, shape: label},
		"br_table":             {op: 0x0e, shape: labels},
		"return":               {op: 0x0f},
		"call":                 {op: 0x10, shape: function},
		"call_indirect":        {op: 0x11, shape: indirect},
		"return_call":          {op: 0x12, shape: function},
		"return_call_indirect": {op: 0x13, shape: indirect},
		"drop":                 {op: 0x1a},
		"select":               {op: 0x1b, shape: choice},
		"local.get":            {op: 0x20, shape: local},
		"local.set":            {op: 0x21, shape: local},
		"local.tee":            {op: 0x22, shape: local},
		"global.get":           {op: 0x23, shape: global},
		"global.set":           {op: 0x24, shape: global},
		"table.get":            {op: 0x25, shape: table},
		"table.set":            {op: 0x26, shape: table},
		"memory.size":          {op: 0x3f, shape: memory},
		"memory.grow":          {op: 0x40, shape: memory},
		"i32.const":            {op: 0x41, shape: int32s},
		"i64.const":            {op: 0x42, shape: int64s},
		"f32.const":            {op: 0x43, shape: float32s},
		"f64.const":            {op: 0x44, shape: float64s},
		"ref.null":             {op: 0xd0, shape: heap},
		"ref.is_null":          {op: 0xd1},
		"ref.func":             {op: 0xd2, shape: function},
		"memory.init":          {op: opMisc, sub: 8, shape: initMemory},
		"data.drop":            {op: opMisc, sub: 9, shape: segment},
		"memory.copy":          {op: opMisc, sub: 10, shape: memories},
		"memory.fill":          {op: opMisc, sub: 11, shape: memory},
		"table.init":           {op: opMisc, sub: 12, shape: initTable},
		"elem.drop":            {op: opMisc, sub: 13, shape: elements},
		"table.copy":           {op: opMisc, sub: 14, shape: tables},
		"table.grow":           {op: opMisc, sub: 15, shape: table},
		"table.size":           {op: opMisc, sub: 16, shape: table},
		"table.fill":           {op: opMisc, sub: 17, shape: table},
	}
	for i, name := range strings.Fields(numeric) {
		m[name] = operation{op: byte(0x45 + i)}
	}
	for i, name := range strings.Fields(truncations) {
		m[name] = operation{op: opMisc, sub: byte(i)}
	}
	fields := strings.Fields(accesses)
	for i := 0; i < len(fields); i += 2 {
		m[fields[i]] = operation{op: byte(0x28 + i/2), align: fields[i+1][0] - '0', shape: access}
	}
	return m
}
