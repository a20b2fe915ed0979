package badgerstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// dump returns everything a store has, by the engine's keys, and reads the KV
// entries the usual way too.
func dump(t testing.TB, s *Store) (map[string]string, error) {
	all := map[string]string{}
	err := s.engine.View(t.Context(), func(r store.Reader) error {
		for it, err := range r.Scan("", "") {
			if err != nil {
				return err
			}
			all[it.Key] = string(it.Value)
			again, err := r.Get(it.Key)
			if err != nil || string(again) != string(it.Value) {
				return fmt.Errorf("%q is one thing in Scan and another in Get: %w", it.Key, err)
			}
		}
		return nil
	})
	return all, err
}

// populate gives a store some of everything, in several tables.
func populate(t testing.TB, dir string, o Options, sessions int) map[string]string {
	t.Helper()
	var all map[string]string
	for i := range sessions {
		s := mustOpen(t, dir, o)
		work(t, s, i)
		var err error
		if all, err = dump(t, s); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// work does some of everything.
func work(t testing.TB, s *Store, round int) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, round*20, 30)
	check(s.KV().Delete(ctx, fmt.Sprintf("key/%05d", round*20+3), store.AnyRevision))
	_, err := s.KV().Put(ctx, fmt.Sprint("large/", round), []byte(strings.Repeat("large ", 2000)), store.AnyRevision)
	check(err)
	for i := range 5 {
		check(s.Queue("q").Push(ctx, store.Job{ID: fmt.Sprint(round, "-", i), Body: []byte("job")}))
		_, err := s.Log("l").Append(ctx, "subject", fmt.Appendf(nil, "event %d", i))
		check(err)
	}
	c, err := s.Queue("q").Pull(ctx, 0)
	check(err)
	check(c.Done(ctx))
	_, err = s.Locks().Acquire(ctx, fmt.Sprint("lock", round), "me", time.Hour)
	check(err)
}

// storeFiles lists the files of a store, but those only its locks use.
func storeFiles(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != lockName && d.Name() != turnName && filepath.Base(filepath.Dir(path)) != "blobs" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// flip flips one bit at random, where there is something: Badger's logs are
// mostly empty.
func flip(t testing.TB, rnd *rand.Rand, path string) (where string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(b)
	for end > 0 && b[end-1] == 0 {
		end--
	}
	end = min(len(b), end+16)
	if end == 0 {
		return ""
	}
	at, bit := rnd.IntN(end), rnd.IntN(8)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b[at] ^ 1<<bit}, int64(at)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("byte %d of %d, bit %d", at, len(b), bit)
}

// outcome counts what came of the flips.
type outcome struct{ right, damaged int }

// tryFlips flips a bit of a copy of the store, again and again, and opens it:
// everything is as it was written, or the store is damaged.
func tryFlips(t *testing.T, src string, o Options, want map[string]string, n int) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	files := storeFiles(t, src)
	var got outcome
	for i := range n {
		rel, err := filepath.Rel(src, files[i%len(files)])
		if err != nil {
			t.Fatal(err)
		}
		dir := crashCopy(t, src)
		where := flip(t, rnd, filepath.Join(dir, rel))
		what := fmt.Sprintf("seed %d, round %d: %s, %s", seed, i, rel, where)
		tryOpen(t, dir, o, want, i%2 == 0, what, &got)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d flips in %d files: %d times all was right, %d times damage was reported", n, len(files), got.right, got.damaged)
	if got.damaged == 0 {
		t.Error("no damage was ever reported: the test shows nothing")
	}
}

func tryOpen(t *testing.T, dir string, o Options, want map[string]string, exclusive bool, what string, got *outcome) {
	t.Helper()
	open := OpenShared
	if exclusive {
		open = Open
	}
	s, err := open(testLog(t), dir, o)
	var is map[string]string
	if err == nil {
		is, err = dump(t, s)
		err = errors.Join(err, s.Close())
	}
	switch {
	case err == nil && maps.Equal(is, want):
		got.right++
	case err == nil:
		t.Fatalf("%s: %d entries came back, other than the %d that were written", what, len(is), len(want))
	case !errors.Is(err, store.ErrDamaged):
		t.Fatalf("%s: %v is not ErrDamaged", what, err)
	case !strings.Contains(err.Error(), " is damaged: "):
		t.Fatalf("%s: %v does not say what to do", what, err)
	default:
		got.damaged++
	}
}

func TestFlippedBitOfAClosedStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	dir := t.TempDir()
	want := populate(t, dir, testOptions(), 3)
	tryFlips(t, dir, testOptions(), want, prove(60, 200))
}

func TestFlippedBitOfAKilledStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	dir := t.TempDir()
	populate(t, dir, testOptions(), 3)
	s := mustOpen(t, dir, testOptions())
	defer s.Close()
	work(t, s, 3)
	want, err := dump(t, s)
	if err != nil {
		t.Fatal(err)
	}
	tryFlips(t, crashCopy(t, dir), testOptions(), want, prove(60, 200))
}

func TestFlippedBitOfAnEncryptedStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	dir, o := t.TempDir(), testOptions()
	o.Key = testKey()
	populate(t, dir, o, 2)
	s := mustOpen(t, dir, o)
	defer s.Close()
	work(t, s, 3)
	want, err := dump(t, s)
	if err != nil {
		t.Fatal(err)
	}
	tryFlips(t, crashCopy(t, dir), o, want, prove(16, 200))
}

// rot changes a byte of a file and leaves its size and time as they were, as a
// failing disk does. Negative places count from the end.
func rot(t *testing.T, path string, at int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x55
	if err := errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// tablesOf lists the tables of a store.
func tablesOf(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, dbName, "*.sst"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	return all
}

// keepTimes gives the copies of files the times of the originals.
func keepTimes(t *testing.T, from, to string) {
	t.Helper()
	files, err := os.ReadDir(from)
	for _, f := range files {
		info, ferr := f.Info()
		err = errors.Join(err, ferr, os.Chtimes(filepath.Join(to, f.Name()), info.ModTime(), info.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A store that is too large to be read at every opening: a table that rotted
// where Badger looks first is damage, and not the end of the process.
func TestRottenTableOfALargeStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	dir, o := t.TempDir(), testOptions()
	o.CheckBytes = 1
	want := populate(t, dir, o, 2)
	var got outcome
	for at := -1; at >= -150; at -= 3 {
		again := filepath.Join(t.TempDir(), "s")
		if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		keepTimes(t, filepath.Join(dir, dbName), filepath.Join(again, dbName))
		rot(t, tablesOf(t, again)[0], at)
		tryOpen(t, again, o, want, false, fmt.Sprint("byte ", at), &got)
	}
	if got.damaged == 0 {
		t.Error("no damage was ever reported: the test shows nothing")
	}
}

// Before Badger merges tables all of them are read: it would take a rotten one
// for shorter than it is, and delete it.
func TestRottenTableIsNotMerged(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), testOptions()
	o.CheckBytes = 1
	for i := range tablesToMerge { // shared: then nothing is merged in the background
		s, err := OpenShared(testLog(t), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.KV().Put(t.Context(), fmt.Sprint("key/", i), []byte("value"), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p := newStoreDir(nil, dir, o)
	if !p.merges(p.path(dbName), readWrite) {
		t.Fatalf("%d tables, and nothing would be merged", p.levelZero(p.path(dbName)))
	}
	before := tablesOf(t, dir)
	rot(t, before[2], 20)
	s, err := OpenShared(testLog(t), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.KV().Put(t.Context(), "one", []byte("more"), store.AnyRevision)
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(before[2])) {
		t.Errorf("written to a store that is about to merge: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := tablesOf(t, dir); !slices.Equal(after, before) {
		t.Errorf("tables were %v, and are %v", before, after)
	}
}
