package wasmbin

import "slices"

// loop is a loop of the body being planned.
type loop struct {
	at    int      // offset of its opcode
	scope int      // how many blocks are around it
	gets  []uint32 // locals whose value at the loop's head is used in it
	// carried are those of gets that the loop also writes, so that their values
	// go from turn to turn, in the order of their types. Set at its end.
	carried []uint32
}

// maxCarried bounds the values that are passed through a call of tick.
const maxCarried = 12

// maxGets bounds what is looked at to find them.
const maxGets = 32

// loops are the loops of a body. Its slices are reused.
type loops struct {
	list   []loop
	inside []int // those the code is in, innermost last
	types  []ValueType
	// Offsets of the last access and write of each local; 0 for none.
	seen, written []int
}

func (l *loops) beginLoops(types []ValueType) {
	l.list, l.inside, l.types = l.list[:0], l.inside[:0], types
	for _, list := range []*[]int{&l.seen, &l.written} {
		*list = slices.Grow((*list)[:0], len(types))[:len(types)]
		clear(*list)
	}
}

// openLoop adds a loop and returns its index.
func (l *loops) openLoop(at, scope int) int {
	i := len(l.list)
	l.list = slices.Grow(l.list, 1)[:i+1]
	p := &l.list[i]
	*p = loop{at: at, scope: scope, gets: p.gets[:0], carried: p.carried[:0]}
	l.inside = append(l.inside, i)
	return i
}

// closeLoop ends the innermost loop.
func (l *loops) closeLoop() {
	last := len(l.inside) - 1
	p := &l.list[l.inside[last]]
	l.inside = l.inside[:last]
	for _, x := range p.gets {
		if l.written[x] > p.at && len(p.carried) < maxCarried && l.types[x] >= V128 {
			p.carried = append(p.carried, x)
		}
	}
	slices.SortFunc(p.carried, func(x, y uint32) int { return int(l.types[x]) - int(l.types[y]) })
}

// loopEnds are the blocks that end where a loop does, by the offsets of their
// opcodes: a branch to one leaves the loop.
type loopEnds []int

func (t loopEnds) has(at int) bool {
	_, found := slices.BinarySearch(t, at)
	return found
}

// find finds those of the code that c is at.
func (t *loopEnds) find(c cursor, b *bounds) {
	*t = (*t)[:0]
	type block struct {
		at   int
		loop bool
	}
	var open, ending []block
	var in instr
	for c.pos < c.end {
		c.next(&in, b)
		last := len(open) - 1
		switch in.op {
		case opBlock, opLoop, opIf:
			open = append(open, block{in.at, in.op == opLoop})
		case opEnd:
			if last < 0 { // of the function
				continue
			}
			if ending = append(ending, open[last]); open[last].loop {
				for _, e := range ending {
					*t = append(*t, e.at)
				}
			}
			open = open[:last]
			continue
		}
		ending = ending[:0]
	}
	slices.Sort(*t)
	*t = slices.Compact(*t)
}

// access notes an access to a local. The first in a loop uses its value at the
// loop's head, if it reads it. That goes by the order of the code, which is not
// always the order in which it runs: what comes of it is speed, no more.
func (l *loops) access(in *instr) {
	x := in.x
	for k := len(l.inside) - 1; k >= 0 && in.op == opLocalGet; k-- {
		p := &l.list[l.inside[k]]
		if l.seen[x] > p.at {
			break
		}
		if len(p.gets) < maxGets {
			p.gets = append(p.gets, x)
		}
	}
	l.seen[x] = in.at
	if in.op != opLocalGet {
		l.written[x] = in.at
	}
}
