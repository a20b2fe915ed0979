// Package worker is the second wall around modules: it compiles them, and runs
// those nobody has approved yet, or that are kept apart, in processes of their own
// that can be lost.
//
// A worker process is this program again, in the role [reexec.Worker]; main and TestMain
// look for that before they do anything else, and then leave everything to [Main]. It has no
// environment, no standard input, no network, no files but those of an empty
// directory made for it, and bounds on memory, processor time, files and
// threads; it ends with its parent. On Linux the system holds it to that: by
// resource limits, no_new_privs, Landlock and seccomp; elsewhere by as much as
// there is ([Pool.Walls] says what holds).
//
// A [Pool] starts the processes and is the [sandbox.Compiler] of the runtimes
// in this process. A [Runtime] makes the same calls a [sandbox.Runtime] makes,
// with the guest in a process that has never run another module. Host functions
// and files stay here: the worker asks for each. What it asks is believed no
// more than the guest itself: every message has a kind, a place and a size that
// is known before it is read, and a process that sends another is killed.
//
// The package refuses to know what a skill, a grant or a policy is.
package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// protocol is the version of the messages. Both sides are the same file, so it
// only tells a program that was replaced while it ran.
const protocol = 2

var (
	// ErrDied means that a worker process ended before it had answered: it
	// crashed, ran out of memory or was killed. One call or compilation is
	// lost, and nothing else. The typed error is [DiedError].
	ErrDied = errors.New("worker process died")
	// ErrProtocol means that a worker process sent what it must not, and was
	// killed for it.
	ErrProtocol = errors.New("worker process broke the protocol")
	// ErrNoProgram means that this program, which workers are started from, cannot be
	// found.
	ErrNoProgram = errors.New("this program cannot be found, and it is what its workers are started from")
	// ErrClosed means that the pool or runtime was closed.
	ErrClosed = errors.New("worker pool is closed")
)

// A DiedError is a worker process that ended before it had answered.
// errors.Is matches [ErrDied].
type DiedError struct {
	// How is how the process ended: "exit status 2", "signal: killed".
	How string
	// Output is the start of what it wrote before. It is untrusted text.
	Output string
}

// Error says how the process ended, and the first line it wrote.
func (e *DiedError) Error() string {
	text := fmt.Sprintf("%v: %s", ErrDied, e.How)
	if line, _, _ := strings.Cut(e.Output, "\n"); line != "" {
		text += fmt.Sprintf(": %q", line)
	}
	return text
}

// Is reports whether target is ErrDied.
func (e *DiedError) Is(target error) bool { return target == ErrDied }

// A Wall is one of the bounds around a worker process.
type Wall struct {
	Name   string // "system calls", "files", ...
	Holds  bool
	Detail string // how it is held, or why it is not
}

// Main is the whole life of a worker process. It returns its exit code.
func Main() int { return serve(nil, nil) }

// complain is how a worker says why it gives up, for its parent to find.
func complain(err error) int {
	fmt.Fprintln(os.Stderr, "worker:", err)
	return 1
}
