package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/manifests"
)

const (
	// MaxServers is how many processes of servers run at once.
	MaxServers = 32
	// MaxDeaths is how often in a row a server may end before it has answered; then it is
	// left alone for restPerDeath for each.
	MaxDeaths    = 3
	restPerDeath = 10 * time.Second
	// DefaultIdle is how long a server runs that nobody calls.
	DefaultIdle = 5 * time.Minute
)

// A Pool starts servers when they are first called, and ends those that are idle. It is safe
// for concurrent use.
type Pool struct {
	log  hclog.Logger
	idle time.Duration

	orphans sync.Once
	mu      sync.Mutex
	closed  bool
	servers map[string]*server
	deaths  map[string]death
}

type death struct {
	n  int
	at time.Time
}

// server is one process with its session.
type server struct {
	key, owner string
	ready      chan struct{} // closed when process and session are there, or err is
	err        error
	process    *process
	session    *session
	listing    sync.Mutex

	calls  int // under way; guarded by the pool
	idle   *time.Timer
	doomed bool // ends when no call is under way
}

// NewPool makes a Pool whose servers end when nobody called them for so long; 0 means
// [DefaultIdle]. Close it.
func NewPool(log hclog.Logger, idle time.Duration) *Pool {
	if idle <= 0 {
		idle = DefaultIdle
	}
	return &Pool{log: log, idle: idle, servers: map[string]*server{}, deaths: map[string]death{}}
}

// A Start makes the program of a server when it is not running.
type Start func() (Program, error)

// Call calls a tool. key names a process: another key is another process, and those of the
// same owner with other keys end, because the owner may do something else now.
func (p *Pool) Call(ctx context.Context, owner, key string, start Start, tool manifests.Tool, arguments []byte) (Result, error) {
	s, err := p.take(ctx, owner, key, start)
	if err != nil {
		return Result{}, err
	}
	defer p.give(s)
	if err := s.current(ctx); err != nil {
		return Result{}, p.failed(ctx, s, err)
	}
	r, err := s.call(ctx, tool, arguments)
	if err != nil {
		return r, p.failed(ctx, s, err)
	}
	p.forgive(key)
	return r, nil
}

// call calls a tool. A server that does not even take what it is sent is ended when the
// call is over.
func (s *server) call(ctx context.Context, tool manifests.Tool, arguments []byte) (r Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = s.session.call(ctx, tool, arguments)
	}()
	select {
	case <-done:
		return r, err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(patience):
		s.process.kill()
		<-done
	}
	return r, err
}

// Offer starts a program, asks what it offers, and ends it.
func (p *Pool) Offer(ctx context.Context, program Program) (Offer, error) {
	s := &server{}
	if err := s.open(ctx, p.log, program); err != nil {
		return Offer{}, err
	}
	defer s.end()
	return s.session.offer(), nil
}

// current lists the tools again when they changed.
func (s *server) current(ctx context.Context) error {
	s.listing.Lock()
	defer s.listing.Unlock()
	return s.session.current(ctx)
}

// take finds the server of a key, or starts it.
func (p *Pool) take(ctx context.Context, owner, key string, start Start) (*server, error) {
	p.orphans.Do(func() { confine.KillOrphans(envHost); confine.RemoveStale("", scratchPrefix) })
	p.mu.Lock()
	s, there := p.servers[key]
	if there && isReady(s) && s.process != nil && s.process.dead() {
		delete(p.servers, key)
		there = false
	}
	if !there {
		var err error
		if s, err = p.admit(owner, key); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
	s.calls++
	if s.idle != nil {
		s.idle.Stop()
	}
	p.mu.Unlock()
	if !there {
		p.begin(ctx, s, start)
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		p.give(s)
		return nil, ctx.Err()
	}
	if s.err != nil {
		p.give(s)
		return nil, s.err
	}
	return s, nil
}

// admit makes room for a server. The pool is locked.
func (p *Pool) admit(owner, key string) (*server, error) {
	if p.closed {
		return nil, ErrClosed
	}
	if d := p.deaths[key]; d.n >= MaxDeaths {
		if rest := time.Until(d.at.Add(time.Duration(d.n) * restPerDeath)); rest > 0 {
			return nil, fmt.Errorf("%w: it ended %d times in a row; it is started again in %s", ErrServer, d.n, rest.Round(time.Second))
		}
	}
	for _, other := range p.servers {
		if other.owner == owner && other.key != key {
			p.doom(other)
		}
	}
	if len(p.servers) >= MaxServers {
		for _, other := range p.servers {
			if other.calls == 0 {
				p.doom(other)
				break
			}
		}
	}
	if len(p.servers) >= MaxServers {
		return nil, fmt.Errorf("%w: %d servers are running and busy", ErrServer, MaxServers)
	}
	s := &server{key: key, owner: owner, ready: make(chan struct{})}
	p.servers[key] = s
	return s, nil
}

// begin starts a server; who waits for it is told by ready. The start belongs to nobody's
// call: another may be waiting for it.
func (p *Pool) begin(ctx context.Context, s *server, start Start) {
	program, err := start()
	go func() {
		if err == nil {
			err = s.open(context.WithoutCancel(ctx), p.log, program)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.err = err; err != nil && p.servers[s.key] == s {
			delete(p.servers, s.key)
			p.died(s.key, err)
		}
		close(s.ready)
		if s.calls == 0 {
			p.rest(s)
		}
	}()
}

// open starts the process and connects to it.
func (s *server) open(ctx context.Context, log hclog.Logger, program Program) (err error) {
	if s.process, err = start(log, program); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if s.session, err = connect(ctx, s.process.transport(), true, s.process.guard.Asked); err != nil {
		err = s.process.explain(ctx, err)
		s.process.kill()
	}
	return err
}

// end ends the process of a server.
func (s *server) end() {
	if s.session != nil {
		_ = s.session.cs.Close()
	}
	if s.process != nil {
		s.process.stop()
	}
}

// give ends a call of a server.
func (p *Pool) give(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.calls--; s.calls == 0 {
		p.rest(s)
	}
}

// rest has a server end that nobody calls any more, or later. The pool is locked.
func (p *Pool) rest(s *server) {
	switch {
	case s.err != nil || !isReady(s):
	case s.doomed:
		go s.end()
	default:
		s.idle = time.AfterFunc(p.idle, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if s.calls == 0 {
				p.doom(s)
			}
		})
	}
}

func isReady(s *server) bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// doom takes a server out, which ends when no call is under way. The pool is locked.
func (p *Pool) doom(s *server) {
	if p.servers[s.key] == s {
		delete(p.servers, s.key)
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.doomed {
		return
	}
	if s.doomed = true; s.calls == 0 && isReady(s) && s.err == nil {
		go s.end()
	}
}

// failed says why a call failed. A server that does what it must not is ended, and one that
// does not answer in time gets no more calls.
func (p *Pool) failed(ctx context.Context, s *server, err error) error {
	err = s.process.explain(ctx, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.mu.Lock()
		p.doom(s)
		p.mu.Unlock()
	}
	if s.process.dead() || s.process.guard.Err() != nil {
		s.process.proc.Kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.doom(s)
		p.died(s.key, err)
	}
	return err
}

// died counts a death. The pool is locked.
func (p *Pool) died(key string, err error) {
	if !errors.Is(err, ErrServer) || len(p.deaths) > 1000 {
		return
	}
	p.deaths[key] = death{p.deaths[key].n + 1, time.Now()}
}

func (p *Pool) forgive(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.deaths, key)
}

// Drop ends the servers of an owner at once, with the calls that are under way.
func (p *Pool) Drop(owner string) {
	p.mu.Lock()
	var gone []*server
	for _, s := range p.servers {
		if s.owner == owner {
			gone = append(gone, s)
		}
	}
	for _, s := range gone {
		p.doom(s)
	}
	p.mu.Unlock()
	for _, s := range gone {
		if isReady(s) && s.err == nil {
			s.process.kill()
		}
	}
}

// Running are the owners of the servers that run, in order.
func (p *Pool) Running() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, s := range p.servers {
		all = append(all, s.owner)
	}
	slices.Sort(all)
	return all
}

// Close ends all servers.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*server, 0, len(p.servers))
	for _, s := range p.servers {
		all = append(all, s)
	}
	p.mu.Unlock()
	var ends sync.WaitGroup
	for _, s := range all {
		ends.Go(func() {
			<-s.ready
			if s.err == nil {
				s.end()
			}
		})
	}
	ends.Wait()
}

// Key names a process by what it is started with.
func Key(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil { // texts and lists of them marshal
		panic("mcpserver: " + err.Error())
	}
	return string(manifests.DigestOf(b))
}
