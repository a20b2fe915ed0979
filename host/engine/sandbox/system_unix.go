//go:build unix

package sandbox

import (
	"math"

	"golang.org/x/sys/unix"
)

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
