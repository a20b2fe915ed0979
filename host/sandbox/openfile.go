package sandbox

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/skillet-run/skillet/host/jail"
)

// refuse remembers the first quota that stood in the way, for the error of the
// call. WASI has numbers for them that wazero does not pass on, so the guest
// sees an input/output error.
func (f *files) refuse(q *jail.QuotaError) esys.Errno {
	if f.refused == nil {
		f.refused = &LimitError{What: q.What, Limit: fileLimit(q), Setting: fileSetting(q), kind: ErrFiles}
	}
	return esys.EIO
}

func fileLimit(q *jail.QuotaError) string {
	if q.What == "file size" || q.What == "bytes written" {
		return byteCount(q.Limit)
	}
	return strconv.FormatInt(q.Limit, 10)
}

func fileSetting(q *jail.QuotaError) string {
	if q.What == "file size" {
		return "security.resource_limits.max_file_size_mb"
	}
	return ""
}

// above refuses when a quota of the call, if there is one, would be passed.
func (f *files) above(what string, have, limit int64) esys.Errno {
	if limit > 0 && have > limit {
		return f.refuse(&jail.QuotaError{What: what, Limit: limit})
	}
	return 0
}

// mayOpen is asked before a file is opened that may have to be made.
func (f *files) mayOpen(tree *jail.FS, p string, flag esys.Oflag) esys.Errno {
	if errno := f.above("open files", int64(len(f.open)+1), int64(f.limit.OpenFiles)); errno != 0 {
		return errno
	}
	if flag&esys.O_CREAT == 0 || f.limit.Files <= 0 {
		return 0
	}
	if _, err := tree.Stat(p); err == nil {
		return 0
	}
	return f.mayCreate(tree)
}

func (f *files) mayCreate(tree *jail.FS) esys.Errno {
	made := tree.Usage().Files - f.before.Files
	return f.above("files created", int64(made+1), int64(f.limit.Files))
}

// mayWrite is asked before a write that makes a file at least end bytes long
// and writes n of them.
func (f *files) mayWrite(tree *jail.FS, n, end int64) esys.Errno {
	if errno := f.above("file size", end, f.limit.FileBytes); errno != 0 {
		return errno
	}
	written := tree.Usage().Bytes - f.before.Bytes
	return f.above("bytes written", written+n, f.limit.TotalBytes)
}

func (f *files) mayList(tree *jail.FS, n int) esys.Errno {
	listed := tree.Usage().Entries - f.before.Entries
	return f.above("directory entries", int64(listed+n), int64(f.limit.Entries))
}

func (f *files) add(o *openFile) *openFile {
	if f.open == nil {
		f.open = map[*openFile]struct{}{}
	}
	f.open[o] = struct{}{}
	return o
}

// seeker gives a file the Seek that wazero asks for. The type parameter, always
// int64, keeps go vet from taking it for a wrong io.Seeker.
type seeker[I ~int64] struct {
	seek func(offset int64, whence int) (int64, esys.Errno)
}

// Seek moves the position.
func (s seeker[I]) Seek(offset I, whence int) (I, esys.Errno) {
	at, errno := s.seek(int64(offset), whence)
	return I(at), errno
}

// openFile is a file or directory of the jail as WASI sees it.
type openFile struct {
	seeker[int64]
	tree   *tree
	file   *jail.File
	append bool
}

func newOpenFile(t *tree, f *jail.File, append bool) *openFile {
	o := &openFile{tree: t, file: f, append: append}
	o.seek = o.moveTo
	return o
}

func (o *openFile) in() *instance { return o.tree.in }

// Dev and Ino tell files apart.
func (o *openFile) Dev() (uint64, esys.Errno) {
	st, errno := o.Stat()
	return st.Dev, errno
}

// Ino is the number of the file on its device.
func (o *openFile) Ino() (sys.Inode, esys.Errno) {
	st, errno := o.Stat()
	return st.Ino, errno
}

// IsDir reports whether it is a directory.
func (o *openFile) IsDir() (bool, esys.Errno) { return o.file.IsDir(), 0 }

// IsAppend reports whether each write goes to the end.
func (o *openFile) IsAppend() bool { return o.append }

// SetAppend opens the file again, since no system changes it in place.
func (o *openFile) SetAppend(enable bool) esys.Errno {
	if enable == o.append {
		return 0
	}
	flag := o.file.Flag() & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	if enable {
		flag |= os.O_APPEND
	}
	at, err := o.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return o.in().errno(err)
	}
	next, err := o.tree.fs.OpenFile(o.file.Path(), flag, 0)
	if err != nil {
		return o.in().errno(err)
	}
	if _, err = next.Seek(at, io.SeekStart); err != nil {
		next.Close()
		return o.in().errno(err)
	}
	o.file.Close()
	o.file, o.append = next, enable
	return 0
}

// Stat describes the file.
func (o *openFile) Stat() (sys.Stat_t, esys.Errno) {
	o.in().checkTime()
	info, err := o.file.Stat()
	if err != nil {
		return sys.Stat_t{}, o.in().errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Read reads from the position.
func (o *openFile) Read(b []byte) (int, esys.Errno) {
	return o.moved(len(b), func() (int, error) { return o.file.Read(b) })
}

// Pread reads from an offset.
func (o *openFile) Pread(b []byte, off int64) (int, esys.Errno) {
	if off < 0 {
		return 0, esys.EINVAL
	}
	return o.moved(len(b), func() (int, error) { return o.file.ReadAt(b, off) })
}

// Write writes at the position, or at the end.
func (o *openFile) Write(b []byte) (int, esys.Errno) {
	if o.readOnly() {
		return 0, esys.EBADF
	}
	at, err := o.file.Seek(0, io.SeekCurrent)
	if o.append && err == nil {
		var info fs.FileInfo
		if info, err = o.file.Stat(); err == nil {
			at = info.Size()
		}
	}
	if err != nil {
		return 0, o.in().errno(err)
	}
	return o.write(b, at, func() (int, error) { return o.file.Write(b) })
}

// Pwrite writes at an offset.
func (o *openFile) Pwrite(b []byte, off int64) (int, esys.Errno) {
	switch {
	case off < 0:
		return 0, esys.EINVAL
	case o.readOnly():
		return 0, esys.EBADF
	}
	if o.append {
		return o.appendAside(b)
	}
	return o.write(b, off, func() (int, error) { return o.file.WriteAt(b, off) })
}

// appendAside is a write at an offset to a file that only takes them at its
// end: as on Linux, that is where it goes, and the position stays.
func (o *openFile) appendAside(b []byte) (int, esys.Errno) {
	at, err := o.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, o.in().errno(err)
	}
	n, errno := o.Write(b)
	if _, err := o.file.Seek(at, io.SeekStart); err != nil && errno == 0 {
		errno = o.in().errno(err)
	}
	return n, errno
}

func (o *openFile) readOnly() bool {
	return o.file.IsDir() || o.file.Flag()&(os.O_WRONLY|os.O_RDWR) == 0
}

func (o *openFile) write(b []byte, at int64, do func() (int, error)) (int, esys.Errno) {
	n := int64(len(b))
	if at > 1<<62 {
		return 0, esys.EINVAL
	}
	if errno := o.in().files.mayWrite(o.tree.fs, n, at+n); errno != 0 {
		return 0, errno
	}
	return o.moved(len(b), do)
}

// moved does one transfer of at most n bytes.
func (o *openFile) moved(n int, do func() (int, error)) (int, esys.Errno) {
	o.in().checkTime()
	o.in().chargeBytes(uint64(n))
	done, err := do()
	return done, o.in().errno(err)
}

func (o *openFile) moveTo(offset int64, whence int) (int64, esys.Errno) {
	if whence < io.SeekStart || whence > io.SeekEnd {
		return 0, esys.EINVAL
	}
	at, err := o.file.Seek(offset, whence)
	return at, o.in().errno(err)
}

// Readdir returns the next entries, at most n, or all that are left when n is
// not positive.
func (o *openFile) Readdir(n int) ([]esys.Dirent, esys.Errno) {
	o.in().checkTime()
	if !o.file.IsDir() {
		return nil, esys.ENOTDIR
	}
	const most = 1024 // at once
	var out []esys.Dirent
	for n <= 0 || len(out) < n {
		want := most
		if n > 0 {
			want = min(most, n-len(out))
		}
		entries, err := o.file.ReadDir(want)
		if errno := o.in().files.mayList(o.tree.fs, 0); errno != 0 {
			return nil, errno
		}
		for _, e := range entries {
			out = append(out, esys.Dirent{Name: e.Name(), Type: e.Type(), Ino: o.inode(e.Name())})
		}
		if err != nil || len(entries) == 0 {
			return out, o.in().errno(err)
		}
		o.in().charge(uint64(len(entries)) * fuelKernel)
	}
	return out, 0
}

// inode is the number of an entry, or 0, which tells the guest to look itself.
func (o *openFile) inode(name string) sys.Inode {
	info, err := o.tree.fs.Lstat(o.file.Path() + "/" + name)
	if err != nil {
		return 0
	}
	return sys.NewStat_t(info).Ino
}

// Truncate sets the size.
func (o *openFile) Truncate(size int64) esys.Errno {
	switch {
	case size < 0:
		return esys.EINVAL
	case o.file.IsDir():
		return esys.EISDIR
	case o.readOnly():
		return esys.EBADF
	}
	st, errno := o.Stat()
	if errno != 0 {
		return errno
	}
	if errno := o.in().files.mayWrite(o.tree.fs, max(0, size-st.Size), size); errno != 0 {
		return errno
	}
	return o.in().errno(o.file.Truncate(size))
}

// Sync writes to the disk what the system holds back.
func (o *openFile) Sync() esys.Errno {
	o.in().checkTime()
	return o.in().errno(o.file.Sync())
}

// Datasync does the same.
func (o *openFile) Datasync() esys.Errno { return o.Sync() }

// Utimens sets times, by the path the file was opened under.
func (o *openFile) Utimens(atim, mtim int64) esys.Errno {
	return o.in().errno(o.tree.fs.Chtimes(o.file.Path(), timeOf(atim), timeOf(mtim)))
}

// Close closes the file.
func (o *openFile) Close() esys.Errno {
	delete(o.in().files.open, o)
	return o.in().errno(o.file.Close())
}

// baseDir is a preopen. It opens its directory only to list it, and is there
// even when the directory is not.
type baseDir struct {
	esys.DirFile
	seeker[int64]
	tree   *tree
	listed int       // how many of tree.only were listed
	dir    *openFile // once it is listed
}

func newBaseDir(t *tree) *baseDir {
	d := &baseDir{tree: t}
	d.seek = d.rewind
	return d
}

// Dev is that of the directory, when there is one.
func (d *baseDir) Dev() (uint64, esys.Errno) {
	st, errno := d.Stat()
	return st.Dev, errno
}

// Ino is the number of the directory, 0 when there is none.
func (d *baseDir) Ino() (sys.Inode, esys.Errno) {
	st, errno := d.Stat()
	return st.Ino, errno
}

// Stat describes the directory. One that is not there, or may not be looked at
// because only files in it are granted, is an empty directory of its own.
func (d *baseDir) Stat() (sys.Stat_t, esys.Errno) {
	info, err := d.tree.fs.Stat(d.tree.base)
	if err != nil || !info.IsDir() {
		return sys.Stat_t{Mode: fs.ModeDir | 0o500, Nlink: 1}, 0
	}
	return sys.NewStat_t(info), 0
}

// rewind goes back to the first entry.
func (d *baseDir) rewind(offset int64, whence int) (int64, esys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, esys.EINVAL
	}
	d.listed = 0
	if d.dir != nil {
		return d.dir.Seek(0, io.SeekStart)
	}
	return 0, 0
}

// Readdir lists the directory, or the files of it that are granted.
func (d *baseDir) Readdir(n int) ([]esys.Dirent, esys.Errno) {
	if d.tree.only != nil {
		return d.listOnly(n), 0
	}
	if d.dir == nil {
		f, errno := d.tree.OpenFile("./", esys.O_DIRECTORY, 0)
		if errno != 0 {
			return nil, errno
		}
		d.dir = f.(*openFile)
	}
	return d.dir.Readdir(n)
}

func (d *baseDir) listOnly(n int) (out []esys.Dirent) {
	names := d.tree.only[min(d.listed, len(d.tree.only)):]
	if n > 0 {
		names = names[:min(n, len(names))]
	}
	d.listed += len(names)
	for _, name := range slices.Clone(names) {
		out = append(out, esys.Dirent{Name: name})
	}
	return out
}

// Sync and Datasync have nothing to do.
func (d *baseDir) Sync() esys.Errno     { return 0 }
func (d *baseDir) Datasync() esys.Errno { return 0 }

// Utimens is refused: the directory's times are not the guest's.
func (d *baseDir) Utimens(int64, int64) esys.Errno { return esys.EPERM }

// Close closes the directory if it was listed.
func (d *baseDir) Close() esys.Errno {
	if d.dir == nil {
		return 0
	}
	dir := d.dir
	d.dir = nil
	return dir.Close()
}
