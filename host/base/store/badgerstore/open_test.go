package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// sameAs opens the store and compares all it has.
func sameAs(t *testing.T, dir string, o Options, want map[string]string, h ...hooks) {
	t.Helper()
	s := mustOpen(t, dir, o, h...)
	defer mustClose(t, s)
	if got, err := dump(t, s); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d entries, want the %d that were written; %v", len(got), len(want), err)
	}
}

func TestReopenedStoreIsTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := populate(t, dir, testOptions(), 2*tablesToMerge) // tables are merged on the way
	sameAs(t, dir, testOptions(), want)
	if n := newStoreDir(nil, dir, testOptions()).levelZero(filepath.Join(dir, dbName)); n > tablesToMerge {
		t.Errorf("%d tables were never merged", n)
	}
}

func TestStoreLargerThanItsMemory(t *testing.T) {
	t.Parallel()
	dir, want := t.TempDir(), map[string]string{}
	s := mustOpen(t, dir, testOptions())
	for i := range 60 {
		key := fmt.Sprint(i % 50)
		want[key] = string(noise(400 << 10))
		if _, err := s.KV().Put(t.Context(), key, []byte(want[key]), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	killed := crashCopy(t, dir)
	mustClose(t, s)
	for _, dir := range []string{dir, killed} {
		s := mustOpen(t, dir, testOptions())
		entries, err := s.KV().List(t.Context(), "")
		if err != nil || len(entries) != len(want) {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		for _, e := range entries {
			if want[e.Key] != string(e.Value) {
				t.Errorf("entry %s is another", e.Key)
			}
		}
		mustClose(t, s)
	}
}

func TestSecondOpenerNamesTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := process(t, "hold", dir)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	if said, _ := out.ReadString('\n'); said != "held\n" {
		t.Fatalf("the other process said %q", said)
	}
	o := testOptions()
	o.LockWait = 30 * time.Millisecond
	s := mustShare(t, dir, o)
	defer mustClose(t, s)
	_, openErr := Open(testLog(t), dir, o)
	_, getErr := s.KV().Get(t.Context(), "a")
	_, verifyErr := Verify(t.Context(), testLog(t), dir, o)
	for name, err := range map[string]error{"Open": openErr, "Get": getErr, "Verify": verifyErr} {
		if !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
			t.Errorf("%s = %v, want it to name process %d", name, err, cmd.Process.Pid)
		}
	}
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), testOptions()
	o.Key = testKey()
	want := populate(t, dir, o, 2)
	for _, path := range storeFiles(t, dir) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"value of", "large", "subject", "key/0"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has %q in plain text", path, secret)
			}
		}
	}
	for name, key := range map[string][]byte{"none": nil, "another": bytes.Repeat([]byte("k"), 32)} {
		wrong := testOptions()
		wrong.Key = key
		if _, err := Open(testLog(t), dir, wrong); !errors.Is(err, store.ErrKey) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("Open with key %s = %v, want store.ErrKey", name, err)
		}
		if _, err := Verify(t.Context(), testLog(t), dir, wrong); !errors.Is(err, store.ErrKey) {
			t.Errorf("Verify with key %s = %v, want store.ErrKey", name, err)
		}
	}
	sameAs(t, dir, o, want)
	plain := t.TempDir()
	populate(t, plain, testOptions(), 1)
	if _, err := Open(testLog(t), plain, o); !errors.Is(err, store.ErrKey) {
		t.Errorf("Open of a plain store with a key = %v, want store.ErrKey", err)
	}
}

func TestKeyOfWrongLength(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.Key = []byte("short")
	if _, err := Open(testLog(t), t.TempDir(), o); !errors.Is(err, store.ErrKey) || errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open = %v, want store.ErrKey", err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestMissingParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		edit    func(dir string)
		damaged bool
	}{
		{"HEAD", func(dir string) { remove(t, filepath.Join(dir, headName)) }, true},
		{"SEAL", func(dir string) { remove(t, filepath.Join(dir, sealName)) }, false},
		{"db", func(dir string) { remove(t, filepath.Join(dir, dbName)) }, true},
		{"db/MANIFEST", func(dir string) { remove(t, filepath.Join(dir, dbName, "MANIFEST")) }, true},
		{"a table", func(dir string) { remove(t, filepath.Join(dir, dbName, "000001.sst")) }, true},
		{"locks", func(dir string) { remove(t, filepath.Join(dir, lockName)); remove(t, filepath.Join(dir, turnName)) }, false},
	} {
		dir := t.TempDir()
		want := populate(t, dir, testOptions(), 1)
		tc.edit(dir)
		if !tc.damaged {
			sameAs(t, dir, testOptions(), want)
			continue
		}
		if _, err := Open(testLog(t), dir, testOptions()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("without %s: Open = %v, want ErrDamaged", tc.name, err)
		}
	}
}

// An older copy of the database is whole in itself; HEAD knows better.
func TestOlderDatabaseIsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	populate(t, dir, testOptions(), 1)
	older := crashCopy(t, dir)
	s := mustOpen(t, dir, testOptions())
	fill(t, s, 100, 1)
	mustClose(t, s)
	for _, name := range []string{dbName, sealName} {
		remove(t, filepath.Join(dir, name))
		rename(t, filepath.Join(older, name), filepath.Join(dir, name))
	}
	if _, err := Open(testLog(t), dir, testOptions()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open = %v, want ErrDamaged", err)
	}
}

func TestCrashWhileSwapping(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(dir string){
		"before: a copy that is not finished": func(dir string) {
			if err := os.Mkdir(filepath.Join(dir, nextName), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"between: the original set aside": func(dir string) {
			if err := os.CopyFS(filepath.Join(dir, nextName), os.DirFS(filepath.Join(dir, dbName))); err != nil {
				t.Fatal(err)
			}
			rename(t, filepath.Join(dir, dbName), filepath.Join(dir, oldName))
		},
		"between, and the copy is gone": func(dir string) {
			rename(t, filepath.Join(dir, dbName), filepath.Join(dir, oldName))
		},
		"after: the original still there": func(dir string) {
			if err := os.CopyFS(filepath.Join(dir, oldName), os.DirFS(filepath.Join(dir, dbName))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := t.TempDir()
		want := populate(t, dir, testOptions(), 1)
		edit(dir)
		s := mustShare(t, dir, testOptions())
		if got, err := dump(t, s); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %d entries, want %d; %v", name, len(got), len(want), err)
		}
		mustClose(t, s)
		if p := newStoreDir(nil, dir, testOptions()); p.swapping() {
			t.Errorf("%s: something was left behind", name)
		}
	}
}

// A process that dies while it makes the store leaves nothing anyone was told
// of.
func TestCrashWhileMaking(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"an empty log": "00001.mem", "half a manifest": "MANIFEST"} {
		dir := t.TempDir()
		mustClose(t, mustOpen(t, dir, testOptions()))
		remove(t, filepath.Join(dir, dbName))
		if err := os.Mkdir(filepath.Join(dir, dbName), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, dbName, file), []byte("Bd"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir, testOptions())
		fill(t, s, 0, 1)
		mustClose(t, s)
		t.Log(name)
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := populate(t, dir, testOptions(), 1)
	next := hooks{step: []migration{func(tx store.Tx) error { return tx.Set("new", []byte("in format 2")) }}}
	want["new"] = "in format 2"
	s := mustShare(t, dir, testOptions(), next)
	if got, err := dump(t, s); err != nil || !maps.Equal(got, want) {
		t.Errorf("after the migration: %d entries, want %d; %v", len(got), len(want), err)
	}
	mustClose(t, s)
	sameAs(t, dir, testOptions(), want, next)
	if _, err := Open(testLog(t), dir, testOptions()); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("Open by an older version = %v, want it to ask for a newer one", err)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := populate(t, dir, testOptions(), 1)
	no := errors.New("no")
	failing := hooks{step: []migration{func(tx store.Tx) error { return errors.Join(tx.Set("new", nil), no) }}}
	if _, err := failing.storeDir(testLog(t), dir, testOptions()).open(); !errors.Is(err, no) {
		t.Errorf("Open = %v, want the migration's error", err)
	}
	sameAs(t, dir, testOptions(), want)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Verify(t.Context(), testLog(t), filepath.Join(dir, "no"), testOptions()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Verify of nothing = %v", err)
	}
	if _, err := Verify(t.Context(), testLog(t), dir, testOptions()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Verify of an empty directory = %v", err)
	}
	want := populate(t, dir, testOptions(), 2)
	rep, err := Verify(t.Context(), testLog(t), dir, testOptions())
	if err != nil || rep.Entries != uint64(len(want)) || !rep.Closed || rep.Commits == 0 || len(rep.Files) == 0 || len(rep.Damage) > 0 {
		t.Errorf("Verify = %+v, %v; want %d entries", rep, err, len(want))
	}
	sameAs(t, dir, testOptions(), want)
}

func TestVerifyReportsAllDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, dir, testOptions())
	work(t, s, 0)
	const digest = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
	if err := s.Blobs().Put(t.Context(), digest, []byte("one")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	for _, path := range []string{filepath.Join(dir, dbName, "000001.sst"), filepath.Join(dir, "blobs/blobs/sha256", digest[7:])} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[1] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := crashCopy(t, dir)
	rep, err := Verify(t.Context(), testLog(t), dir, testOptions())
	if !errors.Is(err, store.ErrDamaged) || len(rep.Damage) != 2 || !strings.Contains(fmt.Sprint(rep.Damage), "000001.sst") || rep.Closed {
		t.Errorf("Verify = %+v, %v; want the table and the blob", rep, err)
	}
	for _, path := range storeFiles(t, before) {
		rel, _ := filepath.Rel(before, path)
		was, _ := os.ReadFile(path)
		if is, err := os.ReadFile(filepath.Join(dir, rel)); err != nil || !bytes.Equal(is, was) {
			t.Errorf("Verify changed %s: %v", rel, err)
		}
	}
}

// Damage that is met while the store is open is an error of the call, and the
// store is not sealed over it.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, dir, testOptions())
	fill(t, s, 0, 3)
	e := s.engine.(*exclusive).session
	txn := e.db.NewTransaction(true)
	if err := txn.Set([]byte("d"+"k\x00key/00001"), []byte("no envelope")); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Get":  second(s.KV().Get(t.Context(), "key/00001")),
		"List": second(s.KV().List(t.Context(), "")),
		"Put":  second(s.KV().Put(t.Context(), "key/00001", nil, store.AnyRevision)),
	} {
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s = %v, want ErrDamaged", name, err)
		}
	}
	fill(t, s, 5, 1)
	mustClose(t, s)
	if _, err := Open(testLog(t), dir, testOptions()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open = %v, want ErrDamaged", err)
	}
}

func second[T any](_ T, err error) error { return err }
