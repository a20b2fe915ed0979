package wasmbin

import "slices"

// dispatch is a loop that is a switch over its own parts:
//
//	loop block ... block block
//	  local.get next  br_table ...
//	end part 0 end part 1 ... end
//
// Every branch to the loop stands behind an i32.const and a local.set of next,
// and nothing else reads what is set there. No loop is around it: when such a
// loop came to the head again, it would read what the last jump of the turn
// before has set, and jumps that are made into branches set nothing. Compilers
// write jumps that do not nest that way; Go's compiler writes all code so.
type dispatch struct {
	at     int // offset of the loop
	next   uint32
	parts  int
	labels []uint32 // of the br_table, which are parts; the default last
	back   []int    // for each part, the last part that jumps back to it; or none
	starts []int    // offset of each part, and behind the loop's end
}

const none = -1

// dispatchHead is how the code of a dispatch loop begins.
var dispatchHead = []byte{opLoop, blockEmpty, opBlock, blockEmpty}

// to is the part the loop goes on with when next has the value v.
func (d *dispatch) to(v uint32) int { return int(d.labels[min(int64(v), int64(len(d.labels)-1))]) }

// findDispatch returns the first dispatch loop of the code that c is at, or
// nil.
func findDispatch(c cursor, b *bounds) *dispatch {
	var in instr
	around := none // how many blocks are around the outermost loop
	for open := 0; c.pos < c.end; {
		c.next(&in, b)
		switch in.op {
		case opLoop:
			if around == none && in.emptyBlock() {
				if d := readHead(c, b, in.at); d != nil {
					return d
				}
			}
			if around == none {
				around = open
			}
			open++
		case opBlock, opIf:
			open++
		case opEnd:
			if open--; open == around {
				around = none
			}
		}
	}
	return nil
}

// readHead reads the head of a dispatch loop at offset at. It returns nil if
// there is none.
func readHead(c cursor, b *bounds, at int) *dispatch {
	d := &dispatch{at: at}
	var in instr
	for c.next(&in, b); in.op == opBlock && in.emptyBlock(); c.next(&in, b) {
		d.parts++
	}
	if d.parts == 0 || in.op != opLocalGet {
		return nil
	}
	d.next = in.x
	if c.next(&in, b); in.op != opBrTable {
		return nil
	}
	d.labels = c.targets(&in)
	if int64(slices.Max(d.labels)) >= int64(d.parts) {
		return nil
	}
	if c.next(&in, b); in.op != opEnd {
		return nil
	}
	d.starts = make([]int, d.parts+1)
	d.starts[0] = c.pos
	return d
}

// targets reads the branch targets of a br_table, the default last.
func (c *cursor) targets(in *instr) []uint32 {
	at := *c
	at.pos = in.labels
	list := make([]uint32, in.x+1)
	for i := range list {
		list[i] = at.u32()
	}
	return list
}

// emptyBlock reports whether a block takes and leaves no values.
func (in *instr) emptyBlock() bool { return in.bt < 0 && in.bt&0x7f == blockEmpty }

// jumpScanner walks through a function with a dispatch loop and learns its jumps.
type jumpScanner struct {
	cursor
	*dispatch
	position
	fresh bool // next was set since the last instruction that can be branched to or from
	odd   bool // something does not fit a dispatch loop
}

// A position is a place of the code within a dispatch loop.
type position struct {
	part  int // none in front of the loop, and behind it
	inner int // blocks open inside of the part
	jump  jump
}

// jump follows the instructions i32.const and local.set that lead to a branch
// to the loop.
type jump struct {
	found int // how many of them
	value uint32
	local uint32
}

func (j *jump) add(in *instr) {
	switch {
	case in.op == opI32Const:
		*j = jump{found: 1, value: uint32(in.value)}
	case in.op == opLocalSet && j.found == 1:
		j.found, j.local = 2, in.x
	default:
		j.found = 0
	}
}

// survey fills in back and starts. It reports false when the function uses the
// loop in ways that it must not.
func (d *dispatch) survey(c cursor, b *bounds) bool {
	d.back = slices.Repeat([]int{none}, d.parts)
	s := &jumpScanner{cursor: c, dispatch: d, position: position{part: none}}
	var in instr
	for s.pos < s.end && !s.odd {
		if s.pos == d.at {
			s.pos, s.part, s.fresh = d.starts[0], 0, false
		}
		s.next(&in, b)
		s.step(&in)
		s.jump.add(&in)
	}
	return !s.odd
}

func (s *jumpScanner) next(in *instr, b *bounds) { s.cursor.next(in, b) }

func (s *jumpScanner) step(in *instr) {
	switch in.op {
	case opLocalGet:
		s.odd = s.odd || in.x == s.dispatch.next && !s.fresh
		return
	case opLocalSet, opLocalTee:
		s.fresh = s.fresh || in.x == s.dispatch.next
		return
	}
	if in.branches() {
		s.fresh = false
		s.control(in)
	}
}

// branches reports whether an instruction begins or ends a block, or leaves
// one.
func (in *instr) branches() bool {
	return in.op >= opBlock && in.op <= opReturn || in.op == opReturnCall || in.op == opReturnCallIndirect
}

func (s *jumpScanner) control(in *instr) {
	if s.part == none {
		return
	}
	switch in.op {
	case opBlock, opLoop, opIf:
		s.inner++
	case opEnd:
		s.leave()
	case opBr:
		s.branch(in.x, true)
	case opBrIf:
		s.branch(in.x, false)
	case opBrTable:
		for _, label := range s.targets(in) {
			s.branch(label, false)
		}
	}
}

func (s *jumpScanner) leave() {
	switch {
	case s.inner > 0:
		s.inner--
	case s.part < s.parts-1:
		s.part++
		s.starts[s.part] = s.pos
	default:
		s.starts[s.parts], s.part = s.pos, none
	}
}

// branch looks at a branch inside the loop. jumps says that it may be a jump.
func (s *jumpScanner) branch(label uint32, jumps bool) {
	out := int64(label) - int64(s.inner) // counted from the innermost block of the loop
	loop := int64(s.parts - 1 - s.part)
	if out < 0 || out > loop {
		return
	}
	if out < loop || !jumps || s.jump.found != 2 || s.jump.local != s.dispatch.next {
		s.odd = true
		return
	}
	if to := s.to(s.jump.value); to <= s.part {
		s.back[to] = max(s.back[to], s.part)
	}
}
