//go:build unix

package sandbox

import (
	"io/fs"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canLock says whether tryLock means anything.
const canLock = true

// ownedByMe reports whether the process's user owns a file.
func ownedByMe(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// tryLock takes an exclusive lock that goes with the file, or reports false.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// reserve returns size bytes of address space that cannot be used yet.
func reserve(size uint64) ([]byte, error) {
	if size > math.MaxInt {
		return nil, errNoRoom
	}
	return unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|reserveFlags)
}

// commit makes the start of a reservation usable; it reads as zero.
func commit(b []byte) error { return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE) }

// release gives a reservation back.
func release(b []byte) error { return unix.Munmap(b) }
