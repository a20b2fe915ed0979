package wasi

import (
	"math"
	"time"
)

// Epoch is when time begins for a guest without a clock: 2022-01-01 00:00 UTC.
const Epoch = 1640995200 * int64(time.Second)

// ReadingStep is how far time without a clock moves each time it is read, so
// that guests that wait for it to pass are not stuck.
const ReadingStep = time.Millisecond

// Identifiers of clocks (WASI preview 1, type clockid). There are no others.
const (
	clockRealtime = iota
	clockMonotonic
)

// clock tells a guest the time: the real one, or one that depends on nothing
// but what the guest does.
type clock struct {
	real    bool
	start   time.Time     // of the real clock
	elapsed time.Duration // without a clock; with one, before start
	tape    Tape          // that readings of the real clock pass; nil for none
}

func (c *clock) reset(real bool, tape Tape) {
	*c = clock{real: real, tape: tape}
	if real {
		c.start = time.Now()
	}
}

// since is how much time has passed since the call began. It never goes back.
func (c *clock) since() time.Duration {
	if c.real {
		return c.elapsed + time.Since(c.start)
	}
	return c.elapsed
}

// wall is the time of day in nanoseconds since 1970.
func (c *clock) wall() int64 {
	if c.real {
		return time.Now().UnixNano()
	}
	return Epoch + int64(c.elapsed)
}

// read reads one of the clocks, as a guest does.
func (c *clock) read(id uint32) (int64, Errno) {
	c.pass(ReadingStep)
	return c.look(id)
}

// look is what one of the clocks shows to the guest.
func (c *clock) look(id uint32) (int64, Errno) {
	if c.real && c.tape != nil {
		return c.tape.Clock(id, func() int64 { return c.now(id) })
	}
	return c.now(id), Success
}

func (c *clock) now(id uint32) int64 {
	if id == clockRealtime {
		return c.wall()
	}
	return int64(c.since())
}

// pass moves time without a clock, at most to the end of time.
func (c *clock) pass(d time.Duration) {
	const end = time.Duration(math.MaxInt64 - Epoch)
	if !c.real {
		c.elapsed = min(c.elapsed, end-min(d, end)) + min(d, end)
	}
}

// clockResGet says how fine a clock is.
func clockResGet(_ *State, mem []byte, p []uint64) Errno {
	switch u32(p[0]) {
	case clockRealtime:
		return put64(mem, u32(p[1]), uint64(ReadingStep))
	case clockMonotonic:
		return put64(mem, u32(p[1]), 1)
	}
	return EINVAL
}

// clockTimeGet reads a clock.
func clockTimeGet(s *State, mem []byte, p []uint64) Errno {
	id := u32(p[0])
	b, ok := view(mem, u32(p[2]), 8)
	switch {
	case id > clockMonotonic:
		return EINVAL
	case !ok:
		return EFAULT
	}
	s.used |= UsedClock
	now, errno := s.clock.read(id)
	if errno != Success {
		return errno
	}
	return put64(b, 0, uint64(now))
}
