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

// WaitEnd is described where it is for Linux.
func WaitEnd(*os.Process) {}

// KillMarked is described where it is for Linux.
func KillMarked(string) int { return 0 }
