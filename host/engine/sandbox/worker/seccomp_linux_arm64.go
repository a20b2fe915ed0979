package worker

import "golang.org/x/sys/unix"

// machine is how the kernel calls this one in a filter.
const machine = unix.AUDIT_ARCH_AARCH64

// passedHere are system calls only this machine has by this name.
var passedHere = []uintptr{unix.SYS_FSTATAT}
