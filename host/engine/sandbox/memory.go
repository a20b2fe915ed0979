package sandbox

import (
	"errors"

	"github.com/tetratelabs/wazero/experimental"
)

// errNoRoom means the address space reserved for a memory is used up.
var errNoRoom = errors.New("no room left in the reserved address space")

// memoryBudget counts the bytes a call holds: linear memory and Extism blocks.
type memoryBudget struct {
	limit   uint64
	used    uint64
	peak    uint64
	refused bool // something asked for more than was left
}

// has reports whether n more bytes are left.
func (b *memoryBudget) has(n uint64) bool { return n <= b.limit-b.used }

// take counts n more bytes, or refuses and counts none.
func (b *memoryBudget) take(n uint64) bool {
	if !b.has(n) {
		b.refused = true
		return false
	}
	b.used += n
	b.peak = max(b.peak, b.used)
	return true
}

// give takes back n bytes.
func (b *memoryBudget) give(n uint64) { b.used -= n }

// linearMemory is the memory of one instance. It is reserved at its largest
// size and made usable as it grows, so growing never copies and freeing returns
// it to the system at once. Where address space cannot be reserved it lives on
// the Go heap.
//
// What lies between size and the largest size it ever had is zero.
type linearMemory struct {
	budget    *memoryBudget
	most      uint64 // bytes the module may ever have
	reserved  []byte // nil on the Go heap
	heap      []byte
	size      uint64
	committed uint64 // how much of reserved is usable
	mapped    bool   // reserved maps an image: see image.attach
	own       ownPages
	shrink    bool // the next Reallocate takes memory back: see instance.shrink
}

// allocator hands wazero the memory of one instance. It panics when asked for
// a second one: the gate lets no module through that has two.
type allocator struct{ memory linearMemory }

// Allocate reserves what the module may ever use. Address space is not memory;
// where there is too little of it, the budget of the call must do.
func (a *allocator) Allocate(_, _ uint64) experimental.LinearMemory {
	m := &a.memory
	if m.reserved != nil || m.heap != nil {
		panic("second memory in one instance")
	}
	m.reserve()
	if m.reserved == nil {
		m.heap = []byte{}
	}
	return m
}

func (m *linearMemory) reserve() {
	for _, n := range []uint64{m.most, min(m.most, m.budget.limit)} {
		if n == 0 {
			return
		}
		if b, err := reserve(n); err == nil {
			m.reserved = b
			return
		}
	}
}

// fits reports whether the memory can grow as far as a limit allows.
func (m *linearMemory) fits(limit uint64) bool {
	return m.reserved == nil || uint64(len(m.reserved)) >= min(m.most, limit)
}

// held is how much memory of the system it takes, about, after pages of it
// were restored.
func (m *linearMemory) held(pages int, s Strategy) uint64 {
	switch {
	case m.reserved == nil:
		return uint64(cap(m.heap))
	case !m.mapped:
		return m.committed
	case s == StrategyMadvise || pages > dropAbove:
		return 0
	}
	return uint64(pages) * hostPage
}

// Reallocate makes the first size bytes usable. It returns nil when that is
// more than the module may have or the budget has left.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if m.shrink {
		m.shrink = false
		return m.bytes(m.size)
	}
	if size <= m.size {
		return m.bytes(size)
	}
	if size > m.most {
		return nil
	}
	if !m.budget.take(size - m.size) {
		return nil
	}
	if err := m.extend(size); err != nil {
		m.budget.give(size - m.size)
		m.budget.refused = true
		return nil
	}
	m.size = size
	return m.bytes(size)
}

func (m *linearMemory) extend(size uint64) error {
	if m.reserved != nil {
		return m.commit(size)
	}
	if size <= uint64(cap(m.heap)) {
		m.heap = m.heap[:size]
		return nil
	}
	next := make([]byte, size, min(2*size, max(size, m.budget.limit)))
	copy(next, m.heap)
	m.heap = next
	return nil
}

func (m *linearMemory) commit(size uint64) error {
	switch {
	case size > uint64(len(m.reserved)):
		return errNoRoom
	case size <= m.committed:
		return nil
	}
	if err := commit(m.reserved[m.committed:size]); err != nil {
		return err
	}
	m.committed = size
	return nil
}

// bytes is the memory at a size, with no room behind it to grow into.
func (m *linearMemory) bytes(size uint64) []byte {
	if m.reserved != nil {
		return m.reserved[:size:size]
	}
	return m.heap[:size:size]
}

// Free gives the memory back. Nothing may use it afterwards. Freeing twice
// does nothing.
func (m *linearMemory) Free() {
	if m.reserved != nil {
		_ = release(m.reserved)
	}
	m.reserved, m.heap = nil, nil
	m.budget.give(m.size)
	m.size, m.committed = 0, 0
}
