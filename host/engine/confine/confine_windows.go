package confine

import (
	"os"
	"os/exec"
)

// Group is described where it is for Unix.
func Group(*exec.Cmd) {}

// KillGroup is described where it is for Unix.
func KillGroup(p *os.Process) { _ = p.Kill() }

// Exists is described where it is for Unix.
func Exists(int) bool { return true }

// WaitParent is described where it is for Unix.
func WaitParent(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_, _ = p.Wait()
	}
}

// KeepOutput is described where it is for Unix. Here only what prints through
// os.Stdout is redirected.
func KeepOutput() (*os.File, error) {
	before := os.Stdout
	os.Stdout = os.Stderr
	return before, nil
}

// LimitSelf is described where it is for Unix.
func LimitSelf(Limits) error { return nil }
