package wasmtest

import "slices"

// statements writes 1 to n pieces of code that leave the stack as it was.
func (g *generator) statements(n int) {
	for range 1 + g.c.IntN(n) {
		g.statement()
	}
}

// writers write code that leaves the stack as it was. The first leads to no
// other.
func writers() []func(*generator) {
	return []func(*generator){
		(*generator).setLocal, (*generator).setLocal, (*generator).setGlobal, (*generator).store, (*generator).store,
		(*generator).ifElse, (*generator).loop, (*generator).loop, (*generator).block, (*generator).branchIf, (*generator).branch,
		(*generator).leave, (*generator).callMany, (*generator).bulk, (*generator).dispatch, (*generator).writeTables,
		(*generator).blockWithParameters, (*generator).table,
	}
}

func (g *generator) statement() {
	g.nodes--
	if g.nodes < 0 || g.depth >= randomDepth {
		return
	}
	g.depth++
	oneOf(g, g.writers)(g)
	g.depth--
}

func (g *generator) setLocal() {
	t := g.valueType()
	if i := g.pick(g.locals, t, true); i >= 0 {
		g.clean(t)
		g.emit(LocalSet(i))
	}
}

func (g *generator) setGlobal() {
	i := g.c.IntN(len(g.globals))
	if v := g.globals[i]; v.mutable && i != g.steps {
		g.clean(v.t)
		g.emit(GlobalSet(i))
	}
}

func (g *generator) store() {
	t := g.valueType()
	g.address()
	g.clean(t)
	g.emit(oneOf(g, stores[t]), g.memArg())
}

func (g *generator) ifElse() {
	g.expr(I32)
	g.emit(Op(0x04, Empty))
	g.nested(nil, func() { g.statements(3) })
	if g.chance(2) {
		g.emit(Op(0x05))
		g.nested(nil, func() { g.statements(3) })
	}
	g.emit(Op(0x0b))
}

// loop runs some turns. A branch to its label makes another turn, too.
func (g *generator) loop() {
	n := g.counter(I32)
	g.emit(I32Const(int32(1+g.c.IntN(20))), LocalSet(n), Op(0x02, Empty, 0x03, Empty))
	g.labels = append(g.labels, nil, nil)
	g.guard(Br(2))
	g.statements(3)
	g.emit(LocalGet(n), I32Const(1), Op(0x6b), LocalTee(n), I32Const(0), Op(0x4a), BrIf(0))
	g.labels = g.labels[:len(g.labels)-2]
	g.emit(Op(0x0b, 0x0b))
}

func (g *generator) block() {
	g.emit(Op(0x02, Empty))
	g.nested(nil, func() { g.statements(3) })
	g.emit(Op(0x0b))
}

// blockWithParameters passes a value into a block or loop.
func (g *generator) blockWithParameters() {
	t := g.valueType()
	g.expr(t)
	op, label := byte(0x02), []byte{t}
	if g.chance(2) {
		op = 0x03
	}
	g.emit(Op(op), U32(uint32(g.m.Type(Signature{[]byte{t}, []byte{t}}))))
	if op == 0x02 {
		g.nested(label, func() { g.statements(2) })
	} else {
		n := g.counter(I32)
		g.emit(LocalGet(n), I32Const(1), Op(0x6a), LocalTee(n), I32Const(5), Op(0x71), BrIf(0))
	}
	g.emit(Op(0x0b), Drop())
}

// target picks a label, and leaves what a branch to it takes on the stack.
func (g *generator) target() (label int, ok bool) {
	if len(g.labels) == 0 {
		return 0, false
	}
	label = g.c.IntN(len(g.labels))
	g.values(g.labels[len(g.labels)-1-label])
	return label, true
}

func (g *generator) branchIf() {
	label, ok := g.target()
	if !ok {
		return
	}
	g.expr(I32)
	g.emit(BrIf(label))
	g.dropAll(g.labels[len(g.labels)-1-label])
}

// branch branches away from inside an if, by br or br_table.
func (g *generator) branch() {
	g.expr(I32)
	g.emit(Op(0x04, Empty))
	g.nested(nil, func() {
		label, ok := g.target()
		switch {
		case !ok:
		case g.chance(2):
			g.emit(Br(label))
		default:
			g.expr(I32)
			g.emit(BrTable(g.alike(label), label))
		}
	})
	g.emit(Op(0x0b))
}

// alike lists the labels that take the same types as one.
func (g *generator) alike(label int) []int {
	var list []int
	for i := range g.labels {
		if slices.Equal(g.labels[len(g.labels)-1-i], g.labels[len(g.labels)-1-label]) {
			list = append(list, i)
		}
	}
	return list
}

// leave returns, calls a function in tail position or traps, inside an if.
func (g *generator) leave() {
	g.expr(I32)
	g.emit(I32Const(0x30), Op(0x71), Op(0x04, Empty)) // not too often
	g.nested(nil, g.end)
	g.emit(Op(0x0b))
}

// end ends the function.
func (g *generator) end() {
	switch f := g.c.IntN(len(g.sigs)); {
	case g.chance(20):
		g.emit(Unreachable())
	case slices.Equal(g.sigs[f].Results, g.sig.Results) && g.chance(2):
		g.values(g.sigs[f].Params)
		if g.chance(3) {
			g.entryOf(f)
			g.emit(ReturnCallIndirect(g.m.Type(g.sigs[f]), 0))
		} else {
			g.emit(ReturnCall(f))
		}
	default:
		g.values(g.sig.Results)
		g.emit(Return())
	}
}

func (g *generator) callMany() {
	f := g.c.IntN(len(g.sigs))
	g.call(f)
	for _, t := range slices.Backward(g.sigs[f].Results) {
		if i := g.pick(g.locals, t, true); i >= 0 && !g.chance(3) {
			g.withoutNaN(t)
			g.emit(LocalSet(i))
		} else {
			g.emit(Drop())
		}
	}
}

// bulk fills, copies or initialises memory.
func (g *generator) bulk() {
	switch g.c.IntN(3) {
	case 0:
		g.address()
		g.expr(I32)
		g.length(0xfff)
		g.emit(MemoryFill())
	case 1:
		g.address()
		g.address()
		g.length(0xfff)
		g.emit(MemoryCopy())
	case 2:
		g.address()
		g.emit(I32Const(int32(g.c.IntN(10))))
		g.length(0x1f)
		g.emit(MemoryInit(1))
	}
}

// length leaves the length of a bulk operation, now and then a large one.
func (g *generator) length(mask int32) {
	g.expr(I32)
	if !g.chance(60) {
		g.emit(I32Const(mask), Op(0x71))
	}
}

// table reads the table without changing it.
func (g *generator) table() {
	g.expr(I32)
	if !g.chance(60) {
		g.emit(I32Const(randomTable-1), Op(0x71))
	}
	g.emit(Op(0x25, 0), Op(0xd1), Drop())
}

// writeTables changes what cannot be restored, in modules that may.
func (g *generator) writeTables() {
	if !g.pinned {
		g.store()
		return
	}
	index := func() { g.expr(I32); g.emit(I32Const(randomTable-1), Op(0x71)) }
	switch g.c.IntN(7) {
	case 0:
		index()
		g.expr(FuncRef)
		g.emit(Op(0x26, 0))
	case 1:
		g.expr(FuncRef)
		g.emit(I32Const(int32(g.c.IntN(3))), Op(0xfc, 15, 0), Drop())
	case 2:
		index()
		g.expr(FuncRef)
		g.emit(I32Const(int32(g.c.IntN(2))), Op(0xfc, 17, 0))
	case 3:
		index()
		index()
		g.emit(I32Const(int32(g.c.IntN(2))), Op(0xfc, 14, 0, 0))
	case 4:
		index()
		g.emit(I32Const(0), I32Const(int32(g.c.IntN(2))), Op(0xfc, 12, 1, 0))
	case 5:
		g.emit(Op(0xfc, 13, 1))
	case 6:
		g.emit(Op(0xfc, 9, 1))
	}
}

// dispatch is a loop around a br_table, as compilers write code whose jumps do
// not nest: each part ends by naming the part to go on with.
func (g *generator) dispatch() {
	n := 2 + g.c.IntN(4)
	pc := g.counter(I32)
	g.emit(Op(0x02, Empty, 0x03, Empty))
	g.labels = append(g.labels, nil, nil)
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i
		g.emit(Op(0x02, Empty))
		g.labels = append(g.labels, nil)
	}
	g.emit(LocalGet(pc), BrTable(labels, n-1))
	for i := range n {
		g.emit(Op(0x0b))
		g.labels = g.labels[:len(g.labels)-1]
		g.part(i, n, pc)
	}
	g.emit(Br(1), Op(0x0b, 0x0b))
	g.labels = g.labels[:len(g.labels)-2]
}

// part writes part i of n of a dispatch. The loop is n-1-i blocks away.
func (g *generator) part(i, n, pc int) {
	g.guard(Br(n - i + 1))
	g.statements(2)
	jump := func(extra int) {
		to := g.c.IntN(n + 1)
		g.emit(I32Const(int32(to)), LocalSet(pc), Br(n-1-i+extra))
	}
	if g.chance(2) {
		g.expr(I32)
		g.emit(Op(0x04, Empty))
		jump(1)
		g.emit(Op(0x0b))
	}
	if i < n-1 && g.chance(2) {
		jump(0)
	}
}
