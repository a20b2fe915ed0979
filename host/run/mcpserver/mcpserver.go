// Package mcpserver is the client of servers of the Model Context Protocol: it starts
// those that are programs, connects to them and to those at an address, compares what they
// offer with what was approved, and makes calls.
//
// Nothing that a server says is believed. A program is started when it has the digest that
// was approved, without network and with the files it was granted alone, where it is not
// unconfined; what it writes is read a bounded line at a time, see [Guard]. A tool that is
// not as it was approved is not called. What a server asks of its client (roots, sampling,
// elicitation) is refused.
//
// The package knows no grants and no policies: who calls says what the program may open,
// and carries the requests to an address.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// Bounds of a server.
const (
	// MaxMessage is the longest message of a server, in bytes.
	MaxMessage = 8 << 20
	// MaxMessages and MaxBytes are how many messages, and bytes of them, a server may send
	// after each request to it.
	MaxMessages = 5000
	MaxBytes    = 64 << 20
	// MaxTools is how many tools a server may list; a package has at most 128 of them.
	MaxTools = 1000
	// maxPages is in how many parts it may list them.
	maxPages = 50
	// maxText bounds what is quoted of a server in an error, in bytes.
	maxText = 300
	// connectTime is how long a server may take from its start to its list of tools.
	connectTime = 30 * time.Second
)

var (
	// ErrServer means that the server did what it must not, or did not do what it must:
	// it sent what is not a message, too much, or ended.
	ErrServer = errors.New("the MCP server failed")
	// ErrChanged means that a tool is not as it was approved. The typed error is
	// [ChangedError].
	ErrChanged = errors.New("the tool is not as it was approved")
	// ErrNotPinned means that a program, or what it is started with, has another digest
	// than was approved.
	ErrNotPinned = errors.New("the program is not the one that was approved")
	// ErrUnknownCaller means that a server at an address wants another token than it was sent,
	// or one at all.
	ErrUnknownCaller = errors.New("the server asks who calls")
	// ErrScope means that the token that a server was sent is not for what was asked of it. The
	// typed error is [ScopeError].
	ErrScope = errors.New("the token is not for that")
	// ErrInput means that the server wants to ask a person, which is not done.
	ErrInput = errors.New("the MCP server asks for input from a person or a model, which Skillet does not give to servers")
	// errTools means that the list of tools is too long.
	errTools = errors.New("it lists too many tools")
	// ErrClosed means that the pool was closed.
	ErrClosed = errors.New("the MCP servers were stopped")
)

// A ChangedError says how a tool is not as it was approved. errors.Is matches [ErrChanged].
type ChangedError struct{ Difference Difference }

// Error says what is different.
func (e *ChangedError) Error() string { return ErrChanged.Error() + ": " + e.Difference.Words() }

// Is reports whether target is ErrChanged.
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

// A ScopeError says what a token has to be for. errors.Is matches [ErrScope].
type ScopeError struct {
	Host string
	// Scopes are those that the server names; none when it does not.
	Scopes []string
}

// Error names the scopes.
func (e *ScopeError) Error() string {
	if len(e.Scopes) == 0 {
		return fmt.Sprintf("%s: %s wants one with another scope, and does not say which", ErrScope, e.Host)
	}
	return fmt.Sprintf("%s: %s wants one with the scope %s", ErrScope, e.Host, strings.Join(e.Scopes, " "))
}

// Is reports whether target is ErrScope.
func (e *ScopeError) Is(target error) bool { return target == ErrScope }

// A Result is what a tool answered.
type Result struct {
	// Output is the structured answer, the text, or else the content as JSON.
	Output []byte
	// Failed says that the tool reports an error, which Output is about.
	Failed bool
}

// A session is a connection to a server, with the tools that it lists.
type session struct {
	cs    *sdk.ClientSession
	began func() // is called before each request
	stale atomic.Bool
	tools []manifests.Tool
	odd   []string // tools that cannot be offered, and why
	name  string   // what it calls itself
	info  string   // with its version
}

// connect begins a session and asks for the tools.
func connect(ctx context.Context, t sdk.Transport, watch bool, began func()) (s *session, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	s = &session{began: began}
	o := &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	}
	if watch {
		o.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { s.stale.Store(true) }
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "skillet", Version: "1"}, o)
	c.AddReceivingMiddleware(refuseRequests)
	began()
	if s.cs, err = c.Connect(ctx, t, nil); err != nil {
		return nil, fmt.Errorf("%w: connect: %w", ErrServer, quoted(err))
	}
	if r := s.cs.InitializeResult(); r != nil && r.ServerInfo != nil {
		s.name = text.Short(text.Plain(r.ServerInfo.Name), 80)
		s.info = text.Short(text.Plain(r.ServerInfo.Name+" "+r.ServerInfo.Version), 100)
	}
	if err := s.list(ctx); err != nil {
		return nil, errors.Join(err, s.cs.Close())
	}
	return s, nil
}

// refuseRequests answers what a server asks of its client.
func refuseRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if slices.Contains([]string{"roots/list", "sampling/createMessage", "elicitation/create"}, method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Skillet gives servers no " + strings.Split(method, "/")[0]}
		}
		return next(ctx, method, req)
	}
}

// list asks for the tools.
func (s *session) list(ctx context.Context) error {
	s.stale.Store(false)
	var found []*sdk.Tool
	cursor := ""
	for page := 0; ; page++ {
		s.began()
		r, err := s.cs.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return fmt.Errorf("%w: list its tools: %w", ErrServer, quoted(err))
		}
		if found = append(found, r.Tools...); len(found) > MaxTools || page >= maxPages {
			return fmt.Errorf("%w: %w: more than %d, or in more than %d parts", ErrServer, errTools, MaxTools, maxPages)
		}
		if cursor = r.NextCursor; cursor == "" {
			break
		}
	}
	s.tools, s.odd = convert(found)
	return nil
}

// current lists the tools again when the server said that they changed.
func (s *session) current(ctx context.Context) error {
	if !s.stale.Load() {
		return nil
	}
	return s.list(ctx)
}

// call calls a tool that is as it was approved.
func (s *session) call(ctx context.Context, tool manifests.Tool, arguments []byte) (Result, error) {
	if d, same := Compare(tool, s.tools); !same {
		return Result{}, &ChangedError{d}
	}
	s.began()
	r, err := s.cs.CallTool(ctx, &sdk.CallToolParams{Name: tool.Export, Arguments: json.RawMessage(arguments)})
	if err != nil {
		var refused *jsonrpc.Error
		if errors.As(err, &refused) && ctx.Err() == nil {
			return Result{[]byte(text.Short(text.Plain(refused.Message), maxText)), true}, nil
		}
		return Result{}, fmt.Errorf("%w: call %s: %w", ErrServer, tool.Name, quoted(err))
	}
	if r.NeedsInput() {
		return Result{}, ErrInput
	}
	return resultOf(r)
}

// resultOf is the answer of a tool as that of a skill.
func resultOf(r *sdk.CallToolResult) (Result, error) {
	if r.StructuredContent != nil && !r.IsError {
		b, err := json.Marshal(r.StructuredContent)
		return Result{Output: b}, err
	}
	var lines []string
	for _, c := range r.Content {
		t, ok := c.(*sdk.TextContent)
		if !ok {
			b, err := json.Marshal(struct {
				Content []sdk.Content `json:"content"`
			}{r.Content})
			return Result{b, r.IsError}, err
		}
		lines = append(lines, t.Text)
	}
	return Result{[]byte(strings.Join(lines, "\n")), r.IsError}, nil
}

// quoted is an error without what a terminal or a log should not see.
func quoted(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New(text.Short(text.Plain(err.Error()), maxText))
}

// A Remote is a server at an address.
type Remote struct {
	URL string
	// Carrier sends the requests, each by itself. It decides whether one may be sent.
	Carrier http.RoundTripper
}

// carried remembers why the carrier did not send a request: the library that asked it
// keeps the words alone.
type carried struct {
	by  http.RoundTripper
	mu  sync.Mutex
	err error
}

// RoundTrip sends a request by the carrier.
func (c *carried) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.by.RoundTrip(r)
	why := err
	if err == nil {
		why = refusal(r.URL.Host, res)
	}
	if why != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = why
		}
	}
	return res, err
}

// refusal is the error for a server that lets nobody in without a token, or not with the one
// it was sent; nil for another answer. It may say where it is written who gives tokens (RFC 9728, section 5.1), or
// what the token has to be for (RFC 6750, section 3.1).
func refusal(host string, res *http.Response) error {
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return nil
	}
	says := mcplogin.Challenge(res.Header)
	if res.StatusCode == http.StatusForbidden {
		if says["error"] != "insufficient_scope" {
			return nil
		}
		e := &ScopeError{Host: host}
		for _, s := range strings.Fields(says["scope"]) {
			if len(e.Scopes) < maxScopes {
				e.Scopes = append(e.Scopes, text.Short(text.Plain(s), maxText))
			}
		}
		return e
	}
	at := ""
	if u := says["resource_metadata"]; u != "" {
		at = "; who gives tokens is at " + text.Short(text.Plain(u), maxText)
	}
	return fmt.Errorf("%w: %s answers 401%s", ErrUnknownCaller, host, at)
}

// maxScopes is how many scopes of a server are named.
const maxScopes = 20

// explain is why the carrier failed, or else err.
func (c *carried) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.err != nil {
		return c.err
	}
	return err
}

// open connects to the server.
func (r Remote) open(ctx context.Context) (*session, *carried, error) {
	c := &carried{by: r.Carrier}
	s, err := connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: r.URL, HTTPClient: &http.Client{Transport: c}, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: MaxMessage,
	}, false, func() {})
	return s, c, c.explain(err)
}

// Call connects, makes one call, and ends the connection: what the carrier may do belongs
// to one call.
func (r Remote) Call(ctx context.Context, tool manifests.Tool, arguments []byte) (Result, error) {
	s, c, err := r.open(ctx)
	if err != nil {
		return Result{}, err
	}
	defer s.cs.Close()
	res, err := s.call(ctx, tool, arguments)
	return res, c.explain(err)
}

// Offer is what the server offers.
func (r Remote) Offer(ctx context.Context) (Offer, error) {
	s, _, err := r.open(ctx)
	if err != nil {
		return Offer{}, err
	}
	defer s.cs.Close()
	return s.offer(), nil
}

// An Offer is what a server offers.
type Offer struct {
	// Name is what it calls itself, and Server that with its version.
	Name   string `json:"name"`
	Server string `json:"server"`
	// Tools are those that a package can have, in the order of their names, and Odd says
	// of the others why not.
	Tools []manifests.Tool `json:"tools"`
	Odd   []string         `json:"odd"`
}

func (s *session) offer() Offer {
	return Offer{s.name, s.info, append([]manifests.Tool{}, s.tools...), append([]string{}, s.odd...)}
}
