//go:build !unix

package worker

import (
	"os"
	"os/exec"
)

// separate puts the pipes where standard input and output would be: there are
// no other descriptors to give.
func separate(cmd *exec.Cmd, p *pipes) { cmd.Stdin, cmd.Stdout = p.receive, p.send }

// workerFiles are the pipes as the worker finds them.
func workerFiles() (receive, send *os.File) { return os.Stdin, os.Stdout }
