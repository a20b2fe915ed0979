package wasi

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
)

// randomChunk is how many bytes of randomness are made between two looks at
// the time.
const randomChunk = 1 << 20

// random is the guest's source of randomness: the system's, or a sequence that
// depends on the seed alone (ChaCha8).
type random struct {
	real   bool
	seed   uint64
	drawn  uint64 // by the guest
	made   uint64 // by source; less after Resume
	seeded bool
	source rand.ChaCha8
	tape   Tape // that the system's randomness passes; nil for none
}

func (r *random) reset(real bool, seed uint64, tape Tape) {
	r.real, r.seed, r.drawn, r.made, r.seeded, r.tape = real, seed, 0, 0, false, tape
}

// fill draws bytes.
func (r *random) fill(b []byte) (errno Errno) {
	switch {
	case r.real && r.tape != nil:
		errno = r.tape.Random(b, func(b []byte) { cryptorand.Read(b) })
	case r.real:
		cryptorand.Read(b)
	default:
		r.source.Read(b)
		r.made += uint64(len(b))
	}
	r.drawn += uint64(len(b))
	return errno
}

// catchUp seeds the source, and passes over some of what was drawn before a
// mark. It reports whether that was all.
func (r *random) catchUp() bool {
	switch {
	case r.real:
		return true
	case !r.seeded:
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], r.seed)
		r.source.Seed(seed)
		r.seeded = true
	}
	var passed [256]byte
	for end := min(r.drawn, r.made+randomChunk); r.made < end; {
		n := min(end-r.made, uint64(len(passed)))
		r.source.Read(passed[:n])
		r.made += n
	}
	return r.made == r.drawn
}

// randomGet fills memory with random bytes.
func randomGet(s *State, mem []byte, p []uint64) Errno {
	b, ok := view(mem, u32(p[0]), u32(p[1]))
	if !ok {
		return EFAULT
	}
	s.used |= UsedRandom
	for !s.random.catchUp() {
		s.host.CheckTime()
	}
	for len(b) > 0 {
		part := b[:min(len(b), randomChunk)]
		s.host.CheckTime()
		s.host.ChargeBytes(len(part))
		if errno := s.random.fill(part); errno != Success {
			return errno
		}
		b = b[len(part):]
	}
	return Success
}
