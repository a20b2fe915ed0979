//go:build unix

package confine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roles are what this test's program is when it is started by a test.
func roles() map[string]func() {
	return map[string]func(){
		"limits": func() {
			if err := LimitSelf(Limits{OpenFiles: 50, CPUSeconds: 100}); err != nil {
				fmt.Println(err)
			}
			var files, cpu, core unix.Rlimit
			err := errors.Join(unix.Getrlimit(unix.RLIMIT_NOFILE, &files), unix.Getrlimit(unix.RLIMIT_CPU, &cpu), unix.Getrlimit(unix.RLIMIT_CORE, &core))
			fmt.Println(files.Max, cpu.Max, core.Max, err)
		},
		"output": func() {
			f, err := KeepOutput()
			fmt.Println("stray")
			fmt.Fprintln(f, "meant", err)
		},
		"parent": func() {
			pid, _ := strconv.Atoi(os.Getenv("CONFINE_PARENT"))
			WaitParent(pid)
		},
		"parent of": func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "CONFINE_ROLE=parent", fmt.Sprint("CONFINE_PARENT=", os.Getpid()))
			fmt.Println(c.Start(), c.Process.Pid)
			time.Sleep(time.Minute)
		},
		"wait": func() { time.Sleep(time.Minute) },
	}
}

func TestMain(m *testing.M) {
	if role, ok := roles()[os.Getenv("CONFINE_ROLE")]; ok {
		role()
		return
	}
	os.Exit(m.Run())
}

func role(name string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "CONFINE_ROLE="+name)
	return c
}

func TestLimitSelf(t *testing.T) {
	t.Parallel()
	if out, err := role("limits").Output(); string(out) != "50 100 0 <nil>\n" || err != nil {
		t.Errorf("%s %v", out, err)
	}
}

func TestKeepOutput(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	c := role("output")
	c.Stderr = &errs
	if out, err := c.Output(); string(out) != "meant <nil>\n" || errs.String() != "stray\n" || err != nil {
		t.Errorf("%q %q %v", out, errs.String(), err)
	}
}

func TestWaitParent(t *testing.T) {
	t.Parallel()
	c := role("parent of")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(line)
	_ = c.Process.Kill()
	_ = c.Wait()
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		t.Fatalf("%q", line)
	}
	gone(t, pid)
}

// gone fails the test when a process is still there after a while.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 300 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if !Exists(pid) || err == nil && strings.Contains(string(b), ") Z") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// started starts a process as its own goroutine has to, and returns it with what
// it ends with.
func started(t *testing.T, c *exec.Cmd, l Limits) (*Process, <-chan *os.ProcessState) {
	t.Helper()
	begun, ended := make(chan *Process, 1), make(chan *os.ProcessState, 1)
	go func() {
		defer close(begun)
		if err := LockThread(); err != nil {
			t.Error(err)
			return
		}
		p, err := Start(c, l)
		if err != nil {
			t.Error(err)
			return
		}
		begun <- p
		state, _ := p.Wait()
		ended <- state
	}()
	p, ok := <-begun
	if !ok {
		t.FailNow()
	}
	return p, ended
}

func TestKill(t *testing.T) {
	t.Parallel()
	p, ended := started(t, role("wait"), Limits{OpenFiles: 60})
	if runtime.GOOS == "linux" {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.PID())); err != nil || !strings.Contains(strings.Join(strings.Fields(string(b)), " "), "Max open files 60 60") {
			t.Errorf("%s %v", b, err)
		}
	}
	p.Kill()
	if state := <-ended; state.String() != "signal: killed" {
		t.Error(state)
	}
	p.Kill() // of one that is gone
}

// What a child has left in its group ends with it, and what has left the group is
// found by its environment.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows environments")
	}
	file := filepath.Join(t.TempDir(), "pids")
	mark := "CONFINE_MARK=" + strconv.Itoa(os.Getpid())
	c := exec.Command("/bin/sh", "-c", "sleep 100 & echo $! > "+file+"; setsid sleep 100 & echo $! >> "+file+"; exec sleep 0.2")
	c.Env = append(os.Environ(), mark, "PATH=/usr/bin:/bin") // sleep and setsid, whatever the PATH is
	_, ended := started(t, c, Limits{})
	<-ended
	if n := KillMarked(mark); n == 0 {
		t.Error("what left the group was not found")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
	}
	if n := KillMarked(mark); n != 0 {
		t.Errorf("%d more", n)
	}
}

func TestScratch(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	mine, err := Scratch(base, "p")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	of := func(pid int, when time.Time) string {
		dir := filepath.Join(base, fmt.Sprintf("p%d-1", pid))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chtimes(dir, when, when)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	const nobody = 1<<31 - 10
	gone, fresh := of(nobody, old), of(nobody-1, time.Now())
	if err := os.Chtimes(mine, old, old); err != nil {
		t.Fatal(err)
	}
	RemoveStale(base, "p")
	for dir, stays := range map[string]bool{mine: true, fresh: true, gone: false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
