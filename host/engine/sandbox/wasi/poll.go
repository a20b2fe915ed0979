package wasi

import (
	"encoding/binary"
	"math"
	"time"
)

// Types of events (WASI preview 1, type eventtype).
const (
	eventClock = iota
	eventRead
	eventWrite
)

// Sizes of a subscription and of an event.
const (
	subscriptionSize = 48
	eventSize        = 32
)

// wait is what poll_oneoff is asked to wait for.
type wait struct {
	s      *State
	in     []byte   // subscriptions
	out    []byte   // as many events
	events int      // written
	now    [2]int64 // on the clocks when the waiting began
	ready  bool     // something besides a clock is
	until  time.Duration
}

// pollOneoff waits until one of several things is the case. Reading and
// writing never have to be waited for, so it is only alone that clocks are.
func pollOneoff(s *State, mem []byte, p []uint64) Errno {
	n := u32(p[2])
	result, ok := view(mem, u32(p[3]), 4)
	w := wait{s: s, until: math.MaxInt64}
	var fits [2]bool
	w.in, fits[0] = viewList(mem, u32(p[0]), n, subscriptionSize)
	w.out, fits[1] = viewList(mem, u32(p[1]), n, eventSize)
	switch {
	case n == 0:
		return EINVAL
	case !ok || !fits[0] || !fits[1]:
		return EFAULT
	}
	s.used |= UsedClock
	for id := range w.now {
		var errno Errno
		if w.now[id], errno = s.clock.look(uint32(id)); errno != Success {
			return errno
		}
	}
	if errno := w.each(w.look); errno != Success {
		return errno
	}
	if w.ready {
		w.until = 0
	} else {
		s.sleep(w.until)
		s.clock.pass(w.until)
	}
	if errno := w.each(w.answer); errno != Success {
		return errno
	}
	return put32(result, 0, uint32(w.events))
}

// sleep waits, unless the tape says that nothing is waited for.
func (s *State) sleep(d time.Duration) {
	if s.tape == nil || s.tape.Waits() {
		s.host.Sleep(d)
		return
	}
	s.host.CheckTime()
}

// viewList is n things of a size in the guest's memory.
func viewList(mem []byte, ptr, n uint32, size uint64) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)*size
	if end > uint64(len(mem)) {
		return nil, false
	}
	return mem[ptr:end:end], true
}

// each goes through the subscriptions.
func (w *wait) each(do func(sub []byte) Errno) Errno {
	for i := 0; i < len(w.in); i += subscriptionSize {
		if i/subscriptionSize%checkEvery == checkEvery-1 {
			w.s.host.CheckTime()
		}
		if errno := do(w.in[i : i+subscriptionSize]); errno != Success {
			return errno
		}
	}
	return Success
}

// look finds out how long to wait.
func (w *wait) look(sub []byte) Errno {
	switch sub[8] {
	case eventClock:
		d, errno := w.timeout(sub)
		w.until = min(w.until, d)
		return errno
	case eventRead, eventWrite:
		w.ready = true
		return Success
	}
	return EINVAL
}

// timeout is how long a clock is to be waited for. Longer than a Duration is
// for ever.
func (w *wait) timeout(sub []byte) (time.Duration, Errno) {
	const absolute = 1
	id := binary.LittleEndian.Uint32(sub[16:])
	at := min(binary.LittleEndian.Uint64(sub[24:]), math.MaxInt64)
	flags := binary.LittleEndian.Uint16(sub[40:])
	switch {
	case id > clockMonotonic || flags > absolute:
		return 0, EINVAL
	case flags == absolute:
		return time.Duration(max(0, int64(at)-w.now[id])), Success
	}
	return time.Duration(at), Success
}

// answer writes the event of a subscription if it is the case.
func (w *wait) answer(sub []byte) Errno {
	userdata, typ := binary.LittleEndian.Uint64(sub), sub[8]
	var errno Errno
	var bytes uint64
	if typ == eventClock {
		d, errno := w.timeout(sub)
		if errno != Success || d > w.until {
			return errno
		}
	} else {
		bytes, errno = w.s.available(binary.LittleEndian.Uint32(sub[16:]), typ)
	}
	e := w.out[w.events*eventSize:][:eventSize]
	clear(e)
	binary.LittleEndian.PutUint64(e, userdata)
	binary.LittleEndian.PutUint16(e[8:], uint16(errno))
	e[10] = typ
	binary.LittleEndian.PutUint64(e[16:], bytes)
	w.events++
	return Success
}

// available is how many bytes can be read at once, 0 when that is not known.
func (s *State) available(fd uint32, typ byte) (uint64, Errno) {
	d := s.lookup(fd)
	switch {
	case d == nil:
		return 0, EBADF
	case d.lacks(PollFDReadWrite):
		return 0, ENOTCAPABLE
	case typ == eventRead && d.kind == stdin:
		return uint64(s.host.StdinLen()), Success
	case typ == eventRead && d.kind == file:
		s.host.CheckTime()
		st, errno := d.file.Stat()
		return max(st.Size, uint64(d.offset)) - uint64(d.offset), errno
	}
	return 0, Success
}
