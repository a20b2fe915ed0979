package plugins

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
)

// An execution is one process of a plugin, from before its start until nothing of
// it is left. It is the runner that go-plugin is given.
type execution struct {
	spec   *Spec
	limits confine.Limits
	copies copies
	dir    string // its own, removed when it has ended
	mark   string // an entry of its environment that no other process has
	// certificate is what it knows its host by, in PEM.
	certificate string
	output      *output
	program     *os.File // what is executed; nil for the program that runs here
	cmd         *exec.Cmd
	reads       []*os.File // our ends of its pipes
	first       *io.PipeReader
	forward     *io.PipeWriter // of the handshake, to first

	killed  atomic.Bool // by us, before it said anything or after
	proc    *confine.Process
	started chan struct{}   // closed when proc is set
	life    context.Context // ends when the process does
	over    context.CancelFunc
	ended   chan struct{} // closed when nothing is left of it
	how     string        // how it ended; read it after life

	mu      sync.Mutex
	problem error // with what it said
}

// scratchPrefix begins the names of the directories of plugins that run.
const scratchPrefix = "skp"

// scratchBase is where those directories are. The path of a socket has to be
// short.
func scratchBase() string {
	const short = "/tmp"
	if info, err := os.Stat(short); runtime.GOOS != "windows" && len(os.TempDir()) > 24 && err == nil && info.IsDir() {
		return short
	}
	return os.TempDir()
}

// newExecution makes what a process needs, and no process yet.
func newExecution(log hclog.Logger, spec *Spec, s Settings) (*execution, error) {
	e := &execution{
		spec: spec, limits: s.limits(spec.Limits), copies: copies(s.Dir), mark: envMark + "=" + rand.Text(),
		output: &output{log: log, clean: newScrubber(spec.Secrets)}, started: make(chan struct{}), ended: make(chan struct{}),
	}
	e.first, e.forward = io.Pipe()
	e.life, e.over = context.WithCancel(context.Background())
	var err error
	if e.dir, err = confine.Scratch(scratchBase(), scratchPrefix); err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, errors.Join(err, e.clean())
	}
	return e, nil
}

// clean removes what was made for the process.
func (e *execution) clean() error {
	e.over()
	if e.program != nil {
		e.program.Close()
	}
	return os.RemoveAll(e.dir)
}

// prepare checks the program and copies it, and makes the directories.
func (e *execution) prepare() (err error) {
	for _, name := range []string{"tmp", "home", "script"} {
		if err := os.Mkdir(filepath.Join(e.dir, name), 0o700); err != nil {
			return err
		}
	}
	e.cmd = &exec.Cmd{Dir: or(e.spec.Dir, filepath.Join(e.dir, "home"))}
	switch {
	case e.spec.Program == "":
		e.cmd.Path, err = confine.Executable()
	case e.spec.Script != nil: // an interpreter finds its parts by where it is: it is not copied
		e.program, err = openProgram(e.spec.Program, e.spec.Digest)
	default:
		e.program, err = e.copies.open(e.spec.Program, e.spec.Digest)
	}
	if err != nil {
		return err
	}
	return e.commandLine()
}

// commandLine says what is executed. Where the system can execute an open file
// that is the one that was checked; elsewhere it is executed by its name, which
// is a private copy's unless it is an interpreter.
func (e *execution) commandLine() error {
	e.cmd.Args = []string{or(e.spec.Program, "skillet")}
	if e.program != nil {
		e.cmd.Path = e.program.Name()
		if _, err := os.Stat("/proc/self/fd"); err == nil {
			e.cmd.Path, e.cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{e.program}
		}
	}
	if s := e.spec.Script; s != nil {
		main, err := copyScript(s, filepath.Join(e.dir, "script"))
		if err != nil {
			return err
		}
		e.cmd.Args = append(append(e.cmd.Args, s.Flags...), main)
	}
	e.cmd.Args = append(e.cmd.Args, e.spec.Args...)
	return nil
}

// environment is all that the plugin finds in its environment beside what
// go-plugin tells it.
func (e *execution) environment() []string {
	env := []string{
		"HOME=" + e.cmd.Dir,
		"TMPDIR=" + filepath.Join(e.dir, "tmp"),
		"LANG=C.UTF-8",
		envHost + "=" + strconv.Itoa(os.Getpid()),
		fmt.Sprintf("%s=%d,%d,%d", envLimits, e.limits.MemoryBytes, e.limits.OpenFiles, e.limits.CPUSeconds),
		envCertificate + "=" + e.certificate,
		e.mark,
	}
	if runtime.GOOS == "windows" { // sockets need it
		env = append(env, "SystemRoot="+os.Getenv("SystemRoot"), "TMP="+filepath.Join(e.dir, "tmp"))
	}
	return append(env, e.spec.Env...)
}

// Start implements go-plugin's Runner.
func (e *execution) Start(context.Context) error {
	if err := confine.KeepDescriptors(); err != nil {
		return err
	}
	theirs, err := e.openPipes()
	if err != nil {
		return err
	}
	begun, done := make(chan error), make(chan struct{})
	go e.live(begun, done)
	err = <-begun
	closeAll(theirs)
	if err != nil {
		closeAll(e.reads)
		return fmt.Errorf("%s: %w", e.cmd.Args[0], err)
	}
	close(e.started)
	if e.killed.Load() {
		e.kill()
	}
	var readers sync.WaitGroup
	readers.Go(func() { e.readOutput(e.reads[0]) })
	readers.Go(func() { e.drain(newLines(e.reads[1])) })
	go e.finish(done, &readers)
	return nil
}

// abandon ends the process, whether it was started or not, and waits until
// nothing is left of it.
func (e *execution) abandon() {
	e.kill()
	select {
	case <-e.started:
		<-e.ended
	default:
		_ = e.clean()
	}
}

// openPipes gives the process its output, and no input. It returns the ends that
// are the process's.
func (e *execution) openPipes() (theirs []*os.File, err error) {
	for range 2 {
		read, write, err := os.Pipe()
		if err != nil {
			closeAll(append(theirs, e.reads...))
			return nil, err
		}
		e.reads, theirs = append(e.reads, read), append(theirs, write)
	}
	e.cmd.Stdout, e.cmd.Stderr = theirs[0], theirs[1]
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// live starts the process and waits for its end, on one thread that it dies with.
func (e *execution) live(begun chan<- error, done chan<- struct{}) {
	if err := confine.LockThread(); err != nil {
		begun <- err
		return
	}
	p, err := e.start()
	if err != nil {
		begun <- err
		return
	}
	e.proc = p
	begun <- nil
	state, err := p.Wait()
	e.how = state.String()
	if err != nil {
		e.how = err.Error()
	}
	e.over()
	close(done)
}

// start starts the process. A program that was just copied can seem to be open
// for writing still: in a process that something else is starting, until it has
// become another program.
func (e *execution) start() (p *confine.Process, err error) {
	for range 20 {
		cmd := *e.cmd
		if p, err = confine.Start(&cmd, e.limits); !errors.Is(err, syscall.ETXTBSY) {
			return p, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return p, err
}

// finish waits until the process has ended, kills what it has left behind, and
// removes its directory.
func (e *execution) finish(done <-chan struct{}, readers *sync.WaitGroup) {
	<-done
	if n := confine.KillMarked(e.mark); n > 0 {
		e.output.log.Warn("the plugin left processes behind, which were killed", "processes", n)
	}
	for _, f := range e.reads {
		_ = f.SetReadDeadline(time.Now().Add(time.Second)) // somebody may still hold the other end
	}
	readers.Wait()
	closeAll(e.reads)
	_ = e.clean()
	close(e.ended)
}

// readOutput looks for the handshake, hands it on, and takes the rest to the log.
func (e *execution) readOutput(r io.Reader) {
	defer e.forward.Close()
	in := newLines(r)
	for range maxNoise {
		line, err := in.next()
		if err != nil {
			return
		}
		if !isHandshake(line) {
			e.output.take(line)
			continue
		}
		if err := checkHandshake(line, e.dir); err != nil {
			e.refuse(err)
			break
		}
		_, _ = io.WriteString(e.forward, line+"\n")
		e.drain(in)
		return
	}
	e.refuse(fmt.Errorf("%w: it printed %d lines, none of them a handshake", ErrHandshake, maxNoise))
	e.drain(in)
}

// drain takes all there is to the log.
func (e *execution) drain(in lines) {
	for {
		line, err := in.next()
		if err != nil {
			return
		}
		e.output.take(line)
	}
}

// refuse keeps the first reason to end the process, and ends it.
func (e *execution) refuse(err error) {
	e.mu.Lock()
	if e.problem == nil {
		e.problem = e.output.clean.err(err)
	}
	e.mu.Unlock()
	e.kill()
}

// reason is why the process was refused; nil when it was not.
func (e *execution) reason() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

// kill ends the process and its group, now or as soon as it is there.
func (e *execution) kill() {
	e.killed.Store(true)
	select {
	case <-e.started:
		e.proc.Kill()
	default:
	}
}

// alive reports whether the process was started and has not ended.
func (e *execution) alive() bool { return e.life.Err() == nil }

// Wait implements go-plugin's Runner.
func (e *execution) Wait(context.Context) error {
	<-e.ended
	return nil
}

// Kill implements go-plugin's Runner.
func (e *execution) Kill(context.Context) error {
	e.kill()
	return nil
}

// Stdout implements go-plugin's Runner: nothing but the handshake.
func (e *execution) Stdout() io.ReadCloser { return e.first }

// Stderr implements go-plugin's Runner: nothing, it is read here.
func (e *execution) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements go-plugin's Runner.
func (e *execution) Name() string { return e.spec.Name }

// ID implements go-plugin's Runner.
func (e *execution) ID() string {
	select {
	case <-e.started:
		return strconv.Itoa(e.proc.PID())
	default:
		return ""
	}
}

// Diagnose implements go-plugin's Runner.
func (e *execution) Diagnose(context.Context) string { return "" }

// PluginToHost implements go-plugin's Runner.
func (e *execution) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements go-plugin's Runner.
func (e *execution) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
