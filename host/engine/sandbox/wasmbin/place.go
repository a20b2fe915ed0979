package wasmbin

import (
	"math"
	"math/bits"
)

// ahead is what lies ahead of a place in the code: fuel that has to have been
// paid there, and the least of it that is used on a way that stays in the loop,
// or outside of loops in the function, and on one that leaves the loop. never is
// that where there is none. Ways that end in a trap count for neither.
type ahead struct {
	due, stay, leave int64
	call             bool // a function may be called, and no look at the counter before
}

const never = math.MaxInt64 / 2

// nothing is what is ahead of a return, and trap of a trap.
var (
	nothing = ahead{leave: never}
	trap    = ahead{stay: never, leave: never}
)

// add adds what is used on all ways.
func (a *ahead) add(cost int64) {
	a.due += cost
	a.stay = min(a.stay+cost, never)
	a.leave = min(a.leave+cost, never)
}

// either is what is ahead where one of both is.
func (a ahead) either(b ahead) ahead {
	return ahead{max(a.due, b.due), min(a.stay, b.stay), min(a.leave, b.leave), a.call || b.call}
}

// dear reports whether due is too much for the cheapest ways.
func (a ahead) dear(due int64) bool {
	return due-a.stay > slack+a.stay/slackShare || due-a.leave > exitSlack
}

// quiet reports whether a way returns without a call, so that it is to be free
// of the check that a call needs.
func (a ahead) quiet() bool { return !a.call && a.stay != never }

// outside is a as it is seen from inside of a loop that is left, whose head
// looked at the counter.
func (a ahead) outside() ahead { return ahead{a.due, never, min(a.stay, a.leave), false} }

// label is an open block: what is ahead where branches to it go to.
type label struct {
	ahead
	loops int   // loops around it
	arm   ahead // at the beginning of the arm of an if that is not being read
	at    int   // where that is
	arms  bool  // it has two
}

// place finds the charges of a body from its steps, but for that at its entry:
// it returns what is ahead there. It goes from the end to the beginning and
// keeps what is ahead: the most on any way to the end of the function, or to the
// next turn of the loop. That is what the charge at the beginning takes. Where
// ways part and the cheaper would lose too much, the dearer has a charge of its
// own where it begins; where only branches lead there, behind the end of the
// block. If it is the branch that is dearer all the same, the way on gives back.
func (r *rewriter) place() ahead {
	w := &r.code
	w.labels, w.looping = w.labels[:0], 0
	a := nothing
	for i := len(w.steps) - 1; i >= 0; i-- {
		s := &w.steps[i]
		a = r.aheadOf(s, a)
		a.add(s.due)
	}
	return a
}

// aheadOf returns what is ahead of a step, when a is that behind it.
func (r *rewriter) aheadOf(s *step, a ahead) ahead {
	w := &r.code
	last := len(w.labels) - 1
	switch s.op {
	case opEnd:
		return w.enterBack(s, a)
	case opElse:
		l := &w.labels[last]
		l.arm, l.at, l.arms = a, s.end, true
		return l.ahead
	case opIf:
		l := w.labels[last]
		w.labels = w.labels[:last]
		if l.arms {
			return w.fork(s, a, l.arm, l.at)
		}
		return w.fork(s, a, l.ahead, none)
	case opBlock:
		w.labels = w.labels[:last]
	case opLoop:
		k := w.labels[last].due
		w.labels, w.looping = w.labels[:last], w.looping-1
		w.charges = append(w.charges, charge{at: s.end, cost: s.turn + max(a.due-k, 0), check: s.check, loop: s.loop})
		return ahead{due: k, stay: k, leave: never}
	case opCall, opCallIndirect:
		a.call = w.looping == 0
	case opReturn:
		return w.to(0)
	case opReturnCall, opReturnCallIndirect:
		a = w.to(0)
		a.call = w.looping == 0
	case opUnreachable:
		return trap
	case opBrIf:
		return w.fork(s, a, w.to(last-int(s.x)), none)
	case opBr, opBrTable:
		a = trap
		r.eachTarget(s, func(x uint32) { a = a.either(w.to(last - int(x))) })
	}
	return a
}

// to returns what is ahead of a branch to an open block.
func (w *codeWriter) to(i int) ahead {
	if l := &w.labels[i]; l.loops < w.looping {
		return l.outside()
	}
	return w.labels[i].ahead
}

// pay has what is ahead at an offset, beyond due, paid there.
func (w *codeWriter) pay(at int, a ahead, due int64) ahead {
	d := a.due - due
	w.charges = append(w.charges, charge{at: at, cost: d, calls: a.call, cold: min(a.stay, a.leave) == never})
	a.due, a.call = due, false
	if a.stay != never {
		a.stay -= d
	}
	if a.leave != never {
		a.leave -= d
	}
	return a
}

// fork returns what is ahead of a step behind which there is a or, at the
// offset other or where a charge cannot be if that is none, b.
func (w *codeWriter) fork(s *step, a, b ahead, other int) ahead {
	switch {
	case s.paid:
	case a.due > b.due && (a.call && b.quiet() || a.due > b.due+least && b.dear(a.due)):
		a = w.pay(s.end, a, b.due)
	case b.due > a.due && (b.call && a.quiet() || b.due > a.due+least && a.dear(b.due)) && other != none:
		b = w.pay(other, b, a.due)
	case b.due > a.due+slack && a.dear(b.due):
		a = w.pay(s.end, a, b.due)
	}
	return a.either(b)
}

// enterBack enters a block at its end, and returns what is ahead inside. Where
// other ways leave the block for other places, the way on from its end pays for
// itself, unless that is little.
func (w *codeWriter) enterBack(s *step, a ahead) ahead {
	if len(w.labels) == 0 { // the function
		w.labels = append(w.labels, label{ahead: nothing})
		return nothing
	}
	others := w.others(s.exits)
	to := min(others.stay, others.leave)
	switch {
	case min(a.stay, a.leave) == never && (a.due > slack || a.call):
		a = w.pay(s.end, a, 0)
	case s.behind && to < a.due && a.call && !others.call, s.behind && to+least < a.due && others.dear(a.due):
		a = w.pay(s.end, a, to)
	}
	l := label{ahead: a, loops: w.looping}
	if s.x == opLoop {
		w.looping++
		k := others.due
		if s.behind {
			k = max(k, a.due)
		}
		l.ahead, l.loops = ahead{due: k, stay: k, leave: never}, w.looping
		a = a.outside()
	}
	w.labels = append(w.labels, l)
	return a
}

// others returns the most that is due at some of the open blocks, and the least
// of that in the loop and outside of it.
func (w *codeWriter) others(e exits) ahead {
	o := trap
	for ; e != 0; e &= e - 1 {
		i := len(w.labels) - 1 - bits.TrailingZeros64(uint64(e))
		if i < 0 {
			break
		}
		l := w.to(i)
		o.due, o.call = max(o.due, l.due), o.call || l.call
		if l.stay != never {
			o.stay = min(o.stay, l.due)
		}
		if l.leave != never {
			o.leave = min(o.leave, l.due)
		}
	}
	return o
}
