package wasmtest

import "slices"

// operation is an instruction without immediates, or with those in code.
type operation struct {
	code   []byte
	params []byte
}

// ops makes operations of the plain opcodes first to last.
func ops(first, last byte, params ...byte) []operation {
	var list []operation
	for op := int(first); op <= int(last); op++ {
		list = append(list, operation{Op(byte(op)), params})
	}
	return list
}

// vector makes operations of opcodes behind the prefix 0xfd.
func vectorOps(params []byte, opcodes ...uint32) []operation {
	var list []operation
	for _, op := range opcodes {
		list = append(list, operation{Code(Op(0xfd), U32(op)), params})
	}
	return list
}

// saturating makes operations of the prefix 0xfc, which truncate.
func saturating(op byte, param byte) []operation {
	return []operation{{Op(0xfc, op), []byte{param}}, {Op(0xfc, op+1), []byte{param}}}
}

// operations by the type of their result. None shows the bits of a NaN, and
// none of those here can trap.
var operations = map[byte][]operation{
	I32: slices.Concat(ops(0x6a, 0x6c, I32, I32), ops(0x71, 0x78, I32, I32), ops(0x67, 0x69, I32), ops(0x45, 0x45, I32),
		ops(0x46, 0x4f, I32, I32), ops(0x50, 0x50, I64), ops(0x51, 0x5a, I64, I64), ops(0x5b, 0x60, F32, F32),
		ops(0x61, 0x66, F64, F64), ops(0xa7, 0xa7, I64), ops(0xc0, 0xc1, I32), saturating(0, F32), saturating(2, F64),
		vectorOps([]byte{V128}, 0x53, 0x63, 0x64, 0xa3), []operation{{Op(0xfd, 0x1b, 2), []byte{V128}}}),
	I64: slices.Concat(ops(0x7c, 0x7e, I64, I64), ops(0x83, 0x8a, I64, I64), ops(0x79, 0x7b, I64), ops(0xac, 0xad, I32),
		ops(0xc2, 0xc4, I64), saturating(4, F32), saturating(6, F64), []operation{{Op(0xfd, 0x1d, 1), []byte{V128}}}),
	F32: slices.Concat(ops(0x8b, 0x91, F32), ops(0x92, 0x97, F32, F32), ops(0xb2, 0xb3, I32), ops(0xb4, 0xb5, I64), ops(0xb6, 0xb6, F64)),
	F64: slices.Concat(ops(0x99, 0x9f, F64), ops(0xa0, 0xa5, F64, F64), ops(0xb7, 0xb8, I32), ops(0xb9, 0xba, I64), ops(0xbb, 0xbb, F32)),
	V128: slices.Concat(vectorOps([]byte{I32}, 0x0f, 0x10, 0x11), vectorOps([]byte{I64}, 0x12),
		vectorOps([]byte{V128}, 0x4d, 0x60, 0x62, 0x80, 0xa0, 0xa1, 0xc1),
		vectorOps([]byte{V128, V128}, 0x0e, 0x23, 0x2d, 0x37, 0x4e, 0x4f, 0x50, 0x51, 0x65, 0x6e, 0x6f, 0x71, 0x78, 0x8e, 0x95, 0xae, 0xb1, 0xb5, 0xba, 0xce, 0xd5),
		vectorOps([]byte{V128, V128, V128}, 0x52), vectorOps([]byte{V128, I32}, 0x6b, 0x8b, 0xac, 0xcb),
		[]operation{{Code(Op(0xfd), U32(0xfa), Op(0xfd), U32(0xf8)), []byte{V128}}}),
}

// trapping operations by the type of their result.
var trapping = map[byte][]operation{
	I32: slices.Concat(ops(0x6d, 0x70, I32, I32), ops(0xa8, 0xa9, F32), ops(0xaa, 0xab, F64)),
	I64: slices.Concat(ops(0x7f, 0x82, I64, I64), ops(0xae, 0xaf, F32), ops(0xb0, 0xb1, F64)),
}

// loads and stores by type, with the size they move.
var loads = map[byte][][]byte{
	I32: {Op(0x28), Op(0x2c), Op(0x2d), Op(0x2e), Op(0x2f)}, I64: {Op(0x29), Op(0x30), Op(0x33), Op(0x35)},
	F32: {Op(0x2a)}, F64: {Op(0x2b)}, V128: {Op(0xfd, 0), Op(0xfd, 3), Op(0xfd, 9), Op(0xfd, 0x5c)},
}

var stores = map[byte][][]byte{
	I32: {Op(0x36), Op(0x3a), Op(0x3b)}, I64: {Op(0x37), Op(0x3c), Op(0x3e)},
	F32: {Op(0x38)}, F64: {Op(0x39)}, V128: {Op(0xfd, 11)},
}

func oneOf[T any](g *generator, list []T) T { return list[g.c.IntN(len(list))] }

func (g *generator) values(types []byte) {
	for _, t := range types {
		g.expr(t)
	}
}

// makers write code that leaves a value of a type on the stack. The first does
// not lead to another.
func makers() []func(*generator, byte) {
	return []func(*generator, byte){
		(*generator).leaf, (*generator).leaf, (*generator).operate, (*generator).operate, (*generator).operate,
		(*generator).load, (*generator).choose, (*generator).ifValue, (*generator).blockValue, (*generator).tee,
		(*generator).callValue, (*generator).special, (*generator).mayTrap,
	}
}

// expr writes code that leaves a value of type t on the stack.
func (g *generator) expr(t byte) {
	g.nodes--
	if g.nodes < 0 || g.depth >= randomDepth || operations[t] == nil {
		g.leaf(t)
		return
	}
	g.depth++
	oneOf(g, g.makers)(g, t)
	g.depth--
}

func (g *generator) leaf(t byte) {
	switch g.c.IntN(3) {
	case 1:
		if i := g.pick(g.locals, t, false); i >= 0 {
			g.emit(LocalGet(i))
			return
		}
	case 2:
		if i := g.pick(g.globals, t, false); i >= 0 && i != g.steps {
			g.emit(GlobalGet(i))
			return
		}
	}
	if t == FuncRef {
		g.emit(RefFunc(0)) // declared by an element segment
		return
	}
	g.emit(g.constant(t))
}

func (g *generator) operate(t byte) {
	o := oneOf(g, operations[t])
	g.values(o.params)
	g.emit(o.code)
}

// mayTrap divides and truncates, now and then by zero and out of range.
func (g *generator) mayTrap(t byte) {
	list := trapping[t]
	if list == nil || !g.chance(3) {
		g.operate(t)
		return
	}
	o := oneOf(g, list)
	g.values(o.params)
	if last := o.params[len(o.params)-1]; last == t && !g.chance(16) { // divide by an odd number above zero
		mask := map[byte][]byte{I32: Code(I32Const(63), Op(0x71), I32Const(1), Op(0x72)), I64: Code(I64Const(63), Op(0x83), I64Const(1), Op(0x84))}
		g.emit(mask[t])
	}
	g.emit(o.code)
}

// address leaves an address on the stack, now and then one out of bounds.
func (g *generator) address() {
	g.expr(I32)
	if !g.chance(100) {
		g.emit(I32Const(0x7fff), Op(0x71))
	}
}

func (g *generator) memArg() []byte { return Code(Op(0), U32(uint32(g.c.IntN(200)))) }

func (g *generator) load(t byte) {
	g.address()
	g.emit(oneOf(g, loads[t]), g.memArg())
	g.withoutNaN(t)
}

// withoutNaN turns the NaN that may be on the stack into 0, because its bits
// depend on the machine.
func (g *generator) withoutNaN(t byte) {
	eq := map[byte]byte{F32: 0x5b, F64: 0x61}[t]
	if eq == 0 {
		return
	}
	i := g.counter(t)
	g.emit(LocalTee(i), zero(t), LocalGet(i), LocalGet(i), Op(eq), Op(0x1b))
}

// clean is expr without a NaN.
func (g *generator) clean(t byte) {
	g.expr(t)
	g.withoutNaN(t)
}

func (g *generator) choose(t byte) {
	g.values([]byte{t, t, I32})
	g.emit(Op(0x1c, 1, t))
}

func (g *generator) ifValue(t byte) {
	g.expr(I32)
	g.emit(Op(0x04, t))
	g.nested([]byte{t}, func() { g.expr(t) })
	g.emit(Op(0x05))
	g.nested([]byte{t}, func() { g.expr(t) })
	g.emit(Op(0x0b))
}

func (g *generator) blockValue(t byte) {
	g.emit(Op(0x02, t))
	g.nested([]byte{t}, func() {
		g.statements(2)
		g.expr(t)
	})
	g.emit(Op(0x0b))
}

// nested writes code inside a block whose label takes types.
func (g *generator) nested(label []byte, code func()) {
	g.labels = append(g.labels, label)
	code()
	g.labels = g.labels[:len(g.labels)-1]
}

func (g *generator) tee(t byte) {
	i := g.pick(g.locals, t, true)
	if i < 0 {
		g.operate(t)
		return
	}
	g.expr(t)
	g.emit(LocalTee(i))
}

// callValue calls a function that returns a t first, directly or through the
// table.
func (g *generator) callValue(t byte) {
	n := g.c.IntN(len(g.sigs))
	for k := range g.sigs {
		f := (n + k) % len(g.sigs)
		if s := g.sigs[f]; len(s.Results) > 0 && s.Results[0] == t {
			g.call(f)
			g.dropAll(s.Results[1:])
			return
		}
	}
	g.operate(t)
}

func (g *generator) call(f int) {
	g.values(g.sigs[f].Params)
	if !g.chance(4) {
		g.emit(Call(f))
		return
	}
	g.entryOf(f)
	g.emit(CallIndirect(g.m.Type(g.sigs[f]), 0))
}

// special leaves the size of the memory or table, or what growing gives.
func (g *generator) special(t byte) {
	if t != I32 {
		g.operate(t)
		return
	}
	switch g.c.IntN(5) {
	case 0:
		g.emit(MemorySize())
	case 1:
		g.emit(Op(0xfc, 16, 0))
	case 2:
		g.emit(I32Const(int32(g.c.IntN(3))), MemoryGrow())
	case 3:
		g.address()
		g.emit(I32Const(7), Op(0x71), Op(0x25, 0), Op(0xd1)) // is a table's entry null
	case 4:
		g.expr(FuncRef)
		g.emit(Op(0xd1))
	}
}

// entryOf leaves the index of function f in the table, or of another entry.
func (g *generator) entryOf(f int) {
	if !g.chance(16) {
		g.emit(I32Const(int32(f)))
		return
	}
	g.expr(I32)
	g.emit(I32Const(randomTable-1), Op(0x71))
}
