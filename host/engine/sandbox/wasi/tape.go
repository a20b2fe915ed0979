package wasi

import "github.com/skillet-run/skillet/host/engine/jail"

// A Tape is what a guest's looks at the world pass through, when a call has one:
// the real clock, the system's randomness, and files. It lets each look happen
// and keeps what was seen, or says itself what is to be seen. What follows from
// the call alone (the fixed clock, randomness from a seed, input, arguments)
// does not pass it. It is used by one goroutine.
type Tape interface {
	// Clock is a reading of a real clock, 0 for the time of day and 1 for the
	// one that never goes back, in nanoseconds. read reads it.
	Clock(id uint32, read func() int64) (int64, Errno)
	// Random fills b, at most a MiB, with randomness. draw draws it.
	Random(b []byte, draw func(b []byte)) Errno
	// Files is the file tree that the guest gets, nil for none. open makes the one
	// that the call has, and is nil for a call without; what is made is told of
	// every quota that stands in the way, as refused has to be.
	Files(open func(refused func(*jail.QuotaError)) FS, refused func(*jail.QuotaError)) FS
	// Waits reports whether sleeping takes time.
	Waits() bool
}

// NotRecorded is what a guest is told when it looks at what a tape that stands
// for the world does not have. Nothing else is answered with it.
const NotRecorded = ENOTRECOVERABLE

// MaxRandom is the most randomness in bytes that passes a [Tape] at once.
const MaxRandom = randomChunk
