//go:build unix

package badgerstore

import "golang.org/x/sys/unix"

// freeBytes is the free space of the file system that dir is on.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
