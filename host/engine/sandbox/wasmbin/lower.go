package wasmbin

import (
	"fmt"
	"slices"
)

// lowering writes the exceptions of a module as branches. A throw sets two
// globals, one of which says what is thrown, and goes to the clauses of the
// try_table around it or, where there is none, returns zeros; behind each call that
// may throw the global is read. Clauses become comparisons with it. So what is
// compiled has no exceptions, and all that is said of fuel, of snapshots and of
// memory holds as it does for other code.
//
// An exnref is a v128: what the exception carries in the lower half, and the tag
// with one added in the upper; null is zero.
//
// A call may throw when the function it calls throws, or calls one that may. One
// through a table may when one of that type that is mentioned outside of code may.
// Functions of the host do not throw. What nothing catches is a trap at the end
// of the exported function, as is throw_ref of null.
type lowering struct {
	*Parts
	bounds           *bounds
	tags             []FuncType
	imported         int
	throws           []bool // by function: may throw; and behind them by kind of type
	kind             []int  // of each type: the same for equal ones
	pending, payload uint32 // globals
	helpers, types   map[string]uint32
}

// lowerExceptions writes the exceptions of a module that was checked as
// branches.
func lowerExceptions(p *Parts, d *decoder) {
	l := &lowering{
		Parts: p, bounds: &d.bounds, imported: len(p.Imports),
		helpers: map[string]uint32{}, types: map[string]uint32{},
	}
	for _, t := range d.tagTypes {
		l.tags = append(l.tags, d.module.Types[t])
	}
	l.lowerTypes()
	rewrite := l.findThrowing(d.declared)
	l.pending, l.payload = l.addGlobal(I32, opI32Const), l.addGlobal(I64, opI64Const)
	for i := range p.Functions {
		l.lowerFunction(i, rewrite[i])
	}
	for i := range p.Exports {
		if e := &p.Exports[i]; e.Kind == Func {
			e.Index = l.door(e.Index)
		}
	}
	if p.HasStart {
		p.Start = l.door(p.Start)
	}
}

func (l *lowering) addGlobal(t ValueType, op byte) uint32 {
	l.Globals = append(l.Globals, GlobalPart{Global{t, true}, []byte{op, 0, opEnd}})
	return uint32(len(l.Globals) - 1)
}

// mentions reports whether a parameter or result is of a type.
func (t FuncType) mentions(v ValueType) bool {
	return slices.Contains(t.Params, v) || slices.Contains(t.Results, v)
}

// lowered is the type that stands for t.
func (t ValueType) lowered() ValueType {
	if t == ExnRef {
		return V128
	}
	return t
}

// lowerTypes makes an exnref a v128 in all that is declared, and finds which types
// are equal.
func (l *lowering) lowerTypes() {
	l.Types = slices.Clone(l.Types)
	l.kind = make([]int, len(l.Types))
	for i, t := range l.Types {
		if t.mentions(ExnRef) {
			l.Types[i] = FuncType{loweredTypes(t.Params), loweredTypes(t.Results)}
		}
		key := string(appendFuncType(nil, l.Types[i]))
		if _, ok := l.types[key]; !ok {
			l.types[key] = uint32(i)
		}
		l.kind[i] = int(l.types[key])
	}
	for i := range l.Globals {
		if g := &l.Globals[i]; g.Type == ExnRef {
			g.Type = V128
			if g.Init[0] == opRefNull {
				g.Init = append(appendNull(nil), opEnd)
			}
		}
	}
}

func loweredTypes(list []ValueType) (out []ValueType) {
	for _, t := range list {
		out = append(out, t.lowered())
	}
	return out
}

// appendNull appends the null of exceptions.
func appendNull(b []byte) []byte {
	return append(append(b, opSIMD, simdConst), make([]byte, 16)...)
}

// typeIndex returns the first type that equals t, which it adds if none does.
func (l *lowering) typeIndex(t FuncType) uint32 {
	key := string(appendFuncType(nil, t))
	if i, ok := l.types[key]; ok {
		return i
	}
	i := uint32(len(l.Types))
	l.types[key] = i
	l.Types = append(l.Types, t)
	return i
}

// findThrowing finds which functions may throw, and which of those the module
// defines have to be written anew.
func (l *lowering) findThrowing(mentioned map[uint32]bool) (rewrite []bool) {
	defined := len(l.Functions)
	functions := l.imported + defined
	rewrite = make([]bool, defined)
	l.throws = make([]bool, functions+len(l.Types))
	callers := make([][]int32, len(l.throws)) // and of a type, who calls one through a table
	var found []int32
	add := func(f int32) {
		if !l.throws[f] {
			l.throws[f] = true
			found = append(found, f)
		}
	}
	for i := range l.Functions {
		caller := int32(l.imported + i)
		if kind := functions + l.kind[l.Functions[i].Type]; mentioned[uint32(caller)] {
			callers[caller] = append(callers[caller], int32(kind))
		}
		l.each(i, func(in *instr) {
			switch in.op {
			case opThrow, opThrowRef:
				add(caller)
			case opCall, opReturnCall:
				callers[in.x] = append(callers[in.x], caller)
			case opCallIndirect, opReturnCallIndirect:
				k := functions + l.kind[in.x]
				callers[k] = append(callers[k], caller)
			}
			rewrite[i] = rewrite[i] || in.exceptional()
		})
	}
	for len(found) > 0 {
		f := found[len(found)-1]
		found = found[:len(found)-1]
		for _, caller := range callers[f] {
			add(caller)
		}
	}
	for i := range rewrite {
		rewrite[i] = rewrite[i] || l.throws[l.imported+i]
	}
	return rewrite
}

// exceptional reports whether an instruction is one that has to be written
// anew in any case.
func (in *instr) exceptional() bool {
	switch in.op {
	case opThrow, opThrowRef, opTryTable, opRefNull, opSelectTyped:
		return true
	case opBlock, opLoop, opIf:
		return in.bt < 0 && ValueType(in.bt&0x7f) == ExnRef
	}
	return false
}

// each calls f with the instructions of a function.
func (l *lowering) each(function int, f func(*instr)) {
	code := l.Functions[function].Code
	c := cursor{b: code, end: len(code), section: "code"}
	var in instr
	for c.more() {
		c.next(&in, l.bounds)
		f(&in)
	}
}

// mayThrow reports whether a call may throw.
func (l *lowering) mayThrow(in *instr) bool {
	switch in.op {
	case opCall:
		return l.throws[in.x]
	case opCallIndirect:
		return l.throws[len(l.throws)-len(l.kind)+l.kind[in.x]]
	}
	return false
}

// helper returns the index of the added function of that key.
func (l *lowering) helper(key string, t FuncType, build func() []byte) uint32 {
	if i, ok := l.helpers[key]; ok {
		return i
	}
	i := uint32(l.imported + len(l.Functions))
	l.helpers[key] = i
	l.Functions = append(l.Functions, Function{Type: l.typeIndex(t), Code: append(build(), opEnd)})
	return i
}

// throw returns the function that sets the globals for a tag.
func (l *lowering) throw(tag uint32) uint32 {
	t := l.tags[tag]
	return l.helper(fmt.Sprint("throw", tag), FuncType{Params: t.Params}, func() []byte {
		b := []byte{opI64Const, 0}
		shift := int64(0)
		for i, p := range t.Params {
			b = appendWord(appendIndexed(b, opLocalGet, uint32(i)), p)
			b = append(appendSigned(append(b, opI64Const), shift), opI64Shl, opI64Or)
			shift += int64(p.bits())
		}
		b = appendIndexed(b, opGlobalSet, l.payload)
		b = appendSigned(append(b, opI32Const), int64(tag)+1)
		return appendIndexed(b, opGlobalSet, l.pending)
	})
}

// appendWord appends the conversion of a number to its bits in an i64.
func appendWord(b []byte, t ValueType) []byte {
	switch t {
	case I32:
		return append(b, opI64ExtendI32U)
	case F32:
		return append(b, opI32ReinterpretF32, opI64ExtendI32U)
	case F64:
		return append(b, opI64ReinterpretF64)
	}
	return b
}

// appendNumber appends the conversion back.
func appendNumber(b []byte, t ValueType) []byte {
	switch t {
	case I32:
		return append(b, opI32WrapI64)
	case F32:
		return append(b, opI32WrapI64, opF32ReinterpretI32)
	case F64:
		return append(b, opF64ReinterpretI64)
	}
	return b
}

// caught returns the function that returns what a clause passes on, after which
// nothing is thrown any more.
func (l *lowering) caught(k clause) uint32 {
	var t FuncType
	if !k.any() {
		t.Results = slices.Clone(l.tags[k.tag].Params)
	}
	carried := t.Results
	if k.ref() {
		t.Results = append(slices.Clone(carried), V128)
	}
	return l.helper(fmt.Sprint("caught", k.kind, k.tag), t, func() []byte {
		var b []byte
		shift := int64(0)
		for _, p := range carried {
			b = appendIndexed(b, opGlobalGet, l.payload)
			b = append(appendSigned(append(b, opI64Const), shift), opI64ShrU)
			b = appendNumber(b, p)
			shift += int64(p.bits())
		}
		if k.ref() {
			b = appendIndexed(b, opGlobalGet, l.payload)
			b = appendIndexed(append(b, opSIMD, simdI64Splat), opGlobalGet, l.pending)
			b = append(b, opI64ExtendI32U, opSIMD, simdI64Replace, 1)
		}
		return appendIndexed(append(b, opI32Const, 0), opGlobalSet, l.pending)
	})
}

// rethrow returns the function that sets the globals for an exnref.
func (l *lowering) rethrow() uint32 {
	return l.helper("rethrow", FuncType{Params: []ValueType{V128}}, func() []byte {
		b := []byte{opLocalGet, 0, opSIMD, simdI64Extract, 1, opI32WrapI64}
		b = appendIndexed(appendIndexed(b, opGlobalSet, l.pending), opGlobalGet, l.pending)
		b = append(b, opI32Eqz, opIf, blockEmpty, opUnreachable, opEnd)
		return appendIndexed(append(b, opLocalGet, 0, opSIMD, simdI64Extract, 0), opGlobalSet, l.payload)
	})
}

// door returns the function by which the host calls one that may throw: what
// nothing caught is a trap.
func (l *lowering) door(function uint32) uint32 {
	if !l.throws[function] {
		return function
	}
	t := l.Types[l.Functions[int(function)-l.imported].Type]
	return l.helper(fmt.Sprint("door", function), t, func() []byte {
		var b []byte
		for i := range t.Params {
			b = appendIndexed(b, opLocalGet, uint32(i))
		}
		b = appendIndexed(appendIndexed(b, opCall, function), opGlobalGet, l.pending)
		b = appendIndexed(append(b, opIf, blockEmpty, opI32Const, 0), opGlobalSet, l.pending)
		return append(b, opUnreachable, opEnd)
	})
}
