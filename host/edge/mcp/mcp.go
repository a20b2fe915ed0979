// Package mcp is the edge for models: it serves installed skills over the Model Context
// Protocol, at standard input and output and over HTTP, in both of its eras, the one with
// sessions (2025-11-25 and before) and the one without (2026-07-28).
//
// Tools of skills are tools, and prompts are prompts, by names that stay the same. A client is
// a model: nothing that it answers is a decision. What needs a person is answered at once, with
// what it waits for, and the same call goes on when a person has decided.
package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
)

// Services are what the edge serves. All are needed.
type Services struct {
	Admit  *admit.Service
	Invoke *invoke.Service
	Code   *code.Service
	Work   *work.Service
	// Explain says what an error means to a caller, and Say how to do what a remedy is, with
	// the hint that speaks of it.
	Explain func(error) *fault.Error
	Say     func(hint string, remedies []fault.Remedy) string
	// Decided is another number at once when anything was decided.
	Decided func() uint64
	// Refused puts a call that was refused on record, because of who asked.
	Refused func(ctx context.Context, p govern.Pass, what string, why error) error
}

// Settings are what can be chosen about the edge. The zero value has what is usual.
type Settings struct {
	// Version is that of the program.
	Version string
	// Watch is how often it is looked whether skills changed, for clients that wait for that;
	// 0 for a second.
	Watch time.Duration
	// Idle is after how long a session ends of which nothing is heard; 0 for 30 minutes.
	Idle time.Duration
	// AnswerLife is how long the answer to a call with a key is kept; 0 for an hour.
	AnswerLife time.Duration
	// TaskAfter is after how long a call that is not answered becomes a task, for clients that take
	// tasks; 0 for five seconds.
	TaskAfter time.Duration
	// Goals offers such clients to have goals worked on: something works on the tasks of the home.
	Goals bool
}

// MaxMessage is the longest message of a client, in bytes.
const MaxMessage = 8 << 20

// An Edge is the edge. It is safe for concurrent use.
type Edge struct {
	s   Services
	set Settings
	log hclog.Logger
	key [32]byte // what states of clients are signed with; of this process

	mu      sync.Mutex
	servers map[string]*tokenServer // by the name of the token
	calls   map[string]*underway    // those that are made for tasks, by these
	waiting map[string]uint64       // what Decided was when the call of a task was found to wait
	ending  bool
	making  sync.WaitGroup // of calls
}

// New makes an Edge.
func New(log hclog.Logger, s Services, set Settings) *Edge {
	set.Watch = cmp.Or(set.Watch, time.Second)
	set.Idle = cmp.Or(set.Idle, 30*time.Minute)
	set.AnswerLife = cmp.Or(set.AnswerLife, time.Hour)
	set.TaskAfter = cmp.Or(set.TaskAfter, 5*time.Second)
	e := &Edge{s: s, set: set, log: log, servers: map[string]*tokenServer{}, calls: map[string]*underway{}, waiting: map[string]uint64{}}
	_, _ = rand.Read(e.key[:]) // it never fails
	return e
}

// A Client is one that a person started.
type Client struct {
	Pass govern.Pass
	// Bounds are what its calls keep to beside the grants of skills; nil for those of
	// [invoke.Invocation].
	Bounds *invoke.Bounds
	// Workspace is the absolute directory against which relative paths resolve; empty for none.
	Workspace string
}

// Serve serves one client, whose messages are lines of in, until it ends or ctx does.
func (e *Edge) Serve(ctx context.Context, c Client, in io.Reader, out io.Writer) error {
	s := e.newTokenServer("", c.Pass)
	s.bounds, s.workspace = c.Bounds, c.Workspace
	if err := s.refresh(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { e.watch(ctx, func() []*tokenServer { return []*tokenServer{s} }) })
	err := s.server.Run(ctx, draining{&sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}, MaxLineLength: MaxMessage}})
	if ctx.Err() != nil || gone(err) {
		return nil
	}
	return err
}

// gone reports whether an error says that the client is not there any more, which is how it
// ends.
func gone(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrClosedPipe, syscall.EPIPE}, func(e error) bool { return errors.Is(err, e) })
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Watch looks after skills that change, for clients over HTTP, until ctx ends.
func (e *Edge) Watch(ctx context.Context) {
	e.watch(ctx, func() []*tokenServer {
		e.mu.Lock()
		defer e.mu.Unlock()
		var all []*tokenServer
		for _, s := range e.servers {
			all = append(all, s)
		}
		return all
	})
}

func (e *Edge) watch(ctx context.Context, servers func() []*tokenServer) {
	tick := time.NewTicker(e.set.Watch)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, s := range servers() {
			if !s.hasClients() {
				continue
			}
			if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("tools were not looked at again", "token", s.pass().Name(), "err", err)
			}
		}
	}
}

// newEra is the first revision without sessions.
const newEra = "2026-07-28"

// IsStream reports whether a request of a client stays open, to be told what changes.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("MCP-Protocol-Version") >= newEra && r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

// Handler serves clients over HTTP. passOf says who was let in with a request.
func (e *Edge) Handler(passOf func(context.Context) govern.Pass) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		s := e.serverOf(string(sum[:]), passOf(r.Context()))
		if err := s.refresh(r.Context()); err != nil {
			e.log.Error("tools cannot be listed", "err", err)
			http.Error(w, e.s.Explain(err).Message, http.StatusServiceUnavailable)
			return
		}
		s.eras.ServeHTTP(w, r)
	})
}

// Eras serves the era with sessions and the one without at one address: no single handler of
// the SDK does both.
func Eras(sessions, stateless http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("MCP-Protocol-Version") >= newEra {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

// serverOf is that of a token. One that was made anew under the same name gets another server, and
// the sessions of the old one end.
func (e *Edge) serverOf(owner string, p govern.Pass) *tokenServer {
	e.mu.Lock()
	s, old := e.servers[p.Name()], (*tokenServer)(nil)
	if s == nil || s.owner != owner {
		s, old = e.newTokenServer(owner, p), s
		e.servers[p.Name()] = s
	}
	e.mu.Unlock()
	if old != nil {
		go old.end()
	}
	s.admit(p)
	return s
}

// Close ends all sessions, and the calls that are made for tasks, which say that they were
// interrupted.
func (e *Edge) Close() {
	defer e.making.Wait()
	e.mu.Lock()
	all := e.servers
	e.servers, e.ending = map[string]*tokenServer{}, true
	for _, u := range e.calls {
		u.cancel()
	}
	e.mu.Unlock()
	for _, s := range all {
		s.end()
	}
}
