package wasi_test

import (
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// rest is a file tree that has one directory and says what it was asked for.
type rest struct {
	wasi.FS
	path  string
	asked []string
}

func (r *rest) Preopens() []wasi.Preopen { return []wasi.Preopen{{Path: r.path}} }

func (r *rest) Stat(path string, _ bool) (wasi.Stat, wasi.Errno) {
	r.asked = append(r.asked, path)
	return wasi.Stat{}, wasi.EACCES
}

func (r *rest) Rename(from, to string) wasi.Errno {
	r.asked = append(r.asked, from+" "+to)
	return wasi.Success
}

func openScratch(t *testing.T, fs wasi.FS, path string, how wasi.OpenFlags) wasi.File {
	t.Helper()
	f, errno := fs.Open(path, how)
	if errno != wasi.Success {
		t.Fatalf("open %s: %v", path, errno)
	}
	return f
}

func TestScratch(t *testing.T) {
	t.Parallel()
	fs := wasi.NewScratch(nil, 100_000, wasi.Folder{})
	expect := func(what string, got, want wasi.Errno) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("a directory in none", fs.Mkdir("/tmp/a/b"), wasi.ENOENT)
	expect("a directory", fs.Mkdir("/tmp/a/"), wasi.Success)
	expect("a directory again", fs.Mkdir("/tmp/a"), wasi.EEXIST)
	expect("outside", fs.Mkdir("/etc"), wasi.ENOENT)
	f := openScratch(t, fs, "/tmp/a/x", wasi.Create|wasi.Exclusive|wasi.Write|wasi.Read)
	_, errno := fs.Open("/tmp/a/x", wasi.Create|wasi.Exclusive|wasi.Write)
	expect("a file again", errno, wasi.EEXIST)
	_, errno = fs.Open("/tmp/a/x/", wasi.Read)
	expect("a file as a directory", errno, wasi.ENOTDIR)
	_, errno = fs.Open("/tmp/a/x/y", wasi.Read)
	expect("below a file", errno, wasi.ENOTDIR)
	_, errno = fs.Open("/tmp/a", wasi.Write)
	expect("writing to a directory", errno, wasi.EISDIR)
	if n, errno := f.WriteAt([]byte("hello"), 3); n != 5 || errno != wasi.Success {
		t.Errorf("%d, %v", n, errno)
	}
	if n, end, errno := f.Append([]byte("!")); n != 1 || end != 9 || errno != wasi.Success {
		t.Errorf("%d, %d, %v", n, end, errno)
	}
	b := make([]byte, 20)
	if n, errno := f.ReadAt(b, 0); errno != wasi.Success || string(b[:n]) != "\x00\x00\x00hello!" {
		t.Errorf("%q, %v", b[:n], errno)
	}
	expect("shorter", f.Truncate(4), wasi.Success)
	expect("longer", f.Truncate(6), wasi.Success)
	if n, errno := f.ReadAt(b, 0); errno != wasi.Success || string(b[:n]) != "\x00\x00\x00h\x00\x00" {
		t.Errorf("%q, %v: what was cut off is there again", b[:n], errno)
	}
	expect("a full directory", fs.Remove("/tmp/a", true), wasi.ENOTEMPTY)
	expect("into itself", fs.Rename("/tmp/a", "/tmp/a/b"), wasi.EINVAL)
	expect("a move", fs.Rename("/tmp/a/x", "/tmp/y"), wasi.Success)
	expect("itself", fs.Rename("/tmp/y", "/tmp/y"), wasi.Success)
	expect("out of it", fs.Rename("/tmp/y", "/y"), wasi.EXDEV)
	expect("the directory itself", fs.Remove("/tmp", true), wasi.EBUSY)
	dir := openScratch(t, fs, "/tmp", wasi.Read|wasi.Directory)
	for range 2 {
		first, _ := dir.ReadDir(1)
		second, _ := dir.ReadDir(5)
		if none, errno := dir.ReadDir(5); len(first) != 1 || len(second) != 1 || len(none) != 0 || errno != wasi.Success || first[0].Name != "a" || second[0].Type != wasi.RegularFile {
			t.Errorf("%v, %v, %v, %v", first, second, none, errno)
		}
		dir.Rewind()
	}
	expect("times", fs.SetTimes("/tmp/y", time.Now(), time.Now()), wasi.Success)
	if st, errno := fs.Stat("/tmp/y", true); errno != wasi.Success || st.Size != 6 || st.Mtime != time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() {
		t.Errorf("%+v, %v", st, errno)
	}
	expect("a file", fs.Remove("/tmp/y", false), wasi.Success)
	if n, errno := f.ReadAt(b, 0); n != 6 || errno != wasi.Success {
		t.Errorf("removed while it is open: %d bytes, %v", n, errno)
	}
}

// What a scratch directory holds is bounded, and what is removed is free again.
func TestScratchIsBounded(t *testing.T) {
	t.Parallel()
	fs := wasi.NewScratch(nil, 10_000, wasi.Folder{})
	for range 5 {
		f := openScratch(t, fs, "/tmp/a", wasi.Create|wasi.Write)
		if _, errno := f.WriteAt(make([]byte, 9_000), 0); errno != wasi.Success {
			t.Fatal(errno)
		}
		if _, errno := f.WriteAt(make([]byte, 9_000), 9_000); errno != wasi.ENOSPC {
			t.Errorf("too much: %v", errno)
		}
		if errno := f.Truncate(1 << 62); errno != wasi.ENOSPC {
			t.Errorf("far too long: %v", errno)
		}
		if _, errno := f.WriteAt([]byte("x"), 1<<63-1); errno != wasi.EFBIG {
			t.Errorf("too far: %v", errno)
		}
		if errno := fs.Remove("/tmp/a", false); errno != wasi.Success {
			t.Fatal(errno)
		}
		f.Close()
	}
	made := 0
	for ; fs.Mkdir("/tmp/"+string(rune('a'+made))) == wasi.Success; made++ {
	}
	if made < 10 || made > 40 {
		t.Errorf("%d directories in 10,000 bytes", made)
	}
}

// The directories of a call stay what they are.
func TestScratchBesideOthers(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/tmp", "/"} {
		r := &rest{path: path}
		if fs := wasi.NewScratch(r, 1000, wasi.Folder{}); fs != wasi.FS(r) {
			t.Errorf("%s: there is a scratch directory as well", path)
		}
	}
	r := &rest{path: "/tmp/in"}
	fs := wasi.NewScratch(r, 1000, wasi.Folder{})
	if all := fs.Preopens(); len(all) != 2 || all[1].Path != wasi.ScratchPath {
		t.Errorf("%v", all)
	}
	fs.Stat("/tmp/in/a", true)
	fs.Stat("/tmp/inner", true)
	fs.Rename("/tmp/in/a", "/tmp/in/b")
	if errno := fs.Rename("/tmp/in/a", "/tmp/b"); errno != wasi.EXDEV || len(r.asked) != 2 || r.asked[0] != "/tmp/in/a" {
		t.Errorf("%v, asked for %q", errno, r.asked)
	}
}

// A folder stays as it is, and what is added to it is bounded.
func TestFolder(t *testing.T) {
	t.Parallel()
	given := []byte("given")
	folder := wasi.Folder{At: "/skills/a", Files: []wasi.FolderFile{{Path: "x.txt", Data: given[:2]}, {Path: "deep/y.txt", Data: given}}}
	fs := wasi.NewScratch(nil, 10_000, folder)
	if p := fs.Preopens(); len(p) != 2 || p[0].Path != wasi.ScratchPath || p[1].Path != folder.At {
		t.Errorf("directories: %v", p)
	}
	for what, errno := range map[string]wasi.Errno{
		"remove a file":      fs.Remove("/skills/a/x.txt", false),
		"remove a directory": fs.Remove("/skills/a/deep", true),
		"rename a file":      fs.Rename("/skills/a/x.txt", "/skills/a/z"),
		"rename a directory": fs.Rename("/skills/a/deep", "/skills/a/z"),
		"replace a file":     renamed(t, fs, "/skills/a/new", "/skills/a/x.txt"),
		"write to a file":    opened(fs, "/skills/a/x.txt", wasi.Write),
		"append to a file":   opened(fs, "/skills/a/deep/y.txt", wasi.Write|wasi.Append),
		"empty a file":       opened(fs, "/skills/a/x.txt", wasi.Read|wasi.Truncate),
		"create over a file": opened(fs, "/skills/a/x.txt", wasi.Write|wasi.Create|wasi.Truncate),
	} {
		if errno != wasi.EROFS {
			t.Errorf("%s: %v", what, errno)
		}
	}
	f := openScratch(t, fs, "/skills/a/x.txt", wasi.Read)
	if _, errno := f.WriteAt([]byte("no"), 0); errno != wasi.EROFS {
		t.Errorf("write: %v", errno)
	}
	if _, _, errno := f.Append([]byte("no")); errno != wasi.EROFS || f.Truncate(0) != wasi.EROFS {
		t.Errorf("append: %v", errno)
	}
	if string(given) != "given" {
		t.Errorf("the content of the caller: %q", given)
	}
	if errno := fs.Rename("/tmp", "/skills/a/tmp"); errno != wasi.EXDEV {
		t.Errorf("from one to the other: %v", errno)
	}
	if errno := opened(fs, "/skills/other/x", wasi.Read); errno != wasi.ENOENT {
		t.Errorf("another folder: %v", errno)
	}
	into := openScratch(t, fs, "/skills/a/deep/new", wasi.Create|wasi.Write)
	if _, errno := into.WriteAt(make([]byte, 20_000), 0); errno != wasi.ENOSPC {
		t.Errorf("more than there may be: %v", errno)
	}
	if none := wasi.NewScratch(nil, 0, wasi.Folder{}); none != nil {
		t.Errorf("of nothing: %v", none)
	}
}

func opened(fs wasi.FS, path string, how wasi.OpenFlags) wasi.Errno {
	_, errno := fs.Open(path, how)
	return errno
}

func renamed(t *testing.T, fs wasi.FS, from, to string) wasi.Errno {
	openScratch(t, fs, from, wasi.Create|wasi.Write).Close()
	return fs.Rename(from, to)
}
