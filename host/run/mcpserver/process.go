package mcpserver

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// A Program is a server that is started.
type Program struct {
	// Name is that of its package, for errors and the log.
	Name string
	// Command is the program, Digest what it must have, and Pins what it is started with.
	Command string
	Digest  manifests.Digest
	Args    []string
	Pins    []manifests.Pin
	// Env are entries of its environment, beside those that every server has. Secrets are
	// values among them that are not logged.
	Env     []string
	Secrets []string
	// Read and Write are the files, and directories with all below, that it may open.
	Read, Write []string
	// Unconfined gives it all that this process may do.
	Unconfined bool
	// MemoryBytes bounds its data; 0 means [defaultMemory].
	MemoryBytes uint64
}

const (
	defaultMemory = 4 << 30
	maxOpenFiles  = 1024
	// patience is how long a server has to end after its input was closed.
	patience = 2 * time.Second
	// envMark and envHost begin entries of the environment by which what a server left
	// behind is found.
	envMark = "SKILLET_MCP_MARK"
	envHost = "SKILLET_MCP_HOST"

	scratchPrefix = "skm"
	maxLogLine    = 2 << 10
	maxLogLines   = 200 // of one process
)

// process is the process of a server.
type process struct {
	program Program
	log     hclog.Logger
	dir     string // its own
	mark    string
	cmd     *exec.Cmd
	file    *os.File // the program
	proc    *confine.Process
	stdin   io.WriteCloser
	guard   *Guard
	ends    []*os.File // ours, of its pipes
	ended   chan struct{}
	once    sync.Once

	mu   sync.Mutex
	last string // line of its standard error
	how  string // how it ended
}

// start starts the process of a server.
func start(log hclog.Logger, p Program) (*process, error) {
	for _, pin := range p.Pins {
		if err := checkPin(pin); err != nil {
			return nil, err
		}
	}
	s := &process{program: p, log: log, mark: envMark + "=" + rand.Text(), ended: make(chan struct{})}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.clean())
	}
	theirs, err := s.pipes()
	if err == nil {
		begun := make(chan error, 1)
		go s.live(begun)
		err = <-begun
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, f := range s.ends {
			f.Close()
		}
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.Command, err), s.clean())
	}
	return s, nil
}

// prepare checks the program, and says how it is started.
func (s *process) prepare() (err error) {
	if s.dir, err = confine.Scratch("", scratchPrefix); err != nil {
		return err
	}
	if s.file, err = os.Open(s.program.Command); err != nil {
		return err
	}
	d, _, err := openDigest(s.file)
	switch {
	case err != nil:
		return err
	case d != s.program.Digest:
		return fmt.Errorf("%w: %s is %s, and %s was approved", ErrNotPinned, s.program.Command, d, s.program.Digest)
	}
	s.cmd = &exec.Cmd{Path: s.program.Command, Args: append([]string{s.program.Command}, s.program.Args...), Dir: s.dir}
	if _, err := os.Stat("/proc/self/fd"); err == nil { // the file that was checked is the one that runs
		s.cmd.Path, s.cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{s.file}
	}
	s.cmd.Env = append([]string{
		"HOME=" + s.dir, "TMPDIR=" + s.dir, "LANG=C.UTF-8", envHost + "=" + strconv.Itoa(os.Getpid()), s.mark,
	}, s.program.Env...)
	return confine.KeepDescriptors()
}

// pipes makes standard input, output and error, and returns the ends that are the
// process's.
func (s *process) pipes() (theirs []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		if i == 0 {
			s.ends, theirs = append(s.ends, w), append(theirs, r)
			continue
		}
		s.ends, theirs = append(s.ends, r), append(theirs, w)
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	s.stdin, s.guard = s.ends[0], NewGuard(s.ends[1])
	return theirs, nil
}

// live starts the process and waits for its end, on one thread that it dies with.
func (s *process) live(begun chan<- error) {
	if err := confine.LockThread(); err != nil {
		begun <- err
		return
	}
	if err := s.hold(); err != nil {
		begun <- err
		return
	}
	l := confine.Limits{MemoryBytes: s.program.MemoryBytes, OpenFiles: maxOpenFiles}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = defaultMemory
	}
	var err error
	for range 20 { // a program that was just written can seem to be open for writing still
		cmd := *s.cmd
		if s.proc, err = confine.Start(&cmd, l); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		begun <- err
		return
	}
	go s.listen(s.ends[2])
	begun <- nil
	state, err := s.proc.Wait()
	s.mu.Lock()
	if s.how = state.String(); err != nil {
		s.how = err.Error()
	}
	s.mu.Unlock()
	go s.finish()
}

// hold leaves this thread what the server may do.
func (s *process) hold() error {
	if s.program.Unconfined {
		return nil
	}
	places := []confine.Place{{Path: s.program.Command, Execute: true}, {Path: s.dir, Write: true, Execute: true}, {Path: "/dev/null", Write: true}}
	for _, path := range append(confine.Libraries(s.program.Command), "/dev/urandom", "/dev/zero", "/etc/localtime", "/usr/share/zoneinfo", "/etc/ssl/openssl.cnf") {
		places = append(places, confine.Place{Path: path, Execute: strings.Contains(path, "/lib")})
	}
	for _, p := range s.program.Pins {
		places = append(places, confine.Place{Path: p.Path, Execute: true})
	}
	for _, path := range s.program.Read {
		places = append(places, confine.Place{Path: path})
	}
	for _, path := range s.program.Write {
		places = append(places, confine.Place{Path: path, Write: true})
	}
	return errors.Join(confine.OnlyFiles(places), confine.NoSockets())
}

// listen takes standard error to the log.
func (s *process) listen(r io.Reader) {
	in := bufio.NewReaderSize(r, maxLogLine)
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(line) == 0 {
			return
		}
		said := text.Plain(strings.TrimSpace(string(line)))
		for _, secret := range s.program.Secrets {
			if secret != "" {
				said = strings.ReplaceAll(said, secret, "[secret]")
			}
		}
		if said == "" {
			continue
		}
		s.mu.Lock()
		s.last = text.Short(said, maxText)
		s.mu.Unlock()
		if n < maxLogLines {
			s.log.Debug(said, "server", s.program.Name)
		}
	}
}

// finish kills what the process has left behind.
func (s *process) finish() {
	confine.KillMarked(s.mark)
	for _, f := range s.ends[1:] {
		_ = f.SetReadDeadline(time.Now().Add(time.Second)) // somebody may still hold the other end
	}
	s.ends[0].Close()
	_ = s.clean()
	close(s.ended)
}

func (s *process) clean() error {
	if s.file != nil {
		s.file.Close()
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// stop ends the process: when its input is closed, or else by force.
func (s *process) stop() {
	s.once.Do(func() {
		s.stdin.Close()
		t := time.AfterFunc(patience, s.proc.Kill)
		defer t.Stop()
		<-s.ended
	})
}

// kill ends the process at once.
func (s *process) kill() {
	s.proc.Kill()
	s.stop()
}

// why says how a process ended that nobody ended, and its last words.
func (s *process) why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == "" {
		return s.how
	}
	return fmt.Sprintf("%s: %q", s.how, s.last)
}

// dead reports whether the process has ended.
func (s *process) dead() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// transport is the connection to the process.
func (s *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(s.guard), Writer: s.stdin, MaxLineLength: MaxMessage + 1024}
}

// explain says of a failed exchange what the process did.
func (s *process) explain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrChanged) || errors.Is(err, ErrInput) || errors.Is(err, errTools) {
		return err
	}
	if bad := s.guard.Err(); bad != nil {
		return bad
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", err, ctx.Err())
	}
	select {
	case <-s.ended:
		return fmt.Errorf("%w: its process ended: %s", ErrServer, s.why())
	case <-time.After(patience): // its output was closed before it was gone
	}
	return err
}

// Resolve finds the program of a command, as a shell does, and returns its path with no
// links in it. A script is refused: what is pinned is what runs.
func Resolve(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	if strings.HasPrefix(string(head[:n]), "#!") {
		first, _, _ := strings.Cut(string(head[2:n]), "\n")
		return "", &ScriptError{path, strings.TrimSpace(first)}
	}
	return path, nil
}

// A ScriptError is a command that is a script, which another program runs.
type ScriptError struct{ Path, Interpreter string }

// Error says which program that is.
func (e *ScriptError) Error() string {
	return fmt.Sprintf("%s is a script for %s", e.Path, text.Plain(e.Interpreter))
}
