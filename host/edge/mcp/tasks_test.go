package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
)

// A told is what a client is told of a task.
type told struct {
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
	InputRequests map[string]struct {
		Method string
		Params struct{ Message string }
	} `json:"inputRequests"`
	Result struct {
		Content []struct{ Text string }
		IsError bool `json:"isError"`
	}
	Content []struct{ Text string }
	Error   struct {
		Code    int
		Message string
	}
}

// A tasker is a client of the new era that takes tasks.
type tasker struct {
	h          *home
	url, token string
	without    bool // it does not say that it takes tasks
}

// ask makes a request, and returns its result, or its error.
func (c tasker) ask(method string, params map[string]any) (v told) {
	c.h.t.Helper()
	extensions := `"io.modelcontextprotocol/tasks":{}`
	if c.without {
		extensions = ""
	}
	params["_meta"] = json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{` + extensions + `}}}`)
	name, _ := params["taskId"].(string)
	if n, ok := params["name"].(string); ok {
		name = n
	}
	_, _, body := c.h.ask(c.url, raw{token: c.token, method: "POST", body: asJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
		headers: []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}})
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var m struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	err := json.NewDecoder(strings.NewReader(body)).Decode(&m)
	if err == nil && m.Result != nil {
		err = json.Unmarshal(m.Result, &v)
	} else if err == nil {
		err = json.Unmarshal(m.Error, &v.Error)
	}
	if err != nil {
		c.h.t.Fatalf("%s: %v: %s", method, err, body)
	}
	return v
}

func (c tasker) call(name string, arguments any) told {
	c.h.t.Helper()
	return c.ask("tools/call", map[string]any{"name": name, "arguments": arguments})
}

func (c tasker) get(id string) told { return c.ask("tasks/get", map[string]any{"taskId": id}) }

// until asks for a task until it is in one of some statuses.
func (c tasker) until(id string, statuses ...string) (v told) {
	c.h.t.Helper()
	for c.h.t.Context().Err() == nil {
		if v = c.get(id); slices.Contains(statuses, v.Status) || v.Error.Code != 0 {
			return v
		}
		time.Sleep(10 * time.Millisecond)
	}
	return v
}

const busy = `{"name":"busy","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"spin","description":"d"}],
	"security":{"resource_limits":{"max_execution_time":3600,"max_fuel":10000000000000}}}`

// again is the edge of another process.
func (h *home) again(after time.Duration, goals bool) *home {
	h.t.Helper()
	edge := mcp.New(hclog.NewNullLogger(), mcp.Services{
		Admit: h.h.Admit(), Invoke: h.h.Invoke(), Code: h.h.Code(), Work: h.h.Work(), Explain: meaning.Of, Decided: h.h.Decided, Refused: h.h.Govern().Tokens.Refused,
		Say: func(hint string, rs []fault.Remedy) string { return fault.Fill(hint, rs, fault.Remedy.String) },
	}, mcp.Settings{TaskAfter: after, Goals: goals})
	h.t.Cleanup(edge.Close)
	return &home{h.t, h.h, edge}
}

// A call that takes long is answered with a task for a client that takes tasks, and for no other. The
// task is its token's, is cancelled, and says when its process ended in the middle of it.
func TestTasks(t *testing.T) {
	t.Parallel()
	h := newHome(t).again(time.Millisecond, false)
	h.install(busy, spin())
	token, other := h.token("a", govern.RoleCaller), h.token("b", govern.RoleCaller)
	c := tasker{h: h, url: h.serve(), token: token}
	made := c.call("busy__spin", map[string]any{"input": ""})
	if made.ResultType != "task" || made.Status != "working" || len(made.TaskID) != 40 {
		t.Fatalf("a long call: %+v", made)
	}
	if v := c.get(made.TaskID); v.ResultType != "complete" || v.Status != "working" || v.TaskID != made.TaskID {
		t.Errorf("get: %+v", v)
	}
	for name, v := range map[string]told{
		"of another token": tasker{h: h, url: c.url, token: other}.get(made.TaskID), "one that is not there": c.get(strings.Repeat("0", 40)),
		"its cancellation by another": tasker{h: h, url: c.url, token: other}.ask("tasks/cancel", map[string]any{"taskId": made.TaskID}), "no id": c.get("../x"),
	} {
		if v.Error.Code != -32602 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	not := c
	not.without = true
	if v := not.get(made.TaskID); v.Error.Code != -32021 {
		t.Errorf("a client that takes no tasks: %+v", v)
	}
	if v := c.ask("tasks/cancel", map[string]any{"taskId": made.TaskID}); v.ResultType != "complete" || v.Status != "" {
		t.Errorf("cancel: %+v", v)
	}
	if v := c.get(made.TaskID); v.Status != "cancelled" {
		t.Errorf("after the cancellation: %+v", v)
	}
	if v := c.ask("tasks/cancel", map[string]any{"taskId": made.TaskID}); v.ResultType != "complete" {
		t.Errorf("the second cancellation: %+v", v)
	}
	left := c.call("busy__spin", map[string]any{"input": "x"})
	h.edge.Close() // as the process ends
	next := h.again(time.Millisecond, false)
	c = tasker{h: next, url: next.serve(), token: token}
	if v := c.get(left.TaskID); v.Status != "failed" || !strings.Contains(v.Error.Message, "") || !strings.Contains(v.StatusMessage, "may have had its effect, or not") {
		t.Errorf("a call in the middle of which the process ended: %+v", v)
	}
	if v := c.get(made.TaskID); v.Status != "cancelled" {
		t.Errorf("after a restart: %+v", v)
	}
}

// suiteHome has the skill of the scenarios, and a server that it waits for.
func suiteHome(t *testing.T) (h *home, at string, deleted func() int) {
	t.Helper()
	var mu sync.Mutex
	gone := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/delete" {
			mu.Lock()
			gone++
			mu.Unlock()
			fmt.Fprint(w, "deleted")
			return
		}
		seconds, _ := time.ParseDuration(r.URL.Query().Get("seconds") + "s")
		select {
		case <-time.After(seconds):
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "computed")
	}))
	t.Cleanup(s.Close)
	h = newHome(t)
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", filepath.Join(dir, "main.wasm"), "./testdata/suite")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	var tools []string
	for _, name := range []string{"greet", "slow_compute", "failing_job", "confirm_delete"} {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"for the suite","input_schema":{"type":"object"}}`, name))
	}
	manifest := fmt.Sprintf(`{"name":"suite","version":"1.0.0","description":"for the suite","type":"code_inline","command":"main.wasm","tools":[%s],
		"security":{"permissions":{"network":[{"url":"%s/*","reason":"it waits there"}]},"resource_limits":{"max_execution_time":90}}}`, strings.Join(tools, ","), s.URL)
	if err := os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	h.installFrom(dir)
	h.policy(`@id("ask") @approval("required") @reason("a person looks at what is deleted")
forbid (principal, action == Action::"http", resource) when { context.path like "/delete*" } unless { context.approved };`)
	return h, s.URL, func() int { mu.Lock(); defer mu.Unlock(); return gone }
}

// policy adds a policy of the person's.
func (h *home) policy(text string) {
	h.t.Helper()
	dir := filepath.Join(h.h.Home(), "policies")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ask.cedar"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// approve approves what waits, as a person does.
func (h *home) approve(id string) {
	h.t.Helper()
	p, err := h.h.Govern().Proposals.Find(h.t.Context(), ada, id)
	if err == nil {
		_, err = h.h.Govern().Proposals.Approve(h.t.Context(), ada, govern.Approval{ID: p.ID, Digest: string(p.Digest)})
	}
	if err != nil {
		h.t.Error(err)
	}
}

// A task that waits for a person says what for. The client's answer decides nothing; when the person
// has decided, also while another process has the home, the call is made, once.
func TestTaskThatWaits(t *testing.T) {
	t.Parallel()
	h, at, deleted := suiteHome(t)
	token := h.token("a", govern.RoleCaller)
	c := tasker{h: h, url: h.serve(), token: token}
	made := c.call("suite__confirm_delete", map[string]any{"at": at, "filename": "x"})
	if made.ResultType != "task" || len(made.InputRequests) != 0 {
		t.Fatalf("a call that needs a person: %+v", made)
	}
	v := c.until(made.TaskID, "input_required")
	if len(v.InputRequests) != 1 {
		t.Fatalf("a task that waits: %+v", v)
	}
	for key, q := range v.InputRequests {
		if q.Method != "elicitation/create" || !strings.Contains(q.Params.Message, "approve") {
			t.Errorf("the question: %+v", q)
		}
		if v := c.ask("tasks/update", map[string]any{"taskId": made.TaskID, "inputResponses": map[string]any{key: map[string]any{"action": "accept"}}}); v.ResultType != "complete" {
			t.Errorf("update: %+v", v)
		}
		if v := c.get(made.TaskID); v.Status != "working" || len(v.InputRequests) != 0 || !strings.Contains(v.StatusMessage, "approve") || deleted() != 0 {
			t.Errorf("an answer of the client decided, or is asked for again: %+v", v)
		}
		next := h.again(0, false)
		c = tasker{h: next, url: next.serve(), token: token}
		if v := c.get(made.TaskID); v.Status != "working" || deleted() != 0 {
			t.Errorf("after a restart: %+v", v)
		}
		h.approve(strings.TrimPrefix(key, "decision-"))
	}
	if v := c.until(made.TaskID, "completed"); v.Result.IsError || len(v.Result.Content) != 1 || v.Result.Content[0].Text != "deleted" || deleted() != 1 {
		t.Errorf("after the decision: %+v, deleted %d", v, deleted())
	}
	if v := c.get(made.TaskID); v.Status != "completed" || deleted() != 1 {
		t.Errorf("the second time: %+v, deleted %d", v, deleted())
	}
}

// forTheSuite lets the suite call tools by the names it knows, and decides as a person when it answers
// what a person was asked.
func (h *home) forTheSuite(to, at string) string {
	u, err := url.Parse(to)
	if err != nil {
		h.t.Fatal(err)
	}
	names := map[string]string{"greet": "suite__greet", "slow_compute": "suite__slow_compute", "failing_job": "run_task", "confirm_delete": "suite__confirm_delete"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m map[string]any
		if json.Unmarshal(body, &m) == nil {
			p, _ := m["params"].(map[string]any)
			if name, _ := p["name"].(string); m["method"] == "tools/call" && names[name] != "" {
				p["name"] = names[name]
				if r.Header.Get("Mcp-Name") == name {
					r.Header.Set("Mcp-Name", names[name])
				}
				arguments, _ := p["arguments"].(map[string]any)
				if arguments["at"] = at; name == "failing_job" {
					p["arguments"] = map[string]any{"goal": "delete the moon"}
				}
			}
			answers, _ := p["inputResponses"].(map[string]any)
			for key := range answers {
				if id, ok := strings.CutPrefix(key, "decision-"); ok && m["method"] == "tasks/update" {
					h.approve(id)
				}
			}
			body, _ = json.Marshal(m)
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), bytes.NewReader(body))
		if err != nil {
			h.t.Error(err)
			return
		}
		out.Header = r.Header
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	h.t.Cleanup(s.Close)
	return s.URL
}

// tasksThatFail are checks of the suite about tasks which Skillet does not pass, and why.
var tasksThatFail = map[string]string{
	"sep-2663-tasks-get-status-failed":               "no call ends in an error of the protocol, but when its process dies in the middle of it",
	"tasks-mrtr-partial-fulfillment":                 "a call waits for one decision at a time",
	"sep-2663-mrtr-synchronous-before-task-creation": "a call that needs a person is a task at once",
}

// What the suite tries of tasks passes with a skill in the place of its tools, and a person who decides
// when its client is asked.
func TestConformanceOfTasks(t *testing.T) {
	node(t, "@modelcontextprotocol/conformance/dist/index.js")
	h, at, _ := suiteHome(t)
	h = h.again(500*time.Millisecond, true)
	working, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- h.h.Work().Tasks().RunWorkers(working, ada, work.WorkRequest{Watch: true}) }()
	t.Cleanup(func() {
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
	address := h.forTheSuite(h.behind(h.edge.Handler(api.PassOf)), at)
	tasker{h: h, url: strings.TrimSuffix(address, "/mcp"), token: ""}.call("greet", map[string]any{"name": "x"}) // it is compiled by then
	passed := 0
	for _, name := range []string{"lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers", "dispatch-and-envelope", "required-task-error", "mrtr-composition"} {
		n := 0
		for _, one := range h.scenario(address, "tasks-"+name, "2026-07-28") {
			switch why, known := tasksThatFail[one.ID]; {
			case one.Status == "SUCCESS":
				n++
			case one.Status == "FAILURE" && !known:
				t.Errorf("%s: %s fails: %s", name, one.ID, one.Message)
			case one.Status == "FAILURE":
				t.Logf("%s: %s is not passed: %s", name, one.ID, why)
			}
		}
		t.Logf("%s: %d checks pass", name, n)
		passed += n
	}
	if t.Logf("proof: %d checks about tasks pass", passed); passed < 41 {
		t.Errorf("%d checks about tasks pass", passed)
	}
}
