package badgerstore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/backup"
)

// How a backup begins: magic, version, flags and salt.
const (
	backupMagic  = "SKILLETB"
	backupHeader = len(backupMagic) + 2 + 16
)

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// backedUp makes a store with some of everything and backs it up.
func backedUp(t testing.TB, o Options, blobs ...[]byte) (b []byte, entries map[string]string) {
	t.Helper()
	s := mustOpen(t, t.TempDir(), o)
	defer mustClose(t, s)
	work(t, s, 0)
	for _, content := range append(blobs, []byte("one")) {
		if err := s.Blobs().Put(t.Context(), digest(content), content); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := dump(t, s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	totals, err := s.Backup(t.Context(), &out)
	if err != nil || totals.Entries != len(entries) || totals.Blobs != len(blobs)+1 {
		t.Fatalf("Backup = %+v, %v; want %d entries and %d blobs", totals, err, len(entries), len(blobs)+1)
	}
	return out.Bytes(), entries
}

func sealedOptions() Options {
	o := testOptions()
	o.Key = testKey()
	return o
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "with a key": sealedOptions()} {
		large := bytes.Repeat([]byte("wasm"), (256<<10)/2)
		b, want := backedUp(t, o, large, nil)
		dir := filepath.Join(t.TempDir(), "new")
		totals, err := Restore(t.Context(), testLog(t), bytes.NewReader(b), dir, o)
		if err != nil || totals.Entries != len(want) || totals.Blobs != 3 {
			t.Fatalf("%s: Restore = %+v, %v", name, totals, err)
		}
		s := mustOpen(t, dir, o)
		if got, err := dump(t, s); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %d entries came back, want %d; %v", name, len(got), len(want), err)
		}
		for _, want := range [][]byte{large, nil, []byte("one")} {
			if content, err := s.Blobs().Get(t.Context(), digest(want)); err != nil || !bytes.Equal(content, want) {
				t.Errorf("%s: a blob of %d bytes instead of %d, %v", name, len(content), len(want), err)
			}
		}
		last, err := s.KV().Get(t.Context(), "key/00029")
		if err != nil {
			t.Fatal(err)
		}
		rev, err := s.KV().Put(t.Context(), "key/00029", nil, last.Revision)
		if err != nil || rev <= totals.Number {
			t.Errorf("%s: revision %d after %d, %v", name, rev, totals.Number, err)
		}
		mustClose(t, s)
		if bytes.Contains(b, []byte("value of")) != (len(o.Key) == 0) {
			t.Errorf("%s: the backup is plain text or not, and should be otherwise", name)
		}
	}
}

func TestBackupOfASharedStore(t *testing.T) {
	t.Parallel()
	s := mustShare(t, t.TempDir(), testOptions())
	defer mustClose(t, s)
	var empty bytes.Buffer
	if totals, err := s.Backup(t.Context(), &empty); err != nil || totals.Entries != 0 {
		t.Errorf("Backup of an empty store = %+v, %v", totals, err)
	}
	fill(t, s, 0, 5)
	var out bytes.Buffer
	if totals, err := s.Backup(t.Context(), &out); err != nil || totals.Entries != 5 {
		t.Errorf("Backup = %+v, %v", totals, err)
	}
}

func TestRestoreRefusesAFullDirectory(t *testing.T) {
	t.Parallel()
	b, _ := backedUp(t, testOptions())
	dir := t.TempDir()
	want := populate(t, dir, testOptions(), 1)
	if _, err := Restore(t.Context(), testLog(t), bytes.NewReader(b), dir, testOptions()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Restore = %v, want fs.ErrExist", err)
	}
	sameAs(t, dir, testOptions(), want)
}

func TestRestoreWithAnotherKey(t *testing.T) {
	t.Parallel()
	plain, _ := backedUp(t, testOptions())
	sealed, _ := backedUp(t, sealedOptions())
	other := testOptions()
	other.Key = bytes.Repeat([]byte("k"), 16)
	for name, tc := range map[string]struct {
		b []byte
		o Options
	}{
		"plain, with a key":    {plain, sealedOptions()},
		"sealed, without":      {sealed, testOptions()},
		"sealed, with another": {sealed, other},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		if _, err := Restore(t.Context(), testLog(t), bytes.NewReader(tc.b), dir, tc.o); !errors.Is(err, store.ErrKey) {
			t.Errorf("%s: Restore = %v, want ErrKey", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something is there: %v", name, err)
		}
	}
}

// collector is a sink that keeps what it is given.
type collector struct {
	items map[string]string
	blobs int
}

func (c *collector) Item(key string, value []byte) error { c.items[key] = string(value); return nil }
func (c *collector) Blob(string, []byte) error           { c.blobs++; return nil }

func readAll(b, key []byte) (collector, error) {
	c := collector{items: map[string]string{}}
	_, err := backup.Read(bytes.NewReader(b), key, &c)
	return c, err
}

// A changed, shortened or lengthened backup is refused, wherever it was
// changed. The salt of a plain backup means nothing.
func TestDamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "sealed": sealedOptions()} {
		b, want := backedUp(t, o)
		for bit := 0; bit < len(b)*8; bit += 1 + bit/4096 {
			bad := bytes.Clone(b)
			bad[bit/8] ^= 1 << (bit % 8)
			if c, err := readAll(bad, o.Key); err == nil && !maps.Equal(c.items, want) {
				t.Fatalf("%s: bit %d changes what comes back", name, bit)
			} else if err == nil && (bit/8 >= backupHeader || len(o.Key) > 0) {
				t.Fatalf("%s: bit %d is not noticed", name, bit)
			}
		}
		for n := 0; n < len(b); n += 1 + n/50 {
			if _, err := readAll(b[:n], o.Key); !errors.Is(err, backup.ErrBackup) || !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("%s: the first %d bytes: %v, want ErrBackup", name, n, err)
			}
		}
		if _, err := readAll(append(bytes.Clone(b), 0), o.Key); !errors.Is(err, backup.ErrBackup) {
			t.Errorf("%s: with one more byte: %v, want ErrBackup", name, err)
		}
	}
}

func TestDamagedBackupRestoresNothing(t *testing.T) {
	t.Parallel()
	b, _ := backedUp(t, testOptions())
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := Restore(t.Context(), testLog(t), bytes.NewReader(b[:len(b)-9]), dir, testOptions()); !errors.Is(err, backup.ErrBackup) {
		t.Errorf("Restore = %v, want ErrBackup", err)
	}
	left, err := filepath.Glob(dir + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestNewerBackupIsRefused(t *testing.T) {
	t.Parallel()
	b, _ := backedUp(t, testOptions())
	b[len(backupMagic)]++
	if _, err := readAll(b, nil); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("Read = %v, want it to ask for a newer version", err)
	}
}

// FuzzRestore reads foreign bytes as a backup: they are refused, or are a whole
// one.
func FuzzRestore(f *testing.F) {
	plain, _ := backedUp(f, testOptions())
	sealed, _ := backedUp(f, sealedOptions())
	f.Add(plain, false)
	f.Add(sealed, true)
	f.Add(plain[:backupHeader+20], false)
	f.Add([]byte(backupMagic), false)
	f.Add([]byte(nil), true)
	f.Fuzz(func(t *testing.T, b []byte, withKey bool) {
		var key []byte
		if withKey {
			key = testKey()
		}
		c := collector{items: map[string]string{}}
		totals, err := backup.Read(bytes.NewReader(b), key, &c)
		if err == nil && (totals.Blobs != c.blobs || totals.Entries < len(c.items)) {
			t.Fatalf("totals %+v, given %d items and %d blobs", totals, len(c.items), c.blobs)
		}
	})
}

func TestSalvage(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "with a key": sealedOptions()} {
		dir := t.TempDir()
		populate(t, dir, o, 2)
		s := mustOpen(t, dir, o)
		work(t, s, 2)
		want, err := dump(t, s)
		if err != nil {
			t.Fatal(err)
		}
		killed := crashCopy(t, dir)
		mustClose(t, s)
		for state, dir := range map[string]string{"closed": dir, "killed": killed} {
			what := fmt.Sprint(name, ", ", state)
			checkSalvage(t, what+", whole", dir, o, want, len(want))
			damage(t, filepath.Join(dir, dbName, "000001.sst"), 100)
			remove(t, filepath.Join(dir, headName))
			checkSalvage(t, what+", a table damaged", dir, o, want, 30)
			damage(t, filepath.Join(dir, dbName, "MANIFEST"), 12)
			checkSalvage(t, what+", and the manifest", dir, o, want, 30)
		}
	}
}

func damage(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkSalvage checks that at least so many entries come back right, and that
// none has a value that was never written.
func checkSalvage(t *testing.T, what, dir string, o Options, want map[string]string, least int) {
	t.Helper()
	rep, err := Salvage(t.Context(), testLog(t), dir, o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	s := store.New(store.MemoryOf(rep.Items, rep.Number), nil, store.Settings{})
	defer s.Close()
	right := 0
	entries, err := s.KV().List(t.Context(), "")
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(string(e.Value), "value of") && !strings.HasPrefix(string(e.Value), "large") {
			t.Errorf("%s: %s has %.20q, which was never written", what, e.Key, e.Value)
		}
		if was, ok := want["k\x00"+e.Key]; ok && strings.HasSuffix(was, string(e.Value)) {
			right++
		}
	}
	whole := least == len(want)
	if whole && (rep.Entries != len(want) || len(rep.Lost) > 0 || !rep.Whole) || rep.Entries < least || right == 0 {
		t.Errorf("%s: %+v, %d right, want at least %d", what, rep.SalvageReport, right, least)
	}
	if !whole && len(rep.Lost) == 0 {
		t.Errorf("%s: nothing was reported as lost", what)
	}
}

func TestSalvageWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "with a key": sealedOptions()} {
		dir := t.TempDir()
		want := populate(t, dir, o, 1)
		other := testOptions()
		other.Key = bytes.Repeat([]byte("k"), 32)
		if _, err := Salvage(t.Context(), testLog(t), dir, other); !errors.Is(err, store.ErrKey) {
			t.Errorf("%s: Salvage with another key = %v, want ErrKey", name, err)
		}
		damage(t, filepath.Join(dir, dbName, "KEYREGISTRY"), 20)
		checkSalvage(t, name, dir, o, want, len(want)-1) // there is a copy
		if len(o.Key) == 0 {
			continue
		}
		damage(t, filepath.Join(dir, keysName, "KEYREGISTRY"), 20)
		if _, err := Salvage(t.Context(), testLog(t), dir, o); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: Salvage = %v, want ErrDamaged", name, err)
		}
	}
}

func TestSalvageOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := Salvage(t.Context(), testLog(t), filepath.Join(t.TempDir(), "no"), testOptions()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Salvage = %v", err)
	}
}
