package main

import (
	"os/exec"
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
