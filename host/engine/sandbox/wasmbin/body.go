package wasmbin

// frame is an open block of a function body.
type frame struct {
	op    byte
	arity int // values a branch to it passes
}

// body checks function bodies one after the other. Its frames are reused.
type body struct {
	*decoder
	frames []frame
	in     instr

	index  int // of the function, imported ones first
	values int // parameters and locals
	blocks int
	loops  int
	basic  int // basic blocks, about
	calls  int
	global int // uses of globals
	work   int64

	looping int // loops around the code
}

// Weights of the estimate behind Module.CompileWork, in units of one plain
// instruction. They were fitted to measured compile times of wazero, which
// grow with the square of a function's basic blocks, with its values times its
// loops, and with its calls times the mutable globals it uses.
const (
	workPerFunction  = 50
	workPerTarget    = 4
	blocksPerWork    = 64 // basic blocks before it, for one unit of work for each
	valueBlocks      = 2  // values times blocks for one unit of work
	workPerValueLoop = 2  // for each value in each loop
	loopBasicBlocks  = 4  // two of them for its charge
	ifBasicBlocks    = 2
	bulkBasicBlocks  = 2 // for its charge
	targetsPerBlock  = 3 // br_table targets for one basic block
)

func (d *decoder) codeSection() {
	at := d.pos
	d.module.CodeBytes = d.left()
	n := d.count("function bodies", d.limits.Functions, 2)
	if n != d.module.Functions {
		d.malformed(at, "%d function bodies for %d functions", n, d.module.Functions)
		return
	}
	b := body{decoder: d}
	d.shapes = make([]shape, n)
	for i := 0; i < n && d.err == nil; i++ {
		b.index = d.imported + i
		b.check()
	}
}

// check reads one function body.
func (b *body) check() {
	at := b.pos
	n := b.size("function body")
	if n > b.limits.BodyBytes {
		b.tooLarge(at, "function %d has a body of %d bytes, at most %d", b.index, n, b.limits.BodyBytes)
		return
	}
	section := b.end
	b.end = b.pos + n
	b.start()
	for len(b.frames) > 0 && b.err == nil {
		b.instruction()
	}
	if b.left() > 0 {
		b.malformed(b.pos, "function %d goes on after its end", b.index)
	}
	b.end = section
	b.finish(at)
}

// start reads the local declarations.
func (b *body) start() {
	t := b.typeOf(uint32(b.index))
	b.blocks, b.loops, b.basic, b.calls, b.global, b.work = 0, 0, 1, 0, 0, workPerFunction
	b.frames = append(b.frames[:0], frame{op: opBlock, arity: len(t.Results)})
	b.looping = 0
	b.values = len(t.Params) + b.locals()
	b.work += int64(b.values)
}

func (b *body) locals() int {
	groups := b.count("groups of locals", b.limits.Locals, 2)
	sum := int64(0)
	for ; groups > 0 && b.err == nil; groups-- {
		at := b.pos
		if sum += int64(b.u32()); sum > int64(b.limits.Locals) {
			b.tooLarge(at, "function %d has %d locals or more, at most %d", b.index, sum, b.limits.Locals)
			return 0
		}
		b.valueType()
	}
	return int(sum)
}

func (b *body) instruction() {
	b.next(&b.in, &b.bounds)
	b.work++
	if b.checkWork(b.in.at); b.err != nil {
		return
	}
	b.addShape(&b.in)
	if check := controlChecks[b.in.imm]; check != nil {
		check(b)
	}
	switch b.in.op {
	case opElse:
		b.elseArm()
	case opEnd:
		b.close()
	case opRefFunc:
		if !b.declared[b.in.x] && b.err == nil {
			b.malformed(b.in.at, "reference to function %d, which is not declared", b.in.x)
		}
	case opTableSet:
		b.module.WritesTables = true
		b.stateful[0] = true
	case opMemoryGrow:
		b.addBasic(bulkBasicBlocks)
	case opMisc:
		b.bulk()
	}
}

func (b *body) close() {
	last := len(b.frames) - 1
	if b.frames[last].op == opLoop {
		b.looping--
	}
	b.frames = b.frames[:last]
}

func (b *body) bulk() {
	if b.in.sub < miscMemoryInit {
		return
	}
	b.addBasic(bulkBasicBlocks)
	b.stateful[b.in.sub] = true
	if b.in.sub >= miscTableInit && b.in.sub != miscTableSize {
		b.module.WritesTables = true
	}
}

// controlChecks are the checks that need the function's own state, by the
// immediates that call for them.
var controlChecks = [imms]func(*body){
	immBlock:    (*body).open,
	immLabel:    (*body).branch,
	immLabels:   (*body).branchTable,
	immFunc:     (*body).call,
	immIndirect: (*body).callIndirect,
	immLocal:    (*body).local,
	immGlobal:   (*body).useGlobal,
	immTry:      (*body).tryTable,
}

func (b *body) open() {
	params, results := b.blockArity()
	f := frame{op: b.in.op, arity: results}
	if b.in.op == opLoop {
		f.arity = params
		b.loops++
		b.looping++
	}
	b.frames = append(b.frames, f)
	b.work += int64(params + results)
	if b.in.op != opTryTable {
		b.addBasic(basicBlocks[b.in.op-opBlock])
	}
	if depth := len(b.frames) - 1; depth > b.limits.Nesting {
		b.tooLarge(b.in.at, "function %d nests blocks more than %d deep", b.index, b.limits.Nesting)
	}
	if b.blocks++; b.blocks > b.limits.Blocks {
		b.tooLarge(b.in.at, "function %d has more than %d blocks", b.index, b.limits.Blocks)
	}
}

// tryTable checks the labels of clauses, which do not count the block itself,
// and how many values they take: a compiler that sees branches in place of clauses
// would let the others pass.
func (b *body) tryTable() {
	behind := b.pos
	b.pos = b.in.labels
	for i := uint32(0); i < b.in.x && b.err == nil; i++ {
		b.addBasic(ifBasicBlocks)
		k := b.clause(&b.bounds)
		if b.branchTo(k.label); b.err == nil && b.passed(k) != b.frames[len(b.frames)-1-int(k.label)].arity {
			b.malformed(b.in.at, "a catch clause passes %d values to label %d, which takes others", b.passed(k), k.label)
		}
	}
	if b.err == nil {
		b.pos = behind
	}
	b.open()
}

func (b *body) blockArity() (params, results int) {
	switch {
	case b.in.bt >= 0:
		t := b.module.Types[b.in.bt]
		return len(t.Params), len(t.Results)
	case b.in.bt&0x7f == blockEmpty:
		return 0, 0
	}
	return 0, 1
}

func (b *body) elseArm() {
	top := &b.frames[len(b.frames)-1]
	if top.op != opIf {
		b.malformed(b.in.at, "else without if")
		return
	}
	top.op = opElse
}

// basicBlocks is what block, loop and if add, in that order.
var basicBlocks = [...]int{1, loopBasicBlocks, ifBasicBlocks}

// addBasic counts basic blocks. Each adds work in proportion to those before
// it, and so their square to the function.
func (b *body) addBasic(n int) {
	b.basic += n
	b.work += int64(n) * int64(b.basic) / blocksPerWork
}

func (b *body) checkWork(at int) {
	if b.work > b.limits.FunctionWork {
		b.tooLarge(at, "function %d takes an estimated work of %d or more to compile, at most %d", b.index, b.work, b.limits.FunctionWork)
	}
}

func (b *body) branch() {
	b.addBasic(1)
	b.branchTo(b.in.x)
}

func (b *body) branchTo(label uint32) {
	if int64(label) >= int64(len(b.frames)) {
		b.malformed(b.in.at, "branch to label %d of %d", label, len(b.frames))
		return
	}
	b.work += int64(b.frames[len(b.frames)-1-int(label)].arity)
}

func (b *body) branchTable() {
	behind := b.pos
	b.pos = b.in.labels
	b.addBasic(int(b.in.x) / targetsPerBlock)
	for i := uint32(0); i <= b.in.x && b.err == nil; i++ {
		b.branchTo(b.u32())
		b.work += workPerTarget
	}
	if b.err == nil {
		b.pos = behind
	}
}

func (b *body) call() { b.passValues(b.typeOf(b.in.x)) }

func (b *body) callIndirect() { b.passValues(b.module.Types[b.in.x]) }

func (b *body) passValues(t FuncType) {
	b.calls++
	b.work += int64(len(t.Params) + len(t.Results))
}

func (b *body) useGlobal() { b.global++ }

func (b *body) local() {
	if int64(b.in.x) >= int64(b.values) {
		b.malformed(b.in.at, "local %d of %d", b.in.x, b.values)
	}
}

// finish checks what is known only at the end of a function.
func (b *body) finish(at int) {
	product := b.values * b.blocks
	if product > b.limits.LocalsTimesBlocks {
		b.tooLarge(at, "function %d has %d values and %d blocks: product at most %d", b.index, b.values, b.blocks, b.limits.LocalsTimesBlocks)
	}
	b.work += workPerValueLoop*int64(b.values)*int64(b.loops) + int64(product)/valueBlocks
	b.work += int64(b.calls) * int64(min(b.global, b.mutable))
	b.checkWork(at)
	b.module.CompileWork += b.work
}
