//go:build unix && !linux

package worker

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(*syscall.SysProcAttr) {}

// boundResources bounds what a worker opens and writes, and closes what it has
// inherited and was not given.
func boundResources() error {
	for fd := firstOther; fd < 64; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			unix.Close(fd)
		}
	}
	return errors.Join(limit(unix.RLIMIT_CORE, 0), limit(unix.RLIMIT_NOFILE, 64), limit(unix.RLIMIT_FSIZE, 512<<20))
}

// boundWork bounds processor time and data. Where the system does not hold
// data to its bound it says so.
func boundWork(s setup) error {
	return errors.Join(limit(unix.RLIMIT_CPU, s.CPU), limit(unix.RLIMIT_DATA, s.Memory))
}

func limit(what int, most uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(what, &l); err != nil {
		return err
	}
	lower(&l.Cur, most)
	lower(&l.Max, most)
	return unix.Setrlimit(what, &l)
}

// lower lowers a figure that is signed on some systems.
func lower[T int64 | uint64](v *T, most uint64) {
	if uint64(*v) > most {
		*v = T(most)
	}
}
