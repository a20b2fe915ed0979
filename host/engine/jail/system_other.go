//go:build !unix

package jail

import (
	"errors"
	"io/fs"
	"os"
)

// openFlags are added to every open. Systems without FIFOs in the file tree need none.
const openFlags = 0

// hardLinks returns 1: the number of names is not known here.
func hardLinks(fs.FileInfo) uint64 { return 1 }

// isNotDir reports errors of opening a file as a directory.
func isNotDir(err error) bool { return err != nil && !errors.Is(err, fs.ErrPermission) }

// cannotSwap reports errors of making a file in a directory that do not speak against writing to one in it.
func cannotSwap(err error) bool { return errors.Is(err, fs.ErrPermission) }

// rename moves a name within one directory; between two it is refused, because there is no call here
// that takes two open directories.
func rename(a, b *location) error {
	if x, err := a.dir.Stat("."); err != nil {
		return err
	} else if y, err := b.dir.Stat("."); err != nil || !os.SameFile(x, y) {
		return ErrCrossRoot
	}
	return a.dir.Rename(a.name, b.name)
}
