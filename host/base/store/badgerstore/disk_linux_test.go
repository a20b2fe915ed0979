package badgerstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/base/store"
)

// smallDisk mounts a small file system that takes so many files, where the tests may do that.
func smallDisk(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=%d", diskSize, files)); err != nil {
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
	dir := smallDisk(t, 1000) + "/store"
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
	cmd, out := process(t, "plain fill", smallDisk(t, 1000))
	said, _ := out.ReadString('\n')
	err := cmd.Wait()
	t.Logf("Badger as it comes said %q and ended with %v", said, err)
	if err == nil {
		t.Error("Badger by itself refused to write: is the watch still needed?")
	}
}

// A disk that is full while a store is closed keeps nobody waiting, and what was written
// is there.
func TestClosedOnAFullDisk(t *testing.T) {
	t.Parallel()
	cmd, out := process(t, "fill disk and close", smallDisk(t, 100)+"/store")
	hung := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	said, _ := out.ReadString('\n')
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(said, "closed") {
		t.Errorf("the process said %q and ended with %v", said, err)
	}
}

// A disk that takes hardly a file more is full, whatever it has of bytes, and no damage.
func TestDiskWithoutFiles(t *testing.T) {
	t.Parallel()
	o := Options{FreeBytes: 1 << 20}
	for files := range 40 {
		s, err := OpenShared(testLog(t), smallDisk(t, files+2)+"/store", o)
		if err == nil {
			_, err = s.KV().Put(t.Context(), "k", nil, store.AnyRevision)
			err = errors.Join(err, s.Close())
		}
		if errors.Is(err, store.ErrDamaged) || !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("of %d files: %v", files+2, err)
		}
	}
	dir := smallDisk(t, 100)
	s := mustOpen(t, dir+"/store", o)
	defer mustClose(t, s)
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("taken", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.KV().Put(t.Context(), "k", nil, store.AnyRevision); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "more files") {
		t.Errorf("Put = %v", err)
	}
}

// A store is verified where nothing can be written, closed or killed, and whatever a crash
// has left beside the database.
func TestVerifyWritesNothingBeside(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 1000)
	closed, killed := disk+"/closed", disk+"/killed"
	want := populate(t, closed, testOptions(), 3)
	s := mustOpen(t, closed, testOptions())
	if err := os.CopyFS(killed, os.DirFS(crashCopy(t, closed))); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	for _, dir := range []string{closed, killed} {
		if err := os.Mkdir(filepath.Join(dir, nextName), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o := testOptions() // where only EROFS tells that nothing can be written
	for _, dir := range []string{closed, killed} {
		rep, err := Verify(t.Context(), testLog(t), dir, o)
		if err != nil || rep.Closed != (dir == closed) || rep.Entries < uint64(len(want)) {
			t.Errorf("Verify of %s = %+v, %v", dir, rep, err)
		}
	}
	shared, err := OpenShared(testLog(t), closed, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dump(t, shared); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d entries are read of %d, %v", len(got), len(want), err)
	}
	mustClose(t, shared)
}
