package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// alike compares entries by what a repair keeps of them.
func alike(got, want []Entry) bool {
	return slices.EqualFunc(got, want, func(a, b Entry) bool {
		return a.Time.Equal(b.Time) && a.Kind == b.Kind && a.Actor == b.Actor && bytes.Equal(a.Data, b.Data) && a.More == b.More
	})
}

// without are the entries but for those that are lost.
func without(all []Entry, lost []Loss) []Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
		return slices.ContainsFunc(lost, func(l Loss) bool { return l.First <= e.Seq && e.Seq <= l.Last })
	})
}

// repaired repairs a journal, and checks that what is told is what happened.
func repaired(t *testing.T, dir string, want []Entry) Repair {
	t.Helper()
	plan, err := PlanRepair(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RepairDir(t.Context(), dir, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, Options{})
	got, err := read(t.Context(), j, 0)
	if err != nil || !alike(got, without(want, r.Lost)) || r.Kept != uint64(len(got)) {
		t.Fatalf("kept %d, lost %v: %v\n%v", r.Kept, r.Lost, err, got)
	}
	if _, err := os.Stat(r.Backup); err != nil || !reflect.DeepEqual(plan.Lost, r.Lost) || plan.Kept != r.Kept {
		t.Fatalf("planned %+v, did %+v: %v", plan, r, err)
	}
	if _, err := j.Append(t.Context(), Record{Kind: "later"}); err != nil {
		t.Fatal(err)
	}
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != r.Kept+1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	return r
}

// count is how many entries are lost.
func count(lost []Loss) (n uint64) {
	for _, l := range lost {
		n += l.Last - l.First + 1
	}
	return n
}

// One flipped bit costs the entry it is in, and no other.
func TestRepairAfterAFlippedBit(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	src := open(t, t.TempDir(), Options{SegmentBytes: 600})
	want := write(t, src, 6)
	for i, path := range files(t, src.dir) {
		size := int(must(os.Stat(path)).Size())
		for bit := i; bit < size*8; bit += 211 {
			dir := filepath.Join(t.TempDir(), "j")
			must(0, os.CopyFS(dir, os.DirFS(src.dir)))
			change(t, filepath.Join(dir, filepath.Base(path)), func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
			r := repaired(t, dir, want)
			if lost := count(r.Lost); lost > 1 || filepath.Base(path) == headName && lost > 0 {
				t.Fatalf("%s bit %d: lost %v", filepath.Base(path), bit, r.Lost)
			}
		}
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	src := open(t, t.TempDir(), Options{SegmentBytes: 600})
	want := write(t, src, 7)
	all := must(src.segments())
	if len(all) < 3 {
		t.Fatal("too few segments to test with")
	}
	second := all[1]
	for name, c := range map[string]struct {
		harm func(dir string)
		lost uint64
	}{
		"nothing wrong":   {func(string) {}, 0},
		"no head":         {func(dir string) { remove(t, filepath.Join(dir, headName)) }, 0},
		"missing segment": {func(dir string) { remove(t, filepath.Join(dir, filepath.Base(second.path))) }, all[2].first - second.first},
		"shortened": {func(dir string) {
			change(t, filepath.Join(dir, filepath.Base(all[len(all)-1].path)), func([]byte) []byte { return nil })
		}, uint64(len(want)) - all[len(all)-1].first + 1},
		"a line feed is gone": {func(dir string) {
			change(t, filepath.Join(dir, filepath.Base(second.path)), func(b []byte) []byte {
				i := bytes.IndexByte(b, '\n')
				return slices.Delete(b, i, i+1)
			})
		}, 0},
		"a line feed is another byte": {func(dir string) {
			change(t, filepath.Join(dir, filepath.Base(second.path)), func(b []byte) []byte {
				b[bytes.IndexByte(b, '\n')] = '_'
				return b
			})
		}, 0},
		"a line was rewritten with its hash": {func(dir string) {
			change(t, filepath.Join(dir, filepath.Base(second.path)), func(b []byte) []byte {
				line, rest, _ := bytes.Cut(b, []byte("\n"))
				e := must(decode(append(bytes.Clone(line), '\n')))
				e.Actor = "mallory"
				return append(must(encode(&e)), rest...)
			})
		}, 1},
		"lines are there twice": {func(dir string) {
			change(t, filepath.Join(dir, filepath.Base(second.path)), func(b []byte) []byte { return append(b, b...) })
		}, 0},
		"everything is gone": {func(dir string) {
			for _, s := range all {
				remove(t, filepath.Join(dir, filepath.Base(s.path)))
			}
		}, uint64(len(want))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "j")
			must(0, os.CopyFS(dir, os.DirFS(src.dir)))
			c.harm(dir)
			if r := repaired(t, dir, want); count(r.Lost) != c.lost {
				t.Errorf("lost %v, want %d entries", r.Lost, c.lost)
			}
		})
	}
}

// A commit of which one entry is lost is lost whole.
func TestRepairKeepsWholeCommits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "j")
	j := open(t, dir, Options{})
	var want []Entry
	for _, n := range []int{1, 3, 2} {
		want = append(want, must(j.Append(t.Context(), slices.Repeat([]Record{{Kind: "k", Data: n}}, n)...))...)
	}
	change(t, must(j.segments())[0].path, func(b []byte) []byte {
		b[bytes.Index(b, []byte(`"seq":3`))] ^= 1
		return b
	})
	if r := repaired(t, dir, want); !reflect.DeepEqual(r.Lost, []Loss{{2, 4, r.Lost[0].What}}) {
		t.Errorf("lost %v, want the commit of three", r.Lost)
	}
}

// What the caller has no use for, because of what is lost, goes too.
func TestRepairDropsWhatIsOfNoUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "j")
	write(t, open(t, dir, Options{}), 6)
	r, err := RepairDir(t.Context(), dir, func(e Entry) error {
		if e.Seq == 2 || e.Seq == 3 || e.Seq == 6 {
			return fmt.Errorf("no use for %d", e.Seq)
		}
		return nil
	}, Options{})
	want := []Loss{{2, 2, "no use for 2"}, {3, 3, "no use for 3"}, {6, 6, "no use for 6"}}
	if err != nil || r.Kept != 3 || !reflect.DeepEqual(r.Lost, want) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A repair that was interrupted between its two renames is finished.
func TestInterruptedRepairIsFinished(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "j")
	want := write(t, open(t, dir, Options{}), 3)
	if err := rewrite(context.Background(), dir+repairedSuffix, want, Repair{}, Options{Sync: true}); err != nil {
		t.Fatal(err)
	}
	must(0, os.Rename(dir, dir+".aside"))
	for range 2 {
		must(0, FinishRepair(dir))
		if got, err := read(t.Context(), open(t, dir, Options{}), 0); err != nil || !alike(got, want) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	must(0, FinishRepair(filepath.Join(t.TempDir(), "nothing")))
}

func FuzzSalvage(f *testing.F) {
	j := open(f, f.TempDir(), Options{})
	write(f, j, 3)
	good := must(os.ReadFile(must(j.segments())[0].path))
	f.Add(good, 0, byte('x'))
	f.Add(good[:len(good)-1], 40, byte('\n'))
	f.Add([]byte(hashOpen), 0, byte(0))
	f.Add([]byte{}, 0, byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at int, to byte) {
		if at >= 0 && at < len(b) {
			b = bytes.Clone(b)
			b[at] = to
		}
		s := salvager{why: map[uint64]string{}}
		s.read("segment", b)
		s.unlink()
		s.wholeCommits()
		for _, e := range s.entries {
			if line, err := encode(&e); err != nil || !bytes.Contains(b, line[:len(line)-1]) {
				t.Errorf("made up %+v", e)
			}
		}
	})
}
