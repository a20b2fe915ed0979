package jail

import (
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
)

// File is an open file or directory of an FS. Its methods may be called from several goroutines; those
// that move the position take turns. What it allows was decided when it was opened: see [File.Allowed].
type File struct {
	fs          *FS
	h           *os.File
	guest, real string
	flag        int
	dir         bool
	decided     atomic.Uint64 // when the guard was last asked; of a RenewedGuard

	mu     sync.Mutex
	closed bool
}

// adopt makes a File of an open system file, for which the guard was asked at a time.
func (f *FS) adopt(h *os.File, p *location, flag int, decided uint64) (*File, error) {
	out := &File{fs: f, h: h, guest: p.guest, real: p.real, flag: flag}
	out.dir = p.info != nil && p.info.IsDir()
	out.decided.Store(decided)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		f.use.OpenFiles--
		h.Close()
		return nil, fs.ErrClosed
	}
	f.files[out] = struct{}{}
	return out, nil
}

// decided is when the guard is asked that is asked now; 0 for one whose answers stay the same.
func (f *FS) decided() uint64 {
	if g, ok := f.guard.(RenewedGuard); ok {
		return g.Decided()
	}
	return 0
}

// Allowed asks the guard again when its answer may have become another since the file was opened. Whoever keeps a
// file open asks it before each use.
func (f *File) Allowed() error {
	now := f.fs.decided()
	if now == f.decided.Load() {
		return nil
	}
	ops := []Op{List}
	if !f.dir {
		ops = openOps(f.flag &^ (os.O_CREATE | os.O_EXCL))
	}
	if err := f.fs.askBoth(f.guest, f.real, ops); err != nil {
		return pathError("use", f.guest, err)
	}
	f.decided.Store(now)
	return nil
}

// Path returns the clean absolute path the file was opened under, links resolved.
func (f *File) Path() string { return f.guest }

// IsDir reports whether it is a directory.
func (f *File) IsDir() bool { return f.dir }

// Flag returns the flags given to OpenFile.
func (f *File) Flag() int { return f.flag }

// Stat returns the file's present size, times and kind.
func (f *File) Stat() (fs.FileInfo, error) {
	info, err := f.h.Stat()
	if err != nil {
		return nil, pathError("stat", f.guest, err)
	}
	return named{info, path.Base(f.guest)}, nil
}

// Read reads from the position. At the end it returns io.EOF; on a directory ErrIsDir.
func (f *File) Read(b []byte) (int, error) {
	if f.dir {
		return 0, pathError("read", f.guest, ErrIsDir)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.h.Read(b)
	return n, f.io("read", err)
}

// ReadAt reads at an offset without moving the position, as io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if f.dir {
		return 0, pathError("read", f.guest, ErrIsDir)
	}
	n, err := f.h.ReadAt(b, off)
	return n, f.io("read", err)
}

// Write writes at the position, or at the end of a file opened with os.O_APPEND. It writes all of b or
// refuses with a *QuotaError and writes nothing.
func (f *File) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	off, err := f.writeOffset()
	if err != nil {
		return 0, pathError("write", f.guest, err)
	}
	return f.counted(b, off, f.h.Write)
}

// writeOffset is where the next Write goes.
func (f *File) writeOffset() (int64, error) {
	if f.flag&os.O_APPEND == 0 {
		return f.h.Seek(0, io.SeekCurrent)
	}
	info, err := f.h.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// WriteAt writes at an offset without moving the position. A file opened with os.O_APPEND refuses it.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	return f.counted(b, off, func(b []byte) (int, error) { return f.h.WriteAt(b, off) })
}

// counted writes b, which goes to off, within the quotas.
func (f *File) counted(b []byte, off int64, write func([]byte) (int, error)) (int, error) {
	n := int64(len(b))
	if limit := f.fs.quota.FileBytes; n > limit || off > limit-n {
		return 0, pathError("write", f.guest, &QuotaError{What: "file size", Limit: limit})
	}
	if err := f.fs.takeBytes(n); err != nil {
		return 0, pathError("write", f.guest, err)
	}
	done, err := write(b)
	if int64(done) < n {
		f.fs.giveBytes(n - int64(done))
	}
	return done, f.io("write", err)
}

// Seek moves the position, as io.Seeker. A directory can only be moved to its start.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if f.dir && (offset != 0 || whence != io.SeekStart) {
		return 0, pathError("seek", f.guest, fs.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.h.Seek(offset, whence)
	return n, f.io("seek", err)
}

// Truncate sets the size. What it grows by counts as bytes written.
func (f *File) Truncate(size int64) error {
	info, err := f.h.Stat()
	if err != nil {
		return f.io("truncate", err)
	}
	if size > f.fs.quota.FileBytes {
		return pathError("truncate", f.guest, &QuotaError{What: "file size", Limit: f.fs.quota.FileBytes})
	}
	grow := max(0, size-info.Size())
	if err := f.fs.takeBytes(grow); err != nil {
		return pathError("truncate", f.guest, err)
	}
	if err := f.h.Truncate(size); err != nil {
		f.fs.giveBytes(grow)
		return f.io("truncate", err)
	}
	return nil
}

// ReadDir returns the next n entries, or io.EOF when there are none left. n must be positive.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.dir {
		return nil, pathError("readdir", f.guest, ErrNotDir)
	}
	if n <= 0 {
		return nil, pathError("readdir", f.guest, fs.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	may, err := f.fs.takeEntries(n)
	if err != nil {
		return nil, pathError("readdir", f.guest, err)
	}
	out, err := f.h.ReadDir(may)
	f.fs.giveEntries(may - len(out))
	return out, f.io("readdir", err)
}

// Sync writes what the system holds back to the disk.
func (f *File) Sync() error { return f.io("sync", f.h.Sync()) }

// Close closes the file. Closing twice is fs.ErrClosed.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return pathError("close", f.guest, fs.ErrClosed)
	}
	f.closed = true
	f.fs.mu.Lock()
	delete(f.fs.files, f)
	f.fs.mu.Unlock()
	f.fs.giveHandle()
	return f.io("close", f.h.Close())
}

// io leaves io.EOF as it is and puts the guest's path on other errors.
func (f *File) io(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return pathError(op, f.guest, err)
}
