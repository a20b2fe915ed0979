//go:build unix && !linux

package worker

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/confine"
)

// boundResources bounds what a worker opens and writes, and closes what it has
// inherited and was not given.
func boundResources() error {
	for fd := firstOther; fd < 64; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			unix.Close(fd)
		}
	}
	return errors.Join(confine.Limit(unix.RLIMIT_CORE, 0), confine.Limit(unix.RLIMIT_NOFILE, 64), confine.Limit(unix.RLIMIT_FSIZE, 512<<20))
}

// boundWork bounds processor time and data. Where the system does not hold
// data to its bound it says so.
func boundWork(s setup) error {
	return errors.Join(confine.Limit(unix.RLIMIT_CPU, s.CPU), confine.Limit(unix.RLIMIT_DATA, s.Memory))
}
