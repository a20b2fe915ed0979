package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/backup"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// BackendOptions are what backends are tested with: leases of this package, and no watch
// of the free space, so that the tests pass on any disk.
func BackendOptions() store.Options { return store.Options{Delivery: Delivery(), FreeBytes: -1} }

func withKey() store.Options {
	o := BackendOptions()
	o.Key = bytes.Repeat([]byte("k"), 32)
	return o
}

// RunBackend tests a backend: both ways in which it opens stores by [Run], and what is done
// with stores beside using them.
func RunBackend(t *testing.T, b store.Backend) {
	t.Run("alone", func(t *testing.T) {
		Run(t, func(t *testing.T) store.Store {
			return must(b.Open(log(), t.TempDir(), BackendOptions()))(t)
		})
	})
	t.Run("shared", func(t *testing.T) {
		Run(t, func(t *testing.T) store.Store {
			return must(b.OpenShared(log(), t.TempDir(), BackendOptions()))(t)
		})
	})
	for name, o := range map[string]store.Options{"plain": BackendOptions(), "with a key": withKey()} {
		for _, tc := range backendTests {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				tc.run(t, b, o)
			})
		}
	}
}

// backendTest is one test of a backend.
type backendTest struct {
	name string
	run  func(t *testing.T, b store.Backend, o store.Options)
}

var backendTests = []backendTest{
	{"KeepsWhatWasWritten", keepsAll},
	{"OwnsWhatItMade", owns},
	{"RefusesWhatAnotherMade", refusesStrangers},
	{"SeveralOpenAtOnce", several},
	{"BackupRestores", backupRestores},
	{"DamagedBackupRestoresNothing", damagedBackup},
	{"RestoreRefusesAFullDirectory", restoreRefuses},
	{"AnotherKeyIsRefused", anotherKey},
	{"CreatedStoreGoesOn", creates},
	{"HeldStoreIsUsedByNobody", holds},
	{"SalvageOfAWholeStore", salvages},
	{"VerifyOfNothing", verifiesNothing},
	{"AnAlteredByteIsFound", altered},
	{"ATruncatedFileIsFound", truncated},
}

func log() hclog.Logger { return hclog.NewNullLogger() }

// fill writes some of everything into the store in dir, and returns what is in it then.
func fill(t *testing.T, b store.Backend, dir string, o store.Options) []store.Item {
	t.Helper()
	s := must(b.Open(log(), dir, o))(t)
	for i := range 20 {
		key := fmt.Sprintf("key/%02d", i)
		must(s.KV().Put(t.Context(), key, bytes.Repeat([]byte{byte(i)}, i*40), store.AnyRevision))(t)
		must(s.KV().Put(t.Context(), key, fmt.Appendf(nil, "value of %s", key), store.AnyRevision))(t)
	}
	ok(t, s.KV().Delete(t.Context(), "key/07", store.AnyRevision))
	ok(t, s.Queue("q").Push(t.Context(), store.Job{ID: "job", Body: []byte("work")}))
	must(s.Log("l").Append(t.Context(), "subject", []byte("it happened")))(t)
	for _, content := range contents() {
		ok(t, s.Blobs().Put(t.Context(), digest(content), content))
	}
	items := must(s.Items(t.Context()))(t)
	ok(t, s.Close())
	return items
}

func contents() [][]byte {
	return [][]byte{nil, []byte("one"), bytes.Repeat([]byte("wasm"), 100<<10)}
}

// has checks that the store in dir has exactly these entries.
func has(t *testing.T, b store.Backend, dir string, o store.Options, want []store.Item) {
	t.Helper()
	s := must(b.Open(log(), dir, o))(t)
	got, err := s.Items(t.Context())
	if err := errors.Join(err, s.Close()); err != nil || !same(got, want) {
		t.Errorf("%d entries, want the %d that were written; %v", len(got), len(want), err)
	}
}

func same(a, b []store.Item) bool { return maps.EqualFunc(byKey(a), byKey(b), bytes.Equal) }

func byKey(items []store.Item) map[string][]byte {
	m := map[string][]byte{}
	for _, it := range items {
		m[it.Key] = it.Value
	}
	return m
}

func keepsAll(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	want := fill(t, b, dir, o)
	has(t, b, dir, o, want)
	rep := must(b.Verify(t.Context(), log(), dir, o))(t)
	if rep.Entries != uint64(len(want)) || rep.Blobs != len(contents()) || len(rep.Damage) > 0 || rep.Commits == 0 || len(rep.Files) == 0 || !rep.Closed {
		t.Errorf("Verify = %+v", rep)
	}
	has(t, b, dir, o, want)
}

func owns(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	if b.Owns(dir) || b.Owns(filepath.Join(dir, "no")) {
		t.Error("it owns what it did not make")
	}
	fill(t, b, dir, o)
	if !b.Owns(dir) || b.Name() == "" {
		t.Error("it does not own what it made")
	}
}

// A directory in which another backend made a store is left as it is.
func refusesStrangers(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "their.data"), []byte("theirs"), 0o600))
	if _, err := b.Open(log(), dir, o); !errors.Is(err, store.ErrOtherBackend) {
		t.Errorf("Open = %v, want ErrOtherBackend", err)
	}
	s := must(b.OpenShared(log(), dir, o))(t)
	if _, err := s.KV().Put(t.Context(), "a", nil, store.AnyRevision); !errors.Is(err, store.ErrOtherBackend) {
		t.Errorf("Put = %v, want ErrOtherBackend", err)
	}
	ok(t, s.Close())
	if b.Owns(dir) {
		t.Error("it made a store beside theirs")
	}
}

func several(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	one, two := must(b.OpenShared(log(), dir, o))(t), must(b.OpenShared(log(), dir, o))(t)
	for i := range 5 {
		rev := must(one.KV().Put(t.Context(), "n", fmt.Append(nil, i), store.AnyRevision))(t)
		e := must(two.KV().Get(t.Context(), "n"))(t)
		if string(e.Value) != fmt.Sprint(i) || e.Revision != rev {
			t.Errorf("the other has %s at %d, want %d at %d", e.Value, e.Revision, i, rev)
		}
		if next := must(two.KV().Put(t.Context(), "m", nil, store.AnyRevision))(t); next <= rev {
			t.Errorf("revision %d after %d", next, rev)
		}
	}
	ok(t, one.Close())
	ok(t, two.Close())
}

func backedUp(t *testing.T, b store.Backend, dir string, o store.Options) []byte {
	t.Helper()
	s := must(b.OpenShared(log(), dir, o))(t)
	var out bytes.Buffer
	must(s.Backup(t.Context(), &out))(t)
	ok(t, s.Close())
	return out.Bytes()
}

func backupRestores(t *testing.T, b store.Backend, o store.Options) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	want := fill(t, b, dir, o)
	totals := must(b.Restore(t.Context(), log(), bytes.NewReader(backedUp(t, b, dir, o)), to, o))(t)
	if totals.Entries != len(want) || totals.Blobs != len(contents()) || totals.Number == 0 {
		t.Errorf("Restore = %+v", totals)
	}
	has(t, b, to, o, want)
	s := must(b.Open(log(), to, o))(t)
	for _, content := range contents() {
		if got := must(s.Blobs().Get(t.Context(), digest(content)))(t); !bytes.Equal(got, content) {
			t.Errorf("a blob of %d bytes instead of %d", len(got), len(content))
		}
	}
	if rev := must(s.KV().Put(t.Context(), "new", nil, store.AnyRevision))(t); rev <= totals.Number {
		t.Errorf("revision %d after %d", rev, totals.Number)
	}
	ok(t, s.Close())
}

func damagedBackup(t *testing.T, b store.Backend, o store.Options) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	fill(t, b, dir, o)
	whole := backedUp(t, b, dir, o)
	bad := bytes.Clone(whole)
	bad[len(bad)/2] ^= 1
	for what, content := range map[string][]byte{"cut": whole[:len(whole)-9], "altered": bad, "none": nil, "longer": append(bytes.Clone(whole), 0)} {
		if _, err := b.Restore(t.Context(), log(), bytes.NewReader(content), to, o); !errors.Is(err, backup.ErrBackup) {
			t.Errorf("%s: Restore = %v, want ErrBackup", what, err)
		}
		if left := must(filepath.Glob(to + "*"))(t); len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
	}
}

func restoreRefuses(t *testing.T, b store.Backend, o store.Options) {
	dir, other := t.TempDir(), t.TempDir()
	fill(t, b, dir, o)
	want := fill(t, b, other, o)
	if _, err := b.Restore(t.Context(), log(), bytes.NewReader(backedUp(t, b, dir, o)), other, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Restore = %v, want fs.ErrExist", err)
	}
	has(t, b, other, o, want)
}

func anotherKey(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	want := fill(t, b, dir, o)
	backup := backedUp(t, b, dir, o)
	for _, key := range [][]byte{nil, bytes.Repeat([]byte("k"), 32), bytes.Repeat([]byte("x"), 16), []byte("short")} {
		if bytes.Equal(key, o.Key) {
			continue
		}
		wrong := o
		wrong.Key = key
		if _, err := b.Open(log(), dir, wrong); !errors.Is(err, store.ErrKey) {
			t.Errorf("Open with another key = %v, want ErrKey", err)
		}
		if _, err := b.Restore(t.Context(), log(), bytes.NewReader(backup), filepath.Join(t.TempDir(), "new"), wrong); !errors.Is(err, store.ErrKey) {
			t.Errorf("Restore with another key = %v, want ErrKey", err)
		}
		if h, err := b.Hold(t.Context(), log(), dir, wrong); err == nil {
			if _, err = h.Salvage(t.Context()); !errors.Is(err, store.ErrKey) {
				t.Errorf("Salvage with another key = %v, want ErrKey", err)
			}
			ok(t, h.Release())
		} else if !errors.Is(err, store.ErrKey) {
			t.Errorf("Hold with another key = %v", err)
		}
	}
	has(t, b, dir, o, want)
	found := false
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			found = found || bytes.Contains(content, []byte("value of"))
		}
		return err
	}))
	if found && len(o.Key) > 0 || bytes.Contains(backup, []byte("value of")) != (len(o.Key) == 0) {
		t.Error("what is sealed can be read, or the other way round")
	}
}

func creates(t *testing.T, b store.Backend, o store.Options) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	want := fill(t, b, dir, o)
	ok(t, b.Create(t.Context(), log(), to, o, want, 1000))
	has(t, b, to, o, want)
	if err := b.Create(t.Context(), log(), to, o, nil, 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create where there is one = %v, want fs.ErrExist", err)
	}
	s := must(b.OpenShared(log(), to, o))(t)
	if rev := must(s.KV().Put(t.Context(), "new", nil, store.AnyRevision))(t); rev <= 1000 {
		t.Errorf("revision %d after 1000", rev)
	}
	ok(t, s.Close())
}

func holds(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	fill(t, b, dir, o)
	s := must(b.OpenShared(log(), dir, impatient(o)))(t)
	h := must(b.Hold(t.Context(), log(), dir, o))(t)
	if _, err := s.KV().Get(t.Context(), "key/01"); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("Get of a held store = %v, want ErrHeld", err)
	}
	ok(t, h.Release())
	must(s.KV().Get(t.Context(), "key/01"))(t)
	ok(t, s.Close())
	if _, err := b.Hold(t.Context(), log(), filepath.Join(dir, "no"), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Hold of nothing = %v, want fs.ErrNotExist", err)
	}
}

// impatient are options of who hardly waits for others.
func impatient(o store.Options) store.Options {
	o.LockWait = moment
	return o
}

func salvages(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	want := fill(t, b, dir, o)
	r := salvage(t, b, dir, o)
	if !r.Whole || r.Entries != len(want) || r.Expected != uint64(len(want)) || len(r.Lost) > 0 || !same(r.Items, want) || r.Number == 0 {
		t.Errorf("Salvage = %+v", r.SalvageReport)
	}
	has(t, b, dir, o, want)
}

func salvage(t *testing.T, b store.Backend, dir string, o store.Options) *store.Remains {
	t.Helper()
	h := must(b.Hold(t.Context(), log(), dir, o))(t)
	r, err := h.Salvage(t.Context())
	ok(t, errors.Join(err, h.Release()))
	return r
}

func verifiesNothing(t *testing.T, b store.Backend, o store.Options) {
	dir := t.TempDir()
	for _, at := range []string{dir, filepath.Join(dir, "no")} {
		if _, err := b.Verify(t.Context(), log(), at, o); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Verify of nothing = %v, want fs.ErrNotExist", err)
		}
	}
}

// data are the files of a store that have entries in them.
func data(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "blobs" {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			if content, _ := os.ReadFile(path); bytes.Contains(content, []byte("key/1")) {
				all = append(all, path)
			}
		}
		return err
	}))
	return all
}

// altered: no byte of what has the entries can change without being found, and all that
// does not lie there can still be read.
func altered(t *testing.T, b store.Backend, o store.Options) {
	if len(o.Key) > 0 {
		return // which file has the entries cannot be told
	}
	dir := t.TempDir()
	want := fill(t, b, dir, o)
	for _, path := range data(t, dir) {
		whole := must(os.ReadFile(path))(t)
		for i := 1; i < 8; i++ {
			at := bytes.LastIndex(whole, []byte("value of")) * i / 8
			bad := bytes.Clone(whole)
			bad[at] ^= 1
			ok(t, os.WriteFile(path, bad, 0o600))
			if rep, err := b.Verify(t.Context(), log(), dir, o); !errors.Is(err, store.ErrDamaged) || len(rep.Damage) == 0 {
				t.Errorf("byte %d of %s: Verify = %+v, %v; want ErrDamaged", at, filepath.Base(path), rep, err)
			}
			r := salvage(t, b, dir, o)
			if len(r.Items) < len(want)/2 || len(r.Lost) == 0 || r.Whole && !same(r.Items, want) {
				t.Errorf("byte %d of %s: %d of %d entries can be read, whole: %v", at, filepath.Base(path), len(r.Items), len(want), r.Whole)
			}
		}
		ok(t, os.WriteFile(path, whole, 0o600))
	}
	has(t, b, dir, o, want)
}

func truncated(t *testing.T, b store.Backend, o store.Options) {
	if len(o.Key) > 0 {
		return
	}
	dir := t.TempDir()
	fill(t, b, dir, o)
	for _, path := range data(t, dir) {
		whole := must(os.ReadFile(path))(t)
		ok(t, os.WriteFile(path, whole[:bytes.LastIndex(whole, []byte("value of"))], 0o600))
		if _, err := b.Verify(t.Context(), log(), dir, o); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s cut: Verify = %v, want ErrDamaged", filepath.Base(path), err)
		}
		ok(t, os.WriteFile(path, whole, 0o600))
	}
}

// RunMove tests that a store can be moved from one backend to another and back, by what
// can be salvaged of it and by a backup, with everything that was in it.
func RunMove(t *testing.T, from, to store.Backend) {
	for name, o := range map[string]store.Options{"plain": BackendOptions(), "with a key": withKey()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dirs := t.TempDir()
			at := func(name string) string { return filepath.Join(dirs, name) }
			want := fill(t, from, at("from"), o)
			r := salvage(t, from, at("from"), o)
			ok(t, to.Create(t.Context(), log(), at("to"), o, r.Items, r.Number))
			has(t, to, at("to"), o, want)
			r = salvage(t, to, at("to"), o)
			ok(t, from.Create(t.Context(), log(), at("back"), o, r.Items, r.Number))
			has(t, from, at("back"), o, want)
			must(to.Restore(t.Context(), log(), bytes.NewReader(backedUp(t, from, at("from"), o)), at("restored"), o))(t)
			has(t, to, at("restored"), o, want)
			if _, err := to.Open(log(), at("from"), o); !errors.Is(err, store.ErrOtherBackend) {
				t.Errorf("%s opens what %s made: %v", to.Name(), from.Name(), err)
			}
		})
	}
}
