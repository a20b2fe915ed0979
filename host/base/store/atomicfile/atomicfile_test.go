package atomicfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// A reader finds one of the contents that were written, never a mixture, and
// nothing else stays in the directory.
func TestReadersFindWholeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000), nil}
	var writers sync.WaitGroup
	for _, c := range contents {
		writers.Go(func() {
			for range 20 {
				if err := atomicfile.Write(path, c); err != nil {
					t.Error(err)
				}
				b, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(b, contents[0]) && !bytes.Equal(b, contents[1]) && !bytes.Equal(b, contents[2]) {
					t.Errorf("%d bytes of no content, %v", len(b), err)
				}
			}
		})
	}
	writers.Wait()
	only(t, dir, 0o600)
}

func only(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != mode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := atomicfile.Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(path, []byte("second")); !errors.Is(err, os.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	only(t, dir, 0o600)
}

func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(taken, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "no", "file"), nil); err == nil {
		t.Error("written into a directory that is not there")
	}
	only(t, dir, 0o700)
}
