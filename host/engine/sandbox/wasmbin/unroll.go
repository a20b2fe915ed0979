package wasmbin

// unrolling says how many turns of a loop are written out when one costs at
// most so much fuel.
var unrolling = [...]struct{ cost, turns int64 }{{12, 8}, {24, 4}, {96, 2}}

// Limits of unrolling.
const (
	maxUnrolledBytes = 300     // of the code of a turn
	maxUnrolled      = 16      // loops of a function
	freeUnrolling    = 8 << 10 // bytes it may add to a module in any case,
	unrollingPerCode = 16      // and for so many bytes of its code one more
	maxSpare         = 16      // fuel of a turn for code that it may skip
	keptBack         = 48      // fuel that is not worth giving back
)

// turns is how often a turn of that cost is written out.
func turns(cost int64) int64 {
	for _, u := range unrolling {
		if cost <= u.cost {
			return u.turns
		}
	}
	return 1
}

// unrolled is a loop that was unrolled.
type unrolled struct {
	at   int   // offset of its opcode
	cost int64 // of all turns written out
}

// candidate is a loop that may be unrolled: the innermost one.
type candidate struct {
	at, code, end int   // offsets: of its opcode, of its code, behind its end
	frame         int   // where it is among the open blocks; or none
	cost          int64 // of a turn
	spare         int64 // part of cost for code that a turn may skip
	skips         bool  // the code is behind a branch inside of the loop
	turns         bool  // a branch to it was found
	refused       bool
}

// framed is an open block, loop or if.
type framed struct {
	values bool // a branch to it takes values
	arm    bool // it is an if
	tail   bool // it ends where the loop around it does
}

// unroller writes a function with its small innermost loops unrolled, so that
// several turns are charged together. A turn that leaves the loop gives back
// the fuel for those behind it:
//
//	block loop
//	  fuel -= 3*cost; check
//	  block turn  fuel += 2*cost; br 2  end
//	  block turn  fuel += cost; br 2  end
//	  turn
//	end end
type unroller struct {
	cursor
	bounds  *bounds
	types   []FuncType
	fuel    uint32 // global
	ends    loopEnds
	open    []framed
	current candidate
	found   []candidate
	list    []unrolled
	out     []byte
	in      instr
}

// unroll returns the code that c is at with loops unrolled, and where they are;
// or nil when there are none. results says whether the function has any.
func (r *rewriter) unroll(c cursor, results bool) ([]byte, []unrolled) {
	u := &unroller{cursor: c, bounds: &r.bounds, types: r.module.Types, fuel: r.fuel, ends: r.code.ends}
	u.open, u.current.frame = append(u.open, framed{values: results}), none
	for u.pos < u.end && len(u.found) < maxUnrolled {
		u.next(&u.in, u.bounds)
		u.look(&u.in)
	}
	if len(u.found) == 0 {
		return nil, nil
	}
	u.cursor = c
	for _, f := range u.found {
		u.copyTo(f.at)
		u.write(f)
		u.pos = f.end
	}
	u.copyTo(c.end)
	added := len(u.out) - (c.end - c.pos)
	if added > r.unrolling {
		return nil, nil
	}
	r.unrolling -= added
	return u.out, u.list
}

func (u *unroller) copyTo(at int) { u.out = append(u.out, u.b[u.pos:at]...) }

// look looks for candidates.
func (u *unroller) look(in *instr) {
	c := &u.current
	c.cost += int64(in.cost)
	if c.skips || u.open[len(u.open)-1].arm {
		c.spare += int64(in.cost)
	}
	switch in.op {
	case opBlock, opIf:
		u.open = append(u.open, framed{values: !in.emptyBlock() && u.results(in), arm: in.op == opIf || u.open[len(u.open)-1].arm, tail: u.ends.has(in.at)})
	case opLoop:
		*c = candidate{at: in.at, code: in.end, frame: len(u.open), cost: costOne, refused: !in.emptyBlock()}
		u.open = append(u.open, framed{values: in.bt >= 0})
	case opEnd:
		u.open = u.open[:len(u.open)-1]
		if len(u.open) == c.frame {
			u.propose(in)
		}
	case opBr, opBrIf:
		u.branch(len(u.open) - 1 - int(in.x))
	default:
		c.refused = c.refused || in.special()
	}
}

// branch looks at a branch to an open block.
func (u *unroller) branch(to int) {
	c := &u.current
	c.refused = c.refused || u.open[to].values && to < c.frame
	c.turns = c.turns || to == c.frame
	c.skips = c.skips || to >= c.frame && !u.open[to].tail
}

// results reports whether a block leaves values.
func (u *unroller) results(in *instr) bool {
	return in.bt < 0 || len(u.types[in.bt].Results) > 0
}

// special reports whether an instruction keeps a loop from being unrolled: it
// is charged by itself, is edited, or leaves the function.
func (in *instr) special() bool {
	switch in.op {
	case opBrTable, opReturn, opCall, opCallIndirect, opReturnCall, opReturnCallIndirect, opMemoryGrow, opRefFunc:
		return true
	}
	return in.op == opMisc && in.sub >= miscMemoryInit
}

func (u *unroller) propose(end *instr) {
	c := u.current
	u.current.frame = none
	if c.turns && !c.refused && c.spare <= maxSpare && turns(c.cost) > 1 && end.at-c.code <= maxUnrolledBytes {
		c.end = end.end
		u.found = append(u.found, c)
	}
}

// write writes an unrolled loop.
func (u *unroller) write(c candidate) {
	u.out = append(u.out, opBlock, blockEmpty)
	n := turns(c.cost)
	u.list = append(u.list, unrolled{len(u.out), n * c.cost})
	u.out = append(u.out, opLoop, blockEmpty)
	for left := n - 1; left > 0; left-- {
		u.out = append(u.out, opBlock, blockEmpty)
		u.turn(c, left*c.cost)
		u.giveBack(left * c.cost)
		u.out = append(u.out, opBr, 2, opEnd)
	}
	u.turn(c, 0)
	u.out = append(u.out, opEnd, opEnd)
}

// turn writes one turn, which gives back fuel where it leaves the loop.
func (u *unroller) turn(c candidate, back int64) {
	u.pos = c.code
	inner := uint32(0)
	for u.pos < c.end-1 {
		u.next(&u.in, u.bounds)
		in := &u.in
		switch in.op {
		case opBlock, opIf:
			inner++
		case opEnd:
			inner--
		case opBr, opBrIf:
			if in.x > inner {
				u.leave(in, back)
				continue
			}
		}
		u.out = append(u.out, u.b[in.at:in.end]...)
	}
}

// leave writes a branch out of the loop. There is a block more around the last
// turn, and two around the others.
func (u *unroller) leave(in *instr, back int64) {
	switch {
	case back == 0:
		u.out = appendIndexed(u.out, in.op, in.x+1)
	case in.op == opBr || back <= keptBack:
		u.giveBack(back)
		u.out = appendIndexed(u.out, in.op, in.x+2)
	default:
		u.out = append(u.out, opIf, blockEmpty)
		u.giveBack(back)
		u.out = append(appendIndexed(u.out, opBr, in.x+3), opEnd)
	}
}

// giveBack writes: fuel += cost.
func (u *unroller) giveBack(cost int64) {
	if cost <= keptBack {
		return
	}
	u.out = appendIndexed(u.out, opGlobalGet, u.fuel)
	u.out = appendSigned(append(u.out, opI64Const), cost)
	u.out = appendIndexed(append(u.out, opI64Add), opGlobalSet, u.fuel)
}
