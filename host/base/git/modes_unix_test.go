//go:build unix

package git

import (
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestModesWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	r := open(t, dir)
	mustCommit(t, r, "one", map[string]string{"a": "1", "b/c": "2"})
	if err := os.RemoveAll(dir + "/b"); err != nil {
		t.Fatal(err)
	}
	if err := r.Restore(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Pack(false); err != nil || n == 0 {
		t.Fatalf("%d packed, %v", n, err)
	}
	mustCommit(t, open(t, dir), "two", map[string]string{"a": "3", "b/d/e": "4"})
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if st, err := d.Info(); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	likesIt(t, dir)
}
