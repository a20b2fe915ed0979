//go:build unix

package jail

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags are added to every open: O_NONBLOCK, so that a FIFO that took a file's place cannot block.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// hardLinks returns the number of names a file has.
func hardLinks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// isNotDir reports the system's "not a directory".
func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// cannotSwap reports errors of making a file in a directory that do not speak against writing to one in it.
func cannotSwap(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) ||
		errors.Is(err, unix.EBUSY)
}

// rename moves a name between two open directories, so that neither path is looked up again.
func rename(a, b *location) error {
	from, err := a.dir.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := b.dir.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	return unix.Renameat(int(from.Fd()), a.name, int(to.Fd()), b.name)
}
