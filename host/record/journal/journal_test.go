package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store/filelock"
)

type note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func fixedClock() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC) }

func open(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	if o.Clock == nil {
		o.Clock = fixedClock
	}
	j, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// write commits n entries, one a commit.
func write(t testing.TB, j *Journal, n int) []Entry {
	t.Helper()
	var all []Entry
	for i := range n {
		es, err := j.Append(t.Context(), Record{Kind: "note.made", Actor: "human:ada", Data: note{"héllo <&>", i}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, es...)
	}
	return all
}

func read(ctx context.Context, j *Journal, after uint64) (all []Entry, err error) {
	err = j.Replay(ctx, after, func(e Entry) error { all = append(all, e); return nil })
	return all, err
}

// copyDir copies the files of a journal but its lock.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	for _, path := range files(t, from) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// files lists the segments and the head.
func files(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"+segmentExt))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, filepath.Join(dir, headName))
}

func TestReplayGivesWhatWasCommitted(t *testing.T) {
	for _, sync := range []bool{false, true} {
		j := open(t, t.TempDir(), Options{Sync: sync, SegmentBytes: 700})
		want := write(t, j, 9)
		for _, after := range []uint64{0, 1, 2, 3, 4, 5, 8, 9, 10} {
			got, err := read(t.Context(), open(t, j.dir, Options{}), after)
			if err != nil {
				t.Fatalf("after %d: %v", after, err)
			}
			if rest := want[min(after, 9):]; len(got) != len(rest) || len(rest) > 0 && !reflect.DeepEqual(got, rest) {
				t.Errorf("after %d: got %v, want %v", after, got, rest)
			}
		}
		if segs, _ := j.segments(); len(segs) < 3 {
			t.Errorf("%d segments, want several", len(segs))
		}
		seq, hash, err := j.Head()
		if err != nil || seq != 9 || hash != want[8].Hash {
			t.Errorf("Head = %d %s %v", seq, hash, err)
		}
	}
}

func TestEmptyJournal(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "a", "b"), Options{})
	if seq, hash, err := j.Head(); seq != 0 || hash != "" || err != nil {
		t.Errorf("Head = %d %q %v", seq, hash, err)
	}
	if es, err := read(t.Context(), j, 0); len(es) != 0 || err != nil {
		t.Errorf("Replay gave %v %v", es, err)
	}
	if rep, err := j.Verify(t.Context()); rep != (Report{}) || err != nil {
		t.Errorf("Verify = %+v %v", rep, err)
	}
	if es, err := j.Append(t.Context()); es != nil || err != nil {
		t.Errorf("empty Append = %v %v", es, err)
	}
}

func TestEntryIsExactlyWhatIsOnDisk(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	es, err := j.Append(t.Context(),
		Record{Kind: "a", Data: json.RawMessage("{\n \"x\": [1, 2] }")},
		Record{Kind: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if string(es[0].Data) != `{"x":[1,2]}` || es[0].More != 1 || es[1].More != 0 || es[1].Data != nil {
		t.Errorf("entries %+v", es)
	}
	if es[0].Prev != "" || es[1].Prev != es[0].Hash || !es[0].Time.Equal(fixedClock()) {
		t.Errorf("entries %+v", es)
	}
	got, err := read(t.Context(), j, 0)
	if err != nil || !reflect.DeepEqual(got, es) {
		t.Errorf("read %+v %v, want %+v", got, err, es)
	}
}

func TestDecideErrorAppendsNothing(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	write(t, j, 1)
	no := errors.New("no")
	es, err := j.Commit(t.Context(), func() ([]Record, error) { return []Record{{Kind: "x"}}, no }, nil)
	if es != nil || err != no {
		t.Errorf("Commit = %v %v, want the error as it is", es, err)
	}
	if seq, _, _ := j.Head(); seq != 1 {
		t.Errorf("head is %d, want 1", seq)
	}
}

func TestApplyErrorKeepsTheEntries(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	no := errors.New("no")
	es, err := j.Commit(t.Context(), func() ([]Record, error) { return []Record{{Kind: "x"}}, nil },
		func([]Entry) error { return no })
	if len(es) != 1 || !errors.Is(err, no) {
		t.Fatalf("Commit = %v %v", es, err)
	}
	if got, err := read(t.Context(), j, 0); err != nil || len(got) != 1 {
		t.Errorf("read %v %v", got, err)
	}
}

func TestApplySeesTheEntriesAndDecideTheJournal(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	write(t, j, 2)
	var before, after []Entry
	_, err := j.Commit(t.Context(), func() (rs []Record, err error) {
		before, err = read(t.Context(), j, 0)
		return []Record{{Kind: "x"}}, err
	}, func([]Entry) (err error) {
		after, err = read(t.Context(), j, 0)
		return err
	})
	if err != nil || len(before) != 2 || len(after) != 3 {
		t.Errorf("decide saw %d, apply saw %d, err %v", len(before), len(after), err)
	}
}

func TestRecordsThatCannotBe(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for name, rec := range map[string]Record{
		"no kind":     {},
		"no json":     {Kind: "x", Data: func() {}},
		"broken json": {Kind: "x", Data: json.RawMessage("{")},
		"too large":   {Kind: "x", Data: strings.Repeat("x", MaxEntry)},
	} {
		_, err := j.Append(t.Context(), rec)
		if err == nil || name == "too large" && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if seq, _, err := j.Head(); seq != 0 || err != nil {
		t.Errorf("head %d %v", seq, err)
	}
}

func TestLargestEntryIsReadBack(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	if _, err := j.Append(t.Context(), Record{Kind: "x", Data: strings.Repeat("x", MaxEntry-400)}); err != nil {
		t.Fatal(err)
	}
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 1 {
		t.Errorf("Verify = %+v %v", rep, err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	j, other := open(t, dir, Options{}), open(t, dir, Options{})
	_, err := j.Commit(t.Context(), func() ([]Record, error) {
		for name, k := range map[string]*Journal{"the same journal": j, "another opener": other} {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
			_, err := k.Append(ctx, Record{Kind: "x"})
			cancel()
			var held *filelock.HeldError
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &held) || held.Waited < 10*time.Millisecond {
				t.Errorf("%s: Append = %v, want it to say how long it waited", name, err)
			}
		}
		return nil, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, 1)
}

func TestConcurrentCommitsMakeOneChain(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		j := open(t, dir, Options{SegmentBytes: 2000})
		for range 2 {
			wg.Go(func() {
				for i := range 10 {
					if _, err := j.Append(t.Context(), Record{Kind: "x", Data: i}, Record{Kind: "y"}); err != nil {
						t.Error(err)
					}
					if _, err := read(t.Context(), j, 0); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	rep, err := open(t, dir, Options{}).Verify(t.Context())
	if err != nil || rep.Entries != 160 {
		t.Errorf("Verify = %+v %v", rep, err)
	}
}

func TestVerifyReports(t *testing.T) {
	j := open(t, t.TempDir(), Options{SegmentBytes: 500})
	es := write(t, j, 5)
	rep, err := j.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	segs, _ := j.segments()
	want := Report{Entries: 5, Segments: len(segs), Bytes: rep.Bytes, Head: 5, Hash: es[4].Hash, First: fixedClock(), Last: fixedClock()}
	if rep != want || rep.Bytes < 1000 {
		t.Errorf("Verify = %+v, want %+v", rep, want)
	}
}

func TestReplayHeedsTheContext(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	write(t, j, 3)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := j.Replay(ctx, 0, func(Entry) error { n++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("Replay = %v after %d entries", err, n)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	write(t, j, 1)
	if err := os.WriteFile(j.headPath(), fmt.Appendf(nil, `{"format":%d}`, headSigned+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Head(); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("Head = %v, want it to ask for a newer version", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			j := open(b, b.TempDir(), Options{Sync: sync})
			for b.Loop() {
				if _, err := j.Append(b.Context(), Record{Kind: "x", Actor: "y", Data: note{"text", 1}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	j := open(b, b.TempDir(), Options{})
	write(b, j, 1000)
	for b.Loop() {
		if _, err := read(b.Context(), j, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// The path of a journal is no pattern, whatever is in it.
func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ho[me * ?\n")
	j := open(t, dir, Options{})
	unfinished := filepath.Join(dir, ".part-1")
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, j, 2)
	if _, err := os.Lstat(unfinished); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was not finished is still there: %v", err)
	}
	if all, err := read(t.Context(), j, 0); err != nil || len(all) != 2 {
		t.Errorf("%d entries, %v", len(all), err)
	}
}
