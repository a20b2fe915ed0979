package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// within is the program of a container, in its root and under its account.
func within(t *testing.T, root string, c v1.Config, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(c.Entrypoint[0], args...)
	cmd.Path, cmd.Err = c.Entrypoint[0], nil // it is there in the other root
	cmd.Env, cmd.Dir = c.Env, c.WorkingDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	return cmd
}

// mount gives the root what every container engine gives it: /proc, where a process finds
// its program, and /dev.
func mount(t *testing.T, root string) {
	t.Helper()
	for _, m := range []struct {
		from, kind string
		flags      uintptr
	}{
		{"proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
		{"/dev", "", syscall.MS_BIND},
	} {
		at := filepath.Join(root, filepath.Base(m.from))
		if err := syscall.Mount(m.from, at, m.kind, m.flags, ""); err != nil {
			t.Skip("nothing can be mounted here: ", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
}
