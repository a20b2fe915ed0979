package worker

import "golang.org/x/sys/unix"

// machine is how the kernel calls this one in a filter. Numbers of its other
// system call table (x32) are not among those passed.
const machine = unix.AUDIT_ARCH_X86_64

// passedHere are system calls only this machine has.
var passedHere = []uintptr{
	unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_NEWFSTATAT, unix.SYS_STAT, unix.SYS_LSTAT,
	unix.SYS_OPEN, unix.SYS_READLINK, unix.SYS_RENAME, unix.SYS_UNLINK, unix.SYS_MKDIR, unix.SYS_RMDIR,
	unix.SYS_TIME, unix.SYS_PIPE,
}
