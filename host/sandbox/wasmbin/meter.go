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

// shortEntry is the most fuel, that of entering included, of the code between
// the entry and a first loop for which no charge of its own is made: the loop
// is charged with it at each turn.
const shortEntry = 6

// charge is a place in a function body where fuel is taken.
type charge struct {
	at    int   // offset in front of which it goes
	cost  int64 // fuel
	maybe int64 // part of cost for code that may be skipped
	check bool  // whether to call tick when the counter is below zero
}

// segment is a run of instructions without a branch into or out of it.
type segment struct {
	at    int
	cost  int64
	maybe bool // it can be skipped after the charge in force
	dead  bool // nothing reaches it
}

// meter finds the charges of one function body after the other. Its slices are
// reused.
type meter struct {
	charges []charge // in order of at
	frames  []int    // charge in force where each open block began
	force   int      // charge in force: it is always passed before seg
	seg     segment
	leaf    bool // no call and no loop so far
}

// begin starts a body whose code starts at offset at.
func (m *meter) begin(at int) {
	m.charges = append(m.charges[:0], charge{at: at, cost: costEntry})
	m.frames = append(m.frames[:0], 0)
	m.force, m.leaf = 0, true
	m.seg = segment{at: at}
}

// finish ends a body. A leaf needs no check: who calls it again and again has
// a loop or a call, and so a check.
func (m *meter) finish() { m.charges[0].check = !m.leaf }

// add takes the next instruction into account.
func (m *meter) add(in *instr) {
	if !m.seg.dead {
		m.seg.cost += int64(in.cost)
	}
	switch in.op {
	case opBlock:
		m.enter(in)
	case opLoop:
		m.enterLoop(in)
	case opIf:
		m.enter(in)
		m.seg.maybe = true
	case opElse:
		m.close()
		m.force = m.frames[len(m.frames)-1]
		m.open(in.end)
	case opEnd:
		m.leave(in)
	case opBrIf:
		m.close()
		m.open(in.end)
	case opBr, opBrTable, opReturn, opUnreachable:
		m.diverge(in)
	case opCall, opCallIndirect:
		m.leaf = false
	case opReturnCall, opReturnCallIndirect:
		m.leaf = false
		m.diverge(in)
	}
}

// enter follows a straight line into a block.
func (m *meter) enter(in *instr) {
	maybe := m.close()
	m.frames = append(m.frames, m.force)
	m.seg = segment{at: in.end, maybe: maybe}
}

func (m *meter) enterLoop(in *instr) {
	m.close()
	first := &m.charges[m.force]
	if m.leaf && m.force == 0 && !m.seg.maybe && first.cost <= shortEntry {
		*first = charge{at: in.end, cost: first.cost + costOne, check: true}
	} else {
		m.charges = append(m.charges, charge{at: in.end, cost: costOne, check: true})
	}
	m.leaf = false
	m.frames = append(m.frames, m.force)
	m.force = len(m.charges) - 1
	m.seg = segment{at: in.end}
}

func (m *meter) leave(in *instr) {
	m.close()
	last := len(m.frames) - 1
	m.force = m.frames[last]
	m.frames = m.frames[:last]
	m.open(in.end)
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
