//go:build amd64 || arm64

package worker

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// rule is what becomes of a system call.
type rule uint32

const (
	pass   rule = unix.SECCOMP_RET_ALLOW
	refuse rule = unix.SECCOMP_RET_ERRNO | rule(unix.EPERM)
	absent rule = unix.SECCOMP_RET_ERRNO | rule(unix.ENOSYS)
	ends   rule = unix.SECCOMP_RET_KILL_PROCESS
)

// Offsets in the kernel's struct seccomp_data. Arguments are 8 bytes each; of
// those compared here the low 4 tell.
const (
	atNumber   = 0
	atMachine  = 4
	atArgument = 16
)

// passed are the system calls of the Go runtime, of files, and of memory that
// is to be run. Which files can be opened is for Landlock to say.
var passed = []uintptr{
	// Memory.
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_MINCORE,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMBARRIER,
	// Threads, signals within the process, time.
	unix.SYS_FUTEX, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETRANDOM, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_UNAME,
	// Files that are open, and waiting for them.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_LSEEK,
	unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FLOCK, unix.SYS_FCNTL,
	unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_EVENTFD2, unix.SYS_PPOLL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
	// Files by name.
	unix.SYS_OPENAT, unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETCWD,
	unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UTIMENSAT, unix.SYS_FCHMOD,
}

// ending are the system calls that nothing here makes by mistake.
var ending = []uintptr{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_IO_URING_SETUP, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_CHROOT,
	unix.SYS_PIVOT_ROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_REBOOT, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID,
	unix.SYS_SETRESGID, unix.SYS_CAPSET, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_MKNODAT, unix.SYS_OPEN_BY_HANDLE_AT,
}

// filter is the program the kernel asks about each system call of a process.
func filter(pid int) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atMachine, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: machine, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(ends)},
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
	}
	for _, group := range []struct {
		calls []uintptr
		then  rule
	}{{passed, pass}, {passedHere, pass}, {ending, ends}, {[]uintptr{unix.SYS_CLONE3}, absent}} {
		for _, n := range group.calls {
			p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(n), SkipFalse: 1}, bpf.RetConstant{Val: uint32(group.then)})
		}
	}
	// A thread may be made, and a process may not; a signal may be sent to a
	// thread of this process.
	p = append(p, onArgument(unix.SYS_CLONE, bpf.JumpBitsSet, unix.CLONE_THREAD)...)
	p = append(p, onArgument(unix.SYS_TGKILL, bpf.JumpEqual, uint32(pid))...)
	return append(p, bpf.RetConstant{Val: uint32(refuse)})
}

// onArgument passes a system call if its first argument is right.
func onArgument(call uintptr, test bpf.JumpTest, value uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(call), SkipFalse: 4},
		bpf.LoadAbsolute{Off: atArgument, Size: 4},
		bpf.JumpIf{Cond: test, Val: value, SkipFalse: 1},
		bpf.RetConstant{Val: uint32(pass)},
		bpf.RetConstant{Val: uint32(refuse)},
	}
}

// filterCalls puts the filter around every thread of this process, for good.
func filterCalls() error {
	raw, err := bpf.Assemble(filter(unix.Getpid()))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	whole := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&whole)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return nil
}
