package recording

import (
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// A doer carries out one operation on files, or tells what came of it. f is the
// open file it is about, nil for a path and for one that only stands for a file;
// opened is what open opened.
type doer interface {
	do(ask FileAsk, act func() (wasi.File, FileResult)) (opened wasi.File, told FileResult)
	preopens() []wasi.Preopen
}

// tree is the file tree of a guest whose operations pass a doer. real is nil when
// there is nothing behind it.
type tree struct {
	d    doer
	real wasi.FS
	last uint32 // handle
}

// pass does one operation and returns its result.
func (t *tree) pass(ask FileAsk, act func() FileResult) FileResult {
	_, told := t.d.do(ask, func() (wasi.File, FileResult) { return nil, act() })
	return told
}

func (t FileResult) errno() wasi.Errno { return errnoOf(t.Errno) }

func failedWith(e wasi.Errno) FileResult { return FileResult{Errno: errnoName(e)} }

// Preopens lists the directories that are open when the guest begins.
func (t *tree) Preopens() []wasi.Preopen { return t.d.preopens() }

// Open opens a file or directory.
func (t *tree) Open(path string, how wasi.OpenFlags) (wasi.File, wasi.Errno) {
	ask := FileAsk{Op: opOpen, Path: path, Flags: openWords(how)}
	f, told := t.d.do(ask, func() (wasi.File, FileResult) {
		f, errno := t.real.Open(path, how)
		if errno != wasi.Success {
			return nil, failedWith(errno)
		}
		return f, FileResult{Directory: f.IsDir()}
	})
	if errno := told.errno(); errno != wasi.Success {
		return nil, errno
	}
	t.last++
	return &openFile{t, f, t.last, told.Directory}, wasi.Success
}

// Stat describes what is at a path.
func (t *tree) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	told := t.pass(FileAsk{Op: opStat, Path: path, Flags: flagged(follow, "follow")}, func() FileResult {
		return toldStat(t.real.Stat(path, follow))
	})
	return told.Stat.wasi(), told.errno()
}

func toldStat(s wasi.Stat, errno wasi.Errno) FileResult {
	if errno != wasi.Success {
		return failedWith(errno)
	}
	return FileResult{Stat: statOf(s)}
}

// Mkdir makes a directory.
func (t *tree) Mkdir(path string) wasi.Errno {
	return t.pass(FileAsk{Op: opMkdir, Path: path}, func() FileResult { return failedWith(t.real.Mkdir(path)) }).errno()
}

// Remove removes an empty directory, or something else.
func (t *tree) Remove(path string, directory bool) wasi.Errno {
	ask := FileAsk{Op: opRemove, Path: path, Flags: flagged(directory, "directory")}
	return t.pass(ask, func() FileResult { return failedWith(t.real.Remove(path, directory)) }).errno()
}

// Rename moves within a tree.
func (t *tree) Rename(from, to string) wasi.Errno {
	return t.pass(FileAsk{Op: opRename, Path: from, To: to}, func() FileResult { return failedWith(t.real.Rename(from, to)) }).errno()
}

// SetTimes sets the times of what is at a path.
func (t *tree) SetTimes(path string, accessed, modified time.Time) wasi.Errno {
	ask := FileAsk{Op: opSetTimes, Path: path, Accessed: nanos(accessed), Modified: nanos(modified)}
	return t.pass(ask, func() FileResult { return failedWith(t.real.SetTimes(path, accessed, modified)) }).errno()
}

// Readlink says where a link points.
func (t *tree) Readlink(path string) (string, wasi.Errno) {
	told := t.pass(FileAsk{Op: opReadlink, Path: path}, func() FileResult {
		to, errno := t.real.Readlink(path)
		return FileResult{Text: to, Errno: errnoName(errno)}
	})
	return told.Text, told.errno()
}

// openFile is an open file of a tree.
type openFile struct {
	tree   *tree
	real   wasi.File // nil when there is nothing behind it
	handle uint32
	dir    bool
}

func (f *openFile) pass(ask FileAsk, act func() FileResult) FileResult {
	ask.Handle = f.handle
	return f.tree.pass(ask, act)
}

// IsDir reports whether it is a directory.
func (f *openFile) IsDir() bool { return f.dir }

// Stat describes it.
func (f *openFile) Stat() (wasi.Stat, wasi.Errno) {
	told := f.pass(FileAsk{Op: opFileStat}, func() FileResult { return toldStat(f.real.Stat()) })
	return told.Stat.wasi(), told.errno()
}

// ReadAt reads from an offset.
func (f *openFile) ReadAt(b []byte, off int64) (int, wasi.Errno) {
	acted := false
	told := f.pass(FileAsk{Op: opRead, Offset: off, Length: int64(len(b))}, func() FileResult {
		acted = true
		n, errno := f.real.ReadAt(b, off)
		return FileResult{Data: b[:n], Errno: errnoName(errno)}
	})
	if !acted {
		copy(b, told.Data)
	}
	return min(len(told.Data), len(b)), told.errno()
}

// WriteAt writes at an offset.
func (f *openFile) WriteAt(b []byte, off int64) (int, wasi.Errno) {
	told := f.pass(FileAsk{Op: opWrite, Offset: off, Data: b}, func() FileResult {
		n, errno := f.real.WriteAt(b, off)
		return FileResult{N: int64(n), Errno: errnoName(errno)}
	})
	return int(told.N), told.errno()
}

// Append writes at the end.
func (f *openFile) Append(b []byte) (n int, end int64, errno wasi.Errno) {
	told := f.pass(FileAsk{Op: opAppend, Data: b}, func() FileResult {
		n, end, errno := f.real.Append(b)
		return FileResult{N: int64(n), End: end, Errno: errnoName(errno)}
	})
	return int(told.N), told.End, told.errno()
}

// SetAppend makes it one that only takes writes at its end, or anywhere.
func (f *openFile) SetAppend(on bool) wasi.Errno {
	return f.pass(FileAsk{Op: opSetAppend, Flags: flagged(on, "on")}, func() FileResult { return failedWith(f.real.SetAppend(on)) }).errno()
}

// Truncate cuts or extends it.
func (f *openFile) Truncate(size int64) wasi.Errno {
	return f.pass(FileAsk{Op: opTruncate, Length: size}, func() FileResult { return failedWith(f.real.Truncate(size)) }).errno()
}

// SetTimes sets its times.
func (f *openFile) SetTimes(accessed, modified time.Time) wasi.Errno {
	ask := FileAsk{Op: opFileTimes, Accessed: nanos(accessed), Modified: nanos(modified)}
	return f.pass(ask, func() FileResult { return failedWith(f.real.SetTimes(accessed, modified)) }).errno()
}

// Sync has it reach the disk.
func (f *openFile) Sync() wasi.Errno {
	return f.pass(FileAsk{Op: opSync}, func() FileResult { return failedWith(f.real.Sync()) }).errno()
}

// ReadDir returns the next entries.
func (f *openFile) ReadDir(n int) ([]wasi.Dirent, wasi.Errno) {
	told := f.pass(FileAsk{Op: opList, Length: int64(n)}, func() FileResult {
		entries, errno := f.real.ReadDir(n)
		return FileResult{Entries: entriesOf(entries), Errno: errnoName(errno)}
	})
	return wasiEntries(told.Entries), told.errno()
}

// Rewind goes back to the first entry.
func (f *openFile) Rewind() wasi.Errno {
	return f.pass(FileAsk{Op: opRewind}, func() FileResult { return failedWith(f.real.Rewind()) }).errno()
}

// Close closes it.
func (f *openFile) Close() wasi.Errno {
	return f.pass(FileAsk{Op: opClose}, func() FileResult { return failedWith(f.real.Close()) }).errno()
}
