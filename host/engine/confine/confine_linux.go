package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Executable is the program that runs here: this one, even when another one has
// taken its place on the disk. Without /proc, and on other systems, it is the one
// on the disk.
func Executable() (string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running, nil
	}
	return os.Executable()
}

// LockThread ties the goroutine to its thread for good and gives up gaining
// privileges on it: what is started from it inherits that, and dies with it. The
// goroutine must wait for the process and then return. Systems without
// no_new_privs only tie it.
func LockThread() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return nil
}

// dieWithParent has the system kill the process when the thread that started it
// ends.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// LimitProcess lowers the limits of a process that was just started. Other
// systems than Linux cannot and do nothing: there the process is asked to call
// LimitSelf.
func LimitProcess(pid int, l Limits) error {
	return l.each(func(what int, most uint64) error {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, what, nil, &now); err != nil {
			return fmt.Errorf("resource limit %d: %w", what, err)
		}
		most = min(most, now.Max)
		if err := unix.Prlimit(pid, what, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("resource limit %d: %w", what, err)
		}
		return nil
	})
}

// KeepDescriptors marks every descriptor of this process as its own, so that
// nothing that is started inherits one that it was not given. Go marks those it
// opens; this is for those that this process was started with. Other systems than
// Linux do nothing.
func KeepDescriptors() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // a kernel before 5.11
		return nil
	}
	return fmt.Errorf("keep descriptors: %w", err)
}

// wait waits for the end of a child. What is left of its group is killed while
// the child still has its number.
func (p *Process) wait() (*os.ProcessState, error) {
	for errors.Is(unix.Waitid(unix.P_PID, p.os.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	KillGroup(p.os)
	p.gone = true
	return p.os.Wait()
}

// KillMarked kills every process of this user that has an entry in its
// environment, until there is none: what left its group and was not killed with
// it. It returns how many there were. Systems that do not show environments kill
// nothing.
func KillMarked(entry string) int {
	killed := map[int]bool{}
	for range 10 { // they may be making more
		found := marked(entry)
		for _, pid := range found {
			_ = unix.Kill(pid, unix.SIGKILL)
			killed[pid] = true
		}
		if len(found) == 0 {
			break
		}
	}
	return len(killed)
}

func marked(entry string) []int {
	return having(func(environment string) bool { return strings.Contains(environment, "\x00"+entry+"\x00") })
}

// KillOrphans kills every process of this user whose environment has a variable
// with the number of a process that is gone: what the children of a host left
// behind that was killed and could kill nothing itself. It returns how many there
// were. Processes that number others than this one does are left alone. Systems
// that do not show environments kill nothing.
func KillOrphans(variable string) int {
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	orphans := having(func(environment string) bool {
		_, rest, ok := strings.Cut(environment, "\x00"+variable+"=")
		number, _, _ := strings.Cut(rest, "\x00")
		host, err := strconv.Atoi(number)
		return ok && err == nil && host > 0 && !Exists(host)
	})
	killed := 0
	for _, pid := range orphans {
		if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err == nil && theirs == ours && unix.Kill(pid, unix.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// having finds processes by their environment, which is given with a zero byte
// before and behind each entry.
func having(what func(environment string) bool) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		b, err := os.ReadFile(file)
		pid, numErr := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && numErr == nil && pid != os.Getpid() && what("\x00"+string(b)+"\x00") {
			found = append(found, pid)
		}
	}
	return found
}

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }
