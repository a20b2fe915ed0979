package wasi

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
)

// Jail is a jail as the file tree of one call, with a quota of that call
// besides the jail's own. It is used by one goroutine.
type Jail struct {
	fs      *jail.FS
	quota   jail.Quota
	before  jail.Usage // of the jail when the call began
	open    int
	refused func(*jail.QuotaError)
}

// NewJail returns the file tree of a call that begins. Zero fields of the quota
// leave the bound to the jail. refused is told of every quota the call runs
// into; the guest only sees an error number.
func NewJail(f *jail.FS, quota jail.Quota, refused func(*jail.QuotaError)) *Jail {
	return &Jail{fs: f, quota: quota, before: f.Usage(), refused: refused}
}

// Preopens lists the roots that are directories, or nothing yet, and the
// directories around those that are files.
func (j *Jail) Preopens() (out []Preopen) {
	around := map[string]int{}
	for _, root := range j.fs.Roots() {
		info, err := j.fs.Stat(root.Path)
		if err != nil || info.IsDir() {
			out = append(out, Preopen{Path: root.Path})
			continue
		}
		dir, name := path.Split(root.Path)
		dir = path.Clean(dir)
		i, ok := around[dir]
		if !ok {
			i = len(out)
			around[dir] = i
			out = append(out, Preopen{Path: dir})
		}
		out[i].Only = append(out[i].Only, name)
	}
	return withoutTwins(out)
}

// withoutTwins leaves out the directory around a file that is also a root.
func withoutTwins(all []Preopen) []Preopen {
	return slices.DeleteFunc(all, func(p Preopen) bool {
		return p.Only != nil && slices.ContainsFunc(all, func(q Preopen) bool { return q.Only == nil && q.Path == p.Path })
	})
}

// Open opens a file or directory.
func (j *Jail) Open(name string, how OpenFlags) (File, Errno) {
	if errno := j.mayOpen(name, how); errno != Success {
		return nil, errno
	}
	if how&Truncate != 0 {
		how |= Write // whatever the guest may do with it then
	}
	flag := systemFlags(how)
	f, err := j.fs.OpenFile(name, flag, 0o600)
	if err != nil {
		if how&NoFollow != 0 && errors.Is(err, jail.ErrNotRegular) && j.isLink(name) {
			return nil, ELOOP
		}
		return nil, j.errno(err)
	}
	j.open++
	return &jailFile{jail: j, file: f, flag: flag}, Success
}

func (j *Jail) isLink(name string) bool {
	info, err := j.fs.Lstat(name)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// systemFlags writes the flags as those of package os and jail.
func systemFlags(how OpenFlags) (flag int) {
	switch how & (Read | Write) {
	case Read | Write:
		flag = os.O_RDWR
	case Write:
		flag = os.O_WRONLY
	}
	for _, f := range [...]struct {
		from OpenFlags
		to   int
	}{
		{Append, os.O_APPEND}, {Create, os.O_CREATE}, {Exclusive, os.O_EXCL}, {Truncate, os.O_TRUNC},
		{Directory, jail.Directory}, {NoFollow, jail.NoFollow},
	} {
		if how&f.from != 0 {
			flag |= f.to
		}
	}
	return flag
}

// Stat describes what is at a path.
func (j *Jail) Stat(name string, follow bool) (Stat, Errno) {
	stat := j.fs.Lstat
	if follow {
		stat = j.fs.Stat
	}
	info, err := stat(name)
	if err != nil {
		return Stat{}, j.errno(err)
	}
	return statOf(info), Success
}

// Mkdir makes a directory.
func (j *Jail) Mkdir(name string) Errno {
	if errno := j.mayCreate(); errno != Success {
		return errno
	}
	return j.errno(j.fs.Mkdir(name, 0o700))
}

// Remove removes an empty directory, or something else than a directory.
func (j *Jail) Remove(name string, directory bool) Errno {
	info, err := j.fs.Lstat(name)
	switch {
	case err != nil:
		return j.errno(err)
	case directory && !info.IsDir():
		return ENOTDIR
	case !directory && info.IsDir():
		return EISDIR
	}
	return j.errno(j.fs.Remove(name))
}

// Rename moves within one root.
func (j *Jail) Rename(from, to string) Errno { return j.errno(j.fs.Rename(from, to)) }

// SetTimes sets times; a link is followed.
func (j *Jail) SetTimes(name string, accessed, modified time.Time) Errno {
	return j.errno(j.fs.Chtimes(name, accessed, modified))
}

// Readlink says where a link points.
func (j *Jail) Readlink(name string) (string, Errno) {
	to, err := j.fs.Readlink(name)
	return to, j.errno(err)
}

// errno is what the guest learns of an error: what kind it is, and nothing of
// who refused it or why.
func (j *Jail) errno(err error) Errno {
	var quota *jail.QuotaError
	var system syscall.Errno
	switch {
	case err == nil || err == io.EOF:
		return Success
	case errors.As(err, &quota):
		return j.refuse(quota)
	case errors.As(err, &system):
		if errno, ok := ofSystem(system); ok {
			return errno
		}
	}
	return ofKind(err)
}

// ofKind is the number of an error that is not the system's own.
func ofKind(err error) Errno {
	for _, known := range [...]struct {
		err   error
		errno Errno
	}{
		{fs.ErrNotExist, ENOENT},
		{fs.ErrExist, EEXIST},
		{fs.ErrClosed, EBADF},
		{jail.ErrReadOnly, EROFS},
		{jail.ErrIsDir, EISDIR},
		{jail.ErrNotDir, ENOTDIR},
		{jail.ErrLoop, ELOOP},
		{jail.ErrCrossRoot, EXDEV},
		{jail.ErrEscape, EPERM},
		{jail.ErrNotRegular, EPERM},
		{jail.ErrLinked, EPERM},
		{jail.ErrChanging, EAGAIN},
		{fs.ErrInvalid, EINVAL},
	} {
		if errors.Is(err, known.err) {
			return known.errno
		}
	}
	return EACCES
}

// ofSystem is the number of an error of the system. Those that are not listed
// are input/output errors, but on systems whose numbers are others.
func ofSystem(system syscall.Errno) (errno Errno, ok bool) {
	for _, known := range [...]struct {
		system syscall.Errno
		errno  Errno
	}{
		{syscall.ENOENT, ENOENT}, {syscall.EEXIST, EEXIST}, {syscall.ENOTDIR, ENOTDIR}, {syscall.EISDIR, EISDIR},
		{syscall.EACCES, EACCES}, {syscall.EPERM, EPERM}, {syscall.EROFS, EROFS}, {syscall.EINVAL, EINVAL},
		{syscall.ENOTEMPTY, ENOTEMPTY}, {syscall.ELOOP, ELOOP}, {syscall.ENAMETOOLONG, ENAMETOOLONG},
		{syscall.EXDEV, EXDEV}, {syscall.ENOSPC, ENOSPC}, {syscall.EDQUOT, EDQUOT}, {syscall.EFBIG, EFBIG},
		{syscall.EMFILE, EMFILE}, {syscall.ENFILE, ENFILE}, {syscall.EMLINK, EMLINK}, {syscall.EBUSY, EBUSY},
		{syscall.ETXTBSY, ETXTBSY}, {syscall.EAGAIN, EAGAIN}, {syscall.EINTR, EINTR}, {syscall.EBADF, EBADF},
		{syscall.EOVERFLOW, EOVERFLOW}, {syscall.ENOMEM, ENOMEM}, {syscall.ENOTSUP, ENOTSUP}, {syscall.ENOSYS, ENOSYS},
		{syscall.EIO, EIO},
	} {
		if system == known.system {
			return known.errno, true
		}
	}
	return EIO, posix
}

// refuse tells of a quota that stood in the way and returns its number.
func (j *Jail) refuse(q *jail.QuotaError) Errno {
	j.refused(q)
	switch q.What {
	case "open files":
		return EMFILE
	case "file size":
		return EFBIG
	}
	return EDQUOT
}

// above refuses when a quota of the call, if there is one, would be passed.
func (j *Jail) above(what string, have, limit int64) Errno {
	if limit > 0 && have > limit {
		return j.refuse(&jail.QuotaError{What: what, Limit: limit})
	}
	return Success
}

// mayOpen is asked before a file is opened that may have to be made.
func (j *Jail) mayOpen(name string, how OpenFlags) Errno {
	if errno := j.above("open files", int64(j.open+1), int64(j.quota.OpenFiles)); errno != Success {
		return errno
	}
	if how&Create == 0 || j.quota.Files <= 0 {
		return Success
	}
	if _, err := j.fs.Stat(name); err == nil {
		return Success
	}
	return j.mayCreate()
}

// mayCreate is asked before something new is made.
func (j *Jail) mayCreate() Errno {
	created := j.fs.Usage().Files - j.before.Files
	return j.above("files created", int64(created+1), int64(j.quota.Files))
}

// mayWrite is asked before n bytes are written to a file that then ends at
// end, or later.
func (j *Jail) mayWrite(n, end int64) Errno {
	if errno := j.above("file size", end, j.quota.FileBytes); errno != Success {
		return errno
	}
	written := j.fs.Usage().Bytes - j.before.Bytes
	return j.above("bytes written", written+n, j.quota.TotalBytes)
}
