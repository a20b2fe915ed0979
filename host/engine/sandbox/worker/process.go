package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// A process is a worker as its parent sees it. One goroutine at a time talks
// to it; any may kill it.
type process struct {
	wire   *wire
	dir    string // its directory, removed when it has ended
	walls  []Wall // as it said in ready
	memory uint64 // its bound
	output *capture
	ours   []*os.File // our ends of its pipes

	proc *os.Process
	mu   sync.Mutex
	gone bool // waited for

	ended  chan struct{} // closed when it was waited for and its directory removed
	how    string        // how it ended; read it after ended
	next   uint32        // number of the last call
	worked time.Duration // on calls so far
}

// capture keeps the start of what is written to it.
type capture struct {
	mu sync.Mutex
	b  []byte
}

// captured is how much is kept of what a worker writes.
const captured = 16 << 10

func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b = append(c.b, b[:min(len(b), captured-len(c.b))]...)
	return len(b), nil
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.b)
}

// startProcess starts a program with an argument that makes it a worker, and waits
// until it says hello.
func startProcess(path, argument string) (p *process, err error) {
	p = &process{output: &capture{}, ended: make(chan struct{})}
	if p.dir, err = confine.Scratch("", dirPrefix); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	if err := p.start(path, argument); err != nil {
		return nil, errors.Join(fmt.Errorf("start worker: %w", err), os.RemoveAll(p.dir))
	}
	silent := time.AfterFunc(helloTimeout, p.kill)
	err = p.greet()
	silent.Stop()
	if err != nil {
		err = fmt.Errorf("start worker: %w", p.explain(err))
		p.end()
		return nil, err
	}
	return p, nil
}

// dirPrefix begins the names of workers' directories, before the number of
// their parent.
const dirPrefix = "skillet-worker-"

// helloTimeout is how long a process may take to start.
const helloTimeout = 30 * time.Second

// start makes the pipes and the process.
func (p *process) start(path, argument string) error {
	files, err := openPipes()
	defer files.closeTheirs()
	if err != nil {
		files.closeOurs()
		return err
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{"skillet", argument}, Dir: p.dir, Env: environment(p.dir),
		Stdin: files.null, Stdout: files.log, Stderr: files.log,
	}
	separate(cmd, files)
	p.wire = newWire(files.fromWorker, files.toWorker)
	p.ours = []*os.File{files.fromWorker, files.toWorker}
	begun, done := make(chan error), make(chan struct{})
	go p.live(cmd, begun, done)
	if err := <-begun; err != nil {
		files.closeOurs()
		return err
	}
	go func() { // not on the thread with the walls of the process
		_, _ = io.Copy(p.output, files.readLog)
		files.readLog.Close()
		<-done
		os.RemoveAll(p.dir)
		close(p.ended)
	}()
	return nil
}

// live starts the process and waits for its end, on one thread: its walls are
// put up around the thread before it starts, and it dies with the thread.
func (p *process) live(cmd *exec.Cmd, begun chan<- error, done chan<- struct{}) {
	err := sandbox.Contain(func() error { return startWithin(cmd, p.dir) })
	if err != nil {
		begun <- err
		return
	}
	p.proc = cmd.Process
	begun <- nil
	state, err := cmd.Process.Wait()
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	p.how = state.String()
	if err != nil {
		p.how = err.Error()
	}
	close(done)
}

// kill ends the process and what it may have started. It may be called often.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		confine.KillGroup(p.proc)
	}
}

// end kills the process, waits until it is gone, and gives up its pipes. Who
// talks to it calls it last.
func (p *process) end() {
	p.kill()
	<-p.ended
	closeAll(p.ours...)
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.gone
}

// explain says why talking to the process failed. What cannot be read because
// it is gone is its death; anything else is for it to die of.
func (p *process) explain(err error) error {
	if errors.Is(err, errMalformed) {
		p.kill()
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	p.end()
	return &DiedError{How: p.how, Output: p.output.String()}
}

// greet waits for hello.
func (p *process) greet() error {
	var h hello
	if err := p.receive(kindHello, 0, smallBody, &h); err != nil {
		return err
	}
	if h.Magic != magic || h.Protocol != protocol {
		return fmt.Errorf("%w: it says %q, protocol %d", errMalformed, h.Magic, h.Protocol)
	}
	return nil
}

// smallBody is the largest body of a message without data of a guest.
const smallBody = 64 << 10

// setUp bounds the process and tells it what it may ask for. From then on it
// is within all its walls.
func (p *process) setUp(s setup) error {
	if err := p.wire.send(kindSetup, 0, &s); err != nil {
		return err
	}
	var r ready
	if err := p.receive(kindReady, 0, smallBody, &r); err != nil {
		return err
	}
	p.walls, p.memory = r.Walls, s.Memory
	return nil
}

// receive reads the one message that may come now.
func (p *process) receive(k kind, call uint32, most int, message any) error {
	f, err := p.wire.receive(most)
	if err != nil {
		return err
	}
	if f.kind != k || f.call != call {
		return fmt.Errorf("%w: kind %d of call %d, want kind %d of call %d", errMalformed, f.kind, f.call, k, call)
	}
	return decode(f.body, message)
}

// request sends one message and waits for its answer of a kind, or for failed.
func (p *process) request(k kind, message any, want kind, most int, answer any) error {
	p.next++
	if err := p.wire.send(k, p.next, message); err != nil {
		return err
	}
	f, err := p.wire.receive(most)
	switch {
	case err != nil:
		return err
	case f.call == p.next && f.kind == want:
		return decode(f.body, answer)
	case f.call != p.next || f.kind != kindFailed || len(f.body) > smallBody:
		return fmt.Errorf("%w: kind %d of call %d, want kind %d of call %d", errMalformed, f.kind, f.call, want, p.next)
	}
	var no failed
	if err := decode(f.body, &no); err != nil {
		return err
	}
	if no.Failure == nil {
		return fmt.Errorf("%w: failed without an error", errMalformed)
	}
	return &refusal{no.Failure.Err(nil)}
}

// refusal is an error the worker reports, which goes on living.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }
