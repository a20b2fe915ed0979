package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machines are how the kernel calls the processors in a filter.
var machines = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Offsets in the kernel's struct seccomp_data, and the first number of its other table of
// system calls on amd64.
const (
	atNumber    = 0
	atMachine   = 4
	otherTable  = 0x40000000
	filterFails = unix.SECCOMP_RET_ERRNO
)

// NoSockets leaves the calling thread, and what it starts, without sockets for good, and
// so without a network; without the calls that would make some in another way or look into
// other processes, too. Call [LockThread] before. It fails with [ErrNoWall] where the
// processor is not one that is known here, and on other systems than Linux.
func NoSockets() error {
	machine, ok := machines[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("%w: system calls are not filtered on %s", ErrNoWall, runtime.GOARCH)
	}
	program := socketFilter(machine)
	whole := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&whole))); errno != 0 {
		return fmt.Errorf("%w: seccomp: %w", ErrNoWall, errno)
	}
	return nil
}

// socketFilter is the program the kernel asks about each system call.
func socketFilter(machine uint32) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	p := []unix.SockFilter{
		load(atMachine), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: machine, Jt: 1}, give(unix.SECCOMP_RET_KILL_PROCESS),
		load(atNumber), {Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: otherTable, Jf: 1}, give(unix.SECCOMP_RET_KILL_PROCESS),
	}
	for _, row := range []struct {
		call uint32
		errs unix.Errno
	}{
		{unix.SYS_SOCKET, unix.EACCES}, {unix.SYS_IO_URING_SETUP, unix.ENOSYS}, {unix.SYS_PTRACE, unix.EPERM},
		{unix.SYS_PROCESS_VM_READV, unix.EPERM}, {unix.SYS_PROCESS_VM_WRITEV, unix.EPERM}, {unix.SYS_PIDFD_GETFD, unix.EPERM},
		{unix.SYS_KEYCTL, unix.EPERM}, {unix.SYS_ADD_KEY, unix.EPERM}, {unix.SYS_REQUEST_KEY, unix.EPERM}, {unix.SYS_BPF, unix.EPERM},
	} {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: row.call, Jf: 1}, give(filterFails|uint32(row.errs)))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}
