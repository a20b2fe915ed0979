package wasmbin

import "slices"

// Limits of what rebuilding loops makes of a dispatch loop.
const (
	maxLevels       = 32  // loops nested in each other
	maxLevelTargets = 1   // targets of all their br_tables together, for each one of the original
	freeTargets     = 256 // that they may have in any case
	maxEntryBytes   = 384 // of the code of a loop that is written a second time
)

// level is a loop made of the parts first to last of a dispatch loop. The
// outermost one is made of all parts; it is a block when nothing jumps back to
// it.
type level struct {
	first, last int
	low, high   int // values of next that lead to these parts are among low to high
	loop        bool
	twice       bool // see loopBuilder
	outer       int  // level it is inside of
}

// single reports whether a level is a loop of one part, which needs no
// br_table.
func (l *level) single() bool { return l.loop && l.first == l.last }

// plain reports whether a level is a loop whose turns all begin with the first
// part, so that they need not look where to.
func (l *level) plain() bool { return l.twice || l.single() }

// loopBuilder writes a function with its dispatch loop made into structured
// code: a jump ahead becomes a branch to the part, and the parts that a jump
// back goes over become a loop. So a turn of a loop is a turn of a loop again,
// to the compiler as to the meter, and not one of a switch.
//
// A part inside of a loop can be gone to from outside: next then says where,
// and the loop has a br_table at its head. Compilers that put a loop's condition
// at its end enter it there. So that not each turn has to look, what is behind
// the first part of a small innermost loop is written twice: in front of the
// loop, for the turn that it is entered in, and in it.
//
//	block after
//	  block turns
//	    block last ... block second
//	      br_table
//	    end second ... end last
//	    br after
//	  end
//	  loop  block last ... block second  first  end second ... end last  end
//	end
type loopBuilder struct {
	cursor
	*dispatch
	position
	levels []level
	begins []int // for each part, the level that begins there, or none
	inside []int // for each part, the innermost level it is in
	value  []int // for each part, the least value of next that leads to it
	most   []int // and the largest

	out   []byte
	open  int   // how many blocks are open, those of parts and of levels
	block []int // for each part, how many are around its block
	head  []int // for each level, how many are around it
	set   int   // length of out in front of the last i32.const
	dead  bool  // nothing reaches the end of the part
	turns bool  // a level that is written twice is written for the second time
}

// rebuildLoops returns the code that c is at with its first dispatch loop
// rebuilt, or nil if there is none.
func rebuildLoops(c cursor, b *bounds) []byte {
	d := findDispatch(c, b)
	if d == nil || !d.survey(c, b) {
		return nil
	}
	s := &loopBuilder{cursor: c, dispatch: d}
	s.findLevels()
	s.out = append(make([]byte, 0, (c.end-c.pos)*5/4+64), c.b[c.pos:d.at]...)
	s.pos = d.starts[0]
	s.begin(0)
	if s.begins[0] != none {
		s.begin(s.begins[0])
	}
	var in instr
	for end := d.starts[d.parts]; s.pos < end; {
		s.next(&in, b)
		s.step(&in)
		s.jump.add(&in)
	}
	return append(s.out, c.b[d.starts[d.parts]:c.end]...)
}

func (s *loopBuilder) next(in *instr, b *bounds) { s.cursor.next(in, b) }

// findLevels decides which parts become loops.
func (s *loopBuilder) findLevels() {
	s.findValues()
	s.begins = slices.Repeat([]int{none}, s.parts)
	s.inside, s.block = make([]int, s.parts), make([]int, s.parts)
	s.levels = append(s.levels, level{last: s.parts - 1, high: len(s.dispatch.labels) - 1})
	ends := s.nest()
	left := maxLevelTargets*len(s.dispatch.labels) + freeTargets
	for part, end := range slices.Backward(ends) {
		if end < 0 {
			continue
		}
		l := level{first: part, last: end, loop: true, low: slices.Min(s.value[part : end+1]), high: slices.Max(s.most[part : end+1])}
		if n := l.high - l.low; n <= left {
			left -= n
			l.twice = s.repeatable(part, end)
			s.begins[part] = len(s.levels)
			s.levels = append(s.levels, l)
		}
	}
	s.head = make([]int, len(s.levels))
	s.order()
}

// repeatable reports whether the level of these parts is to be written twice: it
// has more than one, no loop in it, and what is behind the first is small.
func (s *loopBuilder) repeatable(first, last int) bool {
	jumpedTo := func(end int) bool { return end != none }
	return last > first && !slices.ContainsFunc(s.back[first+1:last+1], jumpedTo) &&
		s.starts[last+1]-s.starts[first+1] <= maxEntryBytes
}

// findValues finds the values of next that lead to each part.
func (s *loopBuilder) findValues() {
	s.value = slices.Repeat([]int{len(s.dispatch.labels) - 1}, s.parts)
	s.most = make([]int, s.parts)
	for v, part := range s.dispatch.labels {
		s.value[part] = min(s.value[part], v)
		s.most[part] = v
	}
}

// nest returns for each part that is jumped back to the last part of the loop
// that begins there, such that of two loops one is in the other or behind it.
func (s *loopBuilder) nest() []int {
	ends := slices.Clone(s.back)
	var around []int
	for part, end := range ends {
		for len(around) > 0 && ends[around[len(around)-1]] < part {
			around = around[:len(around)-1]
		}
		if end == none {
			continue
		}
		for _, outer := range around {
			ends[outer] = max(ends[outer], end)
		}
		if len(around) == maxLevels {
			ends[part] = none
			continue
		}
		around = append(around, part)
	}
	return ends
}

// order finds the level of each part, and whether the outermost has to be a
// loop, because a part that is jumped back to is in no other.
func (s *loopBuilder) order() {
	l := 0
	for part := range s.parts {
		for s.levels[l].last < part {
			l = s.levels[l].outer
		}
		if n := s.begins[part]; n != none {
			s.levels[n].outer, l = l, n
		}
		s.inside[part] = l
		if l == 0 && s.back[part] != none {
			s.levels[0].loop = true
		}
	}
}

// landing is the part of level l whose block leads to a part in l: the part
// itself, or the first of the loop it is in.
func (s *loopBuilder) landing(l, part int) int {
	for in := s.inside[part]; in != l; in = s.levels[in].outer {
		part = s.levels[in].first
	}
	return part
}

// begin writes the head of a level, up to the code of its first part, or of the
// second of one that is written twice.
func (s *loopBuilder) begin(l int) {
	v := &s.levels[l]
	if v.twice {
		s.beginEntry(l)
		return
	}
	op := byte(opBlock)
	if v.loop {
		op = opLoop
	}
	s.head[l] = s.openBlock(op)
	if l > 0 && v.single() {
		return
	}
	s.openParts(l, v.first)
	if l > 0 { // most turns begin with the first part: a br_table costs more
		s.ifFirst(v, 0)
	}
	s.appendTable(l)
	s.closeBlock()
}

// beginEntry begins a level that is written twice.
func (s *loopBuilder) beginEntry(l int) {
	v := &s.levels[l]
	s.openBlock(opBlock)
	s.head[l] = s.openBlock(opBlock)
	s.block[v.first] = s.head[l]
	s.openParts(l, v.first+1)
	s.ifFirst(v, v.last-v.first)
	if v.last > v.first+1 || !s.alone(v.first) {
		s.appendTable(l)
	}
	s.closeBlock()
	s.goTo(v.first + 1)
}

// alone reports whether only one value of next leads to a part.
func (s *loopBuilder) alone(part int) bool {
	return s.value[part] == s.most[part] && s.most[part] < len(s.dispatch.labels)-1
}

// beginTurns begins to write it for the second time.
func (s *loopBuilder) beginTurns(l int) {
	v := &s.levels[l]
	if !s.dead {
		s.out = appendIndexed(s.out, opBr, 1)
	}
	s.closeBlock()
	s.head[l] = s.openBlock(opLoop)
	s.openParts(l, v.first+1)
	s.goTo(v.first)
	s.turns = true
}

// goTo goes on with the code of a part.
func (s *loopBuilder) goTo(part int) {
	s.pos, s.part, s.dead, s.jump = s.starts[part], part, false, jump{}
}

// openBlock writes the opcode of a block, and returns how many are around it.
func (s *loopBuilder) openBlock(op byte) int {
	s.out = append(s.out, op, blockEmpty)
	s.open++
	return s.open - 1
}

// openParts opens the blocks of the parts of a level from one on.
func (s *loopBuilder) openParts(l, first int) {
	for part := s.levels[l].last; part >= first; part-- {
		part = s.landing(l, part)
		s.block[part] = s.openBlock(opBlock)
	}
}

// ifFirst writes a branch that is taken if next leads to the first part.
func (s *loopBuilder) ifFirst(v *level, label int) {
	s.out = append(s.appendNext(opLocalGet), opI32Const)
	s.out = append(appendSigned(s.out, int64(s.value[v.first])), opI32Eq)
	s.out = appendIndexed(s.out, opBrIf, uint32(label))
}

func (s *loopBuilder) appendNext(op byte) []byte {
	return appendIndexed(s.out, op, s.dispatch.next)
}

// setNext makes next lead to a part.
func (s *loopBuilder) setNext(part int) {
	s.out = appendSigned(append(s.out, opI32Const), int64(s.value[part]))
	s.out = s.appendNext(opLocalSet)
}

// appendTable appends the br_table of a level.
func (s *loopBuilder) appendTable(l int) {
	v := &s.levels[l]
	s.out = s.appendNext(opLocalGet)
	if v.low > 0 {
		s.out = append(appendSigned(append(s.out, opI32Const), int64(v.low)), opI32Sub)
	}
	s.out = appendIndexed(s.out, opBrTable, uint32(v.high-v.low+1))
	for _, part := range s.dispatch.labels[v.low : v.high+1] {
		s.appendTarget(l, int(part))
	}
	s.appendTarget(l, int(s.dispatch.labels[len(s.dispatch.labels)-1]))
}

// appendTarget appends the label for a part, or for the first where the part
// is not in the level: next never has such a value there.
func (s *loopBuilder) appendTarget(l, part int) {
	if v := &s.levels[l]; part < v.first || part > v.last {
		part = v.first
	}
	s.out = appendU32(s.out, uint32(s.open-1-s.block[s.landing(l, part)]))
}

// closeBlock ends the innermost block or level.
func (s *loopBuilder) closeBlock() {
	s.out = append(s.out, opEnd)
	s.open--
}

// step writes the next instruction.
func (s *loopBuilder) step(in *instr) {
	switch {
	case in.op == opI32Const:
		s.set = len(s.out)
	case in.branches():
		s.control(in)
		return
	}
	s.out = append(s.out, s.b[in.at:in.end]...)
}

func (s *loopBuilder) control(in *instr) {
	switch in.op {
	case opBlock, opLoop, opIf:
		s.inner++
	case opEnd:
		s.leave()
		return
	case opBr:
		s.branch(in)
		return
	case opBrIf:
		s.out = appendIndexed(s.out, opBrIf, s.label(in.x))
		return
	case opBrTable:
		s.branchTable(in)
		return
	}
	s.out = append(s.out, s.b[in.at:in.end]...)
	s.dead = s.dead || in.op >= opReturn && s.inner == 0
}

// label is the new label of a branch that is not a jump.
func (s *loopBuilder) label(label uint32) uint32 {
	if int64(label) < int64(s.inner) {
		return label
	}
	return label - uint32(s.parts-s.part) + uint32(s.open)
}

func (s *loopBuilder) branchTable(in *instr) {
	s.out = appendIndexed(s.out, opBrTable, in.x)
	for _, label := range s.targets(in) {
		s.out = appendU32(s.out, s.label(label))
	}
	s.dead = s.dead || s.inner == 0
}

func (s *loopBuilder) branch(in *instr) {
	if int64(in.x)-int64(s.inner) == int64(s.parts-1-s.part) {
		s.out = s.out[:s.set]
		s.jumpTo(s.to(s.jump.value))
	} else {
		s.out = appendIndexed(s.out, opBr, s.label(in.x))
	}
	s.dead = s.dead || s.inner == 0
}

// jumpTo writes a jump: a branch to the block of a part, or to a loop that
// goes on with it.
func (s *loopBuilder) jumpTo(part int) {
	l := s.inside[s.part]
	var at int
	if part > s.part {
		for s.levels[l].last < part {
			l = s.levels[l].outer
		}
		if s.inside[part] != l {
			s.setNext(part)
		}
		at = s.block[s.landing(l, part)]
	} else {
		for l > 0 && s.levels[l].first > part {
			l = s.levels[l].outer
		}
		if !s.levels[l].plain() {
			s.setNext(part)
		}
		at = s.head[l]
	}
	s.out = appendIndexed(s.out, opBr, uint32(s.inner+s.open-1-at))
}

// leave ends a block inside of a part, or the part.
func (s *loopBuilder) leave() {
	if s.inner > 0 {
		s.inner--
		s.out = append(s.out, opEnd)
		s.dead = s.dead && s.inner > 0
		return
	}
	for l := s.inside[s.part]; l > 0 && s.levels[l].last == s.part; l = s.levels[l].outer {
		if s.levels[l].twice {
			if !s.turns {
				s.beginTurns(l)
				return
			}
			s.turns = false
			s.closeBlock()
		}
		s.closeBlock()
	}
	s.part++
	if s.part == s.parts {
		s.closeBlock()
		return
	}
	l := s.begins[s.part]
	if l != none && !s.levels[l].single() && !s.dead {
		s.setNext(s.part)
	}
	s.closeBlock()
	if l != none {
		s.begin(l)
	}
	s.dead = false
}
