package wasi

import (
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
)

// jailFile is a file or directory of a jail.
type jailFile struct {
	jail *Jail
	file *jail.File
	flag int
}

// IsDir reports whether it is a directory.
func (f *jailFile) IsDir() bool { return f.file.IsDir() }

// Stat describes it.
func (f *jailFile) Stat() (Stat, Errno) {
	if err := f.file.Allowed(); err != nil {
		return Stat{}, f.jail.errno(err)
	}
	info, err := f.file.Stat()
	if err != nil {
		return Stat{}, f.jail.errno(err)
	}
	return statOf(info), Success
}

// ReadAt reads from an offset.
func (f *jailFile) ReadAt(b []byte, off int64) (int, Errno) {
	if err := f.file.Allowed(); err != nil {
		return 0, f.jail.errno(err)
	}
	n, err := f.file.ReadAt(b, off)
	return n, f.jail.errno(err)
}

// WriteAt writes at an offset.
func (f *jailFile) WriteAt(b []byte, off int64) (int, Errno) {
	if err := f.file.Allowed(); err != nil {
		return 0, f.jail.errno(err)
	}
	n := int64(len(b))
	if off > math.MaxInt64-n {
		return 0, EFBIG
	}
	if errno := f.jail.mayWrite(n, off+n); errno != Success {
		return 0, errno
	}
	done, err := f.file.WriteAt(b, off)
	return done, f.jail.errno(err)
}

// Append writes at the end.
func (f *jailFile) Append(b []byte) (n int, end int64, errno Errno) {
	if err := f.file.Allowed(); err != nil {
		return 0, 0, f.jail.errno(err)
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, 0, f.jail.errno(err)
	}
	size := int64(len(b))
	if errno := f.jail.mayWrite(size, info.Size()+size); errno != Success {
		return 0, info.Size(), errno
	}
	n, err = f.file.Write(b)
	if errno := f.jail.errno(err); errno != Success {
		return n, info.Size() + int64(n), errno
	}
	end, err = f.file.Seek(0, io.SeekCurrent)
	return n, end, f.jail.errno(err)
}

// SetAppend opens the file again, since no system changes it in place. It must
// still be there under its path.
func (f *jailFile) SetAppend(on bool) Errno {
	flag := f.flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	if on {
		flag |= os.O_APPEND
	}
	next, err := f.jail.fs.OpenFile(f.file.Path(), flag|jail.NoFollow, 0)
	if err != nil {
		return f.jail.errno(err)
	}
	if errno := f.same(next); errno != Success {
		next.Close()
		return errno
	}
	f.file.Close()
	f.file, f.flag = next, flag
	return Success
}

// same reports by ENOENT that another file has taken the place of this one.
func (f *jailFile) same(next *jail.File) Errno {
	a, err := f.file.Stat()
	if err != nil {
		return f.jail.errno(err)
	}
	b, err := next.Stat()
	if err != nil {
		return f.jail.errno(err)
	}
	if x, y := statOf(a), statOf(b); x.Ino != y.Ino || x.Dev != y.Dev {
		return ENOENT
	}
	return Success
}

// Truncate sets the size.
func (f *jailFile) Truncate(size int64) Errno {
	if err := f.file.Allowed(); err != nil {
		return f.jail.errno(err)
	}
	info, err := f.file.Stat()
	if err != nil {
		return f.jail.errno(err)
	}
	if errno := f.jail.mayWrite(max(0, size-info.Size()), size); errno != Success {
		return errno
	}
	return f.jail.errno(f.file.Truncate(size))
}

// SetTimes sets times, by the path the file was opened under.
func (f *jailFile) SetTimes(accessed, modified time.Time) Errno {
	return f.jail.SetTimes(f.file.Path(), accessed, modified)
}

// Sync writes to the disk what the system holds back.
func (f *jailFile) Sync() Errno { return f.jail.errno(f.file.Sync()) }

// ReadDir returns the next entries.
func (f *jailFile) ReadDir(n int) ([]Dirent, Errno) {
	if err := f.file.Allowed(); err != nil {
		return nil, f.jail.errno(err)
	}
	entries, err := f.file.ReadDir(n)
	listed := f.jail.fs.Usage().Entries - f.jail.before.Entries
	if errno := f.jail.above("directory entries", int64(listed), int64(f.jail.quota.Entries)); errno != Success {
		return nil, errno
	}
	out := make([]Dirent, 0, len(entries))
	for _, e := range entries {
		d := Dirent{Name: e.Name(), Type: filetypeOf(e.Type())}
		if info, err := e.Info(); err == nil { // read with the name
			d.Ino = statOf(info).Ino
		}
		out = append(out, d)
	}
	return out, f.jail.errno(err)
}

// Rewind goes back to the first entry.
func (f *jailFile) Rewind() Errno {
	_, err := f.file.Seek(0, io.SeekStart)
	return f.jail.errno(err)
}

// Close closes it.
func (f *jailFile) Close() Errno {
	f.jail.open--
	return f.jail.errno(f.file.Close())
}

// filetypeOf is a mode of Go as a type of file.
func filetypeOf(m fs.FileMode) Filetype {
	switch m.Type() {
	case 0:
		return RegularFile
	case fs.ModeDir:
		return DirectoryFile
	case fs.ModeSymlink:
		return SymbolicLink
	case fs.ModeDevice:
		return BlockDevice
	case fs.ModeDevice | fs.ModeCharDevice:
		return CharacterDevice
	}
	return UnknownFile
}

// portable is what a FileInfo tells on every system.
func portable(info fs.FileInfo) Stat {
	at := info.ModTime().UnixNano()
	return Stat{Type: filetypeOf(info.Mode()), Nlink: 1, Size: uint64(info.Size()), Atime: at, Mtime: at, Ctime: at}
}
