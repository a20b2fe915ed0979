package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies behind the note with the process number: on Windows a
// locked range cannot be read by others.
const lockedByte = 1 << 20

// noFollow is nothing here: links take rights that few have.
const noFollow = 0

// tryLock takes the lock if it is free.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{Offset: lockedByte}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}
