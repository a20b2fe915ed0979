//go:build unix

package codecache

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canLock says whether TryLock means anything.
const canLock = true

// ownedByMe reports whether the process's user owns a file.
func ownedByMe(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// TryLock takes an exclusive lock that goes with the file, or reports false.
func TryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
