package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecondHolderWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := Acquire(t.Context(), path, -1)
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("second Acquire returned %v while the lock was held", err)
	case <-time.After(30 * time.Millisecond):
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestHeldErrorNamesHolderAndWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	_, err = Acquire(t.Context(), path, 20*time.Millisecond)
	var held *HeldError
	if !errors.As(err, &held) || !errors.Is(err, ErrHeld) {
		t.Fatalf("error %v is no HeldError", err)
	}
	if held.PID != os.Getpid() || held.Waited < 20*time.Millisecond || held.Path != path {
		t.Errorf("held = %+v", held)
	}
	if !strings.Contains(err.Error(), "this process") {
		t.Errorf("message %q does not name the holder", err)
	}
}

func TestContextEndsTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = Acquire(ctx, path, -1)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrHeld) {
		t.Errorf("Acquire = %v, want the deadline and ErrHeld", err)
	}
}

func TestMissingDirectory(t *testing.T) {
	_, err := Acquire(t.Context(), filepath.Join(t.TempDir(), "no", "LOCK"), 0)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Acquire = %v, want not exist", err)
	}
}

func TestSharedHoldersExcludeOnlyExclusiveOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	var shared []*Lock
	for range 2 {
		l, err := AcquireShared(t.Context(), path, 0)
		if err != nil {
			t.Fatal(err)
		}
		shared = append(shared, l)
	}
	if _, err := Acquire(t.Context(), path, 0); !errors.Is(err, ErrHeld) {
		t.Errorf("Acquire beside shared holders = %v, want ErrHeld", err)
	}
	for _, l := range shared {
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	exclusive, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer exclusive.Release()
	if _, err := AcquireShared(t.Context(), path, 0); !errors.Is(err, ErrHeld) {
		t.Errorf("AcquireShared beside an exclusive holder = %v, want ErrHeld", err)
	}
}

// What a link leads to is not written over, and a lock on a file that was replaced is
// not one on its successor.
func TestLinksAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "LOCK"), filepath.Join(dir, "target")
	if err := errors.Join(os.WriteFile(target, []byte("content"), 0o600), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(t.Context(), path, 0); !errors.Is(err, ErrLink) {
		t.Errorf("Acquire through a link = %v", err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "content" {
		t.Errorf("the target has %q, %v", b, err)
	}
}

func TestLockOfAReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *Lock, 1)
	go func() {
		l, err := Acquire(t.Context(), path, -1)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	if err := errors.Join(os.Rename(path, path+".aside"), first.Release()); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if _, err := Acquire(t.Context(), path, 0); !errors.Is(err, ErrHeld) {
		t.Errorf("two have the lock of the new file: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}
