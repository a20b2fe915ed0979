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
