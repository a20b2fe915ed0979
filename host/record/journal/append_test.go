package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// heldUp starts n appends while another process has its turn, and ends that turn when all
// of them wait.
func heldUp(t *testing.T, j *Journal, n int, do func(i int)) {
	t.Helper()
	l := must(filelock.Acquire(t.Context(), filepath.Join(j.dir, lockName), time.Minute)) // a process that is just started may have the file open, too
	var all sync.WaitGroup
	wait := func(n int) { // until the right to write is taken, and so many wait
		for waiting := -1; waiting != n; time.Sleep(time.Millisecond) {
			j.queue.mu.Lock()
			if waiting = len(j.queue.waiting); len(j.queue.lead) > 0 {
				waiting = -1
			}
			j.queue.mu.Unlock()
		}
	}
	all.Go(func() { do(0) })
	wait(0) // it is about to write
	for i := range n - 1 {
		all.Go(func() { do(i + 1) })
	}
	wait(n - 1)
	must(0, l.Release())
	all.Wait()
}

// Appends that wait at the same time are written with one signature, and each is a commit
// of its own.
func TestAppendsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Hour} {
		const n = 40
		j := open(t, t.TempDir(), Options{Keys: newKeys(t), Log: "calls", Clock: time.Now, Window: window})
		write(t, j, 1)
		must(0, j.Flush())
		heldUp(t, j, n, func(i int) {
			es, err := j.Append(t.Context(), Record{Kind: "one", Data: i}, Record{Kind: "two", Data: i})
			if err != nil || len(es) != 2 || es[0].More != 1 || string(es[1].Data) != fmt.Sprint(i) {
				t.Errorf("append %d = %v %v", i, es, err)
			}
		})
		es, err := read(t.Context(), j, 1)
		if err != nil || len(es) != 2*n {
			t.Fatalf("%d entries, want %d: %v", len(es), 2*n, err)
		}
		times := map[time.Time]bool{}
		for i, e := range es {
			times[e.Time] = true
			if i%2 == 0 && (e.Kind != "one" || es[i+1].Kind != "two" || string(es[i+1].Data) != string(e.Data)) {
				t.Errorf("entries %d and %d are not of one commit: %v %v", e.Seq, e.Seq+1, e, es[i+1])
			}
		}
		if len(times) > 2 { // that of the first, and that of all others
			t.Errorf("window %v: they were written %d times, want at most 2", window, len(times))
		}
		if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 2*n+1 || len(rep.Signed.Adopted) != 0 {
			t.Errorf("%+v %v", rep, err)
		}
	}
}

// One that cannot be written does not keep the others from it.
func TestAppendTooLargeFailsAlone(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), Options{})
	heldUp(t, j, 9, func(i int) {
		data := strings.Repeat("x", i%3*MaxEntry)
		if _, err := j.Append(t.Context(), Record{Kind: "k", Data: data}); errors.Is(err, ErrTooLarge) != (data != "") {
			t.Errorf("append %d: %v", i, err)
		}
	})
	if es, err := read(t.Context(), j, 0); err != nil || len(es) != 3 {
		t.Errorf("%d entries, want 3: %v", len(es), err)
	}
}

// A caller whose context ends leaves, unless somebody was about to write what it wants, and
// what others want is written all the same.
func TestAppendGivenUp(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Hour} {
		j := open(t, t.TempDir(), Options{Window: window})
		ctx, cancel := context.WithCancel(t.Context())
		l := must(filelock.Acquire(t.Context(), filepath.Join(j.dir, lockName), time.Minute)) // a process that is just started may have the file open, too
		var all sync.WaitGroup
		var written atomic.Int64
		for i := range 20 {
			all.Go(func() {
				in := t.Context()
				if i%2 == 0 {
					in = ctx
				}
				switch _, err := j.Append(in, Record{Kind: "k"}); {
				case err == nil:
					written.Add(1)
				case i%2 == 1 || !errors.Is(err, context.Canceled):
					t.Errorf("append %d: %v", i, err)
				}
			})
		}
		cancel()
		must(0, l.Release())
		all.Wait()
		if es, err := read(t.Context(), j, 0); err != nil || int64(len(es)) != written.Load() || len(es) < 10 {
			t.Errorf("window %v: %d entries, want the %d that were appended: %v", window, len(es), written.Load(), err)
		}
	}
}

// In a window an entry is written before it is acknowledged. Who has the journal open
// elsewhere sees it, and commits, when the window is over.
func TestWindow(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), newKeys(t)
	o := Options{Keys: keys, Log: "calls", Clock: time.Now, SegmentBytes: 900}
	other := open(t, dir, o)
	o.Window = time.Hour
	j := open(t, dir, o)
	for range 3 {
		must(j.Append(t.Context(), Record{Kind: "k"}))
	}
	if seq, _, err := other.Head(); err != nil || seq != 0 {
		t.Errorf("elsewhere the journal ends with entry %d, want none before the window is over: %v", seq, err)
	}
	if seq, _, err := j.Head(); err != nil || seq != 3 {
		t.Errorf("the journal ends with entry %d, want 3: %v", seq, err)
	}
	if seq, _, err := other.Head(); err != nil || seq != 3 {
		t.Errorf("elsewhere the journal ends with entry %d after it was read, want 3: %v", seq, err)
	}
	for range 20 { // over several segments
		must(j.Append(t.Context(), Record{Kind: "k", Data: strings.Repeat("x", 100)}))
	}
	must(j.Commit(t.Context(), func() ([]Record, error) { return []Record{{Kind: "decided"}}, nil }, nil))
	es := must(other.Append(t.Context(), Record{Kind: "elsewhere"}))
	if es[0].Seq != 25 {
		t.Errorf("elsewhere entry %d follows, want 25", es[0].Seq)
	}
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 25 || len(rep.Signed.Adopted) != 0 {
		t.Errorf("%+v %v", rep, err)
	}
}

// Who reads while a window is being closed waits until it is.
func TestReadAtTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), Options{Window: time.Millisecond, Keys: newKeys(t), Log: "calls", Clock: time.Now, Sync: true})
	for n := range uint64(100) {
		must(j.Append(t.Context(), Record{Kind: "k"}))
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
		if seq, _, err := j.Head(); err != nil || seq != n+1 {
			t.Fatalf("the journal ends with entry %d, want %d: %v", seq, n+1, err)
		}
	}
}

// A window ends by itself.
func TestWindowEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, other := open(t, dir, Options{Window: time.Millisecond}), open(t, dir, Options{})
	must(j.Append(t.Context(), Record{Kind: "k"}))
	if _, err := other.Append(t.Context(), Record{Kind: "k"}); err != nil {
		t.Error(err)
	}
}

// Whoever dies in a window loses nothing that Append returned, however much it was.
func TestKilledInAWindow(t *testing.T) {
	t.Parallel()
	rounds := 8
	if os.Getenv("SKILLET_PROVE") == "1" {
		rounds = 300
	}
	keys := &held{ring: must(checkpoint.NewKeyring(time.Now()))}
	ring := filepath.Join(t.TempDir(), "ring")
	must(0, os.WriteFile(ring, must(json.Marshal(keys.ring)), 0o600))
	dir, acked, lost := t.TempDir(), map[string]string{}, 0
	j := open(t, dir, Options{SegmentBytes: 4 << 10, Keys: keys, Log: "calls", Clock: time.Now})
	for range rounds {
		cmd, out := start(t, dir, 1<<30, ringEnv+"="+ring, windowEnv+"=20ms")
		killed(cmd, out, acked)
		must(j.Append(t.Context(), Record{Kind: "after the kill"}))
		if _, err := j.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	es := must(read(t.Context(), j, 0))
	for seq, hash := range acked {
		if !slices.ContainsFunc(es, func(e Entry) bool { return fmt.Sprint(e.Seq) == seq && e.Hash == hash }) {
			lost++
		}
	}
	if lost > 0 || len(acked) == 0 {
		t.Errorf("%d of %d entries were lost that Append had returned", lost, len(acked))
	}
	t.Logf("proof: %d appends returned over %d kills, %d lost", len(acked), rounds, lost)
}

// What was written twice behind a head was not left by a process that died.
func TestTwoWritesBehindAHead(t *testing.T) {
	t.Parallel()
	for _, heads := range []int{1, 2} {
		dir := t.TempDir()
		j := open(t, dir, Options{Keys: newKeys(t), Log: "calls"})
		write(t, j, 1)
		old := must(os.ReadFile(j.headPath()))
		for range heads {
			must(0, j.write(t.Context(), []*appending{must(newAppending([]Record{{Kind: "a"}})), must(newAppending([]Record{{Kind: "b"}}))}))
		}
		must(0, os.WriteFile(j.headPath(), old, 0o600))
		_, err := j.Append(t.Context(), Record{Kind: "next"})
		if errors.Is(err, ErrDamaged) != (heads > 1) {
			t.Errorf("%d writes behind the head: %v", heads, err)
		}
	}
}
