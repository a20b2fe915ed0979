package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skillet-run/skillet/internal/reexec"
	"golang.org/x/sys/unix"
)

// linuxTries are tries of what only Linux holds back.
func linuxTries() attempts {
	return attempts{
		"socket": func(network string) string {
			c, err := net.Dial("tcp", network)
			if err == nil {
				c.Close()
			}
			return done(err)
		},
		"unix socket": func(string) string {
			_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return done(err)
		},
		"fork": func(string) string {
			pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
			if errno == 0 && pid == 0 {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return done(errnoError(errno))
		},
		"fork bomb": func(string) string {
			n := 0
			for range 10_000 {
				pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
				if errno == 0 && pid == 0 {
					unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
				}
				if errno == 0 {
					n++
				}
			}
			return strings.Repeat("x", min(n, 1))
		},
		"threads": func(string) string { // more than its runtime may have
			for range 500 {
				go func() {
					runtime.LockOSThread()
					time.Sleep(time.Minute)
				}()
			}
			time.Sleep(10 * time.Second)
			return "500 threads"
		},
		"ptrace": func(pid string) string {
			n, _ := strconv.Atoi(pid)
			return done(unix.PtraceAttach(n))
		},
		"kill": func(pid string) string {
			n, _ := strconv.Atoi(pid)
			return done(unix.Kill(n, unix.SIGKILL))
		},
		"tgkill": func(pid string) string {
			n, _ := strconv.Atoi(pid)
			return done(unix.Tgkill(n, n, unix.SIGKILL))
		},
		"memory of": func(pid string) string { return got(os.ReadFile("/proc/" + pid + "/environ")) },
		"io_uring": func(string) string {
			_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
			return done(errnoError(errno))
		},
		"more files": func(string) string {
			return done(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 1000}))
		},
		"privileges": func(string) string {
			n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
			return done(errors.Join(err, map[bool]error{true: errors.New("not dumpable")}[n == 0]))
		},
		"abstract socket": func(string) string {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			return done(err)
		},
		"device":    func(string) string { return done(unix.Mknod(os.TempDir()+"/d", unix.S_IFIFO|0o600, 0)) },
		"namespace": func(string) string { return done(unix.Unshare(unix.CLONE_NEWUSER)) },
		"descriptors": func(string) string {
			open := ""
			for fd := range 64 {
				var st unix.Stat_t
				_ = unix.Fstat(fd, &st)
				if kind := st.Mode & unix.S_IFMT; kind != 0 && kind != unix.S_IFIFO { // neither a pipe nor the runtime's own
					open += fmt.Sprintf("%d:%o ", fd, st.Mode)
				}
			}
			return open
		},
	}
}

func errnoError(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// TestConfinement has workers try what they must not be able to do. Some tries
// kill the worker that makes them.
func TestConfinement(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	own := strconv.Itoa(os.Getpid())
	home, _ := os.UserHomeDir()
	p := newPool(t, Settings{})
	for _, a := range []struct {
		name, text string
		kills      bool
	}{
		{"environment", "", false}, {"input", "", false},
		{"read", file, false}, {"read", "/etc/passwd", false}, {"read", "/proc/self/environ", false}, {"read", "/proc/" + own + "/cmdline", false},
		{"list", home, false}, {"list", "/", false}, {"list", os.TempDir(), false}, {"write", filepath.Join(dir, "new"), false},
		{"append", file, false}, {"remove", file, false}, {"rename", file, false}, {"link", file, false},
		{"big file", "", false}, {"memory of", own, false}, {"more files", "", false}, {"device", "", true},
		{"socket", server.Addr().String(), true}, {"unix socket", "", true}, {"abstract socket", "", true},
		{"exec", "/bin/true", false}, {"fork", "", false}, {"fork bomb", "", false}, {"threads", "", true},
		{"ptrace", own, true}, {"kill", own, false}, {"tgkill", own, false}, {"io_uring", "", true}, {"namespace", "", true},
		{"memory", "", true},
	} {
		t.Run(a.name+" "+filepath.Base(a.text), func(t *testing.T) {
			proc := within(t, p, 512<<20)
			defer p.drop(proc)
			came, err := try(proc, a.name, a.text)
			if came != "" || (err != nil) != a.kills || err != nil && !errors.Is(err, ErrDied) {
				t.Errorf("it got %q, error %v, want an error: %v", came, err, a.kills)
			}
			if err != nil {
				t.Log(err)
			}
		})
	}
	if b, err := os.ReadFile(file); string(b) != "secret" {
		t.Errorf("the file is %q now, %v", b, err)
	}
}

// TestWithin is what a worker has for itself.
func TestWithin(t *testing.T) {
	t.Parallel()
	p := newPool(t, Settings{})
	proc := within(t, p, 512<<20)
	defer p.drop(proc)
	for name, want := range map[string]string{
		"own files": "<nil>", "arguments": reexec.Worker.Word, "descriptors": "0:20666 ",
	} {
		if came, err := try(proc, name, ""); err != nil || came != want {
			t.Errorf("%s: %q, %v, want %q", name, came, err, want)
		}
	}
	if came, err := try(proc, "output", "x"); err != nil || came != "" {
		t.Errorf("a megabyte of output: %q, %v", came, err)
	}
	came, err := try(proc, "open files", "")
	if n, _ := strconv.Atoi(came); err != nil || n < 10 || n > maxOpen {
		t.Errorf("%s files could be opened, %v", came, err)
	}
}

// parentMode has the test binary be a parent that is killed.
const parentMode = "be a parent of a worker"

// beParent starts a worker, tells its number, and waits to be killed.
func beParent() {
	p, err := NewPool(nil, Settings{})
	if err != nil {
		panic(err)
	}
	proc, err := p.take()
	if err != nil {
		panic(err)
	}
	fmt.Println(proc.proc.Pid)
	go try(proc, "spin", "")
	time.Sleep(time.Minute)
}

// TestParentKilled leaves no worker behind.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], parentMode)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // what it leaves goes with the test
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	_ = cmd.Wait()
	for range 1000 {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("worker %d lives on", pid)
}
