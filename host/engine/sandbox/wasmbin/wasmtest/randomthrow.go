package wasmtest

import "slices"

// RandomThrowing is Random with exceptions in about one statement of four.
func RandomThrowing(c Choices) []byte {
	g := &generator{c: c, m: New(), makers: makers(), writers: writers()}
	for range 3 {
		g.writers = append(g.writers, (*generator).throw, (*generator).catch)
	}
	g.tags = [][]byte{nil, {I32}, {F64}, {I64}, {F32, I32}}
	for _, t := range g.tags {
		g.m.tags = append(g.m.tags, slices.Concat([]byte{0}, U32(uint32(g.m.Type(Signature{Params: t})))))
	}
	g.declare()
	for i := range g.sigs {
		g.function(i)
	}
	g.finish()
	return g.m.Bytes()
}

// throw throws inside an if.
func (g *generator) throw() {
	g.expr(I32)
	g.emit(I32Const(0x11), Op(0x71), Op(0x04, Empty))
	tag := g.c.IntN(len(g.tags))
	g.nested(nil, func() {
		for _, t := range g.tags[tag] {
			g.clean(t)
		}
		g.emit(Throw(tag))
	})
	g.emit(Op(0x0b))
}

// catch writes a try_table, and takes or throws again what its first clause
// catches. The second goes on where a branch could.
func (g *generator) catch() {
	tag, ref := g.c.IntN(len(g.tags)+1), g.chance(2)
	var types []byte
	first := CatchAll(0)
	switch {
	case tag < len(g.tags) && ref:
		types, first = slices.Clone(g.tags[tag]), CatchRef(tag, 0)
	case tag < len(g.tags):
		types, first = slices.Clone(g.tags[tag]), Catch(tag, 0)
	case ref:
		first = CatchAllRef(0)
	}
	if ref {
		types = append(types, ExnRef)
	}
	exn := g.counter(ExnRef)
	g.emit(Op(0x02), U32(uint32(g.m.Type(Signature{Results: types}))))
	g.nested(types, func() {
		result := g.valueType()
		g.emit(Op(0x1f, result), U32(1+uint32(g.secondClause())), first)
		g.out = append(g.out, g.second...)
		g.nested([]byte{result}, func() {
			g.statements(3)
			g.expr(result)
		})
		g.emit(Op(0x0b), Drop())
		g.values(types)
	})
	g.emit(Op(0x0b))
	if !ref {
		g.dropAll(types)
		return
	}
	g.emit(LocalSet(exn))
	g.dropAll(types[1:])
	g.expr(I32)
	g.emit(I32Const(0x30), Op(0x71), Op(0x04, Empty), LocalGet(exn), ThrowRef(), Op(0x0b))
}

// secondClause makes a clause for a label without values, if one is at hand,
// and returns how many that are.
func (g *generator) secondClause() int {
	g.second = nil
	if len(g.labels) < 2 || !g.chance(2) {
		return 0
	}
	label := 1 + g.c.IntN(len(g.labels)-1)
	if len(g.labels[len(g.labels)-1-label]) > 0 {
		return 0
	}
	if g.second = CatchAll(label); g.chance(2) {
		g.second = Catch(0, label)
	}
	return 1
}
