package jail

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Flags of OpenFile beside those of package os.
const (
	// Directory refuses anything but a directory.
	Directory = 1 << 29
	// NoFollow refuses a symbolic link in the last place.
	NoFollow = 1 << 30
)

const access = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

// OpenFile opens a regular file or, for reading, a directory. flag is made of os.O_RDONLY, O_WRONLY,
// O_RDWR, O_APPEND, O_CREATE, O_EXCL, O_TRUNC, and Directory and NoFollow; others are ignored. perm's
// permission bits are used for a file that is created, less the process's umask.
//
// Errors are *fs.PathError around ErrName, ErrEscape, ErrNotRegular, ErrReadOnly, ErrLinked, ErrIsDir,
// ErrNotDir, ErrChanging, *QuotaError, fs.ErrNotExist, fs.ErrExist, the guard's error or the system's.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	var out *File
	decided := f.decided()
	follow := flag&NoFollow == 0 && flag&(os.O_CREATE|os.O_EXCL) != os.O_CREATE|os.O_EXCL
	err := f.at("open", name, follow, openOps(flag), func(p *location) (err error) {
		out, err = f.open(p, flag, perm, needsDir(name), decided)
		return err
	})
	return out, err
}

// openOps lists what the guard is asked for an open before it is known whether the file exists.
func openOps(flag int) []Op {
	var ops []Op
	if flag&access != os.O_WRONLY {
		ops = append(ops, Read)
	}
	if flag&Directory != 0 {
		ops = []Op{List}
	}
	if flag&access != os.O_RDONLY || flag&os.O_TRUNC != 0 {
		ops = append(ops, Write)
	}
	if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
		ops = append(ops, Create)
	}
	return ops
}

// open opens or creates what is at a place.
func (f *FS) open(p *location, flag int, perm fs.FileMode, wantDir bool, decided uint64) (*File, error) {
	if err := f.takeHandle(); err != nil {
		return nil, err
	}
	h, err := f.openLocation(p, flag, perm, wantDir)
	if err != nil {
		f.giveHandle()
		return nil, err
	}
	return f.adopt(h, p, flag, decided)
}

// openLocation returns the system's file for a place.
func (f *FS) openLocation(p *location, flag int, perm fs.FileMode, wantDir bool) (*os.File, error) {
	if p.info == nil {
		return f.create(p, flag, perm, wantDir)
	}
	if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
		return nil, fs.ErrExist
	}
	if err := openable(p.info, flag); err != nil {
		return nil, err
	}
	if p.info.IsDir() {
		if err := f.ask(p.guest, []Op{List}); err != nil {
			return nil, err
		}
	}
	h, err := p.dir.OpenFile(p.name, flag&(access|os.O_APPEND)|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	if err := settle(h, p.info, flag); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// openable refuses kinds that cannot be opened with the flags.
func openable(info fs.FileInfo, flag int) error {
	writes := flag&access != os.O_RDONLY || flag&os.O_TRUNC != 0
	switch {
	case info.IsDir() && (writes || flag&os.O_CREATE != 0):
		return ErrIsDir
	case info.IsDir():
		return nil
	case flag&Directory != 0:
		return ErrNotDir
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case writes && hardLinks(info) > 1:
		return ErrLinked
	}
	return nil
}

// settle makes sure that the file is the one that was looked at, and then empties it if that was asked.
func settle(h *os.File, want fs.FileInfo, flag int) error {
	got, err := h.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(want, got) {
		return errChanged
	}
	if err := openable(got, flag); err != nil {
		return err
	}
	if flag&os.O_TRUNC != 0 && got.Size() > 0 {
		return h.Truncate(0)
	}
	return nil
}

// create makes a regular file. It never follows a link that appeared in the meantime.
func (f *FS) create(p *location, flag int, perm fs.FileMode, wantDir bool) (*os.File, error) {
	if flag&os.O_CREATE == 0 {
		return nil, fs.ErrNotExist
	}
	if wantDir || flag&Directory != 0 {
		return nil, ErrIsDir
	}
	if err := f.ask(p.guest, []Op{Create}); err != nil {
		return nil, err
	}
	if err := f.takeFile(); err != nil {
		return nil, err
	}
	h, err := p.dir.OpenFile(p.name, flag&(access|os.O_APPEND)|os.O_CREATE|os.O_EXCL|openFlags, perm.Perm())
	if err == nil {
		return h, nil
	}
	f.giveFile()
	if errors.Is(err, fs.ErrExist) && flag&os.O_EXCL == 0 {
		return nil, errChanged
	}
	return nil, err
}

// ReadFile returns a regular file's contents. A file larger than max bytes is a *QuotaError ("file
// size"); max of 0 or less stands for Quota.FileBytes.
func (f *FS) ReadFile(name string, max int64) ([]byte, error) {
	h, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	max = orDefault(max, f.quota.FileBytes)
	b, err := io.ReadAll(io.LimitReader(h, max+1))
	if err == nil && int64(len(b)) > max {
		err = &QuotaError{What: "file size", Limit: max}
	}
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return b, nil
}

// WriteFile makes data the contents of a regular file, whole or not at all: it is written beside the
// file under a name of its own and then renamed over it, so that a reader, or a crash of this process,
// never sees half of it. An existing file keeps its permission bits and loses its other hard links;
// perm is for a file that is created. Nothing is synced to the disk. Where the directory cannot be
// written but the file can, the file is overwritten in place. Errors are those of OpenFile.
func (f *FS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return f.at("write", name, true, []Op{Write}, func(p *location) error {
		if p.name == "." || p.info == nil && needsDir(name) {
			return ErrIsDir
		}
		if err := replaceable(p.info); err != nil {
			return err
		}
		if p.info == nil {
			if err := f.ask(p.guest, []Op{Create}); err != nil {
				return err
			}
		}
		return f.replace(p, data, perm)
	})
}

// replaceable refuses to replace anything but a regular file.
func replaceable(info fs.FileInfo) error {
	switch {
	case info == nil || info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return ErrIsDir
	}
	return ErrNotRegular
}

// replace counts and writes data to a place.
func (f *FS) replace(p *location, data []byte, perm fs.FileMode) error {
	n := int64(len(data))
	if n > f.quota.FileBytes {
		return &QuotaError{What: "file size", Limit: f.quota.FileBytes}
	}
	if err := f.takeBytes(n); err != nil {
		return err
	}
	if p.info == nil {
		if err := f.takeFile(); err != nil {
			f.giveBytes(n)
			return err
		}
	}
	err := swap(p, data, perm)
	if p.info != nil && cannotSwap(err) {
		err = overwrite(p, data)
	}
	if err != nil {
		f.giveBytes(n)
		if p.info == nil {
			f.giveFile()
		}
	}
	return err
}

// swap writes data to a new file and renames it to where it belongs.
func swap(p *location, data []byte, perm fs.FileMode) error {
	tmp := ".skillet-" + rand.Text()
	h, err := p.dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return err
	}
	_, err = h.Write(data)
	if err == nil && p.info != nil {
		err = h.Chmod(p.info.Mode().Perm())
	}
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = p.dir.Rename(tmp, p.name)
	}
	if err != nil {
		p.dir.Remove(tmp)
	}
	return err
}

// overwrite writes data into the file that is there.
func overwrite(p *location, data []byte) error {
	h, err := p.dir.OpenFile(p.name, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return err
	}
	err = settle(h, p.info, os.O_WRONLY|os.O_TRUNC)
	if err == nil {
		_, err = h.Write(data)
	}
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReadDir returns the entries of a directory sorted by name, at most max of them and as many as the
// entry quota leaves; more says whether there are others. max of 0 or less stands for Quota.Entries.
// The entries' Info is that of the entry itself, links not followed, and was read with the name.
func (f *FS) ReadDir(name string, max int) (entries []fs.DirEntry, more bool, err error) {
	h, err := f.OpenFile(name, os.O_RDONLY|Directory, 0)
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	return h.sorted(max)
}

// Stat returns what a path stands for, links followed.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.stat("stat", name, true) }

// Lstat is Stat without following a link in the last place.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.stat("lstat", name, needsDir(name)) }

func (f *FS) stat(op, name string, follow bool) (fs.FileInfo, error) {
	var out fs.FileInfo
	err := f.at(op, name, follow, []Op{Stat}, func(p *location) error {
		if p.info == nil {
			return fs.ErrNotExist
		}
		out = named{p.info, path.Base(p.guest)}
		return nil
	})
	return out, err
}

// named is a FileInfo under the name the guest knows.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// Readlink returns the target of a symbolic link as it is stored.
func (f *FS) Readlink(name string) (string, error) {
	var out string
	err := f.at("readlink", name, false, []Op{Stat}, func(p *location) (err error) {
		switch {
		case p.info == nil:
			return fs.ErrNotExist
		case p.info.Mode().Type() != fs.ModeSymlink:
			return fs.ErrInvalid
		}
		out, err = p.dir.Readlink(p.name)
		return err
	})
	return out, err
}

// Mkdir makes a directory whose parent exists.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.at("mkdir", name, false, []Op{Create}, func(p *location) error {
		if p.info != nil {
			return fs.ErrExist
		}
		if err := f.takeFile(); err != nil {
			return err
		}
		err := p.dir.Mkdir(p.name, perm.Perm())
		if err != nil {
			f.giveFile()
		}
		return err
	})
}

// Remove removes a file, an empty directory, or a link itself. A root cannot be removed.
func (f *FS) Remove(name string) error {
	return f.at("remove", name, false, []Op{Remove}, func(p *location) error {
		switch {
		case p.info == nil:
			return fs.ErrNotExist
		case p.name == ".":
			return fs.ErrPermission
		}
		return p.dir.Remove(p.name)
	})
}

// Truncate sets the size of a regular file.
func (f *FS) Truncate(name string, size int64) error {
	h, err := f.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer h.Close()
	return h.Truncate(size)
}

// Chtimes sets the times of a regular file or directory. A zero time is left as it is.
func (f *FS) Chtimes(name string, atime, mtime time.Time) error {
	return f.at("chtimes", name, true, []Op{Write}, func(p *location) error {
		if p.info == nil {
			return fs.ErrNotExist
		}
		if !p.info.IsDir() && !p.info.Mode().IsRegular() {
			return ErrNotRegular
		}
		return p.dir.Chtimes(p.name, atime, mtime)
	})
}
