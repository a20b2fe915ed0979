package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// fileMethod names a method of wasi.FS, or of wasi.File for an open file.
type fileMethod uint8

const (
	fsOpen fileMethod = iota + 1
	fsStat
	fsMkdir
	fsRemove
	fsRename
	fsSetTimes
	fsReadlink
	fileStat
	fileReadAt
	fileWriteAt
	fileAppend
	fileSetAppend
	fileTruncate
	fileSetTimes
	fileSync
	fileReadDir
	fileRewind
	fileClose
)

const (
	// maxMoved is the most bytes one message moves to or from a file, and
	// maxEntries the most entries of a directory it lists.
	maxMoved   = 4 << 20
	maxEntries = 1024
	// maxPath bounds a path on its way; no system has longer ones.
	maxPath = 16 << 10
)

type (
	// fileOp is what the worker asks of a file tree or an open file.
	fileOp struct {
		Method   fileMethod
		File     uint32 // an open file
		Path, To string
		Open     uint16
		Flag     bool // follow, directory or append
		Off, N   int64
		Data     []byte
		Accessed moment
		Modified moment
	}

	fileDone struct {
		Errno   uint16
		File    uint32
		Dir     bool
		Stat    wasi.Stat
		N, End  int64
		Data    []byte
		Text    string
		Entries []wasi.Dirent
		Quotas  []jail.QuotaError // that stood in the way
	}

	// preopen is a wasi.Preopen; of Only it matters whether there is any.
	preopen struct {
		Path string
		Some bool
		Only []string
	}

	// moment is a time, or none.
	moment struct {
		Set  bool
		Nano int64
	}
)

func momentOf(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{true, t.UnixNano()}
}

func (m moment) time() time.Time {
	if !m.Set {
		return time.Time{}
	}
	return time.Unix(0, m.Nano)
}

// fileServer carries out in the parent what a worker asks. It belongs to one
// call, and whatever that left open is closed with it.
type fileServer struct {
	tree   wasi.FS
	open   map[uint32]wasi.File
	last   uint32
	quotas []jail.QuotaError
}

// newFileServer returns nil for a call without files.
func newFileServer(c *sandbox.Call) *fileServer {
	s := &fileServer{open: map[uint32]wasi.File{}}
	refused := func(e *jail.QuotaError) { s.quotas = append(s.quotas, *e) }
	var open func(func(*jail.QuotaError)) wasi.FS
	if c.FS != nil {
		open = func(refused func(*jail.QuotaError)) wasi.FS { return wasi.NewJail(c.FS, c.Limits.Files, refused) }
	}
	switch {
	case c.Tape != nil:
		s.tree = c.Tape.Files(open, refused)
	case open != nil:
		s.tree = open(refused)
	}
	if s.tree == nil {
		return nil
	}
	return s
}

func (s *fileServer) preopens() (all []preopen) {
	for _, p := range s.tree.Preopens() {
		all = append(all, preopen{p.Path, p.Only != nil, p.Only})
	}
	return all
}

func (s *fileServer) close() {
	for _, f := range s.open {
		f.Close()
	}
}

// serve does one thing. The error is that of a worker that asked for what it
// cannot.
func (s *fileServer) serve(o *fileOp) (*fileDone, error) {
	d := &fileDone{}
	if len(o.Path) > maxPath || len(o.To) > maxPath {
		return nil, fmt.Errorf("%w: a path of %d bytes", errMalformed, max(len(o.Path), len(o.To)))
	}
	errno, err := s.ofTree(o, d)
	if errors.Is(err, errNoMethod) {
		f, ok := s.open[o.File]
		if !ok {
			return nil, fmt.Errorf("%w: file %d is not open", errMalformed, o.File)
		}
		errno, err = s.ofFile(f, o, d)
	}
	d.Errno, d.Quotas, s.quotas = uint16(errno), s.quotas, nil
	return d, err
}

var errNoMethod = fmt.Errorf("%w: no such method of a file", errMalformed)

func (s *fileServer) ofTree(o *fileOp, d *fileDone) (errno wasi.Errno, err error) {
	switch o.Method {
	case fsOpen:
		return s.openFile(o, d), nil
	case fsStat:
		d.Stat, errno = s.tree.Stat(o.Path, o.Flag)
	case fsMkdir:
		errno = s.tree.Mkdir(o.Path)
	case fsRemove:
		errno = s.tree.Remove(o.Path, o.Flag)
	case fsRename:
		errno = s.tree.Rename(o.Path, o.To)
	case fsSetTimes:
		errno = s.tree.SetTimes(o.Path, o.Accessed.time(), o.Modified.time())
	case fsReadlink:
		d.Text, errno = s.tree.Readlink(o.Path)
	default:
		return 0, errNoMethod
	}
	return errno, nil
}

func (s *fileServer) openFile(o *fileOp, d *fileDone) wasi.Errno {
	f, errno := s.tree.Open(o.Path, wasi.OpenFlags(o.Open))
	if errno != wasi.Success {
		return errno
	}
	s.last++
	s.open[s.last] = f
	d.File, d.Dir = s.last, f.IsDir()
	return wasi.Success
}

func (s *fileServer) ofFile(f wasi.File, o *fileOp, d *fileDone) (errno wasi.Errno, err error) {
	n := 0
	switch o.Method {
	case fileStat:
		d.Stat, errno = f.Stat()
	case fileReadAt:
		if o.N < 0 || o.N > maxMoved {
			return 0, fmt.Errorf("%w: %d bytes of a file", errMalformed, o.N)
		}
		d.Data = make([]byte, o.N)
		n, errno = f.ReadAt(d.Data, o.Off)
		d.Data = d.Data[:n]
	case fileWriteAt:
		n, errno = f.WriteAt(o.Data, o.Off)
	case fileAppend:
		n, d.End, errno = f.Append(o.Data)
	case fileSetAppend:
		errno = f.SetAppend(o.Flag)
	case fileTruncate:
		errno = f.Truncate(o.N)
	case fileSetTimes:
		errno = f.SetTimes(o.Accessed.time(), o.Modified.time())
	case fileSync:
		errno = f.Sync()
	case fileReadDir:
		d.Entries, errno = f.ReadDir(int(min(max(o.N, 0), maxEntries)))
	case fileRewind:
		errno = f.Rewind()
	case fileClose:
		delete(s.open, o.File)
		errno = f.Close()
	default:
		return 0, errNoMethod
	}
	d.N = int64(n)
	return errno, nil
}
