package badgerstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/skillet-run/skillet/host/base/store"
)

// diskSize and diskReserve are the disk of the tests that fill one.
const (
	diskSize    = 128 << 20
	diskReserve = 72 << 20
)

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// fillDisk writes until the store refuses, and checks that it still reads.
func fillDisk(dir string) error {
	s, err := Open(nil, dir, Options{FreeBytes: diskReserve})
	if err != nil {
		return err
	}
	n := 0
	for ; err == nil; n++ {
		_, err = s.KV().Put(context.Background(), fmt.Sprint(n), noise(256<<10), store.MustNotExist)
	}
	if !errors.Is(err, store.ErrReadOnly) {
		return err
	}
	for i := range n - 1 {
		if _, err := s.KV().Get(context.Background(), fmt.Sprint(i)); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Println("refused after", n, "and all is there")
	return nil
}

// fillDiskAndClose writes, has something else take all files that the disk can have, and
// closes. Then there is room again.
func fillDiskAndClose(dir string) error {
	s, err := Open(nil, dir, Options{FreeBytes: -1})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := s.KV().Put(ctx, "k", []byte("v"), store.MustNotExist); err != nil {
		return err
	}
	var taken []string
	for err == nil {
		var f *os.File
		if f, err = os.CreateTemp(filepath.Dir(dir), "taken"); err == nil {
			taken = append(taken, f.Name())
			err = f.Close()
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	for _, name := range taken {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if s, err = Open(nil, dir, Options{FreeBytes: -1}); err != nil {
		return err
	}
	if _, err := s.KV().Get(ctx, "k"); err != nil {
		return err
	}
	fmt.Println("closed, and all is there")
	return s.Close()
}

// plainFillDisk writes to Badger as it comes until that refuses.
func plainFillDisk(dir string) error {
	db, err := badger.Open(plainOptions(dir))
	if err != nil {
		return err
	}
	for i := 0; err == nil; i++ {
		err = db.Update(func(txn *badger.Txn) error { return txn.Set(plainKey(i), noise(256<<10)) })
	}
	fmt.Println("refused:", err)
	return nil
}

// disk is one whose free space a test sets.
type disk struct{ free int64 }

func (d *disk) hooks() hooks {
	return hooks{free: func(string) (int64, error) { return d.free, nil }}
}

// watched are options with a watch of the free space.
func watched() Options {
	o := testOptions()
	o.FreeBytes = 100
	return o
}

func TestLittleSpaceMakesReadOnly(t *testing.T) {
	t.Parallel()
	disk, dir := &disk{free: 1000}, t.TempDir()
	s := mustOpen(t, dir, watched(), disk.hooks())
	fill(t, s, 0, 1)
	disk.free = 99
	_, err := s.KV().Put(t.Context(), "a", nil, store.AnyRevision)
	if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("Put = %v, want ErrReadOnly and what to do", err)
	}
	if _, err := s.KV().Get(t.Context(), "key/00000"); err != nil {
		t.Errorf("Get = %v", err)
	}
	disk.free = 100
	fill(t, s, 1, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenedWithLittleSpace(t *testing.T) {
	t.Parallel()
	disk, dir := &disk{free: 1000}, t.TempDir()
	want := populate(t, dir, testOptions(), 1)
	disk.free = 0
	for name, open := range map[string]func() *Store{
		"exclusive": func() *Store { return mustOpen(t, dir, watched(), disk.hooks()) },
		"shared":    func() *Store { return mustShare(t, dir, watched(), disk.hooks()) },
	} {
		s := open()
		if got, err := dump(t, s); err != nil || len(got) != len(want) {
			t.Errorf("%s: %d entries, %v", name, len(got), err)
		}
		if _, err := s.KV().Put(t.Context(), "a", nil, store.AnyRevision); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: Put = %v, want ErrReadOnly", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close = %v", name, err)
		}
	}
	if _, err := disk.hooks().storeDir(testLog(t), t.TempDir(), watched()).open(); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Open of a new store = %v, want ErrReadOnly", err)
	}
	disk.free = 1000
	s := mustOpen(t, dir, watched(), disk.hooks())
	fill(t, s, 500, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestExclusiveStoreOpenedWithLittleSpaceStaysReadOnly(t *testing.T) {
	t.Parallel()
	disk, dir := &disk{free: 1000}, t.TempDir()
	populate(t, dir, testOptions(), 1)
	disk.free = 0
	s := mustOpen(t, dir, watched(), disk.hooks())
	defer s.Close()
	disk.free = 1000
	if _, err := s.KV().Put(t.Context(), "a", nil, store.AnyRevision); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "open it again") {
		t.Errorf("Put = %v, want ErrReadOnly and what to do", err)
	}
}
