package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/repeat"
	"github.com/skillet-run/skillet/manifests"
)

// A tokenServer is what one token has: a server with the tools that it may call, and the sessions of
// its clients, which no other token reaches.
type tokenServer struct {
	e         *Edge
	owner     string // the hash of what was shown, which tells tokens of one name apart
	server    *sdk.Server
	sessions  http.Handler // of clients of the era with sessions
	eras      http.Handler // of both
	answers   *repeat.Store[*sdk.CallToolResult]
	bounds    *invoke.Bounds
	workspace string

	mu     sync.Mutex
	passed govern.Pass
	shown  offer
	at     uint64 // what Decided was before it was looked what to show; 0 before that
}

// maxSessions is how many sessions a token has at most at the same time.
const maxSessions = 100

const instructions = `Each tool is a skill that runs in a sandbox and can do nothing that a person did not grant it. ` +
	`A result with "status": "paused" means that a person has to decide first, outside of this conversation: tell them the command it names, ` +
	`and make the same call again once they have decided. You cannot decide for them.`

func (e *Edge) newTokenServer(owner string, p govern.Pass) *tokenServer {
	s := &tokenServer{e: e, owner: owner, passed: p, answers: repeat.New[*sdk.CallToolResult](e.set.AnswerLife)}
	s.server = sdk.NewServer(&sdk.Implementation{Name: "skillet", Title: "Skillet", Version: cmp.Or(e.set.Version, "devel")}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: capabilities(),
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = cacheMS, "private" },
	})
	s.serveSkills()
	s.serveTasks()
	get := func(*http.Request) *sdk.Server { return s.server }
	s.sessions = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		SessionTimeout: e.set.Idle, MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: true, // the API has looked at the host
	})
	s.eras = Eras(http.HandlerFunc(s.serveSessions), sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	}))
	return s
}

// capabilities are what a server says of itself.
func capabilities() *sdk.ServerCapabilities {
	c := &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true}, Resources: &sdk.ResourceCapabilities{ListChanged: true},
	}
	c.AddExtension(extSkills, map[string]any{"directoryRead": true})
	c.AddExtension(extTasks, nil)
	return c
}

// cacheMS is for how many milliseconds a client may keep a list that it is told nothing about.
const cacheMS = 10_000

// serveSessions serves the era with sessions.
func (s *tokenServer) serveSessions(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && s.clients() >= maxSessions {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "the token has too many sessions: end one", http.StatusTooManyRequests)
		return
	}
	s.sessions.ServeHTTP(w, r)
}

func (s *tokenServer) clients() (n int) {
	for range s.server.Sessions() {
		n++
	}
	return n
}

func (s *tokenServer) hasClients() bool { return s.clients() > 0 }

// end ends the sessions of a token.
func (s *tokenServer) end() {
	for one := range s.server.Sessions() {
		_ = one.Close()
	}
}

// admit notes what a token is for, which may have changed since it was shown last.
func (s *tokenServer) admit(p govern.Pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed = p
}

func (s *tokenServer) pass() govern.Pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed
}

// An offer is what a token is shown: tools and prompts by their names, skills by the URIs of
// their SKILL.md.
type offer struct {
	tools   map[string]tool
	prompts map[string]prompt
	folders map[string]*folder
}

// refresh brings what is shown to what is installed now, if anything was decided since.
// Clients are told what changed.
func (s *tokenServer) refresh(ctx context.Context) error {
	at := s.e.s.Decided()
	if s.isShown(at) {
		return nil
	}
	now, err := s.offered(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.shown
	s.shown, s.at = now, at
	for name, t := range now.tools {
		if before, ok := old.tools[name]; !ok || !same(before.shown, t.shown) {
			s.server.AddTool(t.shown, s.handle)
		}
	}
	s.server.RemoveTools(missing(old.tools, now.tools)...)
	for name, p := range now.prompts {
		if before, ok := old.prompts[name]; !ok || !same(before.shown, p.shown) {
			s.server.AddPrompt(p.shown, s.render)
		}
	}
	s.server.RemovePrompts(missing(old.prompts, now.prompts)...)
	s.showFolders(old, now)
	return nil
}

func (s *tokenServer) isShown(at uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at == at
}

// same reports whether clients see no difference.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func missing[V any](old, now map[string]V) []string {
	var gone []string
	for name := range old {
		if _, ok := now[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// offered is what is installed, runs, and is for the token.
func (s *tokenServer) offered(ctx context.Context) (offer, error) {
	p := s.pass()
	o := offer{tools: map[string]tool{}, prompts: map[string]prompt{}, folders: map[string]*folder{}}
	if p.May(govern.RightCall) != nil {
		return o, nil
	}
	all, err := s.e.s.Admit.List(ctx, p.By(), admit.Listing{})
	if err != nil {
		return o, err
	}
	for _, skill := range all {
		if !p.Sees(skill.Name) || skill.Disabled != nil {
			continue
		}
		t, err := s.e.s.Invoke.Find(ctx, p.By(), invoke.Address{Ref: manifests.Ref{Name: skill.Name, Version: skill.Version}}, nil)
		switch e := fault.AsError(err); {
		case err == nil:
			o.add(p, t.Manifest())
			if isFor(p, t.Manifest()) {
				o.addFolder(t.Package(), s.before())
			}
		case ctx.Err() != nil:
			return o, ctx.Err()
		case e.Kind == fault.KindInternal || e.Kind == fault.KindFull:
			return o, err
		} // what is stopped or was just removed is not shown
	}
	if err := s.addScripts(ctx, &o); err != nil {
		return o, err
	}
	if s.e.set.Goals && p.May(govern.RightWork) == nil {
		o.tools[runTask] = s.goalTool()
	}
	return o, nil
}

// before is what was shown last.
func (s *tokenServer) before() offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// add adds what a skill offers to a token.
func (o offer) add(p govern.Pass, m *manifests.Manifest) {
	for _, t := range toolsOf(m) {
		if p.Call(m.Name, t.Name) == nil {
			o.tools[nameOf(m.Name, t.Name)] = newTool(m, t)
		}
	}
	if t, ok := m.PromptTool(); ok && p.Call(m.Name, t.Name) == nil {
		o.prompts[nameOf(m.Name, "")] = newPrompt(m)
	}
}
