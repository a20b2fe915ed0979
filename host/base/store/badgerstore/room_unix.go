//go:build unix

package badgerstore

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// spareFiles is how many files Badger has open beside those of the database, while it
// opens: its directory, lists of it, and what it makes.
const spareFiles = 16

// roomForFiles makes sure that Badger can open the files of the database in dir: where it
// may not list a directory it ends the process. The error is that of the system.
func roomForFiles(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	first, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer first.Close()
	for range len(files) + spareFiles {
		fd, err := unix.FcntlInt(first.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %d files of the store: %w", len(files)+spareFiles, err)
		}
		defer unix.Close(fd)
	}
	return nil
}
