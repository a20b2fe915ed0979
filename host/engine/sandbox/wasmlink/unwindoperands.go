package wasmlink

import (
	"maps"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// operandStack follows the operands of a function to find those that lie below
// the arguments of a call.
type operandStack struct {
	*bodyRewriter
	stack  []operand
	frames []operandFrame
	dead   bool // nothing gets here
	keep   map[int]int
	bad    bool
}

// operand is a value: its type, and the instruction it is from, -1 for one
// that needs no care.
type operand struct {
	kind wasmbin.ValueType
	from int
}

type operandFrame struct {
	height int
	result wasmbin.ValueType
	dead   bool // was never entered
}

// findOperands returns the heights of 32-bit operands that are below the
// arguments of calls that may collect, by the instructions they are from.
func (r *bodyRewriter) findOperands() (map[int]int, bool) {
	s := &operandStack{bodyRewriter: r, keep: map[int]int{}, frames: []operandFrame{{}}}
	for i := range r.list {
		if s.step(i); s.bad {
			return nil, false
		}
	}
	return s.keep, true
}

func (s *operandStack) step(i int) {
	in := &s.list[i]
	switch {
	case in.op == codeBlock || in.op == codeLoop || in.op == codeIf:
		if in.op == codeIf {
			s.pop(1)
		}
		s.frames = append(s.frames, operandFrame{len(s.stack), in.result(), s.dead})
	case in.op == codeElse || in.op == codeEnd:
		s.end(i)
	case s.dead:
	case in.op == codeCall || in.op == codeCallIndirect:
		s.call(i)
	default:
		s.plain(i)
	}
}

// end ends an arm or a block.
func (s *operandStack) end(i int) {
	f := s.frames[len(s.frames)-1]
	s.stack, s.dead = s.stack[:f.height], f.dead
	if s.list[i].op == codeElse {
		return
	}
	s.frames = s.frames[:len(s.frames)-1]
	if f.result != 0 && !s.dead {
		s.push(f.result, i)
	}
}

func (s *operandStack) push(kind wasmbin.ValueType, from int) {
	s.stack = append(s.stack, operand{kind, from})
}

// pop takes n operands and returns the lowest of them.
func (s *operandStack) pop(n int) operand {
	low := s.frames[len(s.frames)-1].height
	if n == 0 || s.dead {
		return operand{}
	}
	left := len(s.stack) - n
	if left < low {
		s.bad = true
		return operand{}
	}
	v := s.stack[left]
	s.stack = s.stack[:left]
	return v
}

// call pops the arguments and pushes the results of a call.
func (s *operandStack) call(i int) {
	in := &s.list[i]
	t := s.calledType(in)
	if in.op == codeCallIndirect {
		s.pop(1)
	}
	s.pop(len(t.Params))
	if reaches(in, s.collects) {
		for h, v := range s.stack {
			if v.kind == wasmbin.I32 && v.from >= 0 {
				s.keep[v.from] = h
			}
		}
	}
	for _, kind := range t.Results {
		s.push(kind, i)
	}
}

func (s *operandStack) plain(i int) {
	in := &s.list[i]
	switch in.op {
	case codeBr, codeReturn, codeUnreachable:
		s.dead = true
	case codeBrTable:
		s.pop(1)
		s.dead = true
	case codeBrIf, codeLocalSet, codeGlobalSet:
		s.pop(1)
	case codeLocalTee:
		s.pop(1)
		s.push(s.types[in.x], i)
	case codeLocalGet:
		s.push(s.types[in.x], i)
	case codeGlobalGet:
		s.push(s.Globals[in.x].Type, i)
	case codeSelect:
		s.pop(1)
		s.push(s.pop(2).kind, i)
	default:
		s.compute(i)
	}
}

// compute is for the instructions of the tables.
func (s *operandStack) compute(i int) {
	e, known := s.list[i].effect()
	if s.bad = s.bad || !known; s.bad {
		return
	}
	if s.list[i].op == codeConst {
		i = -1
	}
	if s.pop(e.pops); e.push != 0 {
		s.push(e.push, i)
	}
}

// heights lists the heights that are kept, each once, lowest first.
func heights(keep map[int]int) []int {
	return slices.Compact(slices.Sorted(maps.Values(keep)))
}
