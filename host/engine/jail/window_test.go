//go:build unix

package jail

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSwapInTheWindow replaces what was looked at between the look and the open, which no outsider hits
// reliably. The open notices, and does not block on a FIFO.
func TestSwapInTheWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"file", "other"} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(dir+"/dir", 0o755)
	os.Mkdir(dir+"/dir2", 0o755)
	os.Symlink("dir2", dir+"/dirlink")
	unix.Mkfifo(dir+"/fifo", 0o644)
	os.Symlink("other", dir+"/link")
	file, _ := os.Lstat(dir + "/file")
	folder, _ := os.Lstat(dir + "/dir")
	f, err := Open([]Root{{Path: dir, Write: true}}, GuardFunc(func(Op, string) error { return nil }), Quota{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"fifo", "link", "other", "dir", "none"} {
			p := &location{dir: root, name: name, info: file, guest: dir + "/file"}
			for _, flag := range []int{os.O_RDONLY, os.O_RDONLY | os.O_TRUNC} {
				if h, err := f.openLocation(p, flag, 0, false); err == nil {
					h.Close()
					t.Errorf("%s was opened for the file that was there", name)
				}
			}
		}
		for _, name := range []string{"fifo", "link", "other", "dir2", "dirlink"} {
			w := &walker{dirs: []*os.Root{root}}
			if err := w.down(name, folder); err != errChanged {
				t.Errorf("%s for a directory: %v", name, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("an open blocks")
	}
}
