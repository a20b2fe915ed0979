//go:build unix

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group gives a process that is to be started a group of its own, and on Linux
// has the system kill it when the thread that starts it ends, and with it when
// this process does.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// KillGroup kills a process that was not waited for, and its group, which has
// its number for as long. Where there are no groups it kills the process alone.
func KillGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// Exists reports whether there is a process of a number. Where that cannot be
// asked it says yes.
func Exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// WaitParent returns when the process that started this one, of the given
// number, is gone.
func WaitParent(pid int) {
	for os.Getppid() == pid {
		time.Sleep(parentInterval)
	}
}

const parentInterval = 250 * time.Millisecond

// KeepOutput takes standard output away from whoever prints: what is written
// there from now on goes to standard error. The file it returns is where it went
// before.
func KeepOutput() (*os.File, error) {
	before, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	if err := dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd())); err != nil {
		return nil, errors.Join(os.NewSyscallError("dup2", err), unix.Close(before))
	}
	return os.NewFile(uintptr(before), "/dev/stdout"), nil
}

// LimitSelf bounds this process for good. Systems that do not hold memory to its
// bound return no error for it.
func LimitSelf(l Limits) error { return l.each(Limit) }

// Limit lowers a resource limit of this process for good.
func Limit(what int, most uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(what, &l); err != nil {
		return fmt.Errorf("resource limit %d: %w", what, err)
	}
	lower(&l.Cur, most)
	lower(&l.Max, most)
	if err := unix.Setrlimit(what, &l); err != nil {
		return fmt.Errorf("resource limit %d: %w", what, err)
	}
	return nil
}

// lower lowers a figure that is signed on some systems.
func lower[T int64 | uint64](v *T, most uint64) {
	if uint64(*v) > most {
		*v = T(most)
	}
}

// each sets those limits that are there.
func (l Limits) each(set func(what int, most uint64) error) error {
	for _, row := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_DATA, l.MemoryBytes}, {unix.RLIMIT_NOFILE, l.OpenFiles}, {unix.RLIMIT_CPU, l.CPUSeconds}} {
		if row.most == 0 {
			continue
		}
		if err := set(row.what, row.most); err != nil {
			return err
		}
	}
	return set(unix.RLIMIT_CORE, 0)
}
