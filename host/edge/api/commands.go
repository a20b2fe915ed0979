package api

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
)

// CommandType is the media type that answers have for commands: JSON in which no hint is
// filled, because a command names commands for what can be done, where others are told of
// requests.
const CommandType = "application/vnd.skillet.command+json"

// A Service says which service answers.
type Service struct {
	Version string `json:"version"`
	// Common is of what a command has to have in common with it; empty for who does not ask at
	// the local socket.
	Common string `json:"common,omitempty" doc:"At the local socket, a digest of the home, the program and the settings. A command that has another does without the service."`
}

// A Command is a call of a tool as a command line has it. All but Target may be left out.
type Command struct {
	Target string `json:"target" minLength:"1" maxLength:"500" doc:"NAME, NAME@VERSION or either with :TOOL."`
	// Words are KEY=VALUE, of which the input is made by the schema of the tool. With Given,
	// Input is the input, any bytes.
	Words     []string      `json:"words,omitempty" nullable:"false" doc:"KEY=VALUE, of which the input is made."`
	Given     bool          `json:"given,omitempty" doc:"Whether input is the input, in place of words."`
	Input     []byte        `json:"input,omitempty" doc:"The input byte for byte."`
	Workspace string        `json:"workspace,omitempty" doc:"The absolute directory against which relative paths resolve."`
	Limits    invoke.Limits `json:"limits,omitzero" doc:"Limits of this call, up to what the host allows."`
	NoCache   bool          `json:"no_cache,omitempty" doc:"Runs the tool even if its answer was kept."`
	// Raw asks for the answer byte for byte in place of data.
	Raw bool `json:"raw,omitempty" doc:"Whether the answer is wanted byte for byte."`
}

// A CommandResult is what came of a command that was carried out.
type CommandResult struct {
	invoke.Result
	Raw  []byte       `json:"raw,omitempty" doc:"The answer byte for byte, if it was asked for."`
	Cuts []invoke.Cut `json:"limits_cut,omitempty" nullable:"false"`
	// Notifications are those that skills sent in the call.
	Notifications []Notification `json:"notifications,omitempty" nullable:"false"`
	// Cancelled says that the call failed because it was cancelled.
	Cancelled bool `json:"cancelled,omitempty"`
}

// A Notification is what a skill has to say to a person.
type Notification struct {
	Skill    string `json:"skill"`
	Severity string `json:"severity"`
	Title    string `json:"title,omitempty"`
	Text     string `json:"text,omitempty"`
}

func commands(a *API) {
	add(a, route{method: http.MethodGet, path: "/v1/service", id: "show-service", tag: "commands", summary: "Says which service answers", rights: needs(govern.RightFind)},
		func(ctx context.Context, _ govern.Pass, _ *struct{}) (Service, error) {
			s := Service{Version: a.set.Version}
			if _, ok := local(ctx); ok { // it is of settings, and of no use to others
				s.Common = a.set.Common
			}
			return s, a.ready(ctx)
		})
	add(a, route{
		method: http.MethodPost, path: "/v1/run", id: "run-command", tag: "commands", body: MaxInput, rights: needs(govern.RightCall),
		summary: "Calls a tool for a command line; a problem means that nothing was called, and nothing counted",
	}, a.run)
}

func (a *API) run(ctx context.Context, p govern.Pass, in *struct{ Body Command }) (CommandResult, error) {
	c := in.Body
	at, err := invoke.ParseAddress(c.Target)
	if err == nil && !at.Installed() {
		err = fault.Errorf(fault.KindUsage, "%s is not the name of a skill", c.Target)
	}
	if err != nil {
		return CommandResult{}, err
	}
	if err := p.Call(at.Ref.Name, at.Tool); err != nil {
		return CommandResult{}, err
	}
	t, err := a.s.Invoke.Find(ctx, p.By(), at, nil)
	if err != nil {
		return CommandResult{}, err
	}
	if !c.Given {
		if c.Input, err = t.Input(c.Words); err != nil {
			return CommandResult{}, err
		}
	}
	ctx, told := listening(ctx)
	answer, err := a.s.Invoke.Invoke(ctx, invoke.Invocation{
		Target: t, By: p.By(), Input: c.Input, Workspace: c.Workspace, Limits: c.Limits, NoCache: c.NoCache,
	})
	r := CommandResult{Result: answer.Result, Cuts: answer.Cuts, Notifications: told.all()}
	if !r.OK && err == nil {
		r.Cancelled = errors.Is(r.Error, context.Canceled)
		r.Error = a.s.Explain(r.Error)
	}
	if c.Raw {
		r.Raw, r.Data = answer.Raw, nil
	}
	return r, err
}

// A listener has the notifications of a call.
type listener struct {
	mu   sync.Mutex
	told []Notification
}

func (l *listener) all() []Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told
}

type listenerKey struct{}

func listening(ctx context.Context) (context.Context, *listener) {
	l := &listener{}
	return context.WithValue(ctx, listenerKey{}, l), l
}

// Notify passes a notification on to the command for which a skill was called. It reports
// whether there is one: otherwise who serves has to be told.
func Notify(ctx context.Context, n invoke.Notification) bool {
	l, ok := ctx.Value(listenerKey{}).(*listener)
	if ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, Notification{n.Skill, n.Severity, n.Title, n.Text})
	}
	return ok
}
