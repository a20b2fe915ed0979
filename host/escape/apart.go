package escape

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// suiteTime bounds all attempts together, in Supervise.
	suiteTime = time.Minute
	// silence is how long the other process may say nothing: one attempt, and
	// what starting it takes.
	silence = attemptTime + 5*time.Second
	// maxMemory is how much memory the other process may have, in bytes, where
	// the system can bound it: a guest that gets through is not to take the
	// machine along.
	maxMemory = 4 << 30
	// maxLine bounds what the other process says at once.
	maxLine = 1 << 20
)

// What stands between the guests and the host, as the other process is told.
const (
	inProcess = "process"
	inWorkers = "workers"
)

// event is a line that the other process prints.
type event struct {
	Begin   *Attempt `json:"begin,omitempty"`
	Finding *Finding `json:"finding,omitempty"`
}

// Serve makes attempts in a process that [Supervise] started, and writes what it
// finds to out, and errors of the parts to logs. args are what the command that
// was started was given.
func Serve(ctx context.Context, out, logs io.Writer, args []string) error {
	if len(args) < 2 {
		return errors.New("serve attempts: no directory and no wall is named")
	}
	log := hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Error})
	lines := json.NewEncoder(out)
	if err := limitMemory(maxMemory); err != nil {
		return fmt.Errorf("serve attempts: bound memory: %w", err)
	}
	var failed error
	say := func(e event) {
		if err := lines.Encode(e); err != nil && failed == nil {
			failed = err
		}
	}
	_, err := Run(ctx, log, Options{
		Dir: args[0], Workers: args[1] == inWorkers, Only: args[2:],
		Begin: func(_, _ int, a Attempt) { say(event{Begin: &a}) },
		End:   func(f Finding) { say(event{Finding: &f}) },
	})
	return errors.Join(err, failed)
}

// Supervise makes the attempts in another process, which has a secret in its
// environment, little memory and nothing to read. start returns the command
// that calls [Serve] with the arguments given; its environment, streams and
// directory are set here. A process that dies or stands still is the finding of
// the attempt it was making, and another one makes the rest. What takes longer
// than a minute altogether is not made, and not contained.
func Supervise(ctx context.Context, start func(ctx context.Context, args []string) *exec.Cmd, o Options) ([]Finding, error) {
	if id := Unknown(o.Only); id != "" {
		return nil, fmt.Errorf("make attempt %s: there is none of this name", id)
	}
	ctx, cancel := context.WithTimeout(ctx, suiteTime)
	defer cancel()
	var s supervisor
	s.prepare(ctx, start, o)
	return s.all()
}

// supervisor watches processes that make attempts.
type supervisor struct {
	ctx     context.Context
	start   func(ctx context.Context, args []string) *exec.Cmd
	o       Options
	silence time.Duration
	of      int
	left    []Attempt
	found   []Finding
}

// prepare lists what is to be done.
func (s *supervisor) prepare(ctx context.Context, start func(ctx context.Context, args []string) *exec.Cmd, o Options) {
	*s = supervisor{ctx: ctx, start: start, o: o, silence: silence}
	for _, a := range List() {
		if len(o.Only) == 0 || slices.Contains(o.Only, a.ID) {
			s.left = append(s.left, a)
		}
	}
	s.of = len(s.left)
}

// all starts processes until nothing is left.
func (s *supervisor) all() ([]Finding, error) {
	for len(s.left) > 0 {
		if err := s.round(); err != nil {
			return s.found, err
		}
	}
	return s.found, nil
}

// end keeps the finding of the first attempt that is left.
func (s *supervisor) end(f Finding) {
	s.left = s.left[1:]
	s.found = append(s.found, f)
	s.o.end(f)
}

// fail is the finding of an attempt that was not judged.
func (s *supervisor) fail(format string, args ...any) {
	s.end(Finding{Attempt: s.left[0], Breach: fmt.Sprintf(format, args...)})
}

// round starts one process, and follows it to its end.
func (s *supervisor) round() error {
	if errors.Is(s.ctx.Err(), context.DeadlineExceeded) {
		s.fail("not made: the suite took more than %v", suiteTime)
		return nil
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer remove()
	ctx, kill := context.WithCancel(s.ctx)
	defer kill()
	var said tail
	cmd := s.command(ctx, dir)
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the process of the attempts: %w", err)
	}
	begun, still := s.follow(out, kill)
	return s.ended(cmd.Wait(), begun, still, said.last())
}

// command is the process that makes what is left.
func (s *supervisor) command(ctx context.Context, dir string) *exec.Cmd {
	args := []string{dir, inProcess}
	if s.o.Workers {
		args[1] = inWorkers
	}
	for _, a := range s.left {
		args = append(args, a.ID)
	}
	cmd := s.start(ctx, args)
	cmd.Stdin, cmd.Dir, cmd.Env, cmd.WaitDelay = nil, dir, environment(), time.Second
	dieWithParent(cmd)
	return cmd
}

// ended judges the end of a process.
func (s *supervisor) ended(err error, begun, still bool, said string) error {
	switch {
	case len(s.left) == 0 || errors.Is(s.ctx.Err(), context.DeadlineExceeded):
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case !begun:
		return fmt.Errorf("make attempts in another process: it ended at once: %v: %s", err, said)
	case still:
		s.fail("the process stood still for %v", s.silence)
	default:
		s.fail("the process died: %v: %s", err, said)
	}
	return nil
}

// follow reads what a process says. begun is true when it was making an attempt
// at the end, still when it then said nothing for too long and was killed.
func (s *supervisor) follow(out io.Reader, kill func()) (begun, still bool) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, maxLine)
		for scan.Scan() {
			lines <- bytes.Clone(scan.Bytes())
		}
	}()
	watch := time.NewTimer(s.silence)
	defer watch.Stop()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return begun, still
			}
			watch.Reset(s.silence)
			begun = s.heard(line, begun)
		case <-watch.C:
			still = true
			kill()
		}
	}
}

// heard takes one line of a process, and reports whether an attempt is being
// made.
func (s *supervisor) heard(line []byte, begun bool) bool {
	var e event
	if json.Unmarshal(line, &e) != nil || len(s.left) == 0 {
		return begun
	}
	switch {
	case e.Begin != nil && e.Begin.ID == s.left[0].ID:
		s.o.begin(s.of-len(s.left), s.of, s.left[0])
		return true
	case e.Finding != nil && e.Finding.ID == s.left[0].ID:
		s.end(*e.Finding)
		return false
	}
	return begun
}

// environment is what the other process is given: where temporary files go, and
// a secret.
func environment() []string {
	env := []string{secretVariable + "=" + newSecret()}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP", "SystemRoot"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write keeps the last few kilobytes.
func (t *tail) Write(b []byte) (int, error) {
	const most = 4 << 10
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-most):]
	return len(b), nil
}

// last is the line that says most about why a process died: the first of a Go
// crash, or the last one.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	for _, l := range lines {
		if strings.HasPrefix(l, "fatal error: ") || strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "runtime: ") {
			return l
		}
	}
	return lines[len(lines)-1]
}
