package escape

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets a process end when the one that started it does. Ctrl-C at a terminal
// reaches only that one, which then ends it: it is in a group of its own.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
