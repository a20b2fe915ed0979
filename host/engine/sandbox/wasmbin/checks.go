package wasmbin

import "slices"

// Loop heads and function entries are not enough to keep a guest from running
// long between two looks at the counter: a function without loops can be a
// megabyte of code, call half a million others that have neither loops nor
// calls, or be one of the million frames of a recursion, all of which return
// one after the other. So there are checks too
//
//   - at the entry of functions that cost more than leafCost outside of loops,
//     or may do so together with those they call,
//   - where code without loops has cost more than uncheckedCost,
//   - where a function returns, when it has cost more than returnCost since it
//     called one that calls others.
//
// So what runs between two checks costs at most about twice uncheckedCost, and
// returnCost for each function that returns.
const (
	leafCost      = 1 << 10
	uncheckedCost = 1 << 16
	returnCost    = 32
)

// A shape is what callers need to know of a function.
type shape struct {
	cost   int64 // of its code outside of loops
	calls  bool  // it calls others
	called bool  // others call it, directly
	self   bool  // and it itself does
}

// checked reports whether the function looks at the counter when it is entered
// in any case.
func (s shape) checked() bool { return s.cost > leafCost }

// addShape takes an instruction into account.
func (b *body) addShape(in *instr) {
	s := &b.shapes[b.index-b.imported]
	if b.looping == 0 {
		s.cost += int64(in.cost)
	}
	switch in.op {
	case opCall, opCallIndirect, opReturnCall, opReturnCallIndirect:
		s.calls = true
	}
	if (in.op == opCall || in.op == opReturnCall) && b.err == nil && int(in.x) >= b.imported {
		f := &b.shapes[int(in.x)-b.imported]
		f.called = true
		f.self = f.self || int(in.x) == b.index
	}
}

// shapeOf is that of a function by its index. What host functions take is
// charged by the host, which looks at the counter itself.
func (d *decoder) shapeOf(function uint32) shape {
	if int(function) < d.imported {
		return shape{}
	}
	return d.shapes[int(function)-d.imported]
}

// step is a place where ways through the code part, join or end, or where a
// check may be, together with the code in front of it.
type step struct {
	at, end int // offsets of its instruction
	op      byte
	x       uint32 // label, function, or what the block began with that ends
	labels  int    // offset of branch targets
	cost    int64  // of the code since the step before, and its own

	due    int64     // that cost as far as it is to be charged
	turn   int64     // of a loop: the charge for a turn, without the code in it
	check  checkKind // of a loop
	loop   int       // of a loop: its index
	exits  exits     // of the end of a block: where others leave it for
	behind bool      // something reaches the code behind the end of a block
	paid   bool      // the code is paid for
}

// effect is what an instruction does besides branching.
type effect struct {
	cost  int64 // more fuel that it takes, at the most
	check bool  // it looks at the counter, at first
	deep  bool  // it is a call of a function that calls others
	stop  bool  // nothing goes on behind it
}

func (r *rewriter) effectOf(s *step) effect {
	switch s.op {
	case opUnreachable, opReturn, opBr, opBrTable:
		return effect{stop: true}
	case opMemoryGrow:
		return effect{check: true}
	case opCall, opReturnCall:
		f := r.shapeOf(s.x)
		return effect{cost: f.cost, check: f.checked(), deep: f.calls, stop: s.op == opReturnCall}
	case opCallIndirect, opReturnCallIndirect:
		return effect{cost: leafCost, deep: true, stop: s.op == opReturnCallIndirect}
	case opMisc:
		switch s.x {
		case miscMemoryInit, miscTableInit, miscTableCopy, miscTableFill, miscTableGrow:
			return effect{check: true}
		}
	}
	return effect{}
}

// join is a block that is open, with the costs at its ends.
type join struct {
	op    byte  // how it began
	label int64 // where branches to it go to
	last  int64 // at its end
	arm   int64 // at the beginning of the arm of an if that is not being read
	arms  bool  // it has two
}

// checker finds the places for checks in one function after the other. Its
// slices are reused.
type checker struct {
	steps   []step
	opened  []byte // how the blocks began that are open, while steps are added
	pending int64
	joins   []join
	checks  []int // offsets
}

func (c *checker) beginSteps() {
	c.steps, c.opened, c.pending = c.steps[:0], append(c.opened[:0], opBlock), 0
}

// addStep takes the next instruction into account. It returns its step, which
// is good until the next one, or nil.
func (c *checker) addStep(in *instr) *step {
	c.pending += int64(in.cost)
	s := step{at: in.at, end: in.end, op: in.op, x: in.x, labels: in.labels, cost: c.pending}
	switch in.op {
	case opBlock, opLoop, opIf:
		c.opened = append(c.opened, in.op)
	case opEnd:
		last := len(c.opened) - 1
		s.x = uint32(c.opened[last])
		c.opened = c.opened[:last]
	case opMisc:
		if s.x = in.sub; in.sub < miscMemoryInit && c.pending < uncheckedCost {
			return nil
		}
	case opElse, opBr, opBrIf, opBrTable, opReturn, opUnreachable, opMemoryGrow,
		opCall, opCallIndirect, opReturnCall, opReturnCallIndirect:
	default:
		if c.pending < uncheckedCost {
			return nil
		}
	}
	c.steps, c.pending = append(c.steps, s), 0
	return &c.steps[len(c.steps)-1]
}

// findChecks finds the offsets where checks have to be. It returns the most
// that may run from the start of the code on before there is one.
func (r *rewriter) findChecks() int64 {
	c := &r.code.checker
	c.checks = c.checks[:0]
	r.findReturns()
	c.joins = c.joins[:0]
	ahead := int64(0)
	for i := len(c.steps) - 1; i >= 0; i-- {
		ahead = r.before(&c.steps[i], ahead) + c.steps[i].cost
		if i > 0 && ahead > uncheckedCost && c.steps[i-1].op != opLoop {
			c.checks = append(c.checks, c.steps[i-1].end)
			ahead = 0
		}
	}
	slices.Sort(c.checks)
	return ahead
}

// before returns the most that may run from a step on before there is a check,
// when ahead is that from behind it on. It is asked from the last step to the
// first.
func (r *rewriter) before(s *step, ahead int64) int64 {
	c := &r.code.checker
	last := len(c.joins) - 1
	switch s.op {
	case opEnd:
		j := join{label: ahead, last: ahead}
		if s.x == opLoop {
			j.label = 0
		}
		c.joins = append(c.joins, j)
	case opElse:
		c.joins[last].arm, c.joins[last].arms = ahead, true
		ahead = c.joins[last].last
	case opLoop:
		ahead = 0
		c.joins = c.joins[:last]
	case opIf:
		if j := &c.joins[last]; j.arms {
			ahead = max(ahead, j.arm)
		} else {
			ahead = max(ahead, j.last)
		}
		c.joins = c.joins[:last]
	case opBlock:
		c.joins = c.joins[:last]
	default:
		e := r.effectOf(s)
		if e.stop || e.check {
			ahead = 0
		}
		if !e.check {
			ahead += e.cost
		}
		r.eachLabel(s, func(j *join) { ahead = max(ahead, j.label) })
	}
	return ahead
}

// findReturns finds the places where the function returns, and has cost more
// than returnCost since a call.
func (r *rewriter) findReturns() {
	c := &r.code.checker
	c.joins = append(c.joins[:0], join{op: opBlock, label: none})
	since := int64(none) // cost since a call
	for i := range c.steps {
		s := &c.steps[i]
		if since != none {
			since += s.cost
		}
		if r.returns(s) && since > returnCost {
			c.checks = append(c.checks, s.at)
			since = none
		}
		since = r.behind(s, since)
	}
}

// returns reports whether the function may return at a step.
func (r *rewriter) returns(s *step) bool {
	c := &r.code.checker
	yes := s.op == opReturn || s.op == opEnd && len(c.joins) == 1
	r.eachLabel(s, func(j *join) { yes = yes || j == &c.joins[0] })
	return yes
}

// behind returns the most that may have run since a call where a step ends,
// when since is that where it begins. It is asked from the first step to the
// last.
func (r *rewriter) behind(s *step, since int64) int64 {
	c := &r.code.checker
	last := len(c.joins) - 1
	switch s.op {
	case opBlock, opIf:
		c.joins = append(c.joins, join{op: s.op, label: none, arm: since})
	case opLoop:
		c.joins = append(c.joins, join{op: opLoop, label: none})
		since = none
	case opElse:
		j := &c.joins[last]
		j.label = max(j.label, since)
		since, j.arm = j.arm, none
	case opEnd:
		if j := c.joins[last]; j.op == opIf {
			since = max(since, j.label, j.arm)
		} else if j.op == opBlock {
			since = max(since, j.label)
		}
		c.joins = c.joins[:last]
	default:
		r.eachLabel(s, func(j *join) { j.label = max(j.label, since) })
		switch e := r.effectOf(s); {
		case e.stop || e.check && !e.deep:
			since = none
		case e.deep:
			since = 0
		case since != none:
			since += e.cost
		}
	}
	return since
}

// eachLabel calls f with the blocks that a step branches to.
func (r *rewriter) eachLabel(s *step, f func(*join)) {
	c := &r.code.checker
	r.eachTarget(s, func(x uint32) { f(&c.joins[len(c.joins)-1-int(x)]) })
}

// eachTarget calls f with the labels of the code c that a step branches to.
func (c cursor) eachTarget(s *step, f func(label uint32)) {
	switch s.op {
	case opBr, opBrIf:
		f(s.x)
	case opBrTable:
		c.pos = s.labels
		for range s.x + 1 {
			f(c.u32())
		}
	}
}
