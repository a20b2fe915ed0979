package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"
)

// change rewrites a file of the journal.
func change(t testing.TB, path string, fn func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fn(bytes.Clone(b)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A flipped bit is an error, wherever it is.
func TestEveryFlippedBit(t *testing.T) {
	src := open(t, t.TempDir(), Options{SegmentBytes: 600})
	want := write(t, src, 4)
	for i, path := range files(t, src.dir) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			dir := copyDir(t, src.dir)
			flipAll(t, open(t, dir, Options{}), files(t, dir)[i], want)
		})
	}
}

// flipAll flips every bit of the file, one at a time.
func flipAll(t *testing.T, j *Journal, path string, want []Entry) {
	f := must(os.OpenFile(path, os.O_RDWR, 0))
	defer f.Close()
	good := must(os.ReadFile(path))
	for bit := range len(good) * 8 {
		at := bit / 8
		must(f.WriteAt([]byte{good[at] ^ 1<<(bit%8)}, int64(at)))
		got, err := read(t.Context(), j, 0)
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d: Replay = %v, want ErrDamaged", bit, err)
		}
		if len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
			t.Fatalf("bit %d: wrong entries were given away before the error", bit)
		}
		must(f.WriteAt(good[at:at+1], int64(at)))
	}
	if got, err := read(t.Context(), j, 0); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("after all bits are back: %v %v", got, err)
	}
}

// Committing to a damaged journal either refuses or continues from the truth.
func TestCommitAfterFlippedBit(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	src := open(t, t.TempDir(), Options{})
	want := write(t, src, 3)
	for i, path := range files(t, src.dir) {
		size := int(must(os.Stat(path)).Size())
		for bit := i; bit < size*8; bit += 23 {
			dir := copyDir(t, src.dir)
			change(t, filepath.Join(dir, filepath.Base(path)), func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
			j := open(t, dir, Options{})
			added, err := j.Append(t.Context(), Record{Kind: "later"})
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d: %v", bit, err)
			}
			if err == nil && (added[0].Seq != 4 || added[0].Prev != want[2].Hash) {
				t.Fatalf("bit %d: the new entry is not linked to the truth: %+v", bit, added)
			}
			got, err := read(t.Context(), j, 0)
			if err == nil {
				t.Fatalf("bit %d: Replay noticed nothing: %v", bit, got)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func lines(b []byte) [][]byte {
	return bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

func join(ls ...[]byte) []byte {
	var all []byte
	for _, l := range ls {
		all = append(all, bytes.TrimSuffix(l, []byte("\n"))...)
		all = append(all, '\n')
	}
	return all
}

func TestEditsAreDamage(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(t *testing.T, dir, seg string)
		torn bool
	}{
		{"line removed", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { l := lines(b); return join(l[0], l[2], l[3]) })
		}, true},
		{"first line removed", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { return join(lines(b)[1:]...) })
		}, true},
		{"last line removed", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { return join(lines(b)[:3]...) })
		}, true},
		{"lines swapped", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { l := lines(b); return join(l[0], l[2], l[1], l[3]) })
		}, false},
		{"line doubled", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { l := lines(b); return join(l[0], l[1], l[1], l[2], l[3]) })
		}, false},
		{"tail cut", func(t *testing.T, _, seg string) {
			change(t, seg, func(b []byte) []byte { return b[:len(b)-5] })
		}, true},
		{"all cut", func(t *testing.T, _, seg string) {
			change(t, seg, func([]byte) []byte { return nil })
		}, true},
		{"last segment missing", func(t *testing.T, _, seg string) { remove(t, seg) }, true},
		{"head missing", func(t *testing.T, dir, _ string) { remove(t, filepath.Join(dir, headName)) }, false},
		{"head cut", func(t *testing.T, dir, _ string) {
			change(t, filepath.Join(dir, headName), func(b []byte) []byte { return b[:100] })
		}, false},
		{"head set back to another entry", func(t *testing.T, dir, _ string) {
			change(t, filepath.Join(dir, headName), func(b []byte) []byte {
				h := must(decodeHead(b))
				h.Seq--
				return must(h.encode())
			})
		}, false},
		{"head with another hash", func(t *testing.T, dir, _ string) {
			change(t, filepath.Join(dir, headName), func(b []byte) []byte {
				h := must(decodeHead(b))
				h.Hash = hashPrefix + "00"
				return must(h.encode())
			})
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := open(t, t.TempDir(), Options{})
			want := write(t, j, 4)
			tc.edit(t, j.dir, must(j.segments())[0].path)
			got, err := read(t.Context(), j, 0)
			var damage *DamageError
			if !errors.As(err, &damage) || !errors.Is(err, ErrDamaged) {
				t.Fatalf("Replay = %v, want damage", err)
			}
			if len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
				t.Errorf("wrong entries before the error: %v", got)
			}
			if rep, err := j.Verify(t.Context()); err == nil || rep.Damage == nil {
				t.Errorf("Verify = %+v %v", rep, err)
			}
			_, err = j.Append(t.Context(), Record{Kind: "x"})
			if tc.torn && !errors.Is(err, ErrDamaged) {
				t.Errorf("Append to a shortened journal = %v", err)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestMissingSegment(t *testing.T) {
	src := open(t, t.TempDir(), Options{SegmentBytes: 600})
	write(t, src, 8)
	for i, s := range must(src.segments()) {
		dir := copyDir(t, src.dir)
		remove(t, filepath.Join(dir, filepath.Base(s.path)))
		_, err := read(t.Context(), open(t, dir, Options{}), 0)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("without segment %d: %v", i, err)
		}
	}
}

// tail writes more behind the head, as a process does that dies before it
// acknowledges, and returns the journal.
func tail(t *testing.T, more func(after []byte) []byte) *Journal {
	t.Helper()
	j := open(t, t.TempDir(), Options{})
	write(t, j, 2)
	h := must(j.readHead())
	if _, err := j.Append(t.Context(), Record{Kind: "c"}, Record{Kind: "d"}); err != nil {
		t.Fatal(err)
	}
	change(t, must(j.segments())[0].path, func(b []byte) []byte {
		return append(b[:h.End:h.End], more(b[h.End:])...)
	})
	if err := j.writeHead(h); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestWhatLiesBehindTheHead(t *testing.T) {
	same := func(b []byte) []byte { return b }
	for _, tc := range []struct {
		name string
		more func([]byte) []byte
		want uint64 // entries after the next commit; 0 for damage
	}{
		{"nothing", func([]byte) []byte { return nil }, 3},
		{"a whole commit is adopted", same, 5},
		{"a torn line is cut", func(b []byte) []byte { return b[:len(b)-1] }, 3},
		{"one byte is cut", func(b []byte) []byte { return b[:1] }, 3},
		{"half a commit is cut", func(b []byte) []byte { return join(lines(b)[0]) }, 3},
		{"unwritten blocks are cut", func(b []byte) []byte { clear(b[:50]); return b }, 3},
		{"zeros are cut", func(b []byte) []byte { clear(b); return b }, 3},
		{"a whole commit and a torn line", func(b []byte) []byte {
			return append(b, bytes.Replace(b[:40], []byte(`"seq":3`), []byte(`"seq":5`), 1)...)
		}, 5},
		{"bytes of no entry are damage", func([]byte) []byte { return []byte("garbage") }, 0},
		{"the beginning of another entry is damage", func(b []byte) []byte { return bytes.Replace(b[:20], []byte(":3"), []byte(":4"), 1) }, 0},
		{"lines of no entry are damage", func([]byte) []byte { return []byte("garb\nage\n") }, 0},
		{"an altered line is damage", func(b []byte) []byte { b[20] ^= 1; return b }, 0},
		{"swapped lines are damage", func(b []byte) []byte { l := lines(b); return join(l[1], l[0]) }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := tail(t, tc.more)
			if es, err := read(t.Context(), j, 0); err != nil || len(es) != 2 {
				t.Fatalf("before the next commit: %d entries, %v; want the 2 acknowledged ones", len(es), err)
			}
			rep, err := j.Verify(t.Context())
			if errors.Is(err, ErrDamaged) != (tc.want == 0) || rep.Entries != 2 {
				t.Fatalf("before the next commit: Verify = %+v %v", rep, err)
			}
			_, err = j.Append(t.Context(), Record{Kind: "later"})
			if tc.want == 0 {
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("Append = %v, want damage", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rep, err = j.Verify(t.Context())
			if err != nil || rep.Entries != tc.want || rep.Unacknowledged != 0 {
				t.Errorf("Verify = %+v %v, want %d entries", rep, err, tc.want)
			}
		})
	}
}

func TestWhatLiesInAnEmptyJournal(t *testing.T) {
	for left, damaged := range map[string]bool{`{"seq":1,"time":`: false, "garbage": true, "garb\nage\n": true} {
		j := open(t, t.TempDir(), Options{})
		if err := j.makeHead(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(j.segment(1).path, []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		rep, err := j.Verify(t.Context())
		if errors.Is(err, ErrDamaged) != damaged || rep.Unacknowledged != int64(len(left)) {
			t.Errorf("with %q: Verify = %+v %v", left, rep, err)
		}
		if _, err := j.Append(t.Context(), Record{Kind: "x"}); errors.Is(err, ErrDamaged) != damaged {
			t.Errorf("with %q: Append = %v", left, err)
		}
	}
}

func TestSegmentThatWasBegunAndNotWritten(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	write(t, j, 2)
	if err := os.WriteFile(j.segment(3).path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, j, 2)
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 4 || rep.Segments != 1 {
		t.Errorf("Verify = %+v %v", rep, err)
	}
}

// What a full disk or a power cut leaves of the head of a new journal is an empty
// journal, as no head is; with entries it stays damage.
func TestHeadThatWasBegunAndNotWritten(t *testing.T) {
	for name, left := range map[string][]byte{
		"nothing": nil,
		"a part":  must(head{}.encode())[:100],
		"zeros":   make([]byte, headSize),
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), Options{})
			put := func() {
				if err := os.WriteFile(j.headPath(), left, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put()
			if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 0 {
				t.Fatalf("Verify = %+v %v, want an empty journal", rep, err)
			}
			write(t, j, 2)
			if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 2 {
				t.Fatalf("Verify = %+v %v, want 2 entries", rep, err)
			}
			put()
			if _, err := j.Verify(t.Context()); !errors.Is(err, ErrDamaged) {
				t.Errorf("Verify = %v, want damage: there are entries", err)
			}
			if _, err := j.Append(t.Context(), Record{Kind: "x"}); !errors.Is(err, ErrDamaged) {
				t.Errorf("Append = %v, want damage: there are entries", err)
			}
		})
	}
}

func TestSyncedAdoption(t *testing.T) {
	j := tail(t, func(b []byte) []byte { return b })
	j = open(t, j.dir, Options{Sync: true, SegmentBytes: 10})
	write(t, j, 1)
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 5 || rep.Segments != 2 {
		t.Errorf("Verify = %+v %v", rep, err)
	}
}

// FuzzReplay puts foreign bytes into a segment whose head is right: the
// entries come back as they were written, or there is an error.
func FuzzReplay(f *testing.F) {
	src := open(f, f.TempDir(), Options{})
	want := write(f, src, 3)
	good, err := os.ReadFile(must(src.segments())[0].path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(join(lines(good)[1:]...))
	f.Add([]byte("{}\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := copyDir(t, src.dir)
		j := open(t, dir, Options{})
		if err := os.WriteFile(must(j.segments())[0].path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), j, 0)
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("different content without an error: %v", got)
		}
		if _, err := j.Append(t.Context(), Record{Kind: "x"}); err == nil {
			if h, _, err := j.Head(); err != nil || h < 4 {
				t.Fatalf("head %d %v after a commit", h, err)
			}
		}
	})
}

// FuzzHead: a head is what encode writes, or it is refused.
func FuzzHead(f *testing.F) {
	f.Add(must(head{}.encode()))
	f.Add(must(head{Seq: 7, Hash: hashPrefix, Segment: 1, Start: 3, End: 9}.encode()))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHead(b)
		if err == nil && !bytes.Equal(must(h.encode()), b) {
			t.Fatalf("accepted %q", b)
		}
	})
}

// FuzzLine: a line is what encoding/json makes of its entry, with the hash behind it, and
// what is read from it is the entry.
func FuzzLine(f *testing.F) {
	f.Add(uint64(1), int64(1), "run", "human:ada", `{"a": [1, "<&>"]}`, 0)
	f.Add(uint64(math.MaxUint64), int64(-1), "\"\\\x7f\u2028é", "\xff", "null", 3)
	f.Fuzz(func(t *testing.T, seq uint64, nanos int64, kind, actor, data string, more int) {
		var compact []byte
		if json.Valid([]byte(data)) {
			compact = must(json.Marshal(json.RawMessage(data)))
		}
		e := Entry{Seq: seq, Time: time.Unix(0, nanos).UTC(), Kind: kind, Actor: actor, Data: compact, Prev: hashPrefix, More: more}
		want := must(json.Marshal(e))
		line := must(encode(&e))
		body, sum, err := split(line)
		if err != nil || string(body) != string(want) || e.Hash != hashPrefix+sum {
			t.Fatalf("the line is %q (%v), want %q", line, err, want)
		}
		if got := must(decode(line)); utf8.ValidString(kind+actor) && !reflect.DeepEqual(got, e) {
			t.Errorf("read is %+v, written %+v", got, e)
		}
	})
}
