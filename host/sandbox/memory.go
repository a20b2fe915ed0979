package sandbox

import "github.com/tetratelabs/wazero/experimental"

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
type linearMemory struct {
	budget   *memoryBudget
	reserved []byte // nil on the Go heap
	heap     []byte
	size     uint64
}

// allocator hands wazero the memory of one instance. It panics when asked for
// a second one: the gate lets no module through that has two.
type allocator struct{ memory linearMemory }

// Allocate reserves what the module may ever use, or the budget if that is less.
func (a *allocator) Allocate(_, most uint64) experimental.LinearMemory {
	m := &a.memory
	if m.reserved != nil || m.heap != nil {
		panic("second memory in one instance")
	}
	if most = min(most, m.budget.limit); most > 0 {
		m.reserved, _ = reserve(int(most))
	}
	if m.reserved == nil {
		m.heap = []byte{}
	}
	return m
}

// Reallocate makes the first size bytes usable. It returns nil when that is
// more than the budget has left.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size <= m.size {
		return m.bytes(size)
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
		return commit(m.reserved[:size])
	}
	if size <= uint64(cap(m.heap)) {
		m.heap = m.heap[:size]
		return nil
	}
	next := make([]byte, size, min(2*size, m.budget.limit))
	copy(next, m.heap)
	m.heap = next
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
	m.size = 0
}
