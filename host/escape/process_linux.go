package escape

import (
	"os/exec"
	"syscall"
)

// dieWithParent has a process end when the one that started it does.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
