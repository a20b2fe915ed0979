// Package confine starts processes within bounds and ends them with all that
// they started: what the system has for that, under one name on every system.
//
// Linux has the most. Where a system lacks a bound, the function for it says so
// in its comment and does what there is. The package refuses to know what the
// processes are for.
package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits bound one process. Zero leaves what the system gives.
type Limits struct {
	// MemoryBytes bounds its private memory: on Linux its data segments and
	// anonymous mappings.
	MemoryBytes uint64
	// OpenFiles is how many descriptors it may have at once.
	OpenFiles uint64
	// CPUSeconds is how much processor time it may use in its life. It is killed
	// when it has.
	CPUSeconds uint64
}

// ErrNoWall means that the system cannot hold a process to what it was to be held to.
var ErrNoWall = errors.New("this system cannot hold a process to that")

// A Place is a file, or a directory with all that is below, that a process may read.
type Place struct {
	Path string
	// Write lets it change, make and remove files, and Execute start them.
	Write, Execute bool
}

// Scratch makes a directory that only this user can enter, for a process that
// ends before this one does. prefix begins its name.
//
// Where base is "" and the usual place for temporary files is full or cannot be
// written to, it is made in memory, if the system has a file system of it.
func Scratch(base, prefix string) (string, error) {
	dir, err := roomy(base, prefix)
	if err != nil && base == "" {
		if other, e := roomy(memoryDir, prefix); e == nil {
			return other, nil
		}
	}
	return dir, err
}

// memoryDir is a file system in memory, on Linux.
const memoryDir = "/dev/shm"

// roomy makes a directory that files can be written to.
func roomy(base, prefix string) (string, error) {
	dir, err := os.MkdirTemp(base, prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "room")
	err = errors.Join(os.WriteFile(path, make([]byte, 4<<10), 0o600), os.Remove(path))
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// RemoveStale removes the directories that Scratch made for processes that are
// gone. Those not an hour old stay: their process may only be out of sight. A base
// of "" is everywhere that Scratch makes them then.
func RemoveStale(base, prefix string) {
	if base == "" {
		RemoveStale(memoryDir, prefix)
		base = os.TempDir()
	}
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		parent, err := strconv.Atoi(number)
		if !ours || err != nil || !e.IsDir() || Exists(parent) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.RemoveAll(filepath.Join(base, e.Name()))
		}
	}
}

// A Process is a child of this process with what it has started.
type Process struct {
	os   *os.Process
	mu   sync.Mutex
	gone bool // waited for
}

// Start starts a child in a group of its own, see [Group], on this thread, and
// bounds it. The goroutine calls [LockThread] before, and Wait.
func Start(cmd *exec.Cmd, l Limits) (*Process, error) {
	Group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{os: cmd.Process}
	if err := LimitProcess(p.os.Pid, l); err != nil {
		p.Kill()
		_, _ = p.Wait()
		return nil, err
	}
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.os.Pid }

// Kill ends the process and its group. It may be called often, and from anywhere.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		KillGroup(p.os)
	}
}

// Wait waits for the end of the process, kills what is left of its group, and
// says how it ended. It is called once.
func (p *Process) Wait() (*os.ProcessState, error) { return p.wait() }
