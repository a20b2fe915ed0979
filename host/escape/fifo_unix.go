//go:build unix

package escape

import "golang.org/x/sys/unix"

// makeFIFO makes a FIFO.
func makeFIFO(path string) error { return unix.Mkfifo(path, 0o600) }
