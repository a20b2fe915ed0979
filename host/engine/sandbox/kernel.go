package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// kernelModule is the module Extism plug-ins import from.
const kernelModule = "extism:host/env"

// kernel is the memory that an Extism plug-in and the host share: blocks in an
// arena, named by their offset in it. It does what the WebAssembly kernel of
// the Extism SDKs does (EIP-007 of extism/proposals), with two differences: an
// access outside the arena, or further behind the input than pluginReach, traps
// instead of reading zero or doing nothing, and the input is not copied into a
// block before somebody asks for its offset.
type kernel struct {
	budget *memoryBudget
	memory *arenaMemory           // what the arena is in; nil for the Go heap
	arena  []byte                 // zero from its length to its capacity
	taken  uint64                 // bytes of the budget that the arena has
	moved  uint64                 // bytes that growing it has copied and nobody has paid
	blocks map[uint64]kernelBlock // in use, by offset
	spare  map[uint64][]uint64    // offsets of freed blocks, by capacity

	input       []byte // what input_load reads, until the input has a block
	inputOffset uint64 // block of the input, 0 before it has one
	inputLength uint64 // of the block

	outputSet               bool
	outputStart, outputSize uint64
	errorOffset             uint64
}

type kernelBlock struct{ used, capacity uint64 }

const (
	// arenaStart keeps offset 0 and those a few bytes off it from being blocks.
	arenaStart = 16
	// arenaGrain is what block sizes are rounded to, so that they are aligned
	// and fit again when freed.
	arenaGrain = 16
	arenaPage  = 4096
	// noLogLevel is get_log_level when nobody reads the log.
	noLogLevel = math.MaxInt32
	// maxErrorBytes is how much of an error message is kept.
	maxErrorBytes = 64 << 10
)

var errOffset = errors.New("offset outside Extism memory")

// alloc returns the offset of a new block of n bytes, or 0 when n is 0 or
// memory has run out.
func (k *kernel) alloc(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	if n > k.budget.limit {
		k.budget.refused = true
		return 0
	}
	capacity := blockCapacity(n)
	off := k.reuse(capacity)
	if off == 0 {
		off = k.extend(capacity)
	}
	if off == 0 {
		return 0
	}
	if k.blocks == nil {
		k.blocks = map[uint64]kernelBlock{}
	}
	k.blocks[off] = kernelBlock{n, capacity}
	return off
}

// blockCapacity rounds small sizes up to a power of two and large ones to
// whole pages: few sizes, so that freed blocks are found again.
func blockCapacity(n uint64) uint64 {
	if n >= arenaPage {
		return (n + arenaPage - 1) &^ (arenaPage - 1)
	}
	return max(arenaGrain, uint64(1)<<bits.Len64(n-1))
}

// reuse takes a freed block of exactly this capacity.
func (k *kernel) reuse(capacity uint64) uint64 {
	spare := k.spare[capacity]
	if len(spare) == 0 {
		return 0
	}
	off := spare[len(spare)-1]
	k.spare[capacity] = spare[:len(spare)-1]
	return off
}

// extend adds a block at the end of the arena. What the arena takes of the
// host's memory is counted, with the room it keeps to grow into, as if it had
// been made for this call.
func (k *kernel) extend(capacity uint64) uint64 {
	off := max(uint64(len(k.arena)), arenaStart)
	end := off + capacity
	if end > k.taken && !k.enlarge(end) {
		return 0
	}
	if !k.lengthen(end) {
		return 0
	}
	return off
}

// lengthen makes the arena end bytes long.
func (k *kernel) lengthen(end uint64) bool {
	switch {
	case k.memory != nil:
		longer := k.memory.resize(end)
		if longer == nil {
			k.budget.refused = true
			return false
		}
		k.arena = longer
	case end <= uint64(cap(k.arena)):
		k.arena = k.arena[:end]
	default:
		next := make([]byte, end, k.taken)
		copy(next, k.arena)
		k.arena = next
	}
	return true
}

// enlarge takes more of the budget: as much again, or else half of what is left, so
// that a guest whose memory is nearly used up does not have the arena copied for
// each of its blocks.
func (k *kernel) enlarge(end uint64) bool {
	size := max(2*k.taken, end, arenaPage/4)
	if !k.budget.has(size - k.taken) {
		size = max(k.taken+(k.budget.limit-k.budget.used)/2, end)
	}
	if !k.budget.take(size - k.taken) {
		return false
	}
	k.taken = size
	if k.memory == nil { // also where an arena of an earlier call has the room: it costs each call the same
		k.moved += uint64(len(k.arena))
	}
	return true
}

// chargeMoved has the guest pay for what its blocks had copied.
func (in *instance) chargeMoved() {
	n := in.kernel.moved
	in.kernel.moved = 0
	in.spend(n)
}

// untouched reports whether nobody has used the kernel yet.
func (k *kernel) untouched() bool { return k.taken == 0 && !k.outputSet && k.errorOffset == 0 }

// arenaKept is the largest arena that is kept for the next call.
const arenaKept = 4 << 20

// renew makes the kernel as new, for a call with another budget and input. Its
// memory is used again.
func (k *kernel) renew(budget *memoryBudget, input []byte) {
	if k.untouched() && k.inputOffset == 0 {
		k.budget, k.input = budget, input
		return
	}
	k.reset()
	next := kernel{budget: budget, input: input, memory: k.memory, blocks: k.blocks, spare: k.spare}
	if k.memory == nil && cap(k.arena) <= arenaKept {
		next.arena = k.arena
	}
	*k = next
}

// held is how many bytes the kernel holds while nobody uses it.
func (k *kernel) held() int64 {
	if k.memory != nil {
		return int64(max(k.memory.touched, len(k.arena)))
	}
	return int64(cap(k.arena))
}

// free gives a block back. Offsets that are not a block do nothing.
func (k *kernel) free(off uint64) {
	b, ok := k.blocks[off]
	if !ok {
		return
	}
	delete(k.blocks, off)
	if k.spare == nil {
		k.spare = map[uint64][]uint64{}
	}
	k.spare[b.capacity] = append(k.spare[b.capacity], off)
	if off == k.inputOffset {
		k.input = nil
		k.placeInput(0, 0)
	}
}

// length is the size of the block at an offset; 0 when there is none.
func (k *kernel) length(off uint64) uint64 { return k.blocks[off].used }

// block returns the block at an offset.
func (k *kernel) block(off uint64) ([]byte, error) {
	b, ok := k.blocks[off]
	if !ok {
		return nil, fmt.Errorf("%w: no block at %d", errOffset, off)
	}
	return k.arena[off : off+b.used], nil
}

// at returns n bytes of the arena.
func (k *kernel) at(off, n uint64) ([]byte, error) {
	end := off + n
	if off < arenaStart || end < off || end > uint64(len(k.arena)) {
		return nil, fmt.Errorf("%w: %d bytes at %d", errOffset, n, off)
	}
	return k.arena[off:end], nil
}

// inputBytes is the input, wherever it is.
func (k *kernel) inputBytes() []byte {
	if k.inputOffset == 0 {
		return k.input
	}
	return k.arena[k.inputOffset : k.inputOffset+k.inputLength]
}

// pluginReach is how far behind the input plug-ins may read, where everything is
// zero: there are some that read the eight bytes after the last.
const pluginReach = 8

// inputAt returns n bytes of the input. Past its end they read as zero, up to
// pluginReach.
func (k *kernel) inputAt(off, n uint64) ([]byte, error) {
	input := k.inputBytes()
	if off >= uint64(len(input))+pluginReach {
		return nil, fmt.Errorf("offset %d is past the input of %d bytes", off, len(input))
	}
	left := input[min(off, uint64(len(input))):]
	if uint64(len(left)) >= n {
		return left[:n], nil
	}
	b := make([]byte, n)
	copy(b, left)
	return b, nil
}

// placeInput notes where in the arena the input is.
func (k *kernel) placeInput(off, n uint64) {
	k.inputOffset, k.inputLength = off, n
	if k.memory != nil {
		k.memory.setInput(off, n)
	}
}

// shareInput puts the input where the guest can read it without the host, when
// there is memory to spare for that. It returns the number of bytes copied.
func (k *kernel) shareInput() uint64 {
	n := uint64(len(k.input))
	if k.memory == nil || k.inputOffset != 0 || n == 0 {
		return 0
	}
	end := max(uint64(len(k.arena)), arenaStart) + blockCapacity(n)
	if end > k.taken && !k.budget.has(end-k.taken) || k.inputBlock() == 0 {
		return 0
	}
	return n
}

// inputBlock gives the input a block of its own and returns its offset: 0 for
// an empty input and when memory has run out.
func (k *kernel) inputBlock() uint64 {
	if k.inputOffset == 0 && len(k.input) > 0 {
		off := k.alloc(uint64(len(k.input)))
		if off == 0 {
			return 0
		}
		copy(k.arena[off:], k.input)
		k.placeInput(off, uint64(len(k.input)))
	}
	return k.inputOffset
}

// setInput makes a part of the arena the input.
func (k *kernel) setInput(off, n uint64) error {
	if n == 0 {
		k.input = nil
		k.placeInput(0, 0)
		return nil
	}
	if _, err := k.at(off, n); err != nil {
		return err
	}
	k.placeInput(off, n)
	return nil
}

// setOutput makes a part of the arena the output.
func (k *kernel) setOutput(off, n uint64) error {
	if n > 0 {
		if _, err := k.at(off, n); err != nil {
			return err
		}
	}
	k.outputSet, k.outputStart, k.outputSize = true, off, n
	return nil
}

// output returns a copy of the output, in room as far as that goes.
func (k *kernel) output(room []byte) []byte {
	b, err := k.at(k.outputStart, k.outputSize)
	if err != nil {
		return nil // nothing was set, or reset took it away
	}
	return append(room[:0], b...)
}

// reset frees every block and forgets input, output and error.
func (k *kernel) reset() {
	clear(k.blocks)
	clear(k.spare)
	if k.memory != nil {
		k.memory.wipe(len(k.arena))
	} else {
		clear(k.arena)
	}
	k.arena = k.arena[:0]
	k.input, k.inputOffset, k.inputLength = nil, 0, 0
	k.outputSet, k.outputStart, k.outputSize, k.errorOffset = false, 0, 0, 0
}

// setError keeps the message at an offset at once, because plug-ins free it
// right after. Offset 0 takes an error back.
func (in *instance) setError(off uint64) error {
	in.kernel.errorOffset = off
	if off == 0 {
		in.guestErr = nil
		return nil
	}
	b, err := in.kernel.block(off)
	if err != nil {
		return err
	}
	in.guestErr = &GuestError{Message: string(b[:min(len(b), maxErrorBytes)])}
	return nil
}

// setOutput checks the length before anything is copied.
func (in *instance) setOutput(off, n uint64) error {
	if n > uint64(in.call.Limits.OutputBytes) {
		return in.outputError()
	}
	return in.kernel.setOutput(off, n)
}

// kernelFunctions are the functions of extism:host/env that touch nothing but
// the instance. The others (http, vars, config, log) are host functions.
func kernelFunctions() []builtin {
	i32, i64, none := []ValueType{I32}, []ValueType{I64}, []ValueType(nil)
	f := func(name string, params, results []ValueType, fuel uint64, call func(in *instance, s []uint64) error) builtin {
		return builtin{kernelModule, name, params, results, fuel, call}
	}
	return []builtin{
		f("alloc", i64, i64, fuelAlloc, func(in *instance, s []uint64) error { s[0] = in.kernel.alloc(s[0]); in.chargeMoved(); return nil }),
		f("free", i64, none, fuelAlloc, func(in *instance, s []uint64) error { in.kernel.free(s[0]); return nil }),
		f("length", i64, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = in.kernel.length(s[0]); return nil }),
		f("length_unsafe", i64, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = in.kernel.length(s[0]); return nil }),
		f("load_u8", i64, i32, fuelKernel, func(in *instance, s []uint64) error { return load8(in.kernel.at, s) }),
		f("load_u64", i64, i64, fuelKernel, func(in *instance, s []uint64) error { return load64(in.kernel.at, s) }),
		f("store_u8", []ValueType{I64, I32}, none, fuelKernel, storeU8),
		f("store_u64", []ValueType{I64, I64}, none, fuelKernel, storeU64),
		f("input_set", []ValueType{I64, I64}, none, fuelKernel, func(in *instance, s []uint64) error { return in.kernel.setInput(s[0], s[1]) }),
		f("input_length", none, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = uint64(len(in.kernel.inputBytes())); return nil }),
		f("input_offset", none, i64, fuelAlloc, func(in *instance, s []uint64) error { s[0] = in.kernel.inputBlock(); in.chargeMoved(); return nil }),
		f("input_load_u8", i64, i32, fuelKernel, func(in *instance, s []uint64) error { in.shareInput(); return load8(in.kernel.inputAt, s) }),
		f("input_load_u64", i64, i64, fuelKernel, func(in *instance, s []uint64) error { in.shareInput(); return load64(in.kernel.inputAt, s) }),
		f("output_set", []ValueType{I64, I64}, none, fuelKernel, func(in *instance, s []uint64) error { return in.setOutput(s[0], s[1]) }),
		f("output_length", none, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = in.kernel.outputSize; return nil }),
		f("output_offset", none, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = in.kernel.outputStart; return nil }),
		f("error_set", i64, none, fuelAlloc, func(in *instance, s []uint64) error { return in.setError(s[0]) }),
		f("error_get", none, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = in.kernel.errorOffset; return nil }),
		f("reset", none, none, fuelAlloc, resetKernel),
		f("memory_bytes", none, i64, fuelKernel, func(in *instance, s []uint64) error { s[0] = uint64(len(in.kernel.arena)); return nil }),
		f("get_log_level", none, i32, fuelKernel, logLevel),
	}
}

func (in *instance) shareInput() { in.chargeBytes(in.kernel.shareInput()) }

func load8(at func(off, n uint64) ([]byte, error), s []uint64) error {
	b, err := at(s[0], 1)
	if err != nil {
		return err
	}
	s[0] = uint64(b[0])
	return nil
}

func load64(at func(off, n uint64) ([]byte, error), s []uint64) error {
	b, err := at(s[0], 8)
	if err != nil {
		return err
	}
	s[0] = binary.LittleEndian.Uint64(b)
	return nil
}

func storeU8(in *instance, s []uint64) error {
	b, err := in.kernel.at(s[0], 1)
	if err != nil {
		return err
	}
	b[0] = byte(s[1])
	return nil
}

func storeU64(in *instance, s []uint64) error {
	b, err := in.kernel.at(s[0], 8)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(b, s[1])
	return nil
}

func resetKernel(in *instance, _ []uint64) error {
	in.chargeBytes(uint64(len(in.kernel.arena)))
	in.kernel.reset()
	in.guestErr = nil
	return nil
}

// logLevel tells plug-ins which lines are worth making, in the numbers of the
// Extism PDKs: 0 for trace, or noLogLevel for none.
func logLevel(in *instance, s []uint64) error {
	s[0] = 0
	if in.call.Log == nil {
		s[0] = noLogLevel
	}
	return nil
}
