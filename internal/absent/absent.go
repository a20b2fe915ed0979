// Package absent tells a file that does not exist from an entry that leads
// nowhere, such as a link to a share that is not mounted: opening either fails with
// [fs.ErrNotExist]. A caller for whom a missing file means that nothing is forbidden
// must not take the second for the first.
package absent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Is reports whether err, of opening or looking at path, says that there is nothing:
// neither at path nor, if a directory above it is missing, there. It is false when
// path or a directory above it is a link that leads nowhere.
func Is(err error, path string) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		above := filepath.Dir(path)
		if _, err := os.Stat(above); err == nil || above == path {
			return true
		}
		path = above
	}
}
