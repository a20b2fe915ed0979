package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
)

// serve serves a home over HTTP, and returns where.
func (h *home) serve() (url string) {
	h.t.Helper()
	edge := api.New(hclog.NewNullLogger(), api.Services{
		Admit: h.h.Admit(), Invoke: h.h.Invoke(), Code: h.h.Code(), Govern: h.h.Govern(), Work: h.h.Work(), Explain: meaning.Of, Ready: h.h.CatchUp,
	}, api.Settings{})
	edge.Mount(api.Mount{Path: "/mcp", Rights: []govern.Right{govern.RightCall}, Streams: mcp.IsStream, Handler: h.edge.Handler(api.PassOf)})
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	watched := make(chan struct{})
	go func() { h.edge.Watch(ctx); close(watched) }()
	s := httptest.NewServer(edge.Handler(func(r *http.Request) bool { return strings.HasPrefix(r.Host, "127.0.0.1:") }))
	h.t.Cleanup(func() {
		stop()
		<-watched
		h.edge.Close()
		edge.EndStreams()
		s.Close()
	})
	return s.URL
}

func (h *home) token(name string, role govern.Role, skills ...string) string {
	h.t.Helper()
	made, err := h.h.Govern().Tokens.Create(h.t.Context(), ada, govern.CreateToken{Name: name, Role: role, Skills: skills})
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Secret
}

// bearer shows a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// client connects a client over HTTP.
func (h *home) client(url, token, era string, o *sdk.ClientOptions) *sdk.ClientSession {
	h.t.Helper()
	return h.connect(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o), url, token, era)
}

func (h *home) connect(client *sdk.Client, url, token, era string) *sdk.ClientSession {
	h.t.Helper()
	cs, err := client.Connect(context.WithoutCancel(h.t.Context()),
		&sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// Both eras are served at one address, to each token what it may call.
func TestHTTP(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	h.install(greet, nil)
	url := h.serve()
	all, one, none := h.token("all", govern.RoleAgent), h.token("one", govern.RoleCaller, "say:any"), h.token("none", govern.RoleCaller, "greet")
	for _, era := range eras {
		cs := h.client(url, all, era, nil)
		if got := names(t, cs); got != "say__again say__any say__number" {
			t.Errorf("%s: tools: %s", era, got)
		}
		if r, text := call(t, cs, "say__again", `{"word":"hello"}`); r.IsError || text != `{"word":"hello"}` {
			t.Errorf("%s: %s", era, asJSON(r))
		}
		cs = h.client(url, one, era, nil)
		if got := names(t, cs); got != "say__any" {
			t.Errorf("%s: tools of one: %s", era, got)
		}
		if r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "say__again", Arguments: map[string]any{"word": "x"}}); err == nil {
			t.Errorf("%s: a tool that the token is not for: %s", era, asJSON(r))
		}
		cs = h.client(url, none, era, nil)
		if ps, err := cs.ListPrompts(t.Context(), nil); names(t, cs) != "" || err != nil || len(ps.Prompts) != 1 {
			t.Errorf("%s: of a token for a prompt: %s %s %v", era, names(t, cs), asJSON(ps), err)
		}
	}
}

// A client that waits for changes is told over HTTP too, in both eras.
func TestListChangesOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(greet, nil)
	url, token := h.serve(), h.token("a", govern.RoleAgent)
	for i, era := range eras {
		told := make(chan struct{}, 100)
		cs := h.client(url, token, era, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }})
		_ = names(t, cs)
		h.install(strings.Replace(say, "1.0.0", fmt.Sprintf("1.0.%d", i+1), 1), echo("again", "any", "number"))
		<-told
		if got := names(t, cs); got != "say__again say__any say__number" {
			t.Errorf("%s: tools after an installation: %s", era, got)
		}
	}
}

// A raw request, to try what no client does.
type raw struct {
	token, method, path, body string
	headers                   []string
	stream                    io.Reader
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func (h *home) ask(url string, q raw) (status int, header http.Header, body string) {
	h.t.Helper()
	in := io.Reader(strings.NewReader(q.body))
	if q.stream != nil {
		in = q.stream
	}
	if q.path == "" {
		q.path = "/mcp"
	}
	r, err := http.NewRequestWithContext(h.t.Context(), q.method, url+q.path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	for i := 0; i < len(q.headers); i += 2 {
		if r.Header.Set(q.headers[i], q.headers[i+1]); q.headers[i] == "Host" {
			r.Host = q.headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b)
}

// endless is a body that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte("a"), len(b))), nil }

// What no client may ask is refused before anything is done: without a token, with one that has
// no right to it, from elsewhere, without end, and in the session of somebody else.
func TestRefusesOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	url := h.serve()
	agent, other, viewer := h.token("agent", govern.RoleAgent), h.token("other", govern.RoleAgent), h.token("viewer", govern.RoleViewer)
	status, header, body := h.ask(url, raw{token: agent, method: "POST", body: initialize})
	session := header.Get("Mcp-Session-Id")
	if status != 200 || session == "" {
		t.Fatalf("a session: %d %s", status, body)
	}
	list, in := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-11-25"}
	initialized := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if status, _, body := h.ask(url, raw{token: agent, method: "POST", body: initialized, headers: in}); status != 202 {
		t.Errorf("initialized: %d %s", status, body)
	}
	if status, _, body := h.ask(url, raw{token: agent, method: "POST", body: list, headers: in}); status != 200 || !strings.Contains(body, "say__again") {
		t.Errorf("a list: %d %s", status, body)
	}
	for name, c := range map[string]struct {
		raw
		want int
	}{
		"no token":                         {raw{method: "POST", body: initialize}, 401},
		"an unknown token":                 {raw{token: "skt_unknown", method: "POST", body: initialize}, 401},
		"a role that does not call":        {raw{token: viewer, method: "POST", body: initialize}, 403},
		"a foreign origin":                 {raw{token: agent, method: "POST", body: initialize, headers: []string{"Origin", "https://evil.example"}}, 403},
		"a foreign origin, for a stream":   {raw{token: agent, method: "GET", headers: append([]string{"Origin", "https://evil.example"}, in...)}, 403},
		"an origin that is none":           {raw{token: agent, method: "POST", body: initialize, headers: []string{"Origin", "null"}}, 403},
		"a foreign host":                   {raw{token: agent, method: "POST", body: initialize, headers: []string{"Host", "evil.example"}}, 421},
		"a body without end":               {raw{token: agent, method: "POST", stream: endless{}}, 413},
		"a session of another token":       {raw{token: other, method: "POST", body: list, headers: in}, 404},
		"its stream":                       {raw{token: other, method: "GET", headers: in}, 404},
		"its end":                          {raw{token: other, method: "DELETE", headers: in}, 404},
		"an approver's route":              {raw{token: agent, method: "POST", path: "/v1/approvals/x/approve", body: `{"digest":"sha256:0"}`}, 403},
		"a method that nobody knows":       {raw{token: agent, method: "PATCH", body: initialize}, 405},
		"a body that is not JSON":          {raw{token: agent, method: "POST", body: "{"}, 400},
		"a header that the body belies":    {raw{token: agent, method: "POST", body: newList("tools/list"), headers: []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}}, 400},
		"a revision that nobody published": {raw{token: agent, method: "POST", body: list, headers: []string{"MCP-Protocol-Version", "1999-01-01"}}, 400},
	} {
		if got, _, body := h.ask(url, c.raw); got != c.want {
			t.Errorf("%s: %d %s, want %d", name, got, body, c.want)
		}
	}
	if _, err := h.h.Govern().Tokens.Revoke(t.Context(), ada, "agent"); err != nil {
		t.Fatal(err)
	}
	if status, _, body := h.ask(url, raw{token: agent, method: "POST", body: list, headers: in}); status != 401 {
		t.Errorf("a session of a revoked token: %d %s", status, body)
	}
}

// A client without a token is told where it is written how it is let in, and by nobody but a
// person it is.
func TestProtectedResource(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	url := h.serve()
	status, header, _ := h.ask(url, raw{method: "POST", body: initialize})
	at := url + "/.well-known/oauth-protected-resource/mcp"
	if want := `Bearer realm="skillet", resource_metadata="` + at + `"`; status != 401 || header.Get("WWW-Authenticate") != want {
		t.Errorf("%d %s, want %s", status, header.Get("WWW-Authenticate"), want)
	}
	status, header, body := h.ask(url, raw{method: "GET", path: "/.well-known/oauth-protected-resource/mcp"})
	if want := `{"resource":"` + url + `/mcp","resource_name":"Skillet","bearer_methods_supported":["header"]}`; status != 200 || body != want || header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %s, want %s", status, header.Get("Content-Type"), body, want)
	}
	if status, _, _ := h.ask(url, raw{method: "GET", path: "/.well-known/oauth-protected-resource/mcp", headers: []string{"Host", "evil.example"}}); status != 421 {
		t.Errorf("of another host: %d", status)
	}
	if status, _, _ := h.ask(url, raw{method: "GET", path: "/.well-known/oauth-protected-resource/v1"}); status != 404 {
		t.Errorf("of something else: %d", status)
	}
}

// newList is a request of the era without sessions.
func newList(method string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// A token that was made anew under its name does not get the sessions of the old one.
func TestTokenMadeAnew(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	url, old := h.serve(), h.token("a", govern.RoleAgent)
	_, header, _ := h.ask(url, raw{token: old, method: "POST", body: initialize})
	if _, err := h.h.Govern().Tokens.Revoke(t.Context(), ada, "a"); err != nil {
		t.Fatal(err)
	}
	again := h.token("a", govern.RoleAgent)
	in := []string{"Mcp-Session-Id", header.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
	if status, _, body := h.ask(url, raw{token: again, method: "POST", body: `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, headers: in}); status != 404 {
		t.Errorf("the session of the old token: %d %s", status, body)
	}
}

// A token has so many sessions, and others are not in its way.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	url, token := h.serve(), h.token("a", govern.RoleAgent)
	status := 0
	for n := 0; n <= 100; n++ {
		if status, _, _ = h.ask(url, raw{token: token, method: "POST", body: initialize}); status != 200 && n < 100 {
			t.Fatalf("session %d: %d", n, status)
		}
	}
	if status != 429 {
		t.Errorf("one session more than a token has: %d", status)
	}
	if status, _, _ := h.ask(url, raw{token: h.token("b", govern.RoleAgent), method: "POST", body: initialize}); status != 200 {
		t.Errorf("a session of another token: %d", status)
	}
}

// Whatever a client says, it is answered or refused, and never by a failure of the host.
func FuzzMessage(f *testing.F) {
	h := newHome(f)
	h.install(say, echo("again", "any", "number"))
	edge := h.edge.Handler(func(context.Context) govern.Pass { return govern.AdmitStarted("test", govern.RoleAgent) })
	f.Add("2025-11-25", "", initialize)
	f.Add("2026-07-28", "tools/list", newList("tools/list"))
	f.Add("2026-07-28", "server/discover", newList("server/discover"))
	f.Add("2026-07-28", "tools/call", strings.Replace(newList("tools/call"), `"params":{`, `"params":{"name":"say__again","arguments":{"word":"x"},"requestState":"a.b",`, 1))
	f.Fuzz(func(t *testing.T, version, method, body string) {
		if method == "subscriptions/listen" { // it would stay open
			t.Skip()
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Mcp-Name": {"say__again"}}
		w := httptest.NewRecorder()
		if edge.ServeHTTP(w, r); w.Code >= 500 {
			t.Errorf("%q %q %q: %d %s", version, method, body, w.Code, w.Body)
		}
	})
}
