//go:build unix

package worker

import (
	"os"
	"os/exec"

	"github.com/skillet-run/skillet/host/engine/confine"
)

// separate gives the process a group of its own, and its pipes as descriptors
// 3 and 4.
func separate(cmd *exec.Cmd, p *pipes) {
	cmd.ExtraFiles = []*os.File{p.receive, p.send}
	confine.Group(cmd)
}

// workerFiles are the pipes as the worker finds them.
func workerFiles() (receive, send *os.File) {
	return os.NewFile(3, "from parent"), os.NewFile(4, "to parent")
}

// firstOther is the first descriptor that a worker is not given.
const firstOther = 5
