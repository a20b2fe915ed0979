package badgerstore

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a small file system, where the tests may do that.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", diskSize)); err != nil {
		t.Skip("mounting needs a privilege:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t) + "/store"
	cmd, out := process(t, "fill disk", dir)
	said, _ := out.ReadString('\n')
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(said, "refused after") {
		t.Fatalf("the process said %q and ended with %v", said, err)
	}
	t.Log(strings.TrimSpace(said))
	if rep, err := Verify(t.Context(), testLog(t), dir, testOptions()); err != nil || rep.Entries < 10 {
		t.Errorf("Verify = %+v, %v", rep, err)
	}
}

func TestFullDiskKillsPlainBadger(t *testing.T) {
	t.Parallel()
	cmd, out := process(t, "plain fill", smallDisk(t))
	said, _ := out.ReadString('\n')
	err := cmd.Wait()
	t.Logf("Badger as it comes said %q and ended with %v", said, err)
	if err == nil {
		t.Error("Badger by itself refused to write: is the watch still needed?")
	}
}
