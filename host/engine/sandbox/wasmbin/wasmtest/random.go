package wasmtest

import "slices"

// Choices decides what a random module becomes. *rand.Rand of math/rand/v2 is
// one; Script is another, for fuzz targets.
type Choices interface {
	// IntN returns a number from 0 to n-1.
	IntN(n int) int
}

// Script is a byte string as a sequence of choices. When it is used up, every
// choice is 0, which always leads to an end.
type Script []byte

// IntN takes one byte of the script, or two when n is above 256.
func (s *Script) IntN(n int) int {
	v := s.next()
	if n > 256 {
		v = v<<8 | s.next()
	}
	return v % n
}

func (s *Script) next() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

// Names of what a random module exports. RandomMemory is there in most of
// them; each mutable global is exported as RandomGlobal and its index.
const (
	RandomRun    = "run"
	RandomMemory = "memory"
	RandomGlobal = "global"
)

// Random makes a valid module that imports nothing and exports a function
// RandomRun without parameters that returns an i32. The same choices make the
// same module. It uses all number types and vectors, globals, memory, tables,
// loops, calls, tail calls, bulk instructions and memory.grow. A call ends
// within some ten thousand turns of loops and calls; it may trap; it may find
// the memory and the globals as an earlier call left them. What it computes
// does not depend on the bits of a NaN. In one module of four there is state
// that is neither in its memory nor in a number in a global: tables written at
// run time, dropped segments, and globals of references and vectors.
func Random(c Choices) []byte {
	g := &generator{c: c, m: New(), pinned: c.IntN(4) == 3, makers: makers(), writers: writers()}
	g.declare()
	for i := range g.sigs {
		g.function(i)
	}
	g.finish()
	return g.m.Bytes()
}

// Figures that bound what a random module is and does.
const (
	randomSteps    = 3_000 // loop turns and calls of one run
	randomPages    = 1
	randomMaxPages = 6
	randomTable    = 8
	randomMaxTable = 16
	randomData     = 64
	randomNodes    = 120 // about as many instructions in a function
	randomDepth    = 6   // nesting of blocks and operands
)

var numberTypes = []byte{I32, I64, F32, F64}

// variable is a local or global.
type variable struct {
	t       byte
	mutable bool
}

// generator writes one random module.
type generator struct {
	c       Choices
	m       *Module
	pinned  bool
	sigs    []Signature
	globals []variable
	steps   int // index of the global that counts down
	makers  []func(*generator, byte)
	writers []func(*generator)
	tags    [][]byte // what each carries
	second  []byte   // see secondClause

	// Of the function being written:
	sig    Signature
	locals []variable // parameters first; counters are not mutable
	labels [][]byte   // types a branch to each takes, innermost last
	out    []byte
	nodes  int
	depth  int
}

func (g *generator) chance(n int) bool { return g.c.IntN(n) == n-1 }

func (g *generator) emit(parts ...[]byte) {
	for _, p := range parts {
		g.out = append(g.out, p...)
	}
}

func (g *generator) valueType() byte {
	if g.chance(6) {
		return V128
	}
	return numberTypes[g.c.IntN(len(numberTypes))]
}

func (g *generator) valueTypes(most int) []byte {
	list := make([]byte, g.c.IntN(most+1))
	for i := range list {
		list[i] = g.valueType()
	}
	return list
}

// declare adds all but the functions.
func (g *generator) declare() {
	g.m.Memory(randomPages, randomMaxPages)
	if !g.chance(5) {
		g.m.ExportMemory(RandomMemory)
	}
	g.m.Data(int32(g.c.IntN(1000)), []byte("what was there at first"))
	g.m.PassiveData(make([]byte, randomData))
	g.steps = g.global(I32, true)
	for range 1 + g.c.IntN(6) {
		g.global(numberTypes[g.c.IntN(len(numberTypes))], !g.chance(4))
	}
	if g.pinned {
		g.global(V128, true)
		g.global(FuncRef, true)
		g.global(ExternRef, true)
	}
	g.sigs = make([]Signature, 1+g.c.IntN(5))
	for i := range g.sigs {
		g.sigs[i] = Signature{g.valueTypes(3), g.valueTypes(3)}
	}
	g.tables()
}

func (g *generator) tables() {
	g.m.Table(FuncRef, randomTable, randomMaxTable)
	funcs := make([]int, randomTable-2)
	for i := range funcs {
		funcs[i] = i % len(g.sigs)
	}
	g.m.Elem(0, funcs...)
	passive := Code(Op(1, 0), U32(randomTable), bytesOf(0, randomTable))
	g.m.RawElem(passive)
}

// bytesOf is b, n times.
func bytesOf(b byte, n int) []byte { return slices.Repeat([]byte{b}, n) }

func (g *generator) global(t byte, mutable bool) int {
	i := g.m.Global(t, mutable, g.constant(t))
	g.globals = append(g.globals, variable{t, mutable})
	if mutable {
		g.m.Export(RandomGlobal+decimal(i), KindGlobal, i)
	}
	return i
}

func decimal(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return decimal(i/10) + decimal(i%10)
}

// function writes function i.
func (g *generator) function(i int) {
	g.begin(g.sigs[i])
	g.guard(Code(g.zeros(g.sig.Results), Return()))
	g.statements(4)
	g.values(g.sig.Results)
	g.add()
}

func (g *generator) begin(s Signature) {
	g.sig, g.out, g.nodes, g.depth = s, nil, randomNodes, 0
	g.labels = append(g.labels[:0], s.Results)
	g.locals = g.locals[:0]
	for _, t := range slices.Concat(s.Params, g.valueTypes(6)) {
		g.locals = append(g.locals, variable{t, true})
	}
}

// add adds the function that was written, with a local for each variable.
func (g *generator) add() int {
	locals := g.locals[len(g.sig.Params):]
	decl := U32(uint32(len(locals)))
	for _, l := range locals {
		decl = append(decl, 1, l.t)
	}
	return g.m.RawFunc(g.m.Type(g.sig), Code(decl, g.out, Op(0x0b)))
}

// finish adds the function that is exported, and perhaps a start function.
func (g *generator) finish() {
	g.begin(Signature{nil, []byte{I32}})
	g.labels = g.labels[:0] // no branches here: the counter is set first
	g.emit(I32Const(randomSteps), GlobalSet(g.steps), g.zeros(g.sigs[0].Params), Call(0))
	g.dropAll(g.sigs[0].Results)
	g.expr(I32)
	g.m.ExportFunc(RandomRun, g.add())
	if g.chance(3) {
		g.begin(Signature{})
		g.emit(I32Const(randomSteps/10), GlobalSet(g.steps))
		g.statements(2)
		g.m.Start(g.add())
	}
}

// guard counts a step and runs code when there is none left.
func (g *generator) guard(code []byte) {
	g.emit(GlobalGet(g.steps), I32Const(1), Op(0x6b), GlobalSet(g.steps),
		GlobalGet(g.steps), I32Const(0), Op(0x48), If(Empty, code))
}

func (g *generator) zeros(types []byte) []byte {
	var out []byte
	for _, t := range types {
		out = append(out, zero(t)...)
	}
	return out
}

func zero(t byte) []byte {
	switch t {
	case I32:
		return I32Const(0)
	case I64:
		return I64Const(0)
	case F32:
		return Op(0x43, 0, 0, 0, 0)
	case F64:
		return F64Const(0)
	case V128:
		return Code(Op(0xfd, 12), make([]byte, 16))
	}
	return Op(0xd0, t)
}

// constant is a constant that is likely to be of interest.
func (g *generator) constant(t byte) []byte {
	ints := []int64{0, 1, 2, 3, 7, 8, 31, 100, 255, 4096, 65_535, -1, -2, 1 << 31, 1<<31 - 1, -1 << 63, 1<<63 - 1}
	v := ints[g.c.IntN(len(ints))]
	switch t {
	case I32:
		return I32Const(int32(v))
	case I64:
		return I64Const(v)
	case F32:
		floats := []byte{0, 0x3f, 0x40, 0x42, 0x7f, 0xbf, 0xc1, 0x4f}
		return Op(0x43, 0, 0, 0x80, floats[g.c.IntN(len(floats))]) // 0x7f800000 is infinity
	case F64:
		return F64Const(float64(v) / 3)
	case V128:
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte(v >> (i % 8 * 8))
		}
		return Code(Op(0xfd, 12), b)
	}
	return zero(t)
}

// pick returns the index of one of the variables of a type, or -1.
func (g *generator) pick(list []variable, t byte, mutable bool) int {
	n := g.c.IntN(max(len(list), 1))
	for k := range list {
		i := (n + k) % len(list)
		if list[i].t == t && (list[i].mutable || !mutable) {
			return i
		}
	}
	return -1
}

// counter adds a local that nothing but the caller writes.
func (g *generator) counter(t byte) int {
	g.locals = append(g.locals, variable{t, false})
	return len(g.locals) - 1
}

func (g *generator) dropAll(types []byte) {
	for range types {
		g.emit(Drop())
	}
}
