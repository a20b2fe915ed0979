// Package filelock locks files across processes, with a bounded wait, a
// context, and an error that says who holds the lock.
//
// The locks are advisory and belong to the open file, so two locks of one
// process exclude each other too, and the system frees a lock when its
// process dies. The package refuses to know what the lock protects.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrHeld means that another holder did not release the lock in time.
var ErrHeld = errors.New("lock is held by another")

// ErrLink means that the lock file is a link to another, which is not opened.
var ErrLink = errors.New("not a lock file")

// HeldError says which lock was not to be had. errors.Is finds [ErrHeld] in
// it, and the context's error when the context ended the wait.
type HeldError struct {
	Path   string        // the lock file
	PID    int           // the process that holds it, as far as known; 0 when unknown
	Waited time.Duration // how long it was waited for
	Cause  error         // the context's error; nil when the wait ran out
}

// Error says who holds the lock and how long it was waited for.
func (e *HeldError) Error() string {
	holder := "another process"
	switch e.PID {
	case 0:
	case os.Getpid():
		holder = "this process"
	default:
		holder = "process " + strconv.Itoa(e.PID)
	}
	msg := fmt.Sprintf("lock %s: waited %v for %s, which holds it", e.Path, e.Waited.Round(time.Millisecond), holder)
	if e.Cause != nil {
		msg += ": " + e.Cause.Error()
	}
	return msg
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// Unwrap returns the context's error, if that ended the wait.
func (e *HeldError) Unwrap() error { return e.Cause }

// Lock is a lock that is held.
type Lock struct{ file *os.File }

// The pauses between two attempts grow from the first to the second.
const (
	shortPause = time.Millisecond
	longPause  = 10 * time.Millisecond
)

// Acquire takes the exclusive lock on the file at path, which is made when it
// does not exist and stays afterwards. It waits up to wait for it; zero means
// one attempt, less than zero as long as ctx lives. The error is a
// [*HeldError] when the lock was not to be had.
func Acquire(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	return lock(ctx, path, wait, true)
}

// AcquireShared is [Acquire] for a lock that several holders share, and that
// no exclusive one has at the same time.
func AcquireShared(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	return lock(ctx, path, wait, false)
}

func lock(ctx context.Context, path string, wait time.Duration, exclusive bool) (*Lock, error) {
	for begin := time.Now(); ; {
		f, err := open(path)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		left := wait
		if wait > 0 {
			left = max(0, wait-time.Since(begin))
		}
		if err := acquire(ctx, f, left, exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if current(f, path) {
			writePID(f)
			return &Lock{file: f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// open opens a lock file. A link is refused: what it leads to would be written over.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if errors.Is(err, syscall.EROFS) { // who only reads there has to keep others away as well
		f, err = os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	}
	if err == nil {
		return f, nil
	}
	if st, failed := os.Lstat(path); failed == nil && st.Mode().Type() == os.ModeSymlink {
		return nil, fmt.Errorf("%w: it is a symbolic link: delete it", ErrLink)
	}
	return nil, err
}

// current reports whether the file that is locked is still the one at path: while it
// was waited for, its directory may have been replaced.
func current(f *os.File, path string) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, there)
}

func acquire(ctx context.Context, f *os.File, wait time.Duration, exclusive bool) error {
	begin, pause := time.Now(), shortPause
	for {
		ok, err := tryLock(f, exclusive)
		if err != nil {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if ok {
			return nil
		}
		waited := time.Since(begin)
		if wait >= 0 && waited >= wait {
			return &HeldError{Path: f.Name(), PID: readPID(f), Waited: waited}
		}
		select {
		case <-ctx.Done():
			return &HeldError{Path: f.Name(), PID: readPID(f), Waited: time.Since(begin), Cause: ctx.Err()}
		case <-time.After(pause):
			pause = min(pause*2, longPause)
		}
	}
}

// writePID leaves a note for [HeldError]. It is a courtesy: the lock holds
// without it, so an error is ignored.
func writePID(f *os.File) {
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), 0)
}

func readPID(f *os.File) int {
	var b [20]byte
	n, _ := f.ReadAt(b[:], 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Release frees the lock. The file stays: removing it would let two holders
// in, one on the old file and one on the next.
func (l *Lock) Release() error {
	// Closing alone would do, but for a process that is just being started, which has what
	// is open in this one for a moment.
	if err := errors.Join(unlock(l.file), l.file.Close()); err != nil {
		return fmt.Errorf("unlock %s: %w", l.file.Name(), err)
	}
	return nil
}
