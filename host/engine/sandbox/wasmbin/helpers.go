package wasmbin

import "fmt"

// smallBulk is how many bytes memory.copy and memory.fill may move for no more
// than their own cost, and without a look at the counter. Most of them move a
// few.
const smallBulk = 1 << 8

// bulkChunk is how many bytes a bulk memory instruction moves at once at most.
const bulkChunk = 1 << 20

// helper returns the index of the added function of that key. It is added with
// what build returns when it is first asked for.
func (r *rewriter) helper(key string, build func() (FuncType, []byte)) uint32 {
	if i, ok := r.helpers[key]; ok {
		return i
	}
	i := uint32(r.imported+r.module.Functions+len(r.add.bodies)) + r.shift
	r.helpers[key] = i
	t, body := build()
	r.add.functions = append(r.add.functions, appendU32(nil, r.typeIndex(t)))
	r.add.bodies = append(r.add.bodies, body)
	return i
}

// typeIndex returns the index of a type that is added when it is first asked
// for.
func (r *rewriter) typeIndex(t FuncType) uint32 {
	encoded := appendFuncType(nil, t)
	i, ok := r.kinds[string(encoded)]
	if !ok {
		i = uint32(r.types + len(r.add.types))
		r.kinds[string(encoded)] = i
		r.add.types = append(r.add.types, encoded)
	}
	return i
}

// pauseHelper returns a function that calls tick, adds its last parameter to
// the fuel, and returns the others.
func (r *rewriter) pauseHelper(carried []uint32) uint32 {
	t := FuncType{}
	for _, x := range carried {
		t.Results = append(t.Results, r.code.types[x])
	}
	return r.helper(fmt.Sprint("pause", t.Results), func() (FuncType, []byte) {
		t.Params = append(t.Params, t.Results...)
		t.Params = append(t.Params, I64)
		b := appendIndexed([]byte{0}, opCall, r.tick)
		b = appendIndexed(b, opGlobalGet, r.fuel)
		b = appendIndexed(b, opLocalGet, uint32(len(t.Results)))
		b = appendIndexed(append(b, opI64Add), opGlobalSet, r.fuel)
		for i := range t.Results {
			b = appendIndexed(b, opLocalGet, uint32(i))
		}
		return t, append(b, opEnd)
	})
}

// bulkHelper returns the function that stands for a bulk memory instruction,
// if one does.
func (r *rewriter) bulkHelper(in *instr) (index uint32, ok bool) {
	switch {
	case in.op != opMisc:
		return 0, false
	case in.sub == miscMemoryFill:
		return r.helper("fill", r.fillHelper), true
	case in.sub == miscMemoryCopy:
		return r.helper("copy", r.copyHelper), true
	case in.sub == miscMemoryInit && r.segmentBytes[in.x] > bulkChunk:
		return r.helper(fmt.Sprint("init", in.x), func() (FuncType, []byte) { return r.initHelper(in.x) }), true
	}
	return 0, false
}

// appendSmallBulk appends an instruction that moves memory, with n its last
// operand:
//
//	if n <= small { op } else { helper }
func (r *rewriter) appendSmallBulk(b, op []byte, helper uint32) []byte {
	n := r.code.local
	b = appendIndexed(appendIndexed(b, opLocalTee, n), opLocalGet, n)
	b = append(appendSigned(append(b, opI32Const), smallBulk), opI32LeU, opIf)
	b = appendSigned(b, int64(r.typeIndex(bulkType())))
	b = append(b, op...)
	b = appendIndexed(append(b, opElse), opCall, helper)
	return append(b, opEnd)
}

func bulkType() FuncType { return FuncType{Params: []ValueType{I32, I32, I32}} }

// Parameters of the helpers for bulk memory instructions: where to, what or
// where from, how many bytes.
const (
	bulkTo    = 0
	bulkFrom  = 1
	bulkCount = 2
)

// fillHelper writes memory.fill:
//
//	charge(n)
//	if n > chunk && to+n <= size {
//		do { fill(to, v, chunk); tick(); to += chunk; n -= chunk } while n > chunk
//	}
//	fill(to, v, n)
//
// The instruction itself traps when it leaves the memory, before it writes.
func (r *rewriter) fillHelper() (FuncType, []byte) {
	op := []byte{opMisc, miscMemoryFill, 0}
	b := r.beginBulk()
	b = r.appendOutside(b, bulkTo, appendMemoryBytes)
	b = r.appendForward(b, op, bulkTo)
	return endBulk(b, op)
}

// copyHelper writes memory.copy like memory.fill, from the end to the start
// when the source is in front of the destination and so may be overwritten.
func (r *rewriter) copyHelper() (FuncType, []byte) {
	op := []byte{opMisc, miscMemoryCopy, 0, 0}
	b := r.beginBulk()
	b = r.appendOutside(b, bulkTo, appendMemoryBytes)
	b = r.appendOutside(b, bulkFrom, appendMemoryBytes)
	b = append(b, opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32GtU, opIf, blockEmpty)
	b = r.appendBackward(b, op)
	b = append(b, opElse)
	b = r.appendForward(b, op, bulkTo, bulkFrom)
	return endBulk(append(b, opEnd), op)
}

// initHelper writes memory.init of a segment. That of a dropped segment traps
// at the first chunk.
func (r *rewriter) initHelper(segment uint32) (FuncType, []byte) {
	op := append(appendU32([]byte{opMisc, miscMemoryInit}, segment), 0)
	b := r.beginBulk()
	b = r.appendOutside(b, bulkTo, appendMemoryBytes)
	b = r.appendOutside(b, bulkFrom, func(b []byte) []byte {
		return appendSigned(append(b, opI64Const), int64(r.segmentBytes[segment]))
	})
	b = r.appendForward(b, op, bulkTo, bulkFrom)
	return endBulk(b, op)
}

// beginBulk begins a helper: the charge, and a block that is left at once when
// one instruction is enough.
func (r *rewriter) beginBulk() []byte {
	b := []byte{0, opLocalGet, bulkCount}
	b = r.appendLengthCharge(b, &lengthCharge{right: bytesPerUnit}, bulkCount)
	b = append(b, opDrop, opBlock, blockEmpty, opLocalGet, bulkCount)
	return append(appendChunk(b), opI32LeU, opBrIf, 0)
}

// endBulk ends a helper with the instruction for what is left to do.
func endBulk(b, op []byte) (FuncType, []byte) {
	b = append(b, opEnd)
	b = appendBulk(b, op)
	return bulkType(), append(b, opEnd)
}

func appendChunk(b []byte) []byte { return appendSigned(append(b, opI32Const), bulkChunk) }

func appendMemoryBytes(b []byte) []byte {
	return append(b, opMemorySize, 0, opI64ExtendI32U, opI64Const, 16, opI64Shl)
}

// appendOutside leaves the block when the bytes from a parameter on pass a
// limit.
func (r *rewriter) appendOutside(b []byte, from byte, limit func([]byte) []byte) []byte {
	b = append(b, opLocalGet, from, opI64ExtendI32U, opLocalGet, bulkCount, opI64ExtendI32U, opI64Add)
	return append(limit(b), opI64GtU, opBrIf, 0)
}

// appendBulk appends an instruction with the three parameters as operands.
func appendBulk(b, op []byte) []byte {
	b = append(b, opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkCount)
	return append(b, op...)
}

// appendForward appends a loop over all chunks but the last, which moves the
// given parameters along.
func (r *rewriter) appendForward(b, op []byte, moved ...byte) []byte {
	b = append(b, opLoop, blockEmpty, opLocalGet, bulkTo, opLocalGet, bulkFrom)
	b = append(appendChunk(b), op...)
	b = appendIndexed(b, opCall, r.tick)
	for _, p := range moved {
		b = append(appendChunk(append(b, opLocalGet, p)), opI32Add, opLocalSet, p)
	}
	b = append(appendChunk(append(b, opLocalGet, bulkCount)), opI32Sub, opLocalTee, bulkCount)
	return append(appendChunk(b), opI32GtU, opBrIf, 0, opEnd)
}

// appendBackward appends a loop over all chunks but the first, from the end.
func (r *rewriter) appendBackward(b, op []byte) []byte {
	b = append(b, opLoop, blockEmpty)
	b = append(appendChunk(append(b, opLocalGet, bulkCount)), opI32Sub, opLocalSet, bulkCount)
	b = append(b, opLocalGet, bulkTo, opLocalGet, bulkCount, opI32Add)
	b = append(b, opLocalGet, bulkFrom, opLocalGet, bulkCount, opI32Add)
	b = append(appendChunk(b), op...)
	b = appendIndexed(b, opCall, r.tick)
	b = appendChunk(append(b, opLocalGet, bulkCount))
	return append(b, opI32GtU, opBrIf, 0, opEnd)
}
