//go:build unix

package bundle_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// TestReadDirRefusesSpecialFiles puts links, FIFOs and sockets where files are
// expected. None is followed, and none is waited for.
func TestReadDirRefusesSpecialFiles(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("top secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"skill.json", "SKILL.md", "README.md", "bin/main.wasm", "bin", "assets", "assets/a.txt", "assets/deep", "tests/one.json", "legal/TERMS"} {
		for what, put := range map[string]func(at string) error{
			"a link out":        func(at string) error { return os.Symlink(secret, at) },
			"a link up":         func(at string) error { return os.Symlink("../../../../../../etc", at) },
			"a link inside":     func(at string) error { return os.Symlink("LICENSE", at) },
			"a link to itself":  func(at string) error { return os.Symlink(filepath.Base(at), at) },
			"a link to nothing": func(at string) error { return os.Symlink("nothing", at) },
			"a FIFO":            func(at string) error { return syscall.Mkfifo(at, 0o600) },
			"a socket":          listen,
		} {
			dir := demoDir(t)
			at := filepath.Join(dir, path)
			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}
			if err := put(at); err != nil {
				t.Fatal(err)
			}
			p, err := bundle.ReadDir(dir)
			if p != nil || !errors.Is(err, bundle.ErrUnsafe) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s at %s: %v", what, path, err)
			}
		}
	}
}

// listen leaves a socket at a path, through a shorter path where the system
// wants one.
func listen(at string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return os.Rename(filepath.Join(dir, "s"), at)
}

func TestSpecialFilesBesideThePackageDoNotMatter(t *testing.T) {
	t.Parallel()
	dir := demoDir(t)
	if err := errors.Join(os.Symlink("/etc", filepath.Join(dir, "etc")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.ReadDir(dir); err != nil {
		t.Error(err)
	}
}

func TestOpenDoesNotWaitForAFIFO(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "demo.skill")
	if err := syscall.Mkfifo(at, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Open(at); !errors.Is(err, bundle.ErrUnsafe) {
		t.Errorf("%v", err)
	}
	if _, err := bundle.Open("/dev/null"); !errors.Is(err, bundle.ErrUnsafe) {
		t.Errorf("%v", err)
	}
}

// TestReadDirWhileFilesAreSwapped replaces a file by a link out while the
// directory is read: the package has the file as it was, or is refused, and
// never has what the link points to.
func TestReadDirWhileFilesAreSwapped(t *testing.T) {
	t.Parallel()
	dir := demoDir(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("top secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, link := filepath.Join(dir, "spare-file"), filepath.Join(dir, "spare-link")
	at := filepath.Join(dir, "assets", "a.txt")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(file, []byte("a\n"), 0o600) // the race is the point: any of these may come too late
			_ = os.Rename(file, at)
			_ = os.Symlink(secret, link)
			_ = os.Rename(link, at)
		}
	}()
	for range 300 {
		p, err := bundle.ReadDir(dir)
		if err != nil {
			continue
		}
		if b, err := p.Read("assets/a.txt"); err != nil || string(b) != "a\n" && len(b) > 0 {
			t.Errorf("have %q, %v", b, err)
		}
	}
	close(stop)
	<-stopped
}
