package code_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
)

func TestMain(m *testing.M) {
	if code, ok := host.Roles().Run(os.Args); ok {
		os.Exit(code)
	}
	if dir := os.Getenv(victimEnv); dir != "" {
		os.Exit(victim(dir))
	}
	end := m.Run()
	if made.dir != "" {
		_ = os.RemoveAll(made.dir)
	}
	os.Exit(end)
}

var ada, bot = approval.NewHuman("ada"), approval.NewAgent("bot")

// A home has an interpreter and the skill net.
type home struct {
	t   testing.TB
	h   *host.Host
	dir string
}

func open(t testing.TB, dir string) *home {
	t.Helper()
	h, err := host.Open(context.WithoutCancel(t.Context()), host.Options{Home: dir, Environ: environ(), LogOutput: io.Discard, Expect: host.ExpectMuch})
	if err != nil {
		t.Fatal(err)
	}
	return &home{t, h, dir}
}

func environ() []string {
	env := []string{"SKILLET_SECRET_KEY=file", "SKILLET_COMPILE_TIMEOUT_SECONDS=600"}
	for _, name := range []string{"npm_config_cache", "npm_config_registry", "HOME"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

// made are the packages of interpreters, each made once.
var made struct {
	sync.Mutex
	dir  string
	errs map[string]error
}

// interpreter is the file of the package of an interpreter, or the test is skipped.
func interpreter(t testing.TB, name string) string {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	if made.dir == "" {
		var err error
		if made.dir, err = os.MkdirTemp("", "skillet-code-"); err != nil {
			t.Fatal(err)
		}
		made.errs = map[string]error{}
	}
	into := filepath.Join(made.dir, name)
	if _, tried := made.errs[name]; !tried {
		h := open(t, filepath.Join(made.dir, "home"))
		_ = os.Mkdir(into, 0o700)
		_, made.errs[name] = h.h.Author().BuildEngines(t.Context(), ada, author.BuildEnginesRequest{Names: []string{name}, Dir: into})
		if files, _ := filepath.Glob(filepath.Join(into, "*.skill")); len(files) == 1 {
			h.install(files[0]) // and so it is compiled, once for all homes
		}
		if err := h.h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := made.errs[name]; err != nil {
		if e := fault.AsError(err); e.Kind == fault.KindNotFound {
			t.Skipf("no interpreter: %v", err)
		}
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(into, "*.skill"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// lend gives a home that is not there yet what was compiled of the interpreters.
func lend(t testing.TB, home string) {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	from := filepath.Join(made.dir, "home")
	key, err := os.ReadFile(filepath.Join(from, "keys", "cache"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(home, "keys"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "keys", "cache"), key, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(home, "cache", "compiled"), os.DirFS(filepath.Join(from, "cache", "compiled")))
	}
	if err == nil { // a copy is for all to read, which a home does not accept
		err = filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chmod(path, 0o700)) })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// net is a skill that talks to a server.
const netManifest = `{"name":"net-work","version":"1.0.0","description":"talks to a server","type":"code_inline","command":"qjs","args":["main.js"],
	"dependencies":{"qjs":"*"},"tools":[
	{"name":"post","description":"posts a number","input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"output_schema":{"type":"object","properties":{"n":{"type":"integer"},"seen":{"type":"integer"}}}},
	{"name":"put","description":"puts a number","idempotent":true,"input_schema":{"type":"object","properties":{"n":{"type":"integer"}}}},
	{"name":"get","description":"reads how many there are","read_only":true,"input_schema":{"type":"object"}},
	{"name":"say","description":"says what it is told","read_only":true},
	{"name":"big","description":"answers a megabyte","read_only":true,"input_schema":{"type":"object"}},
	{"name":"fail","description":"fails","read_only":true,"input_schema":{"type":"object"}}],
	"security":{"permissions":{"network_access":true,"network":[{"url":"%s/*","methods":["GET","POST","PUT"]}]},"resource_limits":{"max_output_kb":2048}}}`

const netScript = `import { http, fail } from "skillet";
const at = "%s/";
export const post = ({ n }) => http.post(at + n, "x").json();
export const put = async ({ n }) => (await fetch(at + n, { method: "PUT", body: "x" })).json();
export const get = () => http.get(at).json();
export const say = (input) => input;
export const big = () => "x".repeat(1000000);
export { failing as fail };
function failing() { fail("conflict", "it is so already"); }
`

// A server counts what it is sent, by path.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]int
	hook func(path string) // before it is answered
	// first is asked before a request counts, which it does not unless it says so.
	first func(path string) bool
}

func newServer(t testing.TB) *server {
	s := &server{got: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.first != nil && !s.first(r.URL.Path) {
			return
		}
		s.mu.Lock()
		if r.Method != http.MethodGet {
			s.got[r.URL.Path]++
		}
		n, hook := s.got[r.URL.Path], s.hook
		if r.Method == http.MethodGet {
			n = len(s.got)
		}
		s.mu.Unlock()
		if hook != nil {
			hook(r.URL.Path)
		}
		fmt.Fprintf(w, `{"seen":%d}`, n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for k, v := range s.got {
		out[k] = v
	}
	return out
}

// newHome makes a home with interpreters and the skill net-work, which talks to a server.
func newHome(t testing.TB, s *server, interpreters ...string) *home {
	t.Helper()
	var files []string
	for _, name := range append([]string{"qjs"}, interpreters...) {
		files = append(files, interpreter(t, name))
	}
	dir := filepath.Join(t.TempDir(), "home")
	lend(t, dir)
	h := open(t, dir)
	for _, f := range files {
		h.install(f)
	}
	dir = t.TempDir()
	h.write(filepath.Join(dir, "skill.json"), fmt.Sprintf(netManifest, s.URL))
	h.write(filepath.Join(dir, "main.js"), fmt.Sprintf(netScript, s.URL))
	h.install(dir)
	return h
}

func (h *home) write(path, text string) {
	h.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) install(path string) {
	h.t.Helper()
	plan, err := h.h.Admit().Plan(h.t.Context(), ada, admit.Install{Package: path, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	if err == nil {
		_, err = h.h.Admit().Commit(h.t.Context(), ada, plan, admit.Shown)
	}
	if err != nil {
		h.t.Fatalf("install %s: %v", path, err)
	}
}

func all(string, string) error { return nil }

// run runs a script as an agent that may call all tools.
func (h *home) run(req code.Request) code.Result {
	h.t.Helper()
	if req.May == nil {
		req.May = all
	}
	if req.Bounds == nil {
		req.Bounds = &invoke.Bounds{}
	}
	res, err := h.h.Code().Execute(h.t.Context(), bot, req)
	if err != nil {
		h.t.Fatalf("%s: %v", req.Code, err)
	}
	return res
}

func (h *home) close() {
	h.t.Helper()
	if err := h.h.Close(context.WithoutCancel(h.t.Context())); err != nil {
		h.t.Error(err)
	}
}

// asks makes a policy ask about each request that changes something.
func (h *home) asks() {
	h.t.Helper()
	h.write(filepath.Join(h.dir, "policies", "ask.cedar"), `@id("ask-each")
@reason("somebody looks at each request")
@approval("required")
forbid(principal, action == Action::"http", resource) when { context.method == "POST" } unless { context.approved };
`)
}

func (h *home) approve(id string) {
	h.t.Helper()
	p, err := h.h.Govern().Proposals.Find(h.t.Context(), ada, id)
	if err == nil {
		_, err = h.h.Govern().Proposals.Approve(h.t.Context(), ada, govern.Approval{ID: id, Digest: string(p.Digest)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) reject(id string) {
	h.t.Helper()
	if _, err := h.h.Govern().Proposals.Reject(h.t.Context(), ada, govern.Decision{ID: id}); err != nil {
		h.t.Fatal(err)
	}
}
