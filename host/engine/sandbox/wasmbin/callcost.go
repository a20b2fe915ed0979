package wasmbin

import "fmt"

// The charge at the entry of a small function is left out where only direct
// calls lead there: its call cost is a part of what the caller is charged for the
// call, and the caller has a charge anyway. A function that calls itself is entered
// by a door from elsewhere: an added function that charges the call cost and
// calls it.
const (
	maxCallCost   = 64
	maxDoors      = 256
	maxDoorParams = 16
)

// setCallCosts decides which functions have a call cost.
func (r *rewriter) setCallCosts(list []source) {
	section, callCosts := r.cursor, make([]int64, len(list))
	for i := range list {
		s := &list[i]
		if !r.mayHaveCallCost(s.index) {
			continue
		}
		r.open(s)
		r.plan(s.index)
		if e := r.code.entry; e.check == unchecked && e.cost <= r.maxCallCost {
			callCosts[i] = e.cost
			r.addDoor(s.index, e.cost)
		}
	}
	r.cursor, r.callCosts = section, callCosts
}

// mayHaveCallCost reports whether a function is small, and called often enough.
func (r *rewriter) mayHaveCallCost(index uint32) bool {
	s := r.shapeOf(index)
	switch {
	case !s.called || s.checked() || r.module.HasStart && r.start == index:
		return false
	case !r.declared[index]:
		return true
	}
	return s.self && len(r.doors) < maxDoors && len(r.typeOf(index).Params) <= maxDoorParams
}

// callCost returns what the caller pays for a function where it calls it.
func (r *rewriter) callCost(in *instr) int64 {
	if r.callCosts == nil || in.op != opCall && in.op != opReturnCall || int(in.x) < r.imported {
		return 0
	}
	return r.callCosts[int(in.x)-r.imported]
}

// entry places the charges of the function whose steps are at hand, but for
// that at its entry, which it returns.
func (r *rewriter) entry(index uint32) charge {
	check := r.findChecks() > leafCost || r.shapeOf(index).checked()
	a := r.place()
	e := charge{cost: a.due}
	if r.callCosts != nil {
		e.cost = max(a.due-r.callCosts[int(index)-r.imported], 0)
	}
	if check || a.call {
		e.check = checkEntry
	} else {
		r.code.checkCalls()
	}
	return e
}

// checkCalls makes charges before calls also test the counter, so that every
// recursion is stopped. In a loop the test at its head is enough.
func (w *codeWriter) checkCalls() {
	for i := range w.charges {
		switch c := &w.charges[i]; {
		case c.calls && c.cold:
			c.check = checkHere
		case c.calls:
			c.check = checkEntry
		}
	}
}

// addDoor adds the function by which tables, exports and references reach one
// with a call cost.
func (r *rewriter) addDoor(index uint32, callCost int64) {
	if !r.declared[index] {
		return
	}
	t := r.typeOf(index)
	r.doors[index] = r.helper(fmt.Sprint("door", index), func() (FuncType, []byte) {
		b := r.appendCharge([]byte{0}, callCost)
		for i := range t.Params {
			b = appendIndexed(b, opLocalGet, uint32(i))
		}
		return t, append(appendIndexed(b, opCall, r.function(index)), opEnd)
	})
	r.points++
}

// reference maps the index of a function that is referred to, not called.
func (r *rewriter) reference(i uint32) uint32 {
	if door, ok := r.doors[i]; ok {
		return door
	}
	return r.function(i)
}
