package wasmlink

import (
	"encoding/binary"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

const (
	maxUnwindLocals = 50_000  // of a function that is rewritten
	maxUnwindState  = 1 << 28 // its locals times its instructions, with a collector
)

// bodyRewriter rewrites one function.
type bodyRewriter struct {
	*unwinder
	index    uint32
	function *wasmbin.Function
	list     []instruction
	types    []wasmbin.ValueType // of parameters and locals

	live  map[int]localSet // behind calls
	keep  map[int]int      // heights of operands to be put into memory, by where they are from
	slots map[uint32]int   // by local
	saved map[int]int      // slots by height of operand
	frame uint32           // local that points to the slots
	clean localSet         // locals that are in their slots as they are

	depth int // of blocks, the function's not counted
	out   []byte
}

const slotBytes = 4

func (r *bodyRewriter) rewrite() error {
	if err := r.check(); err != nil {
		return err
	}
	if r.collects[r.index] && r.index != r.Collector {
		if err := r.findSlots(); err != nil {
			return err
		}
	}
	r.clean = make(localSet, (len(r.types)+63)/64)
	r.frame = uint32(len(r.types))
	r.open()
	for i := range r.list[:len(r.list)-1] {
		r.instruction(i)
	}
	r.close()
	r.function.Code = r.out
	if r.frameBytes() > 0 {
		locals := wasmbin.Locals{Count: 2, Type: wasmbin.I32} // the frame, and an operand
		r.function.Locals = append(slices.Clip(r.function.Locals), locals)
	}
	return nil
}

// check reads the types of parameters and locals, and refuses what cannot be
// rewritten.
func (r *bodyRewriter) check() error {
	if len(r.results()) > 1 {
		return unwindErrorf("more than one result")
	}
	r.types = slices.Clone(r.TypeOf(r.index).Params)
	for _, l := range r.function.Locals {
		if int64(l.Count)+int64(len(r.types)) > maxUnwindLocals {
			return unwindErrorf("more than %d locals", maxUnwindLocals)
		}
		r.types = append(r.types, slices.Repeat([]wasmbin.ValueType{l.Type}, int(l.Count))...)
	}
	for i := range r.list {
		if why := r.refuse(&r.list[i]); why != "" {
			return unwindErrorf("%s", why)
		}
	}
	return nil
}

// refuse says why an instruction cannot be in a function that is rewritten.
func (r *bodyRewriter) refuse(in *instruction) string {
	switch in.op {
	case codeTailCall, codeTailIndirect:
		return "a tail call"
	case codeBlock, codeLoop, codeIf:
		if in.block >= 0 && r.collects[r.index] {
			return "a block with parameters or several results"
		}
	case codeLocalGet, codeLocalSet, codeLocalTee:
		if int64(in.x) >= int64(len(r.types)) {
			return "a local that is not there"
		}
	case codeGlobalGet, codeGlobalSet:
		if int64(in.x) >= int64(len(r.Globals)) {
			return "a global that is not there"
		}
	}
	return ""
}

func (r *bodyRewriter) results() []wasmbin.ValueType { return r.TypeOf(r.index).Results }

func (r *bodyRewriter) calledType(in *instruction) wasmbin.FuncType {
	if in.op == codeCallIndirect {
		return r.Types[in.x]
	}
	return r.TypeOf(in.x)
}

// findSlots gives a place in memory to each local and operand that is in use
// while a call may collect.
func (r *bodyRewriter) findSlots() error {
	if len(r.types)*len(r.list) > maxUnwindState {
		return unwindErrorf("too many locals for the length of the code")
	}
	var known bool
	if r.keep, known = r.findOperands(); !known {
		return unwindErrorf("the operands of an instruction are not known")
	}
	r.live = findLive(r.list, len(r.types))
	all := make(localSet, (len(r.types)+63)/64)
	for i, live := range r.live {
		if reaches(&r.list[i], r.collects) {
			all.join(live)
		}
	}
	r.slots, r.saved = map[uint32]int{}, map[int]int{}
	for x, kind := range r.types {
		if kind == wasmbin.I32 && all.has(uint32(x)) {
			r.slots[uint32(x)] = len(r.slots)
		}
	}
	for _, h := range heights(r.keep) {
		r.saved[h] = len(r.slots) + len(r.saved)
	}
	return nil
}

// frameBytes is the size of the frame, which keeps the stack aligned.
func (r *bodyRewriter) frameBytes() uint32 {
	return uint32((len(r.slots)+len(r.saved))*slotBytes+15) &^ 15
}

// open writes what is in front of the code: a block for unwinding, and one in
// it that stands for the function.
func (r *bodyRewriter) open() {
	if n := r.frameBytes(); n > 0 {
		r.emit(codeGlobalGet, r.Stack)
		r.constant(n)
		r.out = append(r.out, codeSub)
		r.emit(codeLocalTee, r.frame)
		r.emit(codeGlobalSet, r.Stack)
	}
	result := byte(emptyType)
	if len(r.results()) > 0 {
		result = byte(r.results()[0])
	}
	r.out = append(r.out, codeBlock, emptyType, codeBlock, result)
}

// close writes what is behind the code: the way out of the function, and that
// of unwinding, which returns zeros.
func (r *bodyRewriter) close() {
	r.out = append(r.out, codeEnd)
	if n := r.frameBytes(); n > 0 {
		r.emit(codeLocalGet, r.frame)
		r.constant(n)
		r.out = append(r.out, codeAdd)
		r.emit(codeGlobalSet, r.Stack)
	}
	r.out = append(r.out, codeReturn, codeEnd)
	for _, kind := range r.results() {
		r.out = append(r.out, zeroOf[kind]...)
	}
	r.out = append(r.out, codeEnd)
}

// zeroOf are instructions for the zero of each type.
var zeroOf = map[wasmbin.ValueType][]byte{
	wasmbin.I32:       {codeConst, 0},
	wasmbin.I64:       {0x42, 0},
	wasmbin.F32:       {0x43, 0, 0, 0, 0},
	wasmbin.F64:       {0x44, 0, 0, 0, 0, 0, 0, 0, 0},
	wasmbin.V128:      append([]byte{0xfd, 12}, make([]byte, 16)...),
	wasmbin.FuncRef:   {0xd0, byte(wasmbin.FuncRef)},
	wasmbin.ExternRef: {0xd0, byte(wasmbin.ExternRef)},
}

func (r *bodyRewriter) emit(op byte, x uint32) {
	r.out = binary.AppendUvarint(append(r.out, op), uint64(x))
}

// constant writes an i32.const of a number below 2^31.
func (r *bodyRewriter) constant(n uint32) {
	r.out = append(r.out, codeConst)
	for ; n >= 0x40; n >>= 7 {
		r.out = append(r.out, byte(n)|0x80)
	}
	r.out = append(r.out, byte(n))
}

// instruction writes one instruction with what belongs in front of it and
// behind it.
func (r *bodyRewriter) instruction(i int) {
	in := &r.list[i]
	if live := r.live[i]; live != nil && reaches(in, r.collects) {
		r.saveLocals(live)
	}
	if in.op == codeReturn {
		r.emit(codeBr, uint32(r.depth))
	} else {
		r.out = append(r.out, in.bytes...)
	}
	r.account(in)
	if h, ok := r.keep[i]; ok {
		r.saveOperand(in, h)
	}
	if reaches(in, r.unwinds) {
		r.emit(codeGlobalGet, r.flag)
		r.emit(codeBrIf, uint32(r.depth)+1)
	}
}

// account keeps count of blocks, and of what the slots hold.
func (r *bodyRewriter) account(in *instruction) {
	switch in.op {
	case codeBlock, codeIf:
		r.depth++
	case codeLoop:
		r.depth++
		clear(r.clean)
	case codeElse:
		clear(r.clean)
	case codeEnd:
		r.depth--
		clear(r.clean)
	case codeLocalSet, codeLocalTee:
		r.clean.remove(in.x)
	}
}

func (r *bodyRewriter) saveLocals(live localSet) {
	for x := range uint32(len(r.types)) {
		if slot, ok := r.slots[x]; ok && live.has(x) && !r.clean.has(x) {
			r.store(x, slot)
			r.clean.add(x)
		}
	}
}

func (r *bodyRewriter) saveOperand(in *instruction, height int) {
	value := r.frame + 1
	if in.op == codeLocalGet || in.op == codeLocalTee {
		value = in.x
	} else {
		r.emit(codeLocalTee, value)
	}
	r.store(value, r.saved[height])
}

// store puts a local into its slot.
func (r *bodyRewriter) store(local uint32, slot int) {
	r.emit(codeLocalGet, r.frame)
	r.emit(codeLocalGet, local)
	r.emit(codeStore, 2)
	r.out = binary.AppendUvarint(r.out, uint64(slot*slotBytes))
}
