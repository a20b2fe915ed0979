package plugins

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/connectivity"
)

// supervised is a plugin that is started when it is asked and does not run.
type supervised struct {
	log      hclog.Logger
	spec     Spec
	settings Settings
	turn     chan struct{} // who starts it holds the one place
	stopping chan struct{} // closed when it is to stop

	mu     sync.Mutex
	now    *connection // nil while none runs
	state  history
	count  int // of calls
	closed bool
}

// history is what became of earlier processes.
type history struct {
	starts, deaths int
	next           time.Time // before which it is not started
	problem        error
	output         []string
}

func supervise(log hclog.Logger, spec Spec, s Settings) *supervised {
	return &supervised{log: log, spec: spec, settings: s, turn: make(chan struct{}, 1), stopping: make(chan struct{})}
}

// use returns the connection for one call, and what ends the call. It starts the
// plugin when it does not run.
func (p *supervised) use(ctx context.Context) (conn *connection, done func(), err error) {
	for {
		conn, err := p.begin()
		if conn != nil || err != nil {
			return conn, func() { p.end(conn) }, err
		}
		if err := p.start(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// begin counts a call if there is somebody to call.
func (p *supervised) begin() (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, p.failed(ErrClosed)
	}
	if p.now == nil || !p.now.alive() {
		return nil, nil
	}
	p.now.calls.Add(1)
	p.count++
	return p.now, nil
}

func (p *supervised) end(c *connection) {
	p.mu.Lock()
	p.count--
	p.mu.Unlock()
	c.calls.Done()
}

// failed is a failure to start.
func (p *supervised) failed(reason error) *StartError {
	return &StartError{Kind: p.spec.Kind, Name: p.spec.Name, Reason: reason}
}

// start starts the plugin, or waits until somebody else has.
func (p *supervised) start(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return p.failed(context.Cause(ctx))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go p.giveUp(ctx, cancel)
	if running, err := p.due(ctx); running || err != nil {
		return err
	}
	c, err := connect(ctx, p.log, &p.spec, p.settings)
	if err != nil {
		return p.note(ctx, err)
	}
	return p.install(c)
}

// giveUp ends a start when the plugin is to stop.
func (p *supervised) giveUp(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-p.stopping:
		cancel(ErrClosed)
	case <-ctx.Done():
	}
}

// due waits until the plugin may be started. It may turn out to run.
func (p *supervised) due(ctx context.Context) (running bool, err error) {
	p.bury()
	p.mu.Lock()
	running, closed, h := p.now != nil && p.now.alive(), p.closed, p.state
	p.mu.Unlock()
	wait := time.Until(h.next)
	switch {
	case closed:
		return false, p.failed(ErrClosed)
	case running || wait <= 0:
		return running, nil
	case h.deaths >= p.settings.Restart.Attempts:
		return false, p.loop(h, wait)
	}
	select {
	case <-time.After(wait):
		return false, nil
	case <-ctx.Done():
		return false, p.failed(context.Cause(ctx))
	}
}

// loop is the failure of a plugin that keeps dying.
func (p *supervised) loop(h history, wait time.Duration) error {
	e := p.failed(fmt.Errorf("%w: %d times in a row, and it is tried again in %v; last: %w", ErrCrashLoop, h.deaths, wait.Round(time.Second), h.problem))
	e.Output = h.output
	return e
}

// note remembers a start that went wrong, unless nobody waited for its end.
func (p *supervised) note(ctx context.Context, err error) error {
	var start *StartError
	if !errors.As(err, &start) {
		start = p.failed(err)
	}
	if ctx.Err() != nil {
		return start
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.starts++
	p.died(start.Reason, start.Output)
	p.log.Error("the plugin could not be started", "error", start.Reason)
	return start
}

// died counts a death. Its caller holds the lock.
func (p *supervised) died(reason error, output []string) {
	h := &p.state
	h.deaths++
	h.problem, h.output = reason, output
	h.next = time.Now().Add(p.settings.Restart.delay(h.deaths))
}

// install makes a connection the one that is used, unless the plugin is stopped by
// now.
func (p *supervised) install(c *connection) error {
	p.mu.Lock()
	stopped := p.closed
	if !stopped {
		p.now = c
		p.state.starts++
	}
	p.mu.Unlock()
	if stopped {
		c.abandon()
		c.client.Kill()
		return p.failed(ErrClosed)
	}
	go p.watch(c)
	p.log.Debug("the plugin runs", "pid", c.proc.PID())
	return nil
}

// watch asks an idle plugin whether it is there, until it has ended.
func (p *supervised) watch(c *connection) {
	tick := time.NewTicker(p.settings.Watch)
	defer tick.Stop()
	for silent := 0; ; {
		select {
		case <-c.life.Done():
			p.lost(c)
			return
		case <-tick.C:
			if silent = p.silent(c, silent); silent == maxSilent {
				c.refuse(errors.New("it does not answer any more"))
			}
		}
	}
}

// maxSilent is how often in a row an idle plugin may not answer.
const maxSilent = 3

// silent counts how often in a row the plugin did not answer. While it is asked
// something else it may have no time to.
func (p *supervised) silent(c *connection, before int) int {
	p.mu.Lock()
	busy := p.count > 0
	p.mu.Unlock()
	if busy {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.settings.Watch)
	defer cancel()
	if c.check(ctx) != nil {
		return before + 1
	}
	return 0
}

// lost notes that a process has ended.
func (p *supervised) lost(c *connection) {
	<-c.ended
	p.forget(c)
	c.calls.Wait() // for them it is the plugin that is gone, and not the connection that was closed
	c.client.Kill()
}

// bury notes the end of a process that nobody has noted yet.
func (p *supervised) bury() {
	p.mu.Lock()
	c := p.now
	p.mu.Unlock()
	if c != nil && !c.alive() {
		<-c.ended
		p.forget(c)
	}
}

// forget drops a connection to a process that has ended.
func (p *supervised) forget(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != c || p.closed {
		return
	}
	p.now = nil
	if time.Since(c.since) >= p.settings.Restart.Steady {
		p.state.deaths = 0
	}
	reason := c.death()
	p.died(reason, c.output.tail())
	p.log.Warn("the plugin has ended", "how", reason)
}

// death is why a process has ended.
func (c *connection) death() error {
	if problem := c.reason(); problem != nil {
		return problem
	}
	return errors.New("it ended: " + c.how)
}

// stop waits for the calls to end until ctx does, and ends the process. Nothing
// is started after that.
func (p *supervised) stop(ctx context.Context) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.stopping)
	}
	p.mu.Unlock()
	p.turn <- struct{}{} // nobody starts it now
	defer func() { <-p.turn }()
	p.mu.Lock()
	c := p.now
	p.now = nil
	p.mu.Unlock()
	if c != nil {
		c.stop(ctx)
	}
}

// death says how the plugin behind a connection died, and the last line of its
// output. It is empty while the plugin lives.
func (p *supervised) death(c *connection) string {
	if c.holds() {
		return ""
	}
	if c.alive() {
		c.refuse(errors.New("its connection broke"))
	}
	<-c.ended
	text := fmt.Sprintf("%s %s: %v", p.spec.Kind, p.spec.Name, c.death())
	if output := c.output.tail(); len(output) > 0 {
		text += fmt.Sprintf("; it said last: %q", output[len(output)-1])
	}
	return text
}

// holds reports whether a connection is whole, or becomes so again. One that is
// breaking is seen a moment later, and breaks a moment before the process ends.
func (c *connection) holds() bool {
	moment, cancel := context.WithTimeout(c.life, 50*time.Millisecond)
	defer cancel()
	if c.conn.GetState() == connectivity.Ready && !c.conn.WaitForStateChange(moment, connectivity.Ready) && c.alive() {
		return true
	}
	while, cancel := context.WithTimeout(c.life, 2*time.Second)
	defer cancel()
	return c.check(while) == nil
}

// status is how the plugin is.
func (p *supervised) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		Name: p.spec.Name, Kind: p.spec.Kind, State: StateIdle, Calls: p.count,
		Starts: p.state.starts, Deaths: p.state.deaths, Output: p.state.output,
	}
	if p.state.problem != nil {
		s.Problem = p.state.problem.Error()
	}
	switch {
	case p.closed:
		s.State = StateStopped
	case p.now != nil && p.now.alive():
		s.State, s.PID, s.Since, s.Output = StateRunning, p.now.proc.PID(), p.now.since, p.now.output.tail()
	case p.state.deaths >= p.settings.Restart.Attempts:
		s.State = StateFailed
	}
	return s
}
