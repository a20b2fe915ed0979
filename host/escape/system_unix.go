//go:build unix

package escape

import "golang.org/x/sys/unix"

// makeFIFO makes a FIFO.
func makeFIFO(path string) error { return unix.Mkfifo(path, 0o600) }

// limitMemory bounds what this process may write to, as far as the system
// counts that.
func limitMemory(bytes uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return err
	}
	if uint64(now.Max) < bytes {
		return nil // it is bounded already
	}
	now.Cur = bytes
	return unix.Setrlimit(unix.RLIMIT_DATA, &now)
}
