// Package wasi is WASI preview 1 (the module wasi_snapshot_preview1): a table
// of functions that work on the linear memory of a guest and on a [State] that
// is all a guest can reach or change through them.
//
// The state belongs to one call. [State.Reset] makes it exactly what it is at
// the beginning of a call, so that an instance can be used for one call after
// the other: no descriptor, flag, offset, clock reading or random byte of an
// earlier call is left. A guest has no environment, and no clock and no
// randomness but what depends on the call alone, unless it was given them.
// Links are never made, sockets do not exist.
//
// The package knows no WebAssembly engine. What a call may cost and how long it
// may take is the business of a [Host]; where files are is that of an [FS],
// and [Jail] is one on package jail.
package wasi

import (
	"fmt"
	"strings"
	"time"
)

// ModuleName is the module that guests import the functions from.
const ModuleName = "wasi_snapshot_preview1"

// Host is what runs the call. Any method may end the call by not returning.
type Host interface {
	// Charge takes fuel for work that was done, ChargeBytes for bytes moved
	// between host and guest.
	Charge(fuel uint64)
	ChargeBytes(n int)
	// CheckTime ends a call whose time is over. It is called before whatever
	// may take longer than a few microseconds.
	CheckTime()
	// Sleep waits. It ends the call at the latest when its time is over.
	Sleep(d time.Duration)
	// Exit ends the guest. It does not return.
	Exit(code uint32)
	// ReadStdin reads standard input; 0 is its end. StdinLen is how many bytes
	// are left in it.
	ReadStdin(b []byte) int
	StdinLen() int
	WriteStdout(b []byte)
	WriteStderr(b []byte)
}

// Settings is what a call gives its guest. The zero value gives nothing.
type Settings struct {
	// Args are the arguments, the name of the program first. They must not
	// have NUL bytes.
	Args []string
	// Files is the file tree, nil for none.
	Files FS
	// Clock gives the real time. Without it time begins at [Epoch] and moves by
	// [ReadingStep] each time it is asked, and by the length of every sleep.
	Clock bool
	// Random gives the operating system's randomness. Without it the sequence
	// is a function of Seed alone.
	Random bool
	Seed   uint64
	// Tape is what looks at the real clock and the system's randomness pass
	// through, nil for nothing. Files must have passed it already.
	Tape Tape
}

// State is all that a guest can see and change through the functions. It is
// used by one goroutine. The zero value must be [State.Reset] before use.
type State struct {
	host     Host
	args     []string
	files    FS
	preopens []Preopen
	fds      []descriptor
	clock    clock
	random   random
	tape     Tape
	used     Use
}

// Reset closes what is open and makes the state that of a call that begins. It
// keeps its memory. The error is that of an argument that cannot be passed.
func (s *State) Reset(h Host, set Settings) error {
	s.Close()
	for i, a := range set.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("argument %d has a NUL byte", i)
		}
	}
	s.host, s.args, s.files, s.used = h, set.Args, set.Files, 0
	if s.files != nil {
		s.preopens = s.files.Preopens()
	}
	s.tape = set.Tape
	s.clock.reset(set.Clock, s.tape)
	s.random.reset(set.Random, set.Seed, s.tape)
	for fd := range s.begin() {
		s.fds = append(s.fds, s.initial(fd))
	}
	return nil
}

// Close closes every file and lets go of the host and the file tree. What the
// guest asks afterwards is answered with EBADF, until the next Reset.
func (s *State) Close() {
	for i := range s.fds {
		s.fds[i].close()
	}
	clear(s.fds)
	s.fds, s.host, s.args, s.files, s.preopens, s.tape = s.fds[:0], nil, nil, nil, nil, nil
}

// Use is a set of the things a guest has looked at or changed since Reset, also
// in vain. What it did not use cannot have had an influence on it.
type Use uint8

// The members of a Use.
const (
	UsedArgs     Use = 1 << iota
	UsedPreopens     // any descriptor but the standard streams: which are there, and their names
	UsedFiles        // the file tree itself
	UsedClock        // reading or sleeping
	UsedRandom       // drawing
	UsedStdin        // reading
	UsedOutput       // writing to standard output or standard error
)

// Used returns what the guest has used since Reset.
func (s *State) Used() Use { return s.used }

// Mark is how far the clock and the random sequence have moved. The zero value
// is the beginning of a call.
type Mark struct {
	Elapsed time.Duration // on the clock of the guest
	Random  uint64        // bytes drawn
}

// Mark returns how far the clock and the random sequence have moved since
// Reset.
func (s *State) Mark() Mark { return Mark{s.clock.since(), s.random.drawn} }

// Begin ends an initialisation that ran without knowledge of the call: from
// here on the clock and randomness are these. Time goes on where it stood and
// the sequence of the new seed as far on as the old one was, so that nothing
// comes twice.
func (s *State) Begin(clock, random bool, seed uint64) {
	m := s.Mark()
	s.clock.reset(clock, s.tape)
	s.random.reset(random, seed, s.tape)
	s.Resume(m)
}

// Pass moves time without a clock.
func (s *State) Pass(d time.Duration) { s.clock.pass(d) }

// Resume moves both to a mark, right after Reset, as if the guest itself had
// read the clock and drawn the bytes. With the real clock, time that never
// goes back continues from the mark; what time it is does not depend on it.
func (s *State) Resume(m Mark) {
	s.clock.elapsed = m.Elapsed
	s.random.drawn = m.Random
}
