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

// slack is how much fuel a charge may take for code that may be skipped. Code
// beyond it gets a charge of its own.
const slack = 16

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
	at    int   // offset in front of which it goes
	cost  int64 // fuel
	maybe int64 // part of cost for code that may be skipped
	check checkKind
	loop  int // the loop of checkLoop
}

// segment is a run of instructions without a branch into or out of it.
type segment struct {
	at    int
	cost  int64
	maybe bool // it can be skipped after the charge in force
	dead  bool // nothing reaches it
}

// scope is an open block, loop or if.
type scope struct {
	force int // charge in force where it began
	loop  bool
}

// meter finds the charges of one function body after the other. Its slices are
// reused.
type meter struct {
	charges []charge // in order of at
	scopes  []scope
	force   int // charge in force: it is always passed before seg
	seg     segment
	calls   bool // a call was found
	loops
}

// begin starts a body whose code starts at offset at. types are those of its
// parameters and locals.
func (m *meter) begin(at int, types []ValueType) {
	m.charges = append(m.charges[:0], charge{at: at, cost: costEntry})
	m.scopes = append(m.scopes[:0], scope{0, false})
	m.force, m.calls = 0, false
	m.seg = segment{at: at}
	m.beginLoops(types)
}

// finish ends a body. Who calls a function without calls again and again has a
// loop or a call, and so a check.
func (m *meter) finish() {
	if m.calls {
		m.charges[0].check = checkEntry
	}
}

// add takes the next instruction into account.
func (m *meter) add(in *instr) {
	if !m.seg.dead {
		m.seg.cost += int64(in.cost)
	}
	switch in.op {
	case opLocalGet, opLocalSet, opLocalTee:
		m.access(in)
	case opBlock:
		m.enter(in)
	case opLoop:
		m.enterLoop(in)
	case opIf:
		m.enter(in)
		m.seg.maybe = true
	case opElse:
		m.close()
		m.force = m.scopes[len(m.scopes)-1].force
		m.open(in.end)
	case opEnd:
		m.leave(in)
	case opBrIf:
		m.close()
		m.open(in.end)
	case opBr, opBrTable, opReturn, opUnreachable:
		m.diverge(in)
	case opCall, opCallIndirect:
		m.calls = true
	case opReturnCall, opReturnCallIndirect:
		m.calls = true
		m.diverge(in)
	}
}

// enter follows a straight line into a block.
func (m *meter) enter(in *instr) {
	maybe := m.close()
	m.scopes = append(m.scopes, scope{m.force, false})
	m.seg = segment{at: in.end, maybe: maybe}
}

func (m *meter) enterLoop(in *instr) {
	m.close()
	l := m.openLoop(in.at)
	check := checkLoop
	if in.bt >= 0 {
		check = checkHere // it may take values, which are not at hand behind an if
	}
	m.charges = append(m.charges, charge{at: in.end, cost: costOne, check: check, loop: l})
	m.scopes = append(m.scopes, scope{m.force, true})
	m.force = len(m.charges) - 1
	m.seg = segment{at: in.end}
}

func (m *meter) leave(in *instr) {
	m.close()
	last := len(m.scopes) - 1
	s := m.scopes[last]
	m.force = s.force
	m.scopes = m.scopes[:last]
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
func (m *meter) open(at int) { m.seg = segment{at: at, maybe: true} }

// close decides who pays for the segment, and reports whether what follows it
// in a straight line can be skipped after the charge now in force.
func (m *meter) close() (maybe bool) {
	c := &m.charges[m.force]
	switch {
	case !m.seg.maybe:
		c.cost += m.seg.cost
		return false
	case c.maybe+m.seg.cost <= slack:
		c.cost += m.seg.cost
		c.maybe += m.seg.cost
		return true
	}
	m.charges = append(m.charges, charge{at: m.seg.at, cost: m.seg.cost})
	m.force = len(m.charges) - 1
	return false
}
