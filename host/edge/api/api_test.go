package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
)

func TestMain(m *testing.M) {
	if code, ok := host.Roles().Run(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

var ada = approval.NewHuman("ada")

// A server serves a new home over HTTP, and has a token of each role.
type server struct {
	t      testing.TB
	h      *host.Host
	url    string
	tokens map[govern.Role]string
	edge   *api.API
	// schemas are those that every answer has to fit.
	schemas *schemas
}

// serve serves a new home, with some settings of it.
func serve(t testing.TB, set api.Settings, settings ...string) *server {
	t.Helper()
	return serveFor(t, set, host.ExpectNothing, settings...)
}

// serveFor is serve for a home of which much or little is asked.
func serveFor(t testing.TB, set api.Settings, expect host.Expectation, settings ...string) *server {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if len(settings) == 1 && strings.Contains(settings[0], ": ") { // a line of config.yaml
		if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, "config.yaml"), []byte(settings[0]), 0o600)); err != nil {
			t.Fatal(err)
		}
		settings = nil
	}
	// Compiling a module takes ten times as long under the race detector.
	environ := []string{"SKILLET_SECRET_KEY=file", "SKILLET_COMPILE_TIMEOUT_SECONDS=600"}
	h, err := host.Open(t.Context(), host.Options{Home: home, Environ: environ, Flags: settings, LogOutput: io.Discard, Expect: expect})
	if err != nil {
		t.Fatal(err)
	}
	edge := api.New(hclog.NewNullLogger(), api.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Code: h.Code(), Govern: h.Govern(), Work: h.Work(), Explain: meaning.Of, Ready: h.CatchUp,
	}, set)
	s := httptest.NewServer(edge.Handler(func(r *http.Request) bool { return strings.HasPrefix(r.Host, "127.0.0.1:") }))
	t.Cleanup(func() {
		edge.EndStreams()
		s.Close()
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	document, err := edge.Document()
	if err != nil {
		t.Fatal(err)
	}
	v := &server{t, h, s.URL, map[govern.Role]string{}, edge, schemasOf(t, document)}
	for _, r := range govern.Roles() {
		v.tokens[r] = v.token(govern.CreateToken{Name: string(r), Role: r})
	}
	return v
}

func (s *server) token(c govern.CreateToken) string {
	s.t.Helper()
	made, err := s.h.Govern().Tokens.Create(s.t.Context(), ada, c)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Secret
}

// An answer is one of the server's.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// at is the value at a path of the answer's JSON, as text; empty for none.
func (a answer) at(path ...string) string {
	var v any
	if json.Unmarshal(a.body, &v) != nil {
		return ""
	}
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			if len(in) == 0 {
				return ""
			}
			v = in[0]
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// ask makes a request with a token; body may be empty.
func (s *server) ask(token, method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := answer{resp.StatusCode, resp.Header, b}
	s.schemas.check(s.t, method, path, got)
	return got
}

// as makes a request with the token of a role, and wants a status.
func (s *server) as(role govern.Role, want int, method, path, body string) answer {
	s.t.Helper()
	a := s.ask(s.tokens[role], method, path, body)
	if a.status != want {
		s.t.Errorf("%s %s as %s: %s, want %d", method, path, role, a, want)
	}
	return a
}

// echoDir is a directory with a skill that answers its input, and asks for the clock.
func echoDir(t testing.TB, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "echo")
	m := wasmtest.New()
	length := m.ImportFunc("skillet:host/v1", "input_length", wasmtest.Signature{Results: []byte{0x7e}})
	read := m.ImportFunc("skillet:host/v1", "input_read", wasmtest.Signature{Params: []byte{0x7f, 0x7e, 0x7f}, Results: []byte{0x7f}})
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(16, 16)
	m.ExportFunc("echo", m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0),
		wasmtest.I32Const(0), wasmtest.I64Const(0), wasmtest.Call(length), wasmtest.Op(0xa7), wasmtest.Call(read), wasmtest.Call(write)))
	manifest := `{"name":"echo","version":"` + version + `","description":"answers what it is told","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"answers its input","read_only":true}],"security":{"permissions":{"clock":{"reason":"to tell the time"}}}}`
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(dir, "main.wasm"), m.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// install installs the skill echo, as a person at the machine.
func (s *server) install(version string) {
	s.t.Helper()
	plan, err := s.h.Admit().Plan(s.t.Context(), ada, admit.Install{Package: echoDir(s.t, version), Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	if err == nil {
		_, err = s.h.Admit().Commit(s.t.Context(), ada, plan, admit.Shown)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func compact(b []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return string(b)
	}
	return out.String()
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Version: "1.2.3"})
	for _, path := range []string{"/v1/health/live", "/v1/health/ready"} {
		if a := s.ask("", "GET", path, ""); a.status != 200 || a.at("status") != "ok" || a.at("version") != "1.2.3" {
			t.Errorf("%s: %s", path, a)
		}
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	a := s.as(govern.RoleCaller, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":{"say":"hello"}}`)
	if a.at("ok") != "true" || a.at("data") != `{"say":"hello"}` || a.at("skill") != "echo@1.0.0" {
		t.Errorf("a call: %s", a)
	}
	if a := s.as(govern.RoleCaller, 200, "POST", "/v1/skills/echo/tools/nothing/invoke", `{}`); a.at("ok") != "false" || a.at("error", "kind") != "not_found" || a.at("error", "hint") != "its tools are: echo" {
		t.Errorf("a tool that is not there: %s", a)
	}
	s.as(govern.RoleCaller, 404, "POST", "/v1/skills/nobody/tools/echo/invoke", `{}`)
	s.as(govern.RoleCaller, 400, "POST", "/v1/skills/.%2Fecho/tools/echo/invoke", `{}`)
	s.as(govern.RoleCaller, 422, "POST", "/v1/skills/echo/tools/echo/invoke", `{"inputs":1}`)
	if found := s.as(govern.RoleViewer, 200, "GET", "/v1/audit?skill=echo", ""); !strings.Contains(compact(found.body), `"actor":"program:caller"`) {
		t.Errorf("the audit log does not say who called: %s", found)
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.install("1.1.0")
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/skills", ""); a.at("items", "", "version") != "1.1.0" || a.at("next") != "" {
		t.Errorf("skills: %s", a)
	}
	first := s.as(govern.RoleViewer, 200, "GET", "/v1/skills?all=true&limit=1", "")
	if first.at("items", "", "version") != "1.1.0" || first.at("next") != "1" {
		t.Errorf("the first page: %s", first)
	}
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/skills?all=true&limit=1&cursor="+first.at("next"), ""); a.at("items", "", "version") != "1.0.0" || a.at("next") != "" {
		t.Errorf("the second page: %s", a)
	}
	if a := s.as(govern.RoleCaller, 200, "GET", "/v1/skills/echo", ""); a.at("manifest", "name") != "echo" {
		t.Errorf("a skill: %s", a)
	}
	s.as(govern.RoleApprover, 200, "POST", "/v1/skills/echo/disable", `{"reason":"too loud"}`)
	s.as(govern.RoleCaller, 403, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
	s.as(govern.RoleApprover, 200, "POST", "/v1/skills/echo/enable", "")
	s.as(govern.RoleCaller, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
}

// A person plans and commits over HTTP; what anybody else plans waits for a person.
func TestChanges(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	dir := echoDir(t, "1.0.0")
	wish := fmt.Sprintf(`{"package":%q,"allow_unsigned":true}`, dir)
	s.as(govern.RoleOperator, 403, "POST", "/v1/plans/install", wish) // a path of this machine
	s.as(govern.RoleAgent, 403, "POST", "/v1/plans/install", wish)
	s.as(govern.RoleApprover, 400, "POST", "/v1/plans/install", `{"package":"./echo"}`)
	plan := s.as(govern.RoleApprover, 201, "POST", "/v1/plans/install", wish)
	if plan.at("waits") != "true" || plan.at("skill") != "echo" {
		t.Fatalf("a plan: %s", plan)
	}
	commit := "/v1/plans/" + plan.at("id") + "/commit"
	s.as(govern.RoleOperator, 404, "POST", commit, `{}`) // it is not theirs
	s.as(govern.RoleApprover, 200, "POST", commit, `{"consent":"shown"}`)
	if a := s.as(govern.RoleApprover, 409, "POST", commit, `{"consent":"shown"}`); a.at("kind") != "conflict" {
		t.Errorf("a plan that was committed: %s", a)
	}
	s.as(govern.RoleApprover, 404, "POST", "/v1/plans/nothing/commit", `{}`)

	// An operator may plan to remove it, and cannot consent.
	removal := s.as(govern.RoleOperator, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`)
	s.as(govern.RoleOperator, 403, "POST", "/v1/plans/"+removal.at("id")+"/commit", `{"consent":"shown"}`)
	s.as(govern.RoleOperator, 400, "POST", "/v1/plans/"+removal.at("id")+"/commit", `{}`)

	// What a plan was made from has changed.
	stale := s.as(govern.RoleApprover, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`)
	s.install("1.1.0")
	if a := s.as(govern.RoleApprover, 409, "POST", "/v1/plans/"+stale.at("id")+"/commit", `{"consent":"shown"}`); a.at("kind") != "conflict" {
		t.Errorf("a stale plan: %s", a)
	}
	back := s.as(govern.RoleApprover, 201, "POST", "/v1/plans/rollback", `{"skill":"echo"}`)
	s.as(govern.RoleApprover, 200, "POST", "/v1/plans/"+back.at("id")+"/commit", `{"consent":"shown"}`)
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/skills", ""); a.at("items", "", "version") != "1.0.0" {
		t.Errorf("after going back: %s", a)
	}
}

func TestPlansExpire(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{PlanLife: time.Nanosecond})
	s.install("1.0.0")
	plan := s.as(govern.RoleApprover, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`)
	s.as(govern.RoleApprover, 404, "POST", "/v1/plans/"+plan.at("id")+"/commit", `{"consent":"shown"}`)
}

// What a model wrote waits, and is decided over HTTP by a person.
func TestApprovals(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	plan := s.as(govern.RoleApprover, 201, "POST", "/v1/plans/install", fmt.Sprintf(`{"package":%q,"allow_unsigned":true,"generated_by":"gpt"}`, echoDir(t, "1.0.0")))
	done := s.as(govern.RoleApprover, 200, "POST", "/v1/plans/"+plan.at("id")+"/commit", `{"consent":"shown"}`)
	if done.at("waits", "kind") != "approval" || strings.Contains(done.at("waits", "hint"), "{0}") || !strings.Contains(done.at("waits", "hint"), "/v1/approvals/") {
		t.Fatalf("what a model wrote: %s", done)
	}
	list := s.as(govern.RoleViewer, 200, "GET", "/v1/approvals", "")
	id, digest := list.at("items", "", "id"), list.at("items", "", "digest")
	if shown := s.as(govern.RoleViewer, 200, "GET", "/v1/approvals/"+id, ""); shown.at("digest") != digest {
		t.Errorf("a proposal: %s", shown)
	}
	s.as(govern.RoleApprover, 422, "POST", "/v1/approvals/"+id+"/approve", `{}`) // without the digest
	s.as(govern.RoleApprover, 422, "POST", "/v1/approvals/"+id+"/approve", fmt.Sprintf(`{"digest":%q}`, "sha256:"+strings.Repeat("0", 64)))
	s.as(govern.RoleApprover, 200, "POST", "/v1/approvals/"+id+"/approve", fmt.Sprintf(`{"digest":%q,"scope":"always"}`, digest))
	s.as(govern.RoleApprover, 409, "POST", "/v1/approvals/"+id+"/reject", `{}`)
	s.as(govern.RoleCaller, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
	log := s.as(govern.RoleViewer, 200, "GET", "/v1/audit", "")
	if !strings.Contains(compact(log.body), `"actor":"human:ada (token approver)"`) {
		t.Errorf("the audit log does not say who approved: %s", log)
	}
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/audit/verify", ""); a.at("ok") != "true" {
		t.Errorf("the audit log: %s", a)
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.as(govern.RoleApprover, 200, "POST", "/v1/skills/echo/grants", `{"capabilities":["random"],"scope":"always"}`)
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/skills/echo/grants", ""); !strings.Contains(compact(a.body), `"capability":"random"`) {
		t.Errorf("grants: %s", a)
	}
	if a := s.as(govern.RoleApprover, 409, "POST", "/v1/skills/echo/grants", `{"capabilities":["fs.read:/**"],"scope":"always"}`); a.at("kind") != "approval" {
		t.Errorf("a grant without a bound: %s", a)
	}
	s.as(govern.RoleApprover, 422, "POST", "/v1/skills/echo/grants", `{"capabilities":["nonsense:x"]}`)
	s.as(govern.RoleApprover, 200, "POST", "/v1/skills/echo/grants/revoke", `{"capabilities":["random"]}`)
	s.as(govern.RoleApprover, 404, "POST", "/v1/skills/echo/grants/revoke", `{"capabilities":["random"]}`)
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/skills/echo/explain?request=fs.read:/etc/passwd", ""); a.at("effect") != "deny" {
		t.Errorf("an explanation: %s", a)
	}
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/policies?limit=1", ""); a.at("items", "", "id") == "" || a.at("next") != "1" {
		t.Errorf("policies: %s", a)
	}
}

func TestMemories(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.as(govern.RoleAgent, 201, "POST", "/v1/memories", `{"text":"The bakery opens at seven."}`)
	if a := s.as(govern.RoleAgent, 200, "GET", "/v1/memories/search?q=when+does+the+bakery+open", ""); !strings.Contains(compact(a.body), "opens at seven") || !strings.Contains(compact(a.body), `"agent:agent"`) {
		t.Errorf("a search: %s", a)
	}
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/memories/stats", ""); a.at("records") != "1" {
		t.Errorf("figures: %s", a)
	}
	s.as(govern.RoleViewer, 200, "GET", "/v1/memories", "")
}

func TestFigures(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.as(govern.RoleCaller, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/stats", ""); a.at("skills", "", "calls") != "1" {
		t.Errorf("figures: %s", a)
	}
	if a := s.as(govern.RoleCaller, 200, "GET", "/v1/agents", ""); a.at("items", "", "name") == "" {
		t.Errorf("agents: %s", a)
	}
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/providers", ""); a.at("items", "", "provider") != "local" {
		t.Errorf("providers: %s", a)
	}
}

// No token has the name of who asks without one: it would have their tasks and plans.
func TestNameOfTheLocalSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	for _, name := range []string{govern.LocalName, "local2"} {
		_, err := s.h.Govern().Tokens.Create(t.Context(), ada, govern.CreateToken{Name: name, Role: govern.RoleCaller})
		if (err == nil) != (name != govern.LocalName) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
