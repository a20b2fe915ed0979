//go:build unix

package openfile_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/skillet-run/skillet/internal/openfile"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipeThatNobodyWritesTo: opening ends with the context.
func TestPipeThatNobodyWritesTo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	path := pipe(t)
	go func() {
		_, err := openfile.Open(ctx, path)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), path) {
		t.Errorf("opening a pipe that nobody writes to: %v, want the end of the context and the path", err)
	}
}

// TestPipeThatIsHeldOpen: reading ends with the context as well, when a writer says nothing.
func TestPipeThatIsHeldOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	path := pipe(t)
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f, err := openfile.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	io.WriteString(w, "begins")
	b := make([]byte, 6)
	if _, err := io.ReadFull(f, b); err != nil || string(b) != "begins" {
		t.Fatalf("read %q, %v", b, err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, f); !errors.Is(err, context.Canceled) {
		t.Errorf("reading went on to %v, want the end of the context", err)
	}
}

func TestPipeWithAWriter(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	go os.WriteFile(path, []byte("all of it"), 0)
	if b, err := openfile.Read(t.Context(), path, 9); err != nil || string(b) != "all of it" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]error{3: openfile.ErrTooLarge, 4: nil} {
		if _, err := openfile.Read(t.Context(), path, limit); !errors.Is(err, want) {
			t.Errorf("read 4 bytes of at most %d: %v, want %v", limit, err, want)
		}
		if _, err := openfile.ReadRegular(path, limit); !errors.Is(err, want) {
			t.Errorf("read 4 bytes of at most %d: %v, want %v", limit, err, want)
		}
	}
	for _, path := range []string{pipe(t), t.TempDir(), os.DevNull} {
		if _, err := openfile.ReadRegular(path, 4); !errors.Is(err, openfile.ErrNotRegular) {
			t.Errorf("read %s: %v, want that it is not a regular file", path, err)
		}
	}
}
