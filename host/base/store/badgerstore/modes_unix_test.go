//go:build unix

package badgerstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
	"golang.org/x/sys/unix"
)

func TestModesWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := filepath.Join(t.TempDir(), "store")
	for range 2 {
		s := mustOpen(t, dir, testOptions())
		if _, err := s.KV().Put(t.Context(), "k", []byte("v"), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		mustClose(t, s)
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
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
}
