package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// TestDiskOfTheCache opens a runtime whose cache is on a disk that is full, or that
// cannot be written to: it keeps nothing, and runs modules all the same.
func TestDiskOfTheCache(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"full": func(dir string) error {
			_ = os.WriteFile(filepath.Join(dir, "all"), make([]byte, 1<<20), 0o600)
			return nil
		},
		"read-only": func(dir string) error {
			return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=256k")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
				t.Skip("no file system can be mounted here: ", err)
			}
			defer unix.Unmount(dir, unix.MNT_DETACH)
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			asked := 0
			for _, o := range []sandbox.Options{{}, {Compiler: counting(&asked)}} {
				o.CacheDir = filepath.Join(dir, "cache")
				r := newRuntime(t, o)
				if got, err := call(t, loadIn(t, r, answers(41)), sandbox.Call{}); got.ExitCode != 41 {
					t.Errorf("answer %d, %v", got.ExitCode, err)
				}
			}
			if asked == 0 {
				t.Error("the compiler was not asked")
			}
		})
	}
}
