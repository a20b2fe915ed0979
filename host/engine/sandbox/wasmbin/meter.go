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
	costMove     = 32 // memory.copy and memory.fill, and by length below
	costBulk     = 16 // other bulk memory and table instructions, and by length below
	costGrow     = 64 // memory.grow and table.grow, and by size below

	costEntry = 2 // entering a function

	// Fuel by length, as shifts. One unit pays for 16 bytes of memory or one
	// table entry, and so 4,096 for a page of 64 KiB.
	bytesPerUnit  = 4
	unitsPerPage  = 12
	unitsPerEntry = 0
)

// What a charge may take for code that does not run, see place.
const (
	slack      = 24  // and a part of what does run
	slackShare = 4   // which is this
	exitSlack  = 128 // where the loop is left
	least      = 8   // where ways part that differ by no more
)

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
	cost  int64 // fuel; below zero it is given back
	check checkKind
	loop  int  // the loop of checkLoop
	calls bool // a call may follow, and no check is sure to be in front of it
	cold  bool // it is on the way to a trap
}

// scope is an open block, loop or if.
type scope struct {
	exits
	dead bool // nothing reaches its beginning
}

// exits is where branches from inside of a block go to, one bit for each block
// around, the innermost lowest. What is too far out counts as the last.
type exits uint64

const farthest = 63

// to adds a branch to a label.
func (e *exits) to(label uint32) { *e |= 1 << min(label, farthest) }

// outer is e as the block around sees it.
func (e exits) outer() exits { return e>>1 | e&(1<<farthest) }

// meter follows the code of one function body after the other and notes in its
// steps what place needs to know. Its slices are reused.
type meter struct {
	charges []charge // in order of at, once they were placed
	scopes  []scope
	due     int64 // cost since the last step, of code that is to be paid for
	dead    bool  // nothing reaches the code

	unrolled []unrolled // loops still to come whose charge is known
	paid     int        // open blocks around the code of such a loop, 0 outside
	loops
}

// begin starts a body. types are those of its parameters and locals.
func (m *meter) begin(types []ValueType) {
	m.charges = m.charges[:0]
	m.scopes = append(m.scopes[:0], scope{})
	m.due, m.dead, m.paid = costEntry, false, 0
	m.beginLoops(types)
}

// addCost adds to what is due, unless nothing reaches the code or it is paid
// for.
func (m *meter) addCost(cost int64) {
	if !m.dead && m.paid == 0 {
		m.due += cost
	}
}

// add takes the next instruction into account, and its step if it has one.
func (m *meter) add(in *instr, s *step, c cursor) {
	m.addCost(int64(in.cost))
	if s == nil {
		if in.imm == immLocal {
			m.access(in)
		}
		return
	}
	s.due, s.paid, m.due = m.due, m.paid > 0, 0
	switch in.op {
	case opBlock, opIf:
		m.scopes = append(m.scopes, scope{dead: m.dead})
	case opLoop:
		m.enterLoop(in, s)
	case opElse:
		m.dead = m.scopes[len(m.scopes)-1].dead
	case opEnd:
		m.leave(s)
	case opBr, opBrIf, opBrTable, opReturn:
		m.branch(s, c)
	}
	m.dead = m.dead || in.stops()
}

// stops reports whether nothing goes on behind an instruction.
func (in *instr) stops() bool {
	switch in.op {
	case opBr, opBrTable, opReturn, opUnreachable, opReturnCall, opReturnCallIndirect:
		return true
	}
	return false
}

func (m *meter) enterLoop(in *instr, s *step) {
	s.loop = m.openLoop(in.at, len(m.scopes))
	s.check = checkLoop
	if in.bt >= 0 {
		s.check = checkHere // it may take values, which are not at hand behind an if
	}
	s.turn = m.turn(in.at)
	m.scopes = append(m.scopes, scope{dead: m.dead})
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

// branch notes where a step branches to.
func (m *meter) branch(s *step, c cursor) {
	if m.dead {
		return
	}
	e := &m.scopes[len(m.scopes)-1].exits
	if s.op == opReturn {
		e.to(uint32(len(m.scopes) - 1))
	}
	c.eachTarget(s, e.to)
}

func (m *meter) leave(s *step) {
	last := len(m.scopes) - 1
	e := m.scopes[last]
	m.scopes = m.scopes[:last]
	if last == m.paid {
		m.paid = 0
	}
	s.exits = e.exits.outer()
	if last > 0 {
		m.scopes[last-1].exits |= s.exits
	}
	switch s.x {
	case opLoop:
		m.closeLoop()
	case opIf:
		m.dead = e.dead
	default:
		m.dead = m.dead && e.exits&1 == 0
	}
	s.behind = !m.dead
}
