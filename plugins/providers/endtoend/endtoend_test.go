// Package endtoend runs the whole of Skillet with these providers: the program, its
// agents and skills, and a provider as a package, against servers that speak as the
// real ones do.
package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/plugins/providers/wire"
)

// root is the top of the whole tree.
const root = "../../.."

// A machine is a home with skills, beside the program.
type machine struct {
	t       *testing.T
	dir     string
	program string
}

// made is what make made at the top of the tree: `make testproviders` makes it first.
func made(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	if err != nil || len(found) == 0 {
		t.Skipf("there is no %s: `make providers skills` makes it", pattern)
	}
	return abs(t, found[len(found)-1])
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t, t.TempDir(), made(t, "bin/skillet")}
	for _, s := range []string{"files", "text", "markdown"} {
		m.must(0, "install", made(t, "dist/"+s+"-*.skill"), "--yes", "--allow-unsigned")
	}
	return m
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *machine) must(code int, args ...string) (out, errs string) {
	m.t.Helper()
	cmd := exec.Command(m.program, args...)
	cmd.Dir = m.dir
	cmd.Env = []string{"SKILLET_HOME=" + filepath.Join(m.dir, "home"), "HOME=" + m.dir, "SKILLET_SECRET_KEY=file", "PATH=" + os.Getenv("PATH")}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.Stdin = strings.NewReader("sesame")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		m.t.Fatalf("skillet %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, o.String(), e.String())
	}
	return o.String(), e.String()
}

// use installs a provider, and has its model at a server answer everything.
func (m *machine) use(provider, url string) {
	m.t.Helper()
	m.must(0, "install", made(m.t, "dist/"+provider+"-*.skill"), "--yes", "--allow-unsigned")
	m.must(0, "secret", "set", provider)
	for _, setting := range [][2]string{
		{"providers." + provider + ".kind", provider}, {"providers." + provider + ".secret", provider},
		{"providers." + provider + ".base_url", url}, {"models.default", provider + "/test-model"},
	} {
		m.must(0, "config", "set", setting[0], setting[1], "--yes")
	}
}

const goal = "Summarise README.md and list its links"

// plan is what a model answers that is asked for a plan.
const plan = `{"steps":[
	{"id":"read","title":"read it","tool":"files__read_text","input":{"path":"README.md"}},
	{"id":"sum","title":"summarise it","tool":"text__summarize","input":{"text":"${steps.read.json.text}"},"after":["read"]},
	{"id":"links","title":"its links","tool":"markdown__links","input":{"markdown":"${steps.read.json.text}"},"after":["read"]}]}`

// A record is what a server was asked.
type record struct {
	mu   sync.Mutex
	seen []wire.Request
}

func (r *record) reply(planner wire.Planner) func(wire.Request) wire.Turn {
	return func(q wire.Request) wire.Turn {
		r.mu.Lock()
		r.seen = append(r.seen, q)
		r.mu.Unlock()
		return planner.Reply(q)
	}
}

// TestTask: a goal is reached with each provider, by a plan, and by calls of tools as
// the model goes; each in the provider's own words on the wire, and streamed.
func TestTask(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all of Skillet")
	}
	m := newMachine(t)
	readme := "# Boats\n\nBoats float on water. Boats are made of wood.\n\nRead [the manual](https://example.com/manual).\n"
	if err := os.MkdirAll(filepath.Join(m.dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "notes", "README.md"), []byte(readme), 0o644); err != nil {
		t.Fatal(err)
	}
	work, err := filepath.EvalSymlinks(filepath.Join(m.dir, "notes"))
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]func(wire.Script) http.Handler{
		"openai": wire.OpenAI, "anthropic": wire.Anthropic, "gemini": wire.Gemini, "ollama": wire.Ollama,
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{t, m.dir, m.program}
			asked := &record{}
			planner := wire.Planner{
				Calls:  []wire.Call{{Name: "files__read_text", Input: `{"path":"README.md"}`}},
				Object: func(wire.Request) string { return plan },
				Answer: func(results []wire.Message) string {
					return fmt.Sprintf("It is about boats; the manual is at https://example.com/manual. (%d results)", len(results))
				},
			}
			at := httptest.NewServer(server(wire.Script{
				Key: "sesame", Reply: asked.reply(planner),
				Models: []wire.Model{{Name: "test-model", ContextTokens: 100_000, OutputTokens: 4096, Thinking: true}},
			}))
			defer at.Close()
			m.use(name, at.URL+map[string]string{"openai": "/v1"}[name])
			out, _ := m.must(0, "provider", "test", name)
			if !strings.Contains(out, "text of test-model") {
				t.Errorf("test: %s", out)
			}
			for _, way := range []string{"always", "never"} {
				asked.seen = nil
				out, errs := m.must(0, "task", "run", goal, "--dir", "notes", "--plan", way, "--allow", "fs.read:"+work+"/**")
				if !strings.Contains(out, "It is about boats") {
					t.Errorf("plan %s: %s%s", way, out, errs)
				}
				tools := slices.ContainsFunc(asked.seen, func(q wire.Request) bool { return len(q.Tools) > 0 })
				schema := slices.ContainsFunc(asked.seen, func(q wire.Request) bool { return len(q.Schema) > 0 })
				results := slices.ContainsFunc(asked.seen, func(q wire.Request) bool { return len(wire.Results(q)) > 0 })
				if way == "always" && !schema || way == "never" && (!tools || !results) {
					t.Errorf("plan %s: asked with tools %v, with results of tools %v, with a schema %v", way, tools, results, schema)
				}
			}
			out, _ = m.must(0, "stats", "models", "--json")
			if !strings.Contains(out, name+`/test-model"`) {
				t.Errorf("what was used is not counted: %s", out)
			}
		})
	}
}

// written is what a model answers that is asked for the files of a skill.
const written = `{"rationale":"It is asked for each week.","files":[
	{"path":"skill.json","content":"{\"name\":\"vowels\",\"version\":\"1.0.0\",\"description\":\"Counts the vowels of a text. Use it when vowels are to be counted.\",\"type\":\"code_inline\",\"command\":\"qjs\",\"args\":[\"main.js\"],\"dependencies\":{\"qjs\":\"*\"},\"tools\":[{\"name\":\"count\",\"description\":\"Counts vowels.\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}]}"},
	{"path":"main.js","content":"/**\n * Counts the vowels of a text.\n * @param {{text: string}} input what to count in\n */\nexport function count(input) {\n  return { vowels: (input.text.match(/[aeiou]/gi) || []).length };\n}\n"},
	{"path":"tests/count.json","content":"[{\"name\":\"a word\",\"tool\":\"count\",\"input\":{\"text\":\"banana\"},\"expect\":{\"vowels\":3}}]"},
	{"path":"README.md","content":"# vowels\n\nCounts the vowels of a text.\n"}]}`

// TestCode: what a model wrote waits for a person, runs when one has agreed, and not
// before.
func TestCode(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all of Skillet")
	}
	m := newMachine(t)
	engine := exec.Command(m.program, "engine", "add", "qjs", "--yes", "--allow-unsigned")
	engine.Env = append(os.Environ(), "SKILLET_HOME="+filepath.Join(m.dir, "home"), "SKILLET_SECRET_KEY=file")
	if out, err := engine.CombinedOutput(); err != nil {
		t.Skipf("no interpreter can be made here: %s", out)
	}
	at := httptest.NewServer(wire.OpenAI(wire.Script{Key: "sesame", Reply: wire.Planner{Object: func(r wire.Request) string {
		if strings.Contains(string(r.Schema), "rationale") {
			return written
		}
		return plan
	}}.Reply, Models: []wire.Model{{Name: "test-model", ContextTokens: 100_000, OutputTokens: 4096}}}))
	defer at.Close()
	m.use("openai", at.URL+"/v1")

	out, errs := m.must(0, "agent", "run", "code", "Write a skill that counts vowels", "--no-files")
	if !strings.Contains(out, "waits for a person") || !strings.Contains(errs, "proposed:") {
		t.Errorf("the answer is %s%s", out, errs)
	}
	m.must(5, "run", "vowels:count", "text=banana")
	out, _ = m.must(0, "approvals", "list")
	id := strings.Fields(strings.Split(out, "\n")[1])[0]
	out, _ = m.must(0, "approvals", "show", id)
	for _, want := range []string{"agent:code", "It is asked for each week.", "passed"} {
		if !strings.Contains(out, want) {
			t.Errorf("the proposal does not say %q:\n%s", want, out)
		}
	}
	m.must(0, "approvals", "approve", id, "--yes")
	if out, _ = m.must(0, "run", "vowels:count", "text=banana"); !strings.Contains(out, `"vowels":3`) {
		t.Errorf("run: %s", out)
	}
}

// asks is a plan of two steps in which a skill asks a model.
const asks = `{"steps":[
	{"id":"one","title":"ask","tool":"asker__ask","input":{"question":"How deep is it?"}},
	{"id":"two","title":"ask again","tool":"asker__ask","input":{"question":"How wide is it?"},"after":["one"]}]}`

// TestSkillAsks: what a skill asks of a model is paid by the task it works for, and
// refused when that has nothing left.
func TestSkillAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all of Skillet")
	}
	m := newMachine(t)
	skill := filepath.Join(m.dir, "asker")
	if err := os.CopyFS(skill, os.DirFS(filepath.Join("testdata", "asker"))); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", filepath.Join(skill, "main.wasm"), "./testdata/asker")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := httptest.NewServer(wire.OpenAI(wire.Script{Key: "sesame", Reply: func(q wire.Request) wire.Turn {
		switch last := q.Messages[len(q.Messages)-1].Text; {
		case len(q.Schema) > 0:
			return wire.Turn{Text: asks}
		case strings.HasPrefix(last, "How deep"):
			return wire.Turn{Text: "Ten fathoms.", Usage: wire.Usage{Input: 60_000, Output: 5}}
		}
		return wire.Turn{Text: "It is a lake."}
	}, Models: []wire.Model{{Name: "test-model", ContextTokens: 100_000, OutputTokens: 4096}}}))
	defer at.Close()
	m.use("openai", at.URL+"/v1")
	m.must(0, "install", skill, "--yes", "--allow-unsigned")

	out, _ := m.must(0, "run", "asker:ask", "question=How deep is it?", "--json")
	if !strings.Contains(out, `"input_tokens": 60000`) || !strings.Contains(out, "openai/test-model") {
		t.Errorf("the run does not say what was asked of a model: %s", out)
	}
	_, errs := m.must(1, "task", "run", "Measure the lake", "--no-files", "--plan", "always", "--tokens", "50000")
	if !strings.Contains(errs, "see the step two") || !strings.Contains(errs, "the budget for models does not have as much") {
		t.Errorf("a task asked for more than it has: %s", errs)
	}
	out, _ = m.must(0, "task", "run", "Measure the lake", "--no-files", "--plan", "always", "--tokens", "500000", "--json")
	var run struct {
		Telemetry struct {
			InputTokens int64 `json:"input_tokens"`
		} `json:"telemetry"`
	}
	lines := strings.Split(strings.TrimSpace(out), "\n") // events, and then the task
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &run); err != nil || run.Telemetry.InputTokens < 60_000 {
		t.Errorf("the task does not count what its skill asked (%v): %s", err, out)
	}
}
