//go:build unix

package worker

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// confine gives the process a group of its own, and its pipes as descriptors
// 3 and 4.
func confine(cmd *exec.Cmd, p *pipes) {
	cmd.ExtraFiles = []*os.File{p.receive, p.send}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// workerFiles are the pipes as the worker finds them.
func workerFiles() (receive, send *os.File) {
	return os.NewFile(3, "from parent"), os.NewFile(4, "to parent")
}

// firstOther is the first descriptor that a worker is not given.
const firstOther = 5

// killGroup kills a process that was not waited for, and its group, which has
// its number for as long.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// exists reports whether there is a process of a number.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
