//go:build !linux

package worker

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
)

// startWithin starts the process with what every system gives: no environment,
// no input.
func startWithin(cmd *exec.Cmd, _ string) error { return cmd.Start() }

func widen(...*os.File) {}

// boundEarly sets the bounds that hold from the start of the process.
func boundEarly() error { return boundResources() }

// boundLate sets the bounds of the work to come, and says what holds.
func boundLate(s setup) ([]Wall, error) {
	debug.SetMemoryLimit(int64(s.Memory / 4 * 3))
	memory := Wall{"memory", true, fmt.Sprintf("resource limit: %d MiB", s.Memory>>20)}
	if err := boundWork(s); err != nil {
		memory = Wall{memory.Name, false, err.Error()}
	}
	const only = "no means on this system"
	return []Wall{
		{"environment", true, "empty"},
		{"dies with its parent", true, "by the end of its pipe"},
		{"no new privileges", false, only},
		{"system calls", false, only},
		{"files", false, only},
		{"network", false, only},
		{"processes", false, only},
		memory,
	}, nil
}
