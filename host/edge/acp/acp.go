// Package acp is the edge for editors: it speaks the Agent Client Protocol at standard input and
// output, as the agent that an editor starts for the person who sits at it.
//
// A session is a conversation, as [work.Tasks.Chat] has one. What a person is asked there is only
// what a task asks about its own steps; proposals, grants and installations are decided elsewhere.
// Whether an answer of the editor is one of a person, the person says who starts it.
package acp

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/app/work"
)

// Options are what an editor's agent works with. Person, Work and Clean are needed.
type Options struct {
	// Person is who started it.
	Person principal.Human
	Work   *work.Service
	// Use is what may be used to answer; the directories of a session are added to it, unless
	// NoFiles is set.
	Use     work.TaskRequest
	NoFiles bool
	// Allow is what the person allows the calls of tasks.
	Allow principal.EphemeralGrant
	// Decides counts what the editor answers to a request for permission as the person's decision.
	// Without it nothing is asked.
	Decides bool
	// Clean makes texts of models and skills safe to show, Words puts an event into words, and Waits
	// says what a task waits for and how it is decided.
	Clean func(string) string
	Words func(work.Event) []string
	Waits func(work.Run) string
	// Calls says what a step would do.
	Calls func(work.Step) []string
	// NoServers is told a person whose editor offers MCP servers: they are not used.
	NoServers string
	Version   string
}

// maxSessions is how many sessions an editor has at most.
const maxSessions = 100

// An agent is what an editor talks to.
type agent struct {
	o    Options
	conn *sdk.AgentSideConnection

	mu       sync.Mutex
	sessions map[sdk.SessionId]*session
	working  sync.WaitGroup
}

// A session is a conversation.
type session struct {
	id      sdk.SessionId
	dirs    []string
	ignored int // servers of the editor, which are not used

	turn   sync.Mutex // held by the turn that is answered
	before string

	mu   sync.Mutex
	task string // that the turn works on
}

// Serve serves an editor, whose messages are lines of in, until it ends or ctx does.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	a := &agent{o: o, sessions: map[sdk.SessionId]*session{}}
	a.conn = sdk.NewAgentSideConnection(a, out, in)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
	}
	a.working.Wait()
	return nil
}

// Initialize says what there is: text and files that the editor hands in, and no sessions that are
// kept.
func (a *agent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	title := "Skillet"
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, AgentInfo: &sdk.Implementation{Name: "skillet", Title: &title, Version: a.o.Version},
		AgentCapabilities: sdk.AgentCapabilities{PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true}}, AuthMethods: []sdk.AuthMethod{},
	}, nil
}

// NewSession begins a conversation in a directory.
func (a *agent) NewSession(_ context.Context, q sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	s := &session{id: sdk.SessionId(rand.Text()), ignored: len(q.McpServers)}
	if !a.o.NoFiles {
		s.dirs = append([]string{q.Cwd}, q.AdditionalDirectories...)
	}
	for _, dir := range s.dirs {
		if !filepath.IsAbs(dir) {
			return sdk.NewSessionResponse{}, sdk.NewInvalidParams(map[string]any{"error": fmt.Sprintf("the directory %q is not absolute", dir)})
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= maxSessions {
		return sdk.NewSessionResponse{}, sdk.NewInvalidRequest(map[string]any{"error": "too many sessions: close one"})
	}
	a.sessions[s.id] = s
	return sdk.NewSessionResponse{SessionId: s.id}, nil
}

func (a *agent) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, sdk.NewInvalidParams(map[string]any{"error": "session not found"})
}

// CloseSession forgets a conversation, and ends what is done for it.
func (a *agent) CloseSession(ctx context.Context, q sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	err := a.cancel(ctx, q.SessionId)
	a.mu.Lock()
	delete(a.sessions, q.SessionId)
	a.mu.Unlock()
	return sdk.CloseSessionResponse{}, err
}

// Cancel ends what is done for a conversation. The connection has ended its turn.
func (a *agent) Cancel(ctx context.Context, q sdk.CancelNotification) error {
	return a.cancel(ctx, q.SessionId)
}

func (a *agent) cancel(ctx context.Context, id sdk.SessionId) error {
	s, err := a.session(id)
	if err != nil {
		return err
	}
	if task := s.working(); task != "" {
		_, _ = a.o.Work.Tasks().Cancel(ctx, a.o.Person, work.TaskChange{ID: task, Reason: "cancelled in the editor"}) // or it has ended
	}
	return nil
}

func (s *session) working() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

func (s *session) works(task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task = task
}

// textOf is what a person wrote, with what the editor handed in beside it.
func textOf(blocks []sdk.ContentBlock) (goal string, attached []work.Attachment) {
	var said []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			said = append(said, b.Text.Text)
		case b.ResourceLink != nil:
			said = append(said, b.ResourceLink.Uri)
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			attached = append(attached, work.Attachment{Name: filepath.Base(r.Uri), Text: r.Text})
		}
	}
	return strings.TrimSpace(strings.Join(said, "\n")), attached
}

// Authenticate implements [sdk.Agent]: there is no need to.
func (*agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

// ListSessions implements [sdk.Agent]. It is not served, and the editor is told so beforehand.
func (*agent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionList)
}

// ResumeSession implements [sdk.Agent] in the same way.
func (*agent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionResume)
}

// SetSessionConfigOption implements [sdk.Agent] in the same way.
func (*agent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetConfigOption)
}

// SetSessionMode implements [sdk.Agent] in the same way.
func (*agent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}
