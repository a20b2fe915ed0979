package wasmbin

// The price list: fuel of one instruction. See the package comment.
const (
	costFree     = 0 // nop, drop, block, loop, else, end, unreachable
	costOne      = 1 // whatever is not named here
	costSIMD     = 2
	costTable    = 3 // br_table, table.get, table.set, table.size, memory.size, ref.func
	costCall     = 4
	costIndirect = 8
	costDivide   = 8  // division, remainder, square root
	costBulk     = 16 // bulk memory and table instructions, and by length below
	costGrow     = 64 // memory.grow and table.grow, and by size below

	costEntry = 2 // entering a function

	// Fuel by length, as shifts. One unit pays for 16 bytes of memory or one
	// table entry, and so 4,096 for a page of 64 KiB.
	bytesPerUnit  = 4
	unitsPerPage  = 12
	unitsPerEntry = 0
)

// chance says how likely it is that code runs when the charge in force was
// passed.
type chance byte

const (
	certain  chance = iota
	expected        // it does but for branches that leave the loop around it
	possible
)

// slack is how much fuel a charge may take for code of which it is not certain
// that it runs. Code beyond it gets a charge of its own.
var slack = [...]int64{expected: 64, possible: 16}

// checkKind says how a charge looks whether the counter is below zero.
type checkKind byte

const (
	unchecked checkKind = iota
	checkHere           // calls tick and goes on
	checkEntry
	checkLoop // behind a loop's opcode: calls tick and begins the turn again
)

// charge is a place in a function body where fuel is taken.
type charge struct {
	at    int      // offset in front of which it goes
	cost  int64    // fuel
	spare [3]int64 // part of cost for code that is not certain to run, by chance
	check checkKind
	loop  int // the loop of checkLoop
}

// segment is a run of instructions without a branch into or out of it.
type segment struct {
	at     int
	cost   int64
	chance chance // of running after the charge in force
	dead   bool   // nothing reaches it
}

// scope is an open block, loop or if.
type scope struct {
	force int // charge in force where it began
	loop  bool
	tail  bool // it ends where the loop around it does
}

// meter finds the charges of one function body after the other. Its slices are
// reused.
type meter struct {
	charges []charge // in order of at
	scopes  []scope
	force   int // charge in force: it is always passed before seg
	seg     segment

	ends     tails
	unrolled []unrolled // loops still to come whose charge is known
	paid     int        // open blocks around the code of such a loop, 0 outside
	loops
}

// begin starts a body whose code starts at offset at. types are those of its
// parameters and locals.
func (m *meter) begin(at int, types []ValueType) {
	m.charges = append(m.charges[:0], charge{at: at, cost: costEntry})
	m.scopes = append(m.scopes[:0], scope{})
	m.force, m.paid = 0, 0
	m.seg = segment{at: at}
	m.beginLoops(types)
}

// call makes the function look at the counter when it is entered, so that every
// recursion does. In a loop that was done at its head.
func (m *meter) call() {
	if len(m.inside) == 0 {
		m.charges[0].check = checkEntry
	}
}

// addCost adds to what the segment costs, unless nothing reaches it or it is
// paid for.
func (m *meter) addCost(cost int64) {
	if !m.seg.dead && m.paid == 0 {
		m.seg.cost += cost
	}
}

// add takes the next instruction into account.
func (m *meter) add(in *instr) {
	m.addCost(int64(in.cost))
	switch in.op {
	case opLocalGet, opLocalSet, opLocalTee:
		m.access(in)
	case opBlock:
		m.enter(in)
	case opLoop:
		m.enterLoop(in)
	case opIf:
		m.enter(in)
		m.seg.chance = possible
	case opElse:
		m.close()
		m.force = m.scopes[len(m.scopes)-1].force
		m.open(in.end)
	case opEnd:
		m.leave(in)
	case opBrIf:
		m.branchIf(in)
	case opBr, opBrTable, opReturn, opUnreachable:
		m.diverge(in)
	case opCall, opCallIndirect:
		m.call()
	case opReturnCall, opReturnCallIndirect:
		m.call()
		m.diverge(in)
	}
}

// enter follows a straight line into a block.
func (m *meter) enter(in *instr) {
	next := m.close()
	m.scopes = append(m.scopes, scope{force: m.force, tail: m.ends.has(in.at)})
	m.seg = segment{at: in.end, chance: next}
}

// branchIf goes on behind a br_if. One that leaves the loop is not taken often.
func (m *meter) branchIf(in *instr) {
	next := m.close()
	m.open(in.end)
	if to := len(m.scopes) - 1 - int(in.x); to < m.innermost() || m.scopes[to].tail {
		m.seg.chance = max(next, expected)
	}
}

func (m *meter) enterLoop(in *instr) {
	m.close()
	l := m.openLoop(in.at, len(m.scopes))
	check := checkLoop
	if in.bt >= 0 {
		check = checkHere // it may take values, which are not at hand behind an if
	}
	m.charges = append(m.charges, charge{at: in.end, cost: m.turn(in.at), check: check, loop: l})
	m.scopes = append(m.scopes, scope{force: m.force, loop: true})
	m.force = len(m.charges) - 1
	m.seg = segment{at: in.end}
}

// turn is the charge for a turn of the loop at an offset, without the code in
// it unless that was unrolled.
func (m *meter) turn(at int) int64 {
	if len(m.unrolled) == 0 || m.unrolled[0].at != at {
		return costOne
	}
	cost := m.unrolled[0].cost
	m.unrolled = m.unrolled[1:]
	m.paid = len(m.scopes)
	return cost
}

func (m *meter) leave(in *instr) {
	m.close()
	last := len(m.scopes) - 1
	s := m.scopes[last]
	m.force = s.force
	m.scopes = m.scopes[:last]
	if last == m.paid {
		m.paid = 0
	}
	m.open(in.end)
	if s.loop {
		m.closeLoop()
	}
}

func (m *meter) diverge(in *instr) {
	m.close()
	m.open(in.end)
	m.seg.dead = true
}

// open starts a segment that can be skipped.
func (m *meter) open(at int) { m.seg = segment{at: at, chance: possible} }

// close decides who pays for the segment, and returns the chance that what
// follows it in a straight line runs after the charge then in force.
func (m *meter) close() chance {
	c, s := &m.charges[m.force], &m.seg
	if s.chance != certain && c.spare[s.chance]+s.cost > slack[s.chance] {
		m.charges = append(m.charges, charge{at: s.at, cost: s.cost})
		m.force = len(m.charges) - 1
		return certain
	}
	c.cost += s.cost
	c.spare[s.chance] += s.cost
	return s.chance
}
