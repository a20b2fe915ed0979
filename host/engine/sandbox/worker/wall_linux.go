package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/engine/confine"
)

// startWithin starts the process on a thread that keeps to no_new_privs and
// Landlock from now on: the process inherits both, from its first instruction.
// The thread is never given back to the program and ends with the goroutine,
// which must wait for the process.
func startWithin(cmd *exec.Cmd, dir string) error {
	if err := confine.LockThread(); err != nil {
		return err
	}
	places := []confine.Place{{Path: cmd.Path, Execute: true}, {Path: dir, Write: true}}
	for _, library := range confine.Libraries(cmd.Path) {
		places = append(places, confine.Place{Path: library, Execute: true})
	}
	if err := confine.OnlyFiles(places); err != nil && !errors.Is(err, confine.ErrNoWall) {
		return fmt.Errorf("landlock: %w", err)
	}
	return cmd.Start()
}

// widen gives pipes the room of a large message.
func widen(files ...*os.File) {
	const room = 1 << 20
	for _, f := range files {
		raw, err := f.SyscallConn()
		if err == nil {
			_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, room) })
		}
	}
}

const (
	// maxOpen is how many files a worker can have open, and maxThreads how many
	// threads and processes its user may have before it can make no more.
	maxOpen    = 64
	maxThreads = 8192
	// maxThreadsOwn ends the process when its own runtime makes more.
	maxThreadsOwn = 128
	// maxFile is the largest file it can write: the code of a module.
	maxFile = 512 << 20
)

// boundEarly sets the bounds that hold from the start of the process.
func boundEarly() error {
	debug.SetMaxThreads(maxThreadsOwn)
	if err := closeOthers(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NOFILE, maxOpen},
		{unix.RLIMIT_FSIZE, maxFile},
		{unix.RLIMIT_NPROC, maxThreads},
	} {
		if err := confine.Limit(l.what, l.most); err != nil {
			return err
		}
	}
	return nil
}

// closeOthers closes what this process has inherited from whoever started its
// parent and did not mean to pass on. The runtime's own descriptors are low, and
// no files.
func closeOthers() error {
	const low = 256
	for fd := firstOther; fd < low; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT != 0 {
			unix.Close(fd)
		}
	}
	if err := unix.CloseRange(low, math.MaxUint32, 0); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("close other descriptors: %w", err)
	}
	return nil
}

// boundLate sets the bounds of the work to come, gives up all system calls but
// those it takes, and says what holds.
func boundLate(s setup) ([]Wall, error) {
	if err := errors.Join(confine.Limit(unix.RLIMIT_DATA, s.Memory), confine.Limit(unix.RLIMIT_CPU, s.CPU)); err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(int64(s.Memory / 4 * 3))
	files := probeLandlock()
	calls := Wall{"system calls", true, "seccomp: those that computing takes"}
	if err := filterCalls(); err != nil {
		calls = Wall{calls.Name, false, err.Error()}
	}
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil && calls.Holds {
		privileges = 1 // not asked any more
	}
	return []Wall{
		{"environment", true, "empty"},
		{"dies with its parent", true, "by signal, and by the end of its pipe"},
		{"no new privileges", privileges == 1, "no_new_privs"},
		calls,
		files,
		{"network", calls.Holds, "seccomp: no sockets"},
		{"processes", calls.Holds, "seccomp: no fork, no exec"},
		{"memory", true, fmt.Sprintf("resource limit: %d MiB of data", s.Memory>>20)},
		{"processor time", true, fmt.Sprintf("resource limit: %d s", s.CPU)},
	}, nil
}

// probeLandlock tries whether a file outside can be opened.
func probeLandlock() Wall {
	w := Wall{"files", true, "landlock: its own empty directory"}
	f, err := os.Open("/")
	if err == nil {
		f.Close()
		return Wall{w.Name, false, "the kernel has no Landlock"}
	}
	return w
}
