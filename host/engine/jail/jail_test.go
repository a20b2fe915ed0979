//go:build unix

package jail_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/jail"
)

var errGuard = errors.New("guard says no")

// allow permits everything.
func allow(jail.Op, string) error { return nil }

// tree makes a directory "in" with files and links, next to "out" with a secret, and returns both.
func tree(t testing.TB) (in, out string) {
	t.Helper()
	base := t.TempDir()
	in, out = filepath.Join(base, "in"), filepath.Join(base, "out")
	must(t, os.MkdirAll(filepath.Join(in, "dir/sub"), 0o755))
	must(t, os.MkdirAll(out, 0o755))
	must(t, os.WriteFile(filepath.Join(in, "plain"), []byte("plain"), 0o644))
	must(t, os.WriteFile(filepath.Join(in, "dir/sub/deep"), []byte("deep"), 0o644))
	must(t, os.WriteFile(filepath.Join(out, "secret"), []byte("SECRET"), 0o644))
	return in, out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a jail on one writable root.
func open(t testing.TB, root string, q jail.Quota) *jail.FS {
	t.Helper()
	return openWith(t, []jail.Root{{Path: root, Write: true}}, jail.GuardFunc(allow), q)
}

func openWith(t testing.TB, roots []jail.Root, g jail.Guard, q jail.Quota) *jail.FS {
	t.Helper()
	f, err := jail.Open(roots, g, q)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// want fails unless err is target (nil for none).
func want(t *testing.T, what string, err, target error) {
	t.Helper()
	if target == nil && err != nil || target != nil && !errors.Is(err, target) {
		t.Errorf("%s: got %v, want %v", what, err, target)
	}
}

func TestPlainFiles(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	f := open(t, in, jail.Quota{})

	b, err := f.ReadFile(in+"/dir/sub/deep", 0)
	if err != nil || string(b) != "deep" {
		t.Fatalf("read: %q, %v", b, err)
	}
	want(t, "write", f.WriteFile(in+"/made", []byte("one"), 0o600), nil)
	want(t, "write again", f.WriteFile(in+"/made", []byte("two!"), 0o644), nil)
	info, err := f.Stat(in + "/made")
	if err != nil || info.Size() != 4 || info.Mode() != 0o600 || info.Name() != "made" {
		t.Fatalf("stat: %v, %v", info, err)
	}
	want(t, "mkdir", f.Mkdir(in+"/m", 0o755), nil)
	want(t, "mkdir again", f.Mkdir(in+"/m", 0o755), fs.ErrExist)
	want(t, "rename", f.Rename(in+"/made", in+"/m/moved"), nil)
	want(t, "rename dir", f.Rename(in+"/dir", in+"/m/dir"), nil)
	want(t, "remove full", f.Remove(in+"/m"), unix.ENOTEMPTY)
	want(t, "remove", f.Remove(in+"/m/moved"), nil)
	want(t, "stat removed", second(f.Stat(in+"/m/moved")), fs.ErrNotExist)
	want(t, "chtimes", f.Chtimes(in+"/plain", time.Time{}, time.Unix(1000, 0)), nil)
	want(t, "truncate", f.Truncate(in+"/plain", 2), nil)
	info, _ = f.Stat(in + "/plain")
	if info.Size() != 2 {
		t.Errorf("size after truncate: %d", info.Size())
	}
	left, _ := filepath.Glob(in + "/.skillet-*")
	if len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

func second[T any](_ T, err error) error { return err }

func TestReadDir(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.Symlink("plain", in+"/alink"))
	f := open(t, in, jail.Quota{})
	entries, more, err := f.ReadDir(in, 0)
	must(t, err)
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		names = append(names, e.Name()+":"+info.Mode().Type().String())
	}
	if got := strings.Join(names, " "); got != "alink:L--------- dir:d--------- plain:----------" || more {
		t.Errorf("entries %q, more %v", got, more)
	}
	entries, more, err = f.ReadDir(in, 2)
	if len(entries) != 2 || !more || err != nil {
		t.Errorf("two entries: %v, more %v, %v", entries, more, err)
	}
	want(t, "list a file", second2(f.ReadDir(in+"/plain", 0)), jail.ErrNotDir)
}

func second2[T, U any](_ T, _ U, err error) error { return err }

func TestOpenFileFlags(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.Symlink("plain", in+"/link"))
	must(t, os.Symlink("nowhere", in+"/dangling"))
	f := open(t, in, jail.Quota{})
	rdwr, creat, excl, trunc := os.O_RDWR, os.O_CREATE, os.O_EXCL, os.O_TRUNC
	for _, c := range []struct {
		name string
		flag int
		want error
	}{
		{"plain", os.O_RDONLY, nil},
		{"plain", rdwr | creat, nil},
		{"plain", rdwr | creat | excl, fs.ErrExist},
		{"link", rdwr | creat | excl, fs.ErrExist},
		{"link", os.O_RDONLY, nil},
		{"link", os.O_RDONLY | jail.NoFollow, jail.ErrNotRegular},
		{"link", os.O_WRONLY, nil},
		{"dangling", os.O_RDONLY, fs.ErrNotExist},
		{"dangling", rdwr | creat | excl, fs.ErrExist},
		{"none", os.O_RDONLY, fs.ErrNotExist},
		{"none/below", rdwr | creat, fs.ErrNotExist},
		{"plain/below", os.O_RDONLY, jail.ErrNotDir},
		{"plain/", os.O_RDONLY, jail.ErrNotDir},
		{"plain/.", os.O_RDONLY, jail.ErrNotDir},
		{"newfile/", rdwr | creat, jail.ErrIsDir},
		{"dir", os.O_RDONLY, nil},
		{"dir/", os.O_RDONLY | jail.Directory, nil},
		{"dir", rdwr, jail.ErrIsDir},
		{"dir", os.O_RDONLY | trunc, jail.ErrIsDir},
		{"dir", os.O_RDONLY | creat, jail.ErrIsDir},
		{"plain", os.O_RDONLY | jail.Directory, jail.ErrNotDir},
		{"new", os.O_WRONLY | creat, nil},
		{"plain", os.O_WRONLY | trunc, nil},
	} {
		h, err := f.OpenFile(in+"/"+c.name, c.flag, 0o644)
		want(t, fmt.Sprintf("open %s %#x", c.name, c.flag), err, c.want)
		if err == nil {
			h.Close()
		}
	}
	if info, _ := os.Stat(in + "/plain"); info.Size() != 0 {
		t.Errorf("O_TRUNC left %d bytes", info.Size())
	}
	if u := f.Usage(); u.OpenFiles != 0 {
		t.Errorf("%d files still open", u.OpenFiles)
	}
}

func TestFileMethods(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	f := open(t, in, jail.Quota{})
	h, err := f.OpenFile(in+"/x", os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	must(t, second(h.Write([]byte("hello world"))))
	must(t, second(h.WriteAt([]byte("J"), 0)))
	must(t, second(h.Seek(0, io.SeekStart)))
	b, err := io.ReadAll(h)
	if string(b) != "Jello world" || err != nil {
		t.Errorf("read back %q, %v", b, err)
	}
	must(t, h.Truncate(5))
	at := make([]byte, 10)
	if n, err := h.ReadAt(at, 1); n != 4 || err != io.EOF {
		t.Errorf("ReadAt: %d, %v", n, err)
	}
	must(t, h.Sync())
	must(t, h.Close())
	want(t, "close twice", h.Close(), fs.ErrClosed)
	want(t, "read closed", second(h.Read(at)), fs.ErrClosed)

	a, err := f.OpenFile(in+"/x", os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	must(t, second(a.Write([]byte("!"))))
	if got, _ := os.ReadFile(in + "/x"); string(got) != "Jello!" {
		t.Errorf("after append: %q", got)
	}
	if a.Path() != in+"/x" || a.IsDir() {
		t.Errorf("path %q, dir %v", a.Path(), a.IsDir())
	}
}

// TestCloseClosesFiles: what a guest leaves open does not outlive its call.
func TestCloseClosesFiles(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	f := open(t, in, jail.Quota{})
	h, err := f.OpenFile(in+"/plain", os.O_RDONLY, 0)
	must(t, err)
	must(t, f.Close())
	want(t, "read", second(h.Read(make([]byte, 1))), fs.ErrClosed)
	want(t, "open", second(f.OpenFile(in+"/plain", os.O_RDONLY, 0)), fs.ErrClosed)
	want(t, "close again", f.Close(), nil)
}

func TestRoots(t *testing.T) {
	t.Parallel()
	in, out := tree(t)
	must(t, os.Symlink(filepath.Base(out), filepath.Dir(in)+"/alias"))
	alias := filepath.Dir(in) + "/alias"
	f := openWith(t, []jail.Root{
		{Path: in, Write: true},
		{Path: in + "/dir"},
		{Path: out + "/secret"},
		{Path: out + "/new", Write: true},
		{Path: in + "-missing/x"},
		{Path: alias},
	}, jail.GuardFunc(allow), jail.Quota{})

	want(t, "outer write", f.WriteFile(in+"/w", nil, 0o644), nil)
	want(t, "inner read", second(f.ReadFile(in+"/dir/sub/deep", 0)), nil)
	want(t, "inner write: the longest root wins", f.WriteFile(in+"/dir/w", nil, 0o644), jail.ErrReadOnly)
	want(t, "inner create", second(f.OpenFile(in+"/dir/w", os.O_CREATE|os.O_WRONLY, 0o644)), jail.ErrReadOnly)
	want(t, "inner mkdir", f.Mkdir(in+"/dir/w", 0o755), jail.ErrReadOnly)
	want(t, "inner remove", f.Remove(in+"/dir/sub/deep"), jail.ErrReadOnly)
	want(t, "inner chtimes", f.Chtimes(in+"/dir/sub/deep", time.Time{}, time.Unix(1, 0)), jail.ErrReadOnly)
	want(t, "inner truncate", f.Truncate(in+"/dir/sub/deep", 0), jail.ErrReadOnly)
	want(t, "inner O_TRUNC", second(f.OpenFile(in+"/dir/sub/deep", os.O_RDONLY|os.O_TRUNC, 0)), jail.ErrReadOnly)
	want(t, "remove a root", f.Remove(in+"/dir"), jail.ErrReadOnly)
	want(t, "file root", second(f.ReadFile(out+"/secret", 0)), nil)
	want(t, "file root as directory", second(f.Stat(out+"/secret/x")), jail.ErrNotDir)
	want(t, "beside a file root", second(f.Stat(out+"/other")), jail.ErrEscape)
	want(t, "the file root's directory", second2(f.ReadDir(out, 0)), jail.ErrEscape)
	want(t, "file root with a slash", second(f.Stat(out+"/secret/")), jail.ErrNotDir)
	want(t, "root that is made", f.Mkdir(out+"/new", 0o755), nil)
	want(t, "in a root that was made", f.WriteFile(out+"/new/x", nil, 0o644), nil)
	want(t, "missing root", second(f.Stat(in+"-missing/x")), fs.ErrNotExist)
	want(t, "root that is a link", second(f.ReadFile(alias+"/secret", 0)), nil)
	want(t, "sibling by prefix", second(f.Stat(in+"x")), jail.ErrEscape)
	want(t, "no root", second(f.Stat("/etc/passwd")), jail.ErrEscape)
	if got := f.Roots(); len(got) != 6 || !slices.IsSortedFunc(got, func(a, b jail.Root) int { return len(a.Path) - len(b.Path) }) {
		t.Errorf("roots %v", got)
	}
}

func TestRenameAcrossRoots(t *testing.T) {
	t.Parallel()
	in, out := tree(t)
	f := openWith(t, []jail.Root{{Path: in, Write: true}, {Path: out, Write: true}}, jail.GuardFunc(allow), jail.Quota{})
	want(t, "rename", f.Rename(in+"/plain", out+"/plain"), jail.ErrCrossRoot)
	want(t, "rename a root", f.Rename(in, in+"2"), jail.ErrEscape)
	want(t, "rename onto a root", f.Rename(in+"/dir", in), fs.ErrPermission)
	want(t, "rename into itself", f.Rename(in+"/dir", in+"/dir/sub/x"), unix.EINVAL)
	want(t, "rename missing", f.Rename(in+"/none", in+"/x"), fs.ErrNotExist)
	want(t, "rename file to dir/", f.Rename(in+"/plain", in+"/x/"), jail.ErrNotDir)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "rel", "/a/", "/a//b", "/a/../b", "/a\x00"} {
		if f, err := jail.Open([]jail.Root{{Path: p}}, jail.GuardFunc(allow), jail.Quota{}); err == nil {
			f.Close()
			t.Errorf("root %q was accepted", p)
		}
	}
	if _, err := jail.Open(nil, nil, jail.Quota{}); err == nil {
		t.Error("no guard was accepted")
	}
	var zero jail.FS
	want(t, "zero FS", second(zero.Stat("/")), jail.ErrEscape)
}

// asked records what a guard is asked, and refuses paths with a "deny" in them.
type asked struct {
	mu   sync.Mutex
	list []string
}

func (a *asked) Check(op jail.Op, p string) error     { return a.note(op.String(), p) }
func (a *asked) CheckReal(op jail.Op, p string) error { return a.note("real "+op.String(), p) }

func (a *asked) note(op, p string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, op+" "+p)
	if strings.Contains(p, "deny") {
		return errGuard
	}
	return nil
}

// TestGuardSeesResolvedPath: a link to a refused file is refused, however it is used.
func TestGuardSeesResolvedPath(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.MkdirAll(in+"/deny/d", 0o755))
	must(t, os.WriteFile(in+"/deny/f", []byte("no"), 0o644))
	must(t, os.Symlink("deny/f", in+"/tofile"))
	must(t, os.Symlink("deny", in+"/todir"))
	must(t, os.Symlink("../deny/f", in+"/dir/up"))
	must(t, os.Symlink("todir", in+"/twice"))
	must(t, os.Symlink("dir/sub/../../deny", in+"/dots"))
	g := &asked{}
	f := openWith(t, []jail.Root{{Path: in, Write: true}}, g, jail.Quota{})
	for _, p := range []string{"deny/f", "tofile", "todir/f", "dir/up", "twice/f", "dots/f", "todir/none", "dir/../deny/f"} {
		p = in + "/" + p
		want(t, "read "+p, second(f.ReadFile(p, 0)), errGuard)
		want(t, "stat "+p, second(f.Stat(p)), errGuard)
		want(t, "write "+p, f.WriteFile(p, nil, 0o644), errGuard)
		want(t, "open rw "+p, second(f.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644)), errGuard)
		want(t, "truncate "+p, f.Truncate(p, 0), errGuard)
		want(t, "chtimes "+p, f.Chtimes(p, time.Time{}, time.Unix(1, 0)), errGuard)
	}
	for _, p := range []string{"todir/f", "twice/d", "dots/f"} {
		p = in + "/" + p
		want(t, "remove "+p, f.Remove(p), errGuard)
		want(t, "mkdir "+p, f.Mkdir(p, 0o755), errGuard)
		want(t, "rename from "+p, f.Rename(p, in+"/x"), errGuard)
		want(t, "rename to "+p, f.Rename(in+"/plain", p), errGuard)
	}
	want(t, "list", second2(f.ReadDir(in+"/todir", 0)), errGuard)
	if b, _ := os.ReadFile(in + "/deny/f"); string(b) != "no" {
		t.Errorf("the refused file is now %q", b)
	}
}

// TestGuardSeesTreeThatMoves: a refused file does not come along with its directory.
func TestGuardSeesTreeThatMoves(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.WriteFile(in+"/dir/sub/deny", nil, 0o644))
	f := openWith(t, []jail.Root{{Path: in, Write: true}}, &asked{}, jail.Quota{})
	want(t, "rename", f.Rename(in+"/dir", in+"/free"), errGuard)
	want(t, "rename below", f.Rename(in+"/dir/sub", in+"/free"), errGuard)
	must(t, os.Remove(in+"/dir/sub/deny"))
	want(t, "rename without it", f.Rename(in+"/dir", in+"/free"), nil)
}

func TestGuardIsAskedFirst(t *testing.T) {
	t.Parallel()
	in, out := tree(t)
	must(t, os.Symlink(out, in+"/denylink"))
	g := &asked{}
	f := openWith(t, []jail.Root{{Path: in}}, g, jail.Quota{})
	for _, p := range []string{"/deny/nowhere", in + "/deny", in + "/denylink/secret", in + "/plain/deny"} {
		want(t, p, second(f.Stat(p)), errGuard)
	}
	want(t, "write in a read-only root", f.WriteFile(in+"/deny", nil, 0o644), errGuard)
}

// TestGuardSeesRealPath: a root that is a link does not hide where it leads.
func TestGuardSeesRealPath(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(base+"/deny", 0o755))
	must(t, os.WriteFile(base+"/deny/f", nil, 0o644))
	must(t, os.Symlink("deny", base+"/nice"))
	must(t, os.Symlink("deny/f", base+"/file"))
	g := &asked{}
	f := openWith(t, []jail.Root{{Path: base + "/nice", Write: true}, {Path: base + "/file"}}, g, jail.Quota{})
	want(t, "read", second(f.ReadFile(base+"/nice/f", 0)), errGuard)
	want(t, "create", f.WriteFile(base+"/nice/x", nil, 0o644), errGuard)
	want(t, "file root", second(f.ReadFile(base+"/file", 0)), errGuard)
	if !slices.Contains(g.list, "real read "+base+"/deny/f") {
		t.Errorf("asked: %q", g.list)
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	q := jail.Quota{OpenFiles: 3, FileBytes: 100, TotalBytes: 250, Files: 4, Entries: 5}
	quota := func(t *testing.T, err error, what string, limit int64) {
		t.Helper()
		var e *jail.QuotaError
		if !errors.As(err, &e) || e.What != what || e.Limit != limit || !errors.Is(err, jail.ErrQuota) {
			t.Errorf("got %v, want the %s quota of %d", err, what, limit)
		}
	}
	t.Run("open files", func(t *testing.T) {
		f := open(t, in, q)
		var hs []*jail.File
		for range 3 {
			h, err := f.OpenFile(in+"/plain", os.O_RDONLY, 0)
			must(t, err)
			hs = append(hs, h)
		}
		quota(t, second(f.OpenFile(in+"/plain", os.O_RDONLY, 0)), "open files", 3)
		quota(t, second(f.OpenFile(in+"/q", os.O_WRONLY|os.O_CREATE, 0o644)), "open files", 3)
		hs[0].Close()
		h, err := f.OpenFile(in+"/plain", os.O_RDONLY, 0)
		must(t, err)
		h.Close()
	})
	t.Run("file size", func(t *testing.T) {
		f := open(t, in, q)
		quota(t, f.WriteFile(in+"/big", make([]byte, 101), 0o644), "file size", 100)
		h, err := f.OpenFile(in+"/grow", os.O_RDWR|os.O_CREATE, 0o644)
		must(t, err)
		must(t, second(h.Write(make([]byte, 60))))
		quota(t, second(h.Write(make([]byte, 41))), "file size", 100)
		quota(t, second(h.WriteAt(make([]byte, 1), 100)), "file size", 100)
		quota(t, second(h.WriteAt(make([]byte, 1), 1<<62)), "file size", 100)
		quota(t, h.Truncate(101), "file size", 100)
		a, err := f.OpenFile(in+"/grow", os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		quota(t, second(a.Write(make([]byte, 41))), "file size", 100)
		must(t, second(a.Write(make([]byte, 40))))
		must(t, os.WriteFile(in+"/large", make([]byte, 200), 0o644))
		quota(t, second(f.ReadFile(in+"/large", 0)), "file size", 100)
		quota(t, second(f.ReadFile(in+"/large", 199)), "file size", 199)
		must(t, second(f.ReadFile(in+"/large", 200)))
	})
	t.Run("bytes written", func(t *testing.T) {
		f := open(t, in, q)
		for range 2 {
			must(t, f.WriteFile(in+"/same", make([]byte, 100), 0o644))
		}
		quota(t, f.WriteFile(in+"/same", make([]byte, 51), 0o644), "bytes written", 250)
		h, err := f.OpenFile(in+"/same", os.O_RDWR|os.O_TRUNC, 0o644)
		must(t, err)
		quota(t, h.Truncate(51), "bytes written", 250)
		quota(t, second(h.Write(make([]byte, 51))), "bytes written", 250)
		must(t, h.Truncate(50))
		quota(t, second(h.WriteAt([]byte{1}, 0)), "bytes written", 250)
		if u := f.Usage(); u.Bytes != 250 {
			t.Errorf("usage %+v", u)
		}
	})
	t.Run("files created", func(t *testing.T) {
		f := open(t, t.TempDir(), q)
		root := f.Roots()[0].Path
		must(t, f.WriteFile(root+"/1", nil, 0o644))
		must(t, f.Mkdir(root+"/2", 0o755))
		h, err := f.OpenFile(root+"/3", os.O_WRONLY|os.O_CREATE, 0o644)
		must(t, err)
		h.Close()
		must(t, f.Remove(root+"/3"))
		must(t, f.WriteFile(root+"/4", nil, 0o644))
		must(t, f.WriteFile(root+"/4", nil, 0o644))
		quota(t, f.WriteFile(root+"/5", nil, 0o644), "files created", 4)
		quota(t, f.Mkdir(root+"/5", 0o755), "files created", 4)
		quota(t, second(f.OpenFile(root+"/5", os.O_WRONLY|os.O_CREATE, 0o644)), "files created", 4)
	})
	t.Run("directory entries", func(t *testing.T) {
		dir := t.TempDir()
		for i := range 4 {
			must(t, os.WriteFile(fmt.Sprint(dir, "/", i), nil, 0o644))
		}
		f := open(t, dir, q)
		must(t, second2(f.ReadDir(dir, 0)))
		entries, more, err := f.ReadDir(dir, 0)
		if len(entries) != 1 {
			t.Errorf("second listing: %v, %v", entries, more)
		}
		quota(t, err, "directory entries", 5)
		quota(t, second2(f.ReadDir(dir, 0)), "directory entries", 5)
		must(t, f.Mkdir(dir+"/d", 0o755))
		quota(t, f.Rename(dir+"/d", dir+"/e"), "directory entries", 5)
	})
	t.Run("defaults", func(t *testing.T) {
		f := open(t, in, jail.Quota{FileBytes: -1})
		want := jail.Quota{OpenFiles: 64, FileBytes: 64 << 20, TotalBytes: 256 << 20, Files: 1024, Entries: 100_000}
		if got := f.Quota(); got != want {
			t.Errorf("got %+v", got)
		}
	})
}

// TestConcurrent uses one FS from many goroutines; the race detector and the figures tell.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	f := open(t, in, jail.Quota{})
	var wg sync.WaitGroup
	var bad atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			p := fmt.Sprint(in, "/c", i)
			for range 50 {
				b := bytes.Repeat([]byte{byte(i)}, 100)
				err := f.WriteFile(p, b, 0o644)
				got, rerr := f.ReadFile(p, 0)
				if err != nil || rerr != nil || !bytes.Equal(got, b) {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if u := f.Usage(); bad.Load() > 0 || u.Bytes != 8*50*100 || u.Files != 8 || u.OpenFiles != 0 {
		t.Errorf("%d went wrong; usage %+v", bad.Load(), u)
	}
}

func BenchmarkReadFile(b *testing.B) {
	in, _ := tree(b)
	f := open(b, in, jail.Quota{})
	for b.Loop() {
		if _, err := f.ReadFile(in+"/dir/sub/deep", 0); err != nil {
			b.Fatal(err)
		}
	}
}

// renewed is a guard whose answer becomes another.
type renewed struct {
	number atomic.Uint64
	closed atomic.Bool
	asked  atomic.Int64
}

func (r *renewed) Decided() uint64 { return r.number.Load() }

func (r *renewed) Check(jail.Op, string) error {
	r.asked.Add(1)
	if r.closed.Load() {
		return errGuard
	}
	return nil
}

// TestAllowed: about an open file the guard is asked again when its answer may be another, and only then.
func TestAllowed(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	g := &renewed{}
	f := openWith(t, []jail.Root{{Path: in, Write: true}}, g, jail.Quota{})
	for _, c := range []struct {
		name string
		flag int
	}{{"plain", os.O_RDWR}, {"made", os.O_WRONLY | os.O_CREATE | os.O_EXCL}, {"dir", os.O_RDONLY | jail.Directory}} {
		g.closed.Store(false)
		h, err := f.OpenFile(in+"/"+c.name, c.flag, 0o600)
		must(t, err)
		asked := g.asked.Load()
		must(t, h.Allowed())
		if g.asked.Load() != asked {
			t.Errorf("%s: asked for nothing", c.name)
		}
		g.number.Add(1)
		must(t, h.Allowed())
		must(t, h.Allowed())
		g.number.Add(1)
		g.closed.Store(true)
		for range 2 {
			if err := h.Allowed(); !errors.Is(err, errGuard) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		must(t, h.Close())
	}
}
