package wasmlink

import "slices"

// localSet is a set of locals.
type localSet []uint64

func (s localSet) add(x uint32)      { s[x/64] |= 1 << (x % 64) }
func (s localSet) remove(x uint32)   { s[x/64] &^= 1 << (x % 64) }
func (s localSet) has(x uint32) bool { return s[x/64]&(1<<(x%64)) != 0 }

// join adds another set and reports whether that was more than was there.
func (s localSet) join(o localSet) bool {
	grown := false
	for i, w := range o {
		grown = grown || w&^s[i] != 0
		s[i] |= w
	}
	return grown
}

// liveness finds out which locals are read again behind an instruction. It
// goes over a function backwards, and again while what it knows of loops grows.
type liveness struct {
	list   []instruction
	opens  []int // by instruction: what an end or else belongs to, -1 for the function
	words  int
	now    localSet
	labels []liveLabel
	heads  map[int]localSet // at the beginning of a loop
	after  map[int]localSet // behind a call
	again  bool
}

// liveLabel is a block whose end was passed and whose beginning was not.
type liveLabel struct {
	end       localSet // behind it
	target    localSet // where a branch to it goes
	otherwise localSet // at the beginning of an else arm
}

// findLive returns what is read again behind each call.
func findLive(list []instruction, locals int) map[int]localSet {
	l := &liveness{list: list, words: (locals + 63) / 64, heads: map[int]localSet{}, after: map[int]localSet{}}
	l.opens = matchBlocks(list)
	for l.again = true; l.again; {
		l.again = false
		l.now, l.labels = l.none(), l.labels[:0]
		for i := len(list) - 1; i >= 0; i-- {
			l.step(i)
		}
	}
	return l.after
}

// matchBlocks finds what each end and else belongs to.
func matchBlocks(list []instruction) []int {
	opens, open := make([]int, len(list)), []int{-1}
	for i, in := range list {
		switch in.op {
		case codeBlock, codeLoop, codeIf:
			open = append(open, i)
		case codeElse:
			opens[i] = open[len(open)-1]
		case codeEnd:
			opens[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return opens
}

func (l *liveness) none() localSet { return make(localSet, l.words) }

func (l *liveness) step(i int) {
	in := &l.list[i]
	switch in.op {
	case codeEnd:
		l.enter(l.opens[i])
	case codeElse, codeIf, codeBlock, codeLoop:
		l.leave(i)
	case codeReturn, codeUnreachable:
		l.now = l.none()
	case codeBr:
		l.now = slices.Clone(l.target(in.x))
	case codeBrIf:
		l.now.join(l.target(in.x))
	case codeBrTable:
		l.now = l.none()
		for _, x := range in.labels {
			l.now.join(l.target(x))
		}
	case codeLocalGet:
		l.now.add(in.x)
	case codeLocalSet, codeLocalTee:
		l.now.remove(in.x)
	case codeCall, codeCallIndirect:
		l.after[i] = slices.Clone(l.now)
	}
}

// enter passes the end of a block.
func (l *liveness) enter(opener int) {
	end := slices.Clone(l.now)
	label := liveLabel{end: end, target: end}
	if opener >= 0 && l.list[opener].op == codeLoop {
		if l.heads[opener] == nil {
			l.heads[opener] = l.none()
		}
		label.target = l.heads[opener]
	}
	l.labels = append(l.labels, label)
}

// leave passes the beginning of a block, or of an else arm.
func (l *liveness) leave(i int) {
	last := len(l.labels) - 1
	top := &l.labels[last]
	switch l.list[i].op {
	case codeElse:
		top.otherwise = l.now
		l.now = slices.Clone(top.end)
		return
	case codeIf:
		if top.otherwise == nil {
			top.otherwise = top.end
		}
		l.now.join(top.otherwise)
	case codeLoop:
		l.again = l.heads[i].join(l.now) || l.again
	}
	l.labels = l.labels[:last]
}

func (l *liveness) target(x uint32) localSet {
	return l.labels[len(l.labels)-1-int(x)].target
}
