//go:build !linux

package confine

import (
	"os"
	"runtime"
)

// Executable is described where it is for Linux.
func Executable() (string, error) { return os.Executable() }

// LockThread is described where it is for Linux.
func LockThread() error {
	runtime.LockOSThread()
	return nil
}

// LimitProcess is described where it is for Linux.
func LimitProcess(int, Limits) error { return nil }

// KeepDescriptors is described where it is for Linux.
func KeepDescriptors() error { return nil }

// wait waits for the end of a child, and kills what is left of its group then.
func (p *Process) wait() (*os.ProcessState, error) {
	state, err := p.os.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	KillGroup(p.os)
	p.gone = true
	return state, err
}

// KillMarked is described where it is for Linux.
func KillMarked(string) int { return 0 }

// KillOrphans is described where it is for Linux.
func KillOrphans(string) int { return 0 }

// OnlyFiles is described where it is for Linux.
func OnlyFiles([]Place) error { return ErrNoWall }

// NoSockets is described where it is for Linux.
func NoSockets() error { return ErrNoWall }

// Libraries is described where it is for Linux.
func Libraries(string) []string { return nil }
