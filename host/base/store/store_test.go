package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.RunBubble(t, func(*testing.T) store.Store { return store.Memory(storetest.Delivery()) })
}

// dirStore is a memory store with its blobs in a directory.
type dirStore struct {
	store.Store
	blobs store.Blobs
}

func (d dirStore) Blobs() store.Blobs { return d.blobs }

func TestDirBlobs(t *testing.T) {
	storetest.RunBlobs(t, func(t *testing.T) store.Store {
		b, err := store.DirBlobs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return dirStore{store.Memory(storetest.Delivery()), b}
	})
}

// oneDigest is the digest of "one".
const oneDigest = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"

func TestDirBlobsNoticesDamage(t *testing.T) {
	dir := t.TempDir()
	b, err := store.DirBlobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), oneDigest, []byte("one")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(oneDigest, "sha256:"))
	for _, content := range []string{"One", "on", "", "one "} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(t.Context(), oneDigest); !errors.Is(err, store.ErrDamaged) || got != nil {
			t.Errorf("content %q: Get = %q, %v; want ErrDamaged", content, got, err)
		}
	}
	if err := b.Put(t.Context(), oneDigest, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), oneDigest); err != nil || string(got) != "one" {
		t.Errorf("after it was put again: %q, %v", got, err)
	}
}

func TestDirBlobsIsAnImageLayout(t *testing.T) {
	dir := t.TempDir()
	if _, err := store.DirBlobs(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "oci-layout"))
	if err != nil || string(b) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Error(err)
	}
}

func TestDirBlobsSweepsOldParts(t *testing.T) {
	dir := t.TempDir()
	sha := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(sha, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{".part-1": 2 * time.Hour, ".part-2": 0} {
		path := filepath.Join(sha, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := store.DirBlobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(sha)
	if err != nil || len(left) != 1 || left[0].Name() != ".part-2" {
		t.Errorf("left: %v %v, want the young one", left, err)
	}
	if all, err := b.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("List = %v %v", all, err)
	}
}
