package jail

import (
	"errors"
	"io/fs"
	"path"
)

// Rename moves a regular file or a directory within one root, over a file or an empty directory that is
// there. Symbolic links are not moved, because a relative target means something else elsewhere. The
// guard is asked for the old and the new path of everything below a directory, which counts against the
// entry quota. Between roots it is ErrCrossRoot.
func (f *FS) Rename(from, to string) error {
	return f.at("rename", from, false, []Op{Rename}, func(a *location) error {
		if a.info == nil {
			return fs.ErrNotExist
		}
		if !a.info.IsDir() && !a.info.Mode().IsRegular() {
			return ErrNotRegular
		}
		b, err := f.locate(to, false, Rename)
		if err != nil {
			return err
		}
		defer b.close()
		return f.move(a, b, needsDir(to))
	})
}

// move renames one place to another.
func (f *FS) move(a, b *location, wantDir bool) error {
	switch {
	case f.find(a.guest) != f.find(b.guest):
		return ErrCrossRoot
	case a.name == "." || b.name == ".":
		return fs.ErrPermission
	case wantDir && !a.info.IsDir():
		return ErrNotDir
	case b.info != nil && !b.info.IsDir() && !b.info.Mode().IsRegular():
		return ErrNotRegular
	}
	if a.info.IsDir() {
		if err := f.askTree(a, b); err != nil {
			return err
		}
	}
	return rename(a, b)
}

// askTree asks the guard about everything that moves along with a directory.
func (f *FS) askTree(a, b *location) error {
	d, err := a.dir.OpenRoot(a.name + "/.")
	if err != nil {
		return errChanged
	}
	defer d.Close()
	return fs.WalkDir(d.FS(), ".", func(rel string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := f.takeEntries(1); err != nil {
			return err
		}
		return errors.Join(
			f.ask(path.Join(a.guest, rel), []Op{Rename}),
			f.ask(path.Join(b.guest, rel), []Op{Rename}))
	})
}
