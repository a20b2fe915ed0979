package wasmbin

// lowerer writes the code of one function without exceptions. A try_table
// becomes two blocks, the inner of which is left for what its clauses became:
//
//	block
//	  block  code  br 1  end
//	  if it is of a tag { caught  br label } ...
//	  br to the next try_table around
//	end
//
// In a function that has results the whole code is in a block more, behind which
// are zeros to return while something is thrown.
type lowerer struct {
	*lowering
	cursor
	in     instr
	out    []byte
	open   int // how many blocks are open in out, with that of the function
	leave  int // how many are around the one that is left to return
	frames []loweredFrame
}

// loweredFrame is an open block of the code that is read.
type loweredFrame struct {
	at      int // how many blocks are around the one that branches to it leave
	catch   int // and around the one that is left when something is thrown; or none
	clauses []clause
}

// lowerFunction writes a function anew, if it has to be, and its locals in any
// case.
func (l *lowering) lowerFunction(i int, rewrite bool) {
	f := &l.Functions[i]
	for k := range f.Locals {
		f.Locals[k].Type = f.Locals[k].Type.lowered()
	}
	if !rewrite {
		return
	}
	w := &lowerer{lowering: l, cursor: cursor{b: f.Code, end: len(f.Code), section: "code"}, open: 1}
	w.frames = append(w.frames, loweredFrame{catch: none})
	results := l.Types[f.Type].Results
	if len(results) > 0 {
		w.leave = w.openBlock()
	}
	for w.more() && len(w.frames) > 0 {
		w.next(&w.in, w.bounds)
		w.instruction()
	}
	if len(results) > 0 {
		w.out[len(w.out)-1] = opReturn // in place of the end
		w.out = appendZeros(append(w.out, opEnd), results)
		w.out = append(w.out, opEnd)
	}
	l.Functions[i].Code = w.out // helpers were added: f may be elsewhere
}

// appendZeros appends a value of each type.
func appendZeros(b []byte, types []ValueType) []byte {
	zero := zeroes()
	for _, t := range types {
		switch z, ok := zero[t]; {
		case ok:
			b = append(b, z[:len(z)-1]...)
		case t == V128:
			b = appendNull(b)
		default:
			b = append(b, opRefNull, byte(t))
		}
	}
	return b
}

// openBlock begins a block without values and returns how many are around it.
func (w *lowerer) openBlock() int {
	w.out = append(w.out, opBlock, blockEmpty)
	w.open++
	return w.open - 1
}

// closeBlock ends the innermost block.
func (w *lowerer) closeBlock() {
	w.out = append(w.out, opEnd)
	w.open--
}

// to is the label of the block with so many around it.
func (w *lowerer) to(around int) uint32 { return uint32(w.open - 1 - around) }

// label is the new label for one of the code that is read.
func (w *lowerer) label(x uint32) uint32 { return w.to(w.frames[len(w.frames)-1-int(x)].at) }

// thrown is the label to go to while something is thrown.
func (w *lowerer) thrown() uint32 {
	for i := len(w.frames) - 1; i >= 0; i-- {
		if c := w.frames[i].catch; c != none {
			return w.to(c)
		}
	}
	return w.to(w.leave)
}

// instruction writes the next instruction.
func (w *lowerer) instruction() {
	in := &w.in
	switch in.op {
	case opBlock, opLoop, opIf:
		w.begin(in.op)
	case opTryTable:
		w.try()
	case opEnd:
		w.end()
	case opBr, opBrIf:
		w.out = appendIndexed(w.out, in.op, w.label(in.x))
	case opBrTable:
		w.out = appendIndexed(w.out, opBrTable, in.x)
		for _, x := range w.targets(in) {
			w.out = appendU32(w.out, w.label(x))
		}
	case opThrow:
		w.raise(w.throw(in.x))
	case opThrowRef:
		w.raise(w.rethrow())
	default:
		w.plain()
	}
}

// plain writes an instruction that stays what it is, and looks behind a call
// whether it threw.
func (w *lowerer) plain() {
	in := &w.in
	switch last := w.b[in.end-1]; {
	case in.op == opRefNull && last == byte(ExnRef):
		w.out = appendNull(w.out)
		return
	case in.op == opSelectTyped && last == byte(ExnRef):
		w.out = append(w.out, opSelectTyped, 1, byte(V128))
		return
	}
	w.out = append(w.out, w.b[in.at:in.end]...)
	if w.mayThrow(in) {
		w.out = appendIndexed(w.out, opGlobalGet, w.pending)
		w.out = appendIndexed(w.out, opBrIf, w.thrown())
	}
}

// begin begins a block as the code has it.
func (w *lowerer) begin(op byte) {
	w.frames = append(w.frames, loweredFrame{at: w.open, catch: none})
	w.appendBlock(op)
}

func (w *lowerer) appendBlock(op byte) {
	w.out = append(w.out, op)
	if t := ValueType(w.in.bt & 0x7f); w.in.bt < 0 {
		w.out = append(w.out, byte(t.lowered()))
	} else {
		w.out = appendSigned(w.out, w.in.bt)
	}
	w.open++
}

// try begins a try_table.
func (w *lowerer) try() {
	if w.in.x == 0 {
		w.begin(opBlock)
		return
	}
	f := loweredFrame{at: w.open}
	for c := (cursor{b: w.b, pos: w.in.labels, end: w.in.end}); c.more(); {
		f.clauses = append(f.clauses, c.clause(w.bounds))
	}
	w.appendBlock(opBlock)
	f.catch = w.openInner()
	w.frames = append(w.frames, f)
}

// openInner begins the inner block, which takes what the try_table does.
func (w *lowerer) openInner() int {
	if w.in.bt < 0 || len(w.Types[w.in.bt].Params) == 0 {
		return w.openBlock()
	}
	t := w.typeIndex(FuncType{Params: w.Types[w.in.bt].Params})
	w.out = appendSigned(append(w.out, opBlock), int64(t))
	w.open++
	return w.open - 1
}

// end ends a block.
func (w *lowerer) end() {
	last := len(w.frames) - 1
	f := w.frames[last]
	w.frames = w.frames[:last]
	if f.clauses != nil {
		w.out = appendIndexed(w.out, opBr, w.to(f.at))
		w.closeBlock()
		w.dispatch(f.clauses)
	}
	w.closeBlock()
}

// dispatch writes the clauses of a try_table.
func (w *lowerer) dispatch(list []clause) {
	for _, k := range list {
		if k.any() {
			w.pass(k)
			return
		}
		w.out = appendIndexed(w.out, opGlobalGet, w.pending)
		w.out = appendSigned(append(w.out, opI32Const), int64(k.tag)+1)
		w.out = append(w.out, opI32Eq, opIf, blockEmpty)
		w.open++
		w.pass(k)
		w.closeBlock()
	}
	w.out = appendIndexed(w.out, opBr, w.thrown())
}

// pass goes on where a clause says.
func (w *lowerer) pass(k clause) {
	w.out = appendIndexed(w.out, opCall, w.caught(k))
	w.out = appendIndexed(w.out, opBr, w.label(k.label))
}

// raise calls what sets the globals and goes on with what was thrown.
func (w *lowerer) raise(set uint32) {
	w.out = appendIndexed(w.out, opCall, set)
	w.out = appendIndexed(w.out, opBr, w.thrown())
}
