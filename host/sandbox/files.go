package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/skillet-run/skillet/host/jail"
)

// files is what a call has open, and what it may still do.
type files struct {
	limit   jail.Quota // of this call; zero fields leave it to the FS
	before  jail.Usage // of the FS when the call began
	open    map[*openFile]struct{}
	refused *LimitError // the first quota the call ran into
}

// tree is a directory of the call's file tree as WASI sees it: a preopen.
type tree struct {
	esys.UnimplementedFS
	in   *instance
	fs   *jail.FS
	base string   // absolute path of the directory
	only []string // names in it that are roots, when the directory is none
}

// trees lists the preopens: the roots that are directories, or nothing yet, and
// the directories around those that are files.
func (in *instance) trees() (out []*tree) {
	if in.call.FS == nil {
		return nil
	}
	in.files.before = in.call.FS.Usage()
	around := map[string]*tree{}
	for _, root := range in.call.FS.Roots() {
		info, err := in.call.FS.Stat(root.Path)
		if err != nil || info.IsDir() {
			out = append(out, &tree{in: in, fs: in.call.FS, base: root.Path})
			continue
		}
		dir := path.Dir(root.Path)
		if around[dir] == nil {
			around[dir] = &tree{in: in, fs: in.call.FS, base: dir}
			out = append(out, around[dir])
		}
		around[dir].only = append(around[dir].only, path.Base(root.Path))
	}
	return withoutTwins(out)
}

// withoutTwins leaves out the directory around a file that is also a root.
func withoutTwins(trees []*tree) []*tree {
	return slices.DeleteFunc(trees, func(t *tree) bool {
		return t.only != nil && slices.ContainsFunc(trees, func(u *tree) bool { return u.only == nil && u.base == t.base })
	})
}

// path is the absolute path of what the guest calls p.
func (t *tree) path(p string) string {
	return strings.TrimSuffix(t.base, "/") + "/" + strings.TrimPrefix(p, "/")
}

// isBase reports whether p is the directory itself.
func isBase(p string) bool { return path.Clean("/"+p) == "/" }

// OpenFile opens a file or directory. The preopen itself always opens: wazero
// panics when it does not.
func (t *tree) OpenFile(p string, flag esys.Oflag, perm fs.FileMode) (esys.File, esys.Errno) {
	t.in.checkTime()
	if p == "." {
		if flag&(esys.O_RDWR|esys.O_WRONLY) != 0 && flag&esys.O_DIRECTORY != 0 {
			return nil, esys.EISDIR
		}
		return newBaseDir(t), 0
	}
	if errno := t.in.files.mayOpen(t.fs, t.path(p), flag); errno != 0 {
		return nil, errno
	}
	f, err := t.fs.OpenFile(t.path(p), openFlags(flag), perm.Perm())
	if err != nil {
		if flag&esys.O_NOFOLLOW != 0 && errors.Is(err, jail.ErrNotRegular) && t.isLink(p) {
			return nil, esys.ELOOP
		}
		return nil, t.in.errno(err)
	}
	return t.in.files.add(newOpenFile(t, f, flag&esys.O_APPEND != 0)), 0
}

func (t *tree) isLink(p string) bool {
	info, err := t.fs.Lstat(t.path(p))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// openFlags writes wazero's flags as those of package os and jail. Synchronous
// and non-blocking flags mean nothing for the files there are.
func openFlags(flag esys.Oflag) (out int) {
	switch flag & (esys.O_RDONLY | esys.O_RDWR | esys.O_WRONLY) {
	case esys.O_RDWR:
		out = os.O_RDWR
	case esys.O_WRONLY:
		out = os.O_WRONLY
	}
	for _, f := range []struct {
		from esys.Oflag
		to   int
	}{
		{esys.O_APPEND, os.O_APPEND},
		{esys.O_CREAT, os.O_CREATE},
		{esys.O_EXCL, os.O_EXCL},
		{esys.O_TRUNC, os.O_TRUNC},
		{esys.O_DIRECTORY, jail.Directory},
		{esys.O_NOFOLLOW, jail.NoFollow},
	} {
		if flag&f.from != 0 {
			out |= f.to
		}
	}
	return out
}

// Stat follows links.
func (t *tree) Stat(p string) (sys.Stat_t, esys.Errno) { return t.stat(t.fs.Stat, p) }

// Lstat does not.
func (t *tree) Lstat(p string) (sys.Stat_t, esys.Errno) { return t.stat(t.fs.Lstat, p) }

func (t *tree) stat(stat func(string) (fs.FileInfo, error), p string) (sys.Stat_t, esys.Errno) {
	t.in.checkTime()
	if isBase(p) {
		return newBaseDir(t).Stat()
	}
	info, err := stat(t.path(p))
	if err != nil {
		return sys.Stat_t{}, t.in.errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Mkdir makes a directory.
func (t *tree) Mkdir(p string, perm fs.FileMode) esys.Errno {
	if errno := t.in.files.mayCreate(t.fs); errno != 0 {
		return errno
	}
	return t.change(func() error { return t.fs.Mkdir(t.path(p), perm.Perm()) })
}

// Rename moves within the tree.
func (t *tree) Rename(from, to string) esys.Errno {
	return t.change(func() error { return t.fs.Rename(t.path(from), t.path(to)) })
}

// Rmdir removes an empty directory.
func (t *tree) Rmdir(p string) esys.Errno { return t.remove(p, true) }

// Unlink removes what is no directory.
func (t *tree) Unlink(p string) esys.Errno { return t.remove(p, false) }

func (t *tree) remove(p string, wantDir bool) esys.Errno {
	info, err := t.fs.Lstat(t.path(p))
	switch {
	case err != nil:
		return t.in.errno(err)
	case wantDir && !info.IsDir():
		return esys.ENOTDIR
	case !wantDir && info.IsDir():
		return esys.EISDIR
	}
	return t.change(func() error { return t.fs.Remove(t.path(p)) })
}

// Utimens sets times; a link is followed.
func (t *tree) Utimens(p string, atim, mtim int64) esys.Errno {
	return t.change(func() error { return t.fs.Chtimes(t.path(p), timeOf(atim), timeOf(mtim)) })
}

// timeOf is a time in nanoseconds, or the zero time to leave it as it is.
func timeOf(ns int64) time.Time {
	if ns == esys.UTIME_OMIT {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func (t *tree) change(do func() error) esys.Errno {
	t.in.checkTime()
	return t.in.errno(do())
}

// Readlink returns where a link points.
func (t *tree) Readlink(p string) (string, esys.Errno) {
	to, err := t.fs.Readlink(t.path(p))
	return to, t.in.errno(err)
}

// Link and Symlink are refused: nothing that opens a way out is made here.
func (t *tree) Link(string, string) esys.Errno    { return esys.EPERM }
func (t *tree) Symlink(string, string) esys.Errno { return esys.EPERM }

// errno is what the guest learns of an error: what kind it is, and nothing of
// who refused it or why.
func (in *instance) errno(err error) esys.Errno {
	var quota *jail.QuotaError
	var system syscall.Errno
	switch {
	case err == nil || err == io.EOF:
		return 0
	case errors.As(err, &quota):
		return in.files.refuse(quota)
	case errors.As(err, &system):
		return esys.UnwrapOSError(system)
	}
	for _, known := range []struct {
		err   error
		errno esys.Errno
	}{
		{fs.ErrNotExist, esys.ENOENT},
		{fs.ErrExist, esys.EEXIST},
		{fs.ErrClosed, esys.EBADF},
		{jail.ErrReadOnly, esys.EROFS},
		{jail.ErrIsDir, esys.EISDIR},
		{jail.ErrNotDir, esys.ENOTDIR},
		{jail.ErrLoop, esys.ELOOP},
		{jail.ErrCrossRoot, esys.EPERM},
		{jail.ErrEscape, esys.EPERM},
		{jail.ErrNotRegular, esys.EPERM},
		{jail.ErrLinked, esys.EPERM},
		{jail.ErrChanging, esys.EAGAIN},
		{fs.ErrInvalid, esys.EINVAL},
	} {
		if errors.Is(err, known.err) {
			return known.errno
		}
	}
	return esys.EACCES
}
