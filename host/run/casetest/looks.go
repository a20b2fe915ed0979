package casetest

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// looks is what a case shows of the clock and of randomness: the same each time. It
// implements [wasi.Tape].
type looks struct {
	begin  int64 // Unix nanoseconds
	passed int64
	source *rand.ChaCha8
}

func newLooks(clock time.Time, seed uint64) *looks {
	l := &looks{begin: wasi.Epoch}
	if !clock.IsZero() {
		l.begin = clock.UnixNano()
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	l.source = rand.NewChaCha8(key)
	return l
}

// Clock moves by a step each time it is asked, so that who waits for it is not stuck.
func (l *looks) Clock(id uint32, _ func() int64) (int64, wasi.Errno) {
	l.passed += int64(wasi.ReadingStep)
	if id == 0 {
		return l.begin + l.passed, wasi.Success
	}
	return l.passed, wasi.Success
}

// Random draws from the seed.
func (l *looks) Random(b []byte, _ func([]byte)) wasi.Errno {
	_, _ = l.source.Read(b) // which does not fail
	return wasi.Success
}

// Files are those of the workspace, as the call has them.
func (l *looks) Files(open func(refused func(*jail.QuotaError)) wasi.FS, refused func(*jail.QuotaError)) wasi.FS {
	if open == nil {
		return nil
	}
	return open(refused)
}

// Waits is false: sleeping takes no time.
func (l *looks) Waits() bool { return false }
