//go:build unix

package badgerstore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeBytes is the free space of the file system that dir is on. The error is EROFS
// where nothing can be written, however much is free.
func freeBytes(dir string) (int64, error) {
	if err := unix.Access(dir, unix.W_OK); errors.Is(err, unix.EROFS) {
		return 0, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
