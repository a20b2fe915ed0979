package reference

import "github.com/tetratelabs/wazero/experimental"

// memories makes the memories of an instance, so that the main module's, which is
// made last, can be read: the SDK hands it to nobody.
type memories struct{ last *linear }

// Allocate is called for each memory of the instance.
func (m *memories) Allocate(_, _ uint64) experimental.LinearMemory {
	m.last = &linear{}
	return m.last
}

// linear is one memory.
type linear struct{ bytes []byte }

// Reallocate makes it larger. What is new is zero.
func (l *linear) Reallocate(size uint64) []byte {
	if size > uint64(cap(l.bytes)) {
		grown := make([]byte, size, max(size, 2*uint64(cap(l.bytes))))
		copy(grown, l.bytes)
		l.bytes = grown
	}
	l.bytes = l.bytes[:size]
	return l.bytes
}

// Free gives it up.
func (l *linear) Free() {}

// linearKey is where the context of a call has the memory of the instance.
type linearKey struct{}
