package badgerstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// crashCopy copies a store as it is on disk, open or not: what is left when
// its process is killed.
func crashCopy(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copySparse(path, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
