package worker

import (
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// remoteTree is, in the worker, the file tree of a call that the parent has.
type remoteTree struct {
	ask      func(*fileOp) *fileDone
	refused  func(*jail.QuotaError)
	preopens []preopen
}

// do asks the parent, and passes on which quotas stood in the way.
func (t *remoteTree) do(o *fileOp) (*fileDone, wasi.Errno) {
	d := t.ask(o)
	for i := range d.Quotas {
		t.refused(&d.Quotas[i])
	}
	return d, wasi.Errno(d.Errno)
}

func (t *remoteTree) Preopens() (all []wasi.Preopen) {
	for _, p := range t.preopens {
		if p.Some && p.Only == nil {
			p.Only = []string{}
		}
		all = append(all, wasi.Preopen{Path: p.Path, Only: p.Only})
	}
	return all
}

func (t *remoteTree) Open(path string, how wasi.OpenFlags) (wasi.File, wasi.Errno) {
	d, errno := t.do(&fileOp{Method: fsOpen, Path: path, Open: uint16(how)})
	if errno != wasi.Success {
		return nil, errno
	}
	return &remoteFile{t, d.File, d.Dir}, errno
}

func (t *remoteTree) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	d, errno := t.do(&fileOp{Method: fsStat, Path: path, Flag: follow})
	return d.Stat, errno
}

func (t *remoteTree) Mkdir(path string) wasi.Errno {
	_, errno := t.do(&fileOp{Method: fsMkdir, Path: path})
	return errno
}

func (t *remoteTree) Remove(path string, directory bool) wasi.Errno {
	_, errno := t.do(&fileOp{Method: fsRemove, Path: path, Flag: directory})
	return errno
}

func (t *remoteTree) Rename(from, to string) wasi.Errno {
	_, errno := t.do(&fileOp{Method: fsRename, Path: from, To: to})
	return errno
}

func (t *remoteTree) SetTimes(path string, accessed, modified time.Time) wasi.Errno {
	_, errno := t.do(&fileOp{Method: fsSetTimes, Path: path, Accessed: momentOf(accessed), Modified: momentOf(modified)})
	return errno
}

func (t *remoteTree) Readlink(path string) (string, wasi.Errno) {
	d, errno := t.do(&fileOp{Method: fsReadlink, Path: path})
	return d.Text, errno
}

// remoteFile is an open file of a remoteTree.
type remoteFile struct {
	tree   *remoteTree
	number uint32
	dir    bool
}

func (f *remoteFile) do(o *fileOp) (*fileDone, wasi.Errno) {
	o.File = f.number
	return f.tree.do(o)
}

func (f *remoteFile) IsDir() bool { return f.dir }

func (f *remoteFile) Stat() (wasi.Stat, wasi.Errno) {
	d, errno := f.do(&fileOp{Method: fileStat})
	return d.Stat, errno
}

func (f *remoteFile) ReadAt(b []byte, off int64) (done int, errno wasi.Errno) {
	return inParts(b, func(part []byte, done int) (int, wasi.Errno) {
		d, errno := f.do(&fileOp{Method: fileReadAt, Off: off + int64(done), N: int64(len(part))})
		return copy(part, d.Data), errno
	})
}

func (f *remoteFile) WriteAt(b []byte, off int64) (int, wasi.Errno) {
	return inParts(b, func(part []byte, done int) (int, wasi.Errno) {
		d, errno := f.do(&fileOp{Method: fileWriteAt, Off: off + int64(done), Data: part})
		return int(d.N), errno
	})
}

func (f *remoteFile) Append(b []byte) (n int, end int64, errno wasi.Errno) {
	n, errno = inParts(b, func(part []byte, _ int) (int, wasi.Errno) {
		d, errno := f.do(&fileOp{Method: fileAppend, Data: part})
		end = d.End
		return int(d.N), errno
	})
	return n, end, errno
}

// inParts moves b in messages that are not too long, until one part does not
// go whole.
func inParts(b []byte, move func(part []byte, done int) (int, wasi.Errno)) (done int, errno wasi.Errno) {
	for first := true; first || done < len(b); first = false {
		part := b[done:min(len(b), done+maxMoved)]
		n, errno := move(part, done)
		done += n
		if errno != wasi.Success || n < len(part) {
			return done, errno
		}
	}
	return done, wasi.Success
}

func (f *remoteFile) SetAppend(on bool) wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileSetAppend, Flag: on})
	return errno
}

func (f *remoteFile) Truncate(size int64) wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileTruncate, N: size})
	return errno
}

func (f *remoteFile) SetTimes(accessed, modified time.Time) wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileSetTimes, Accessed: momentOf(accessed), Modified: momentOf(modified)})
	return errno
}

func (f *remoteFile) Sync() wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileSync})
	return errno
}

func (f *remoteFile) ReadDir(n int) ([]wasi.Dirent, wasi.Errno) {
	d, errno := f.do(&fileOp{Method: fileReadDir, N: int64(n)})
	return d.Entries, errno
}

func (f *remoteFile) Rewind() wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileRewind})
	return errno
}

func (f *remoteFile) Close() wasi.Errno {
	_, errno := f.do(&fileOp{Method: fileClose})
	return errno
}
