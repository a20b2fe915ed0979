//go:build unix

package jail_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/jail"
)

// An attempt is one operation on a path below the root, tried on the jail and on the file system behind
// wazero's WithDirMount.
type attempt struct {
	jail  func(f *jail.FS, p string) error
	mount func(d esys.FS, rel string) error
}

var attempts = map[string]attempt{
	"read": {
		func(f *jail.FS, p string) error { return readSecret(f.ReadFile(p, 0)) },
		func(d esys.FS, p string) error {
			h, errno := d.OpenFile(p, esys.O_RDONLY, 0)
			if errno != 0 {
				return errno
			}
			defer h.Close()
			b := make([]byte, 16)
			n, errno := h.Read(b)
			return readSecret(b[:n], errnoError(errno))
		},
	},
	"write": {
		func(f *jail.FS, p string) error { return f.WriteFile(p, []byte("pwned"), 0o644) },
		func(d esys.FS, p string) error {
			h, errno := d.OpenFile(p, esys.O_WRONLY|esys.O_CREAT|esys.O_TRUNC, 0o644)
			if errno != 0 {
				return errno
			}
			defer h.Close()
			_, errno = h.Write([]byte("pwned"))
			return errnoError(errno)
		},
	},
	"open for writing": {
		func(f *jail.FS, p string) error {
			h, err := f.OpenFile(p, os.O_WRONLY, 0)
			if err == nil {
				h.Close()
			}
			return err
		},
		func(d esys.FS, p string) error {
			h, errno := d.OpenFile(p, esys.O_WRONLY, 0)
			if errno == 0 {
				h.Close()
			}
			return errnoError(errno)
		},
	},
	"stat": {
		func(f *jail.FS, p string) error { return second(f.Stat(p)) },
		func(d esys.FS, p string) error { _, errno := d.Stat(p); return errnoError(errno) },
	},
	"list": {
		func(f *jail.FS, p string) error { return second2(f.ReadDir(p, 0)) },
		func(d esys.FS, p string) error {
			h, errno := d.OpenFile(p, esys.O_RDONLY|esys.O_DIRECTORY, 0)
			if errno == 0 {
				h.Close()
			}
			return errnoError(errno)
		},
	},
	"mkdir": {
		func(f *jail.FS, p string) error { return f.Mkdir(p, 0o755) },
		func(d esys.FS, p string) error { return errnoError(d.Mkdir(p, 0o755)) },
	},
	"remove": {
		func(f *jail.FS, p string) error { return f.Remove(p) },
		func(d esys.FS, p string) error { return errnoError(d.Unlink(p)) },
	},
	"rename out": {
		func(f *jail.FS, p string) error { return f.Rename(strings.Split(p, "/in/")[0]+"/in/plain", p) },
		func(d esys.FS, p string) error { return errnoError(d.Rename("plain", p)) },
	},
	"chtimes": {
		func(f *jail.FS, p string) error { return f.Chtimes(p, time.Time{}, time.Unix(1, 0)) },
		func(d esys.FS, p string) error { return errnoError(d.Utimens(p, 0, 1)) },
	},
}

func errnoError(e esys.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

var errNoSecret = errors.New("read something, but not the secret")

func readSecret(b []byte, err error) error {
	if err == nil && !strings.Contains(string(b), "SECRET") {
		return errNoSecret
	}
	return err
}

// TestEscapes tries to get from "in" to "out" in every way there is. open says that the same attempt
// succeeds on the file system behind wazero's own directory mount, which is why the jail exists. (What a
// guest can reach of it by ".." alone is stopped by the text checks of wazero's WASI layer; links are not.)
func TestEscapes(t *testing.T) {
	t.Parallel()
	relLink := func(t *testing.T, in, out string) { must(t, os.Symlink("../out", in+"/l")) }
	absLink := func(t *testing.T, in, out string) { must(t, os.Symlink(out, in+"/l")) }
	none := func(*testing.T, string, string) {}
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, in, out string)
		op    string
		path  string
		want  error
		open  bool
	}{
		{"dot dot", none, "read", "../out/secret", jail.ErrEscape, true},
		{"dot dot in the middle", none, "read", "dir/../../out/secret", jail.ErrEscape, true},
		{"dot dot to the top", none, "read", "../../../../../../../../etc/passwd", jail.ErrEscape, false},
		{"dot dot write", none, "write", "../out/made", jail.ErrEscape, true},
		{"relative link", relLink, "read", "l/secret", jail.ErrEscape, true},
		{"relative link write", relLink, "write", "l/secret", jail.ErrEscape, true},
		{"relative link create", relLink, "write", "l/made", jail.ErrEscape, true},
		{"relative link stat", relLink, "stat", "l/secret", jail.ErrEscape, true},
		{"relative link list", relLink, "list", "l", jail.ErrEscape, true},
		{"relative link list slash", relLink, "list", "l/", jail.ErrEscape, true},
		{"relative link mkdir", relLink, "mkdir", "l/made", jail.ErrEscape, true},
		{"relative link remove", relLink, "remove", "l/secret", jail.ErrEscape, true},
		{"relative link rename", relLink, "rename out", "l/made", jail.ErrEscape, true},
		{"relative link chtimes", relLink, "chtimes", "l/secret", jail.ErrEscape, true},
		{"absolute link", absLink, "read", "l/secret", jail.ErrEscape, true},
		{"absolute link write", absLink, "write", "l/made", jail.ErrEscape, true},
		{"absolute link list", absLink, "list", "l", jail.ErrEscape, true},
		{"link to a file", func(t *testing.T, in, out string) {
			must(t, os.Symlink("../out/secret", in+"/l"))
		}, "read", "l", jail.ErrEscape, true},
		{"link to a file, write through", func(t *testing.T, in, out string) {
			must(t, os.Symlink("../out/secret", in+"/l"))
		}, "write", "l", jail.ErrEscape, true},
		{"dangling link, create through", func(t *testing.T, in, out string) {
			must(t, os.Symlink("../out/made", in+"/l"))
		}, "write", "l", jail.ErrEscape, true},
		{"link to a link", func(t *testing.T, in, out string) {
			must(t, os.Symlink("dir/m", in+"/l"))
			must(t, os.Symlink("../../out", in+"/dir/m"))
		}, "read", "l/secret", jail.ErrEscape, true},
		{"link through a directory and back", func(t *testing.T, in, out string) {
			must(t, os.Symlink("dir/sub/../../../out", in+"/l"))
		}, "read", "l/secret", jail.ErrEscape, true},
		{"link to the top", func(t *testing.T, in, out string) {
			must(t, os.Symlink(strings.Repeat("../", 40)+"etc", in+"/l"))
		}, "stat", "l/passwd", jail.ErrEscape, true},
		{"link loop", func(t *testing.T, in, out string) {
			must(t, os.Symlink("l", in+"/l"))
		}, "read", "l", jail.ErrLoop, false},
		{"link to proc root", func(t *testing.T, in, out string) {
			must(t, os.Symlink("/proc/self/root", in+"/l"))
		}, "stat", "l/etc/passwd", jail.ErrEscape, true},
		{"moved up link", func(t *testing.T, in, out string) {
			must(t, os.Symlink("../../out", in+"/dir/l"))
			must(t, os.Rename(in+"/dir", in+"/dir2"))
		}, "read", "dir2/l/secret", jail.ErrEscape, true},
		{"hard link, write through", func(t *testing.T, in, out string) {
			must(t, os.Link(out+"/secret", in+"/l"))
		}, "open for writing", "l", jail.ErrLinked, true},
		{"empty", none, "stat", "", nil, true}, // the root itself
		{"NUL", none, "stat", "plain\x00/../../out/secret", jail.ErrName, false},
		{"huge name", none, "stat", strings.Repeat("x", 256), jail.ErrName, false},
		{"huge path", none, "stat", strings.Repeat("x/", 3000), jail.ErrName, false},
		{"deep path", none, "stat", strings.Repeat("dir/../", 500) + "plain", nil, true},
		{"trailing slash on a file", none, "read", "plain/", jail.ErrNotDir, false},
		{"trailing dots on a file", none, "stat", "plain/..", nil, false},
		{"backslashes", none, "stat", `..\out\secret`, fs.ErrNotExist, false},
		{"invalid UTF-8", none, "stat", "\xff\xfe", fs.ErrNotExist, false},
		{"socket", func(t *testing.T, in, out string) { socket(t, in+"/l") }, "read", "l", jail.ErrNotRegular, false},
		{"link to a device", func(t *testing.T, in, out string) {
			must(t, os.Symlink("/dev/zero", in+"/l"))
		}, "read", "l", jail.ErrEscape, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attempts[c.op]
			in, out := tree(t)
			c.setup(t, in, out)
			before := snapshot(t, out)
			f := open(t, in, jail.Quota{})
			err := a.jail(f, in+"/"+c.path)
			if (c.want == nil) != (err == nil) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("jail: got %v, want %v", err, c.want)
			}
			if after := snapshot(t, out); after != before {
				t.Errorf("jail: outside changed from\n%s to\n%s", before, after)
			}
			if err := a.mount(sysfs.DirFS(in), c.path); (err == nil) != c.open {
				t.Errorf("directory mount: got %v, want it open: %v", err, c.open)
			}
		})
	}
}

// socket makes a unix socket's file. The path is kept short by working from its directory's descriptor.
func socket(t *testing.T, p string) {
	must(t, unix.Mknod(p, unix.S_IFSOCK|0o644, 0))
}

// snapshot describes a directory's files.
func snapshot(t *testing.T, dir string) string {
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, _ := os.ReadFile(p)
		b.WriteString(p + " " + info.Mode().String() + " " + info.ModTime().String() + " " + string(content) + "\n")
		return nil
	}))
	return b.String()
}

// TestHardLinkIsReplaced: writing a file with another name outside makes a file of its own.
func TestHardLinkIsReplaced(t *testing.T) {
	t.Parallel()
	in, out := tree(t)
	must(t, os.Link(out+"/secret", in+"/l"))
	f := open(t, in, jail.Quota{})
	want(t, "truncate", f.Truncate(in+"/l", 0), jail.ErrLinked)
	want(t, "O_TRUNC", second(f.OpenFile(in+"/l", os.O_RDONLY|os.O_TRUNC, 0)), jail.ErrLinked)
	want(t, "write", f.WriteFile(in+"/l", []byte("mine"), 0o644), nil)
	inside, _ := os.ReadFile(in + "/l")
	outside, _ := os.ReadFile(out + "/secret")
	if string(inside) != "mine" || string(outside) != "SECRET" {
		t.Errorf("inside %q, outside %q", inside, outside)
	}
}

// TestSpecialFiles: a FIFO neither blocks nor opens, whoever waits at its other end.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, unix.Mkfifo(in+"/fifo", 0o644))
	must(t, os.Symlink("fifo", in+"/tofifo"))
	f := open(t, in, jail.Quota{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range []string{in + "/fifo", in + "/tofifo"} {
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_RDONLY | os.O_TRUNC} {
				want(t, "open "+p, second(f.OpenFile(p, flag, 0o644)), jail.ErrNotRegular)
			}
			want(t, "write "+p, f.WriteFile(p, nil, 0o644), jail.ErrNotRegular)
			want(t, "chtimes "+p, f.Chtimes(p, time.Time{}, time.Unix(1, 0)), jail.ErrNotRegular)
			want(t, "rename "+p, f.Rename(p, in+"/x"), jail.ErrNotRegular)
			want(t, "rename onto "+p, f.Rename(in+"/plain", p), jail.ErrNotRegular)
			want(t, "below "+p, second(f.Stat(p+"/x")), jail.ErrNotDir)
		}
		want(t, "stat", second(f.Stat(in+"/fifo")), nil)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("an operation on a FIFO blocks")
	}
}

// TestFIFOBlocksDirectoryMount shows the hole the jail closes: the open does not come back.
func TestFIFOBlocksDirectoryMount(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, unix.Mkfifo(in+"/fifo", 0o644))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h, errno := sysfs.DirFS(in).OpenFile("fifo", esys.O_RDONLY, 0); errno == 0 {
			h.Close()
		}
	}()
	select {
	case <-done:
		t.Error("the open came back: the comparison no longer holds")
	case <-time.After(300 * time.Millisecond):
	}
	w, err := os.OpenFile(in+"/fifo", os.O_RDWR, 0) // let it go
	must(t, err)
	<-done
	w.Close()
}

// TestDevices: device nodes in a root are not opened. Making one needs privileges.
func TestDevices(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	if err := unix.Mknod(in+"/zero", unix.S_IFCHR|0o644, 1<<8|5); err != nil {
		t.Skip("cannot make a device node here:", err)
	}
	f := open(t, in, jail.Quota{})
	want(t, "read", second(f.ReadFile(in+"/zero", 0)), jail.ErrNotRegular)
	want(t, "write", f.WriteFile(in+"/zero", nil, 0o644), jail.ErrNotRegular)
	dev := openWith(t, []jail.Root{{Path: "/dev", Write: true}}, jail.GuardFunc(allow), jail.Quota{})
	want(t, "read /dev/zero", second(dev.ReadFile("/dev/zero", 0)), jail.ErrNotRegular)
}

// TestProc: the magic links of /proc do not lead out, even for who was granted /proc.
func TestProc(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/root"); err != nil {
		t.Skip("no /proc here")
	}
	f := openWith(t, []jail.Root{{Path: "/proc", Write: true}}, jail.GuardFunc(allow), jail.Quota{})
	for _, p := range []string{"/proc/self/root/etc/passwd", "/proc/self/cwd/escape_test.go", "/proc/self/exe"} {
		want(t, p, second(f.Stat(p)), jail.ErrEscape)
		want(t, p, second(f.ReadFile(p, 0)), jail.ErrEscape)
	}
}

// TestLinksAreNotMoved: what a relative link means must not change by the guest's doing.
func TestLinksAreNotMoved(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.Symlink("../plain", in+"/dir/l"))
	f := open(t, in, jail.Quota{})
	want(t, "rename a link", f.Rename(in+"/dir/l", in+"/l"), jail.ErrNotRegular)
	want(t, "rename over a link", f.Rename(in+"/plain", in+"/dir/l"), jail.ErrNotRegular)
	target, err := f.Readlink(in + "/dir/l")
	if target != "../plain" || err != nil {
		t.Errorf("readlink: %q, %v", target, err)
	}
	want(t, "readlink a file", second(f.Readlink(in+"/plain")), fs.ErrInvalid)
	want(t, "remove a link", f.Remove(in+"/dir/l"), nil)
	want(t, "its target", second(f.Stat(in+"/plain")), nil)
}

// TestNestedRootIsNotRedirected: a guest that can change a root cannot make a nested one lead elsewhere.
func TestNestedRootIsNotRedirected(t *testing.T) {
	t.Parallel()
	in, out := tree(t)
	must(t, os.Symlink(out, in+"/nested"))
	f := openWith(t, []jail.Root{{Path: in, Write: true}, {Path: in + "/nested"}, {Path: in + "/nested/secret"}},
		jail.GuardFunc(allow), jail.Quota{})
	want(t, "nested", second2(f.ReadDir(in+"/nested", 0)), jail.ErrEscape)
	want(t, "nested file", second(f.ReadFile(in+"/nested/secret", 0)), jail.ErrEscape)

	g := openWith(t, []jail.Root{{Path: in}, {Path: in + "/nested"}}, jail.GuardFunc(allow), jail.Quota{})
	want(t, "nested in a read-only root", second2(g.ReadDir(in+"/nested", 0)), nil)
}

// TestFileRootIsNotRedirected: a root that is one file does not become the one beside it.
func TestFileRootIsNotRedirected(t *testing.T) {
	t.Parallel()
	in, _ := tree(t)
	must(t, os.WriteFile(in+"/beside", []byte("SECRET"), 0o644))
	f := openWith(t, []jail.Root{{Path: in + "/plain", Write: true}, {Path: in + "/later", Write: true}}, jail.GuardFunc(allow), jail.Quota{})
	must(t, os.Remove(in+"/plain"))
	for _, p := range []string{in + "/plain", in + "/later"} {
		must(t, os.Symlink("beside", p))
		want(t, "read "+p, second(f.ReadFile(p, 0)), jail.ErrEscape)
		want(t, "write "+p, f.WriteFile(p, nil, 0o644), jail.ErrEscape)
	}
}

// TestSwapRaces lets another process's part exchange things under the jail as fast as it can. Whatever
// an operation meets, it must never read or change what is outside or what the guard refuses.
func TestSwapRaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b func(t *testing.T, base, at string) // two things that take turns at the path
		path string
	}{
		{"directory and link out", mkRealDir, mkLink("../out"), "swap/secret"},
		{"directory and absolute link", mkRealDir, mkLink("/"), "swap/secret"},
		{"directory and link to a refused one", mkRealDir, mkLink("deny"), "swap/secret"},
		{"file and link out", mkFile, mkLink("../out/secret"), "swap"},
		{"file and link to a refused one", mkFile, mkLink("deny/secret"), "swap"},
		{"file and refused file's hard link", mkFile, mkHardLink, "swap"},
		{"file and FIFO", mkFile, mkFIFO, "swap"},
		{"directory and FIFO", mkRealDir, mkFIFO, "swap/secret"},
		{"nothing and link out", func(*testing.T, string, string) {}, mkLink("../out/secret"), "swap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in, out := tree(t)
			must(t, os.Mkdir(in+"/deny", 0o755))
			must(t, os.WriteFile(in+"/deny/secret", []byte("SECRET"), 0o644))
			stop := swapper(t, filepath.Dir(in), in+"/swap", c.a, c.b)
			f := openWith(t, []jail.Root{{Path: in, Write: true}}, &asked{}, jail.Quota{TotalBytes: 1 << 30, Files: 1 << 20})
			p := in + "/" + c.path
			linked := c.name == "file and refused file's hard link"
			for end := time.Now().Add(250 * time.Millisecond); time.Now().Before(end); {
				if b, err := f.ReadFile(p, 0); err == nil && strings.Contains(string(b), "SECRET") && !linked {
					t.Fatal("read the secret")
				}
				f.WriteFile(p, []byte("w"), 0o644)
				if h, err := f.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
					h.Write([]byte("o"))
					h.Close()
				}
				f.Remove(p)
				f.Rename(in+"/plain", p)
				f.Mkdir(p+"x", 0o755)
			}
			stop()
			for _, p := range []string{out + "/secret", in + "/deny/secret"} {
				if b, err := os.ReadFile(p); err != nil || string(b) != "SECRET" {
					t.Errorf("%s is now %q, %v", p, b, err)
				}
			}
			if left, _ := os.ReadDir(out); len(left) != 1 {
				t.Errorf("outside has now %v", left)
			}
		})
	}
}

// swapper puts a and b at a path in turns until the returned function is called.
func swapper(t *testing.T, base, at string, a, b func(*testing.T, string, string)) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			next := filepath.Join(base, "next")
			os.RemoveAll(next)
			if i%2 == 0 {
				a(t, base, next)
			} else {
				b(t, base, next)
			}
			if syscall.Rename(next, at) != nil { // a directory is in the way, or the other way round
				os.RemoveAll(at)
				syscall.Rename(next, at)
			}
		}
	})
	stop = sync.OnceFunc(func() { close(quit); wg.Wait() })
	t.Cleanup(stop) // also when the test gives up before
	return stop
}

func mkRealDir(_ *testing.T, _, at string) {
	os.Mkdir(at, 0o755)
	os.WriteFile(at+"/secret", []byte("harmless"), 0o644)
}

func mkFile(_ *testing.T, _, at string) { os.WriteFile(at, []byte("harmless"), 0o644) }

func mkFIFO(_ *testing.T, _, at string) { unix.Mkfifo(at, 0o644) }

func mkHardLink(_ *testing.T, base, at string) { os.Link(base+"/in/deny/secret", at) }

func mkLink(target string) func(*testing.T, string, string) {
	return func(_ *testing.T, _, at string) { os.Symlink(target, at) }
}

// FuzzPath throws paths at a jail with links of all kinds in it. Whatever the path, the secret outside is
// neither read nor changed, nothing panics, and the guard has seen every path that worked.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"", "/", ".", "..", "plain", "dir/sub/deep", "rel/secret", "abs/secret", "loop", "../out/secret", "dir/up/secret",
		"dir/../rel/../plain", "plain/", "fifo", "dir/./sub//deep", "\x00", "dots/../x", strings.Repeat("a", 300), strings.Repeat("../", 100) + "etc/passwd",
	} {
		f.Add(s)
	}
	base, err := os.MkdirTemp("", "jailfuzz")
	must(f, err)
	f.Cleanup(func() { os.RemoveAll(base) })
	in, out := base+"/in", base+"/out"
	must(f, os.MkdirAll(in+"/dir/sub", 0o755))
	must(f, os.MkdirAll(in+"/deny", 0o755))
	must(f, os.MkdirAll(out, 0o755))
	for p, b := range map[string]string{in + "/plain": "plain", in + "/dir/sub/deep": "deep", out + "/secret": "SECRET", in + "/deny/secret": "SECRET"} {
		must(f, os.WriteFile(p, []byte(b), 0o644))
	}
	for l, to := range map[string]string{"rel": "../out", "abs": out, "loop": "loop", "dir/up": "../../out", "dots": "dir/sub/../..", "inner": "deny"} {
		must(f, os.Symlink(to, in+"/"+l))
	}
	must(f, unix.Mkfifo(in+"/fifo", 0o644))
	f.Fuzz(func(t *testing.T, p string) {
		j := openWith(t, []jail.Root{{Path: in}}, &asked{}, jail.Quota{})
		for _, p := range []string{p, "/" + p, in + p, in + "/" + p} {
			if b, err := j.ReadFile(p, 0); err == nil && strings.Contains(string(b), "SECRET") {
				t.Fatalf("%q reads the secret", p)
			}
			if info, err := j.Stat(p); err == nil && info.Name() == "secret" {
				t.Fatalf("%q reaches the secret", p)
			}
			j.ReadDir(p, 10)
			j.Lstat(p)
			j.Readlink(p)
			for _, err := range []error{j.WriteFile(p, nil, 0o644), j.Remove(p), j.Mkdir(p, 0o755), j.Rename(p, in+"/x")} {
				if err == nil {
					t.Fatalf("%q changed a read-only root", p)
				}
			}
		}
	})
}
