//go:build unix

package space

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/base/store"
)

// freeFiles is how many more files a file system has to take for writing: several times
// what a session makes.
const freeFiles = 64

// Free is the free space of the file system that dir is on. The error is EROFS
// where nothing can be written, and [store.ErrReadOnly] where hardly a file can be made,
// however much is free.
func Free(dir string) (int64, error) {
	if err := unix.Access(dir, unix.W_OK); errors.Is(err, unix.EROFS) {
		return 0, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	// Some file systems do not count files.
	if s.Files > 0 && s.Ffree < freeFiles {
		return 0, fmt.Errorf("it is %w: its disk takes %d more files, writing needs %d: delete some", store.ErrReadOnly, s.Ffree, freeFiles)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
