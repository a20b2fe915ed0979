package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpEras are a revision of each era of the protocol.
var mcpEras = []string{"2025-11-25", "2026-07-28"}

// mcpClient connects a client.
func (p *person) mcpClient(over sdk.Transport, era string, o *sdk.ClientOptions) *sdk.ClientSession {
	p.t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).
		Connect(context.WithoutCancel(p.t.Context()), over, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		p.t.Fatal(err)
	}
	return cs
}

// mcpStdio starts `skillet mcp` for a client.
func (p *person) mcpStdio(era string, o *sdk.ClientOptions, args ...string) *sdk.ClientSession {
	p.t.Helper()
	return p.mcpClient(&sdk.CommandTransport{Command: p.command(context.WithoutCancel(p.t.Context()), append([]string{"mcp"}, args...)...)}, era, o)
}

// asksAboutRequests is a policy that has a person look at each request to the network.
const asksAboutRequests = `@id("ask-each")
@approval("required")
@reason("somebody looks at each request")
forbid (principal, action == Action::"http", resource)
unless { context.approved };
`

// web installs a skill that fetches from a server of the test, each of whose answers is counted.
func (p *person) web() (url string, asked *atomic.Int64) {
	p.t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "hello")
	}))
	p.t.Cleanup(s.Close)
	p.write("web/skill.json", fmt.Appendf(nil, `{"name":"web","version":"1.0.0","description":"fetches","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"fetch","description":"fetches","input_schema":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}}],
		"security":{"permissions":{"network":[{"url":"%s/*","reason":"the data is there"}]}}}`, s.URL))
	buildGuest(p.t, filepath.Join(p.work, "web", "main.wasm"), "./testdata/guest", "-buildmode=c-shared", "-tags=part,web")
	p.must(0, "install", "./web", "--yes")
	return s.URL, asked
}

// A paused call, as a client is told of it.
type mcpPause struct{ Status, Proposal, Approve, Then string }

func pauseOf(t *testing.T, r *sdk.CallToolResult) (v mcpPause) {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A model's client calls skills in either era. What needs a person is answered at once; nothing
// that a client answers is a decision, and the same call goes on when a person has made one.
func TestMCPPause(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	url, asked := p.web()
	p.write("home/policies/ask.cedar", []byte(asksAboutRequests))
	for _, era := range mcpEras {
		questions := 0
		accepts := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			questions++
			if !strings.Contains(q.Params.Message, "skillet approvals approve") {
				t.Errorf("%s: a question without the command: %s", era, q.Params.Message)
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}, nil // as some clients do by themselves
		}}
		cs := p.mcpStdio(era, accepts)
		before := asked.Load()
		call := &sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url + "/" + era}}
		r, err := cs.CallTool(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		paused := pauseOf(t, r)
		if !r.IsError || paused.Status != "paused" || paused.Approve != "skillet approvals approve "+paused.Proposal || paused.Then != "make the same call again" {
			t.Fatalf("%s: a call that needs a person: %+v", era, paused)
		}
		if want := map[string]int{mcpEras[0]: 0, mcpEras[1]: 1}[era]; questions != want {
			t.Errorf("%s: %d questions, want %d", era, questions, want)
		}
		if again := pauseOf(t, must(cs.CallTool(t.Context(), call))(t)); again.Proposal != paused.Proposal || asked.Load() != before {
			t.Errorf("%s: an answer of the client decided: %+v", era, again)
		}
		p.must(0, "approvals", "approve", paused.Proposal, "--yes")
		r = must(cs.CallTool(t.Context(), call))(t)
		if r.IsError || !strings.Contains(fmt.Sprint(r.StructuredContent), "hello") || asked.Load() != before+1 {
			t.Errorf("%s: the call after the decision: %+v", era, r.StructuredContent)
		}
		if r = must(cs.CallTool(t.Context(), call))(t); pauseOf(t, r).Status != "paused" || asked.Load() != before+1 {
			t.Errorf("%s: a decision about one call was used twice", era)
		}
		if err := cs.Close(); err != nil {
			t.Errorf("%s: the end: %v", era, err)
		}
	}
	if got := p.must(0, "audit", "--json", "--limit", "3"); !strings.Contains(got, `"actor": "agent:mcp"`) && !strings.Contains(got, `"actor":"agent:mcp"`) {
		t.Errorf("the audit log does not say who called:\n%s", got)
	}
}

// must is the result of a call that does not fail.
func must[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A client that takes questions itself gets one in the new era, with a state that it cannot
// change; that of another call is refused.
func TestMCPInputRequired(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	url, _ := p.web()
	p.write("home/policies/ask.cedar", []byte(asksAboutRequests))
	cs := p.mcpStdio(mcpEras[1], &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	defer cs.Close()
	call := sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url + "/a"}}
	r := must(cs.CallTool(t.Context(), &call))(t)
	if !r.NeedsInput() || len(r.InputRequests) != 1 || r.RequestState == "" {
		t.Fatalf("a call that needs a person: %+v", r)
	}
	next := call
	next.InputResponses = sdk.InputResponseMap{"decision": &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}}
	next.RequestState = r.RequestState
	if again := pauseOf(t, must(cs.CallTool(t.Context(), &next))(t)); again.Status != "paused" {
		t.Errorf("an answer without a decision: %+v", again)
	}
	other := next
	other.Arguments = map[string]any{"url": url + "/b"}
	for name, c := range map[string]sdk.CallToolParams{"another call": other, "another state": {Name: call.Name, Arguments: call.Arguments, RequestState: r.RequestState[:10] + "x" + r.RequestState[11:]}} {
		if got, err := cs.CallTool(t.Context(), &c); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	id, _, _ := strings.Cut(r.RequestState, ".")
	p.must(0, "approvals", "approve", id, "--yes")
	if done := must(cs.CallTool(t.Context(), &next))(t); done.IsError {
		t.Errorf("the call after the decision: %+v", done.StructuredContent)
	}
}

// The service pauses a call in the same way, for programs; of agents without a task no call reaches the network.
func TestMCPService(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	url, asked := p.web()
	caller, agent := strings.TrimSpace(p.must(0, "token", "create", "nightly", "--role", "caller")), strings.TrimSpace(p.must(0, "token", "create", "model", "--role", "agent"))
	p.write("home/policies/ask.cedar", []byte(asksAboutRequests))
	s := p.serve("--no-tasks")
	defer s.kill()
	for _, era := range mcpEras {
		over := func(token string) *sdk.ClientSession {
			return p.mcpClient(&sdk.StreamableClientTransport{Endpoint: s.address + "/mcp", HTTPClient: &http.Client{Transport: mcpToken(token)}}, era, nil)
		}
		before := asked.Load()
		call := &sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url + "/" + era}}
		of := over(agent)
		if r := must(of.CallTool(t.Context(), call))(t); !r.IsError || pauseOf(t, r).Status != "failed" {
			t.Errorf("%s: a call of an agent: %+v", era, r.StructuredContent)
		}
		_ = of.Close()
		cs := over(caller)
		paused := pauseOf(t, must(cs.CallTool(t.Context(), call))(t))
		if paused.Status != "paused" || asked.Load() != before {
			t.Fatalf("%s: a call that needs a person: %+v", era, paused)
		}
		p.must(0, "approvals", "approve", paused.Proposal, "--yes")
		if r := must(cs.CallTool(t.Context(), call))(t); r.IsError || asked.Load() != before+1 {
			t.Errorf("%s: the call after the decision: %+v", era, r.StructuredContent)
		}
		_ = cs.Close()
	}
}

// mcpToken shows a token with each request.
type mcpToken string

func (m mcpToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(m))
	return http.DefaultTransport.RoundTrip(r)
}

// Skills of a client reach the network unless it is taken from them, and files below a
// directory that was named alone. What a skill logs is told as it comes.
func TestMCPBounds(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	url, asked := p.web()
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--offline"}, false}, {[]string{"--as", "caller"}, true}} {
		cs := p.mcpStdio(mcpEras[1], nil, c.args...)
		before := asked.Load()
		r := must(cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url}}))(t)
		if r.IsError == c.want || (asked.Load() > before) != c.want {
			t.Errorf("mcp %v: %+v", c.args, r.StructuredContent)
		}
		_ = cs.Close()
	}
	if code, _, stderr := p.run("mcp", "--as", "approver"); code != 2 || !strings.Contains(stderr, "the role of a client is agent or caller") {
		t.Errorf("mcp --as approver: %d %s", code, stderr)
	}
}

// The service of the home serves a client, when there is one, with the same answers: two clients
// and a service share a home. What is told to the service about a client holds there.
func TestMCPInService(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	url, asked := p.web()
	answers := func(cs *sdk.ClientSession, failed bool) string {
		t.Helper()
		tools := must(cs.ListTools(t.Context(), nil))(t)
		rs := must(cs.ListResources(t.Context(), nil))(t)
		file := must(cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: rs.Resources[0].URI}))(t)
		r := must(cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url}}))(t)
		if r.IsError != failed {
			t.Errorf("a call: %+v", r.StructuredContent)
		}
		b, err := json.Marshal([]any{tools.Tools, rs.Resources, file.Contents, r.IsError})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, era := range mcpEras {
		alone := p.mcpStdio(era, nil)
		want := answers(alone, false)
		_ = alone.Close()
		stop := p.serves()
		one, two := p.mcpStdio(era, nil), p.mcpStdio(era, nil, "--offline", "--name", "other")
		if got := answers(one, false); got != want {
			t.Errorf("%s: in the service:\n%s\nalone:\n%s", era, got, want)
		}
		before := asked.Load()
		answers(two, true)
		if asked.Load() != before {
			t.Errorf("%s: a client without the network reached it", era)
		}
		if got := p.must(0, "audit", "--json", "--limit", "20"); !strings.Contains(got, "agent:mcp") || !strings.Contains(got, "agent:other") {
			t.Errorf("%s: the audit log does not say who called:\n%s", era, got)
		}
		_ = one.Close()
		stop(os.Interrupt)
		if _, err := two.CallTool(t.Context(), &sdk.CallToolParams{Name: "web__fetch", Arguments: map[string]any{"url": url}}); err == nil { // so it was the service
			t.Errorf("%s: a client is served after the service ended", era)
		}
		_ = two.Close()
	}
	defer p.serves()(os.Interrupt)
	if code, _, stderr := p.run("mcp", "--as", "approver"); code != 2 || !strings.Contains(stderr, "the role of a client is agent or caller") {
		t.Errorf("mcp --as approver: %d %s", code, stderr)
	}
}

func TestMCPProgress(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.guest("guest", "guest")
	p.must(0, "install", "./guest", "--yes")
	for _, era := range mcpEras {
		told := make(chan string, 100)
		cs := p.mcpStdio(era, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) { told <- q.Params.Message }})
		call := &sdk.CallToolParams{Name: "guest__log", Arguments: map[string]any{"input": map[string]any{"text": "half way"}}}
		call.SetProgressToken("p")
		must(cs.CallTool(t.Context(), call))(t)
		if line := <-told; line != "half way" {
			t.Errorf("%s: told %q", era, line)
		}
		_ = cs.Close()
	}
}
