package sandbox

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	mathrand "math/rand/v2"
	"time"
)

// epoch is when time begins for a guest without a clock.
var epoch = time.Date(2022, time.January, 1, 0, 0, 0, 0, time.UTC)

// readingStep is how far time without a clock moves each time it is read, so
// that guests that wait for it to pass are not stuck.
const readingStep = time.Millisecond

// clock tells a guest the time: the real one, or one that depends on nothing
// but what the guest does.
type clock struct {
	real    bool
	start   time.Time
	elapsed time.Duration // without a clock
}

func newClock(c Call) clock {
	if c.Clock {
		return clock{real: true, start: time.Now()}
	}
	return clock{start: epoch}
}

// sinceStart is how much time has passed since the call began.
func (c *clock) sinceStart() time.Duration {
	if c.real {
		return time.Since(c.start)
	}
	c.elapsed += readingStep
	return c.elapsed
}

// wall is the time of day.
func (c *clock) wall() (sec int64, nsec int32) {
	t := c.start.Add(c.sinceStart())
	return t.Unix(), int32(t.Nanosecond())
}

// monotonic is nanoseconds that never go back.
func (c *clock) monotonic() int64 { return int64(c.sinceStart()) }

// slept moves time without a clock by the length of a sleep.
func (c *clock) slept(d time.Duration) { c.elapsed += d }

// sleep waits, at the longest until the call's context is done, which ends the
// call.
func (in *instance) sleep(ns int64) {
	in.checkTime()
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
		in.clock.slept(time.Duration(ns))
	case <-in.ctx.Done():
	}
	in.checkTime()
}

// randomChunk is how many bytes of randomness are made between two looks at
// the time.
const randomChunk = 1 << 20

// entropy is the guest's source of randomness: the system's, or a sequence that
// depends on the seed alone (ChaCha8).
type entropy struct {
	real   bool
	seed   uint64
	source io.Reader // made when first asked for
}

func newEntropy(c Call) entropy { return entropy{real: c.Random, seed: c.Seed} }

func (e *entropy) reader() io.Reader {
	switch {
	case e.source != nil:
	case e.real:
		e.source = rand.Reader
	default:
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], e.seed)
		e.source = mathrand.NewChaCha8(seed)
	}
	return e.source
}

// readRandom makes randomness for the guest.
func (in *instance) readRandom(b []byte) (int, error) {
	in.checkTime()
	b = b[:min(len(b), randomChunk)]
	in.chargeBytes(uint64(len(b)))
	return io.ReadFull(in.entropy.reader(), b)
}
