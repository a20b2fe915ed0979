package wasi_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// fixedTape shows what it holds, as long as there is some left.
type fixedTape struct {
	clock  []int64
	random []byte
	waits  bool
	read   int // how often the real clock was read or randomness drawn
}

func (f *fixedTape) Clock(id uint32, read func() int64) (int64, wasi.Errno) {
	if len(f.clock) == 0 {
		return 0, wasi.NotRecorded
	}
	if f.clock[0] == 0 {
		f.read++
		return read(), wasi.Success
	}
	now := f.clock[0]
	f.clock = f.clock[1:]
	return now, wasi.Success
}

func (f *fixedTape) Random(b []byte, draw func([]byte)) wasi.Errno {
	if len(f.random) < len(b) {
		return wasi.NotRecorded
	}
	f.random = f.random[copy(b, f.random):]
	return wasi.Success
}

func (f *fixedTape) Files(func(func(*jail.QuotaError)) wasi.FS, func(*jail.QuotaError)) wasi.FS {
	return nil
}

func (f *fixedTape) Waits() bool { return f.waits }

// TestTape shows a guest with the real clock and randomness what the tape has.
func TestTape(t *testing.T) {
	t.Parallel()
	tape := &fixedTape{clock: []int64{11, 22}, random: []byte("0123456789")}
	g := newGuest(t, wasi.Settings{Clock: true, Random: true, Tape: tape})
	g.must("clock_time_get", 0, 0, 2000)
	g.must("clock_time_get", 1, 0, 2008)
	if g.u64(2000) != 11 || g.u64(2008) != 22 {
		t.Errorf("clocks show %d and %d", g.u64(2000), g.u64(2008))
	}
	g.must("random_get", 3000, 8)
	if string(g.mem[3000:3008]) != "01234567" {
		t.Errorf("drew %q", g.mem[3000:3008])
	}
	g.want(wasi.NotRecorded, "clock_time_get", 0, 0, 2000)
	g.want(wasi.NotRecorded, "random_get", 3000, 8)

	tape.clock = []int64{0}
	before := time.Now().UnixNano()
	g.must("clock_time_get", 0, 0, 2000)
	if int64(g.u64(2000)) < before || tape.read != 1 {
		t.Errorf("the tape let the clock be read as %d, %d times", g.u64(2000), tape.read)
	}
}

// TestTapeOfFixedClock is not asked for what follows from the call.
func TestTapeOfFixedClock(t *testing.T) {
	t.Parallel()
	tape := &fixedTape{}
	g := newGuest(t, wasi.Settings{Seed: 7, Tape: tape})
	got := g.observe(100)
	g.reset(wasi.Settings{Seed: 7})
	if want := g.observe(100); got != want {
		t.Errorf("with a tape %s, without %s", got, want)
	}
}

// TestTapeDoesNotWait sleeps for a day in no time, and sees that it has passed.
func TestTapeDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		tape := &fixedTape{clock: []int64{100, 200}, waits: waits}
		g := newGuest(t, wasi.Settings{Clock: true, Tape: tape})
		sub := g.mem[4000:4048]
		sub[8] = 0 // a clock
		binary.LittleEndian.PutUint32(sub[16:], 1)
		binary.LittleEndian.PutUint64(sub[24:], uint64(24*time.Hour))
		g.must("poll_oneoff", 4000, 5000, 1, 6000)
		if g.u32(6000) != 1 {
			t.Errorf("%d events", g.u32(6000))
		}
		if slept := g.host.slept == 24*time.Hour; slept != waits {
			t.Errorf("slept for %v, and the tape waits: %v", g.host.slept, waits)
		}
	}
}
