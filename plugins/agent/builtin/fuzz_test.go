package builtin

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

func FuzzPlan(f *testing.F) {
	f.Add(`{"steps":[{"id":"a","title":"t","tool":"read","input":{"path":"x"}}]}`)
	f.Add("```json\n{\"steps\":[{\"id\":\"a\",\"agent\":\"me\",\"goal\":\"g\",\"after\":[\"a\"]}]}\n```")
	f.Add(`{"steps":[{"id":"a","tool":"read","input":{"path":"${steps.b.json.x.0}"},"after":["b"]},{"id":"b","agent":"me","goal":"g"}],"risk":"high"}`)
	f.Add(`{` + strings.Repeat(`{"steps":[`, 50))
	task := agent.Task{Agent: "me", Tools: []provider.Tool{{Name: "read", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}}
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := readPlan(text, task)
		if len(problems) == 0 && (len(p.Steps) == 0 || len(p.Problems(task)) > 0) {
			t.Errorf("a plan that cannot be followed was taken: %+v", p)
		}
	})
}

func FuzzPackage(f *testing.F) {
	f.Add(`{"files":[{"path":"skill.json","content":"{}"},{"path":"../x","content":""}],"rationale":"r"}`)
	f.Add("```\n{\"files\":[{\"path\":\"main.js\",\"content\":\"export function a(b){}\"}]}\n```")
	f.Add(`{"files":[{"path":"skill.json","content":"{\"name\":\"a\",\"version\":\"1.0.0\",\"description\":\"d\",\"type\":\"code_inline\",\"command\":\"python\",\"args\":[\"m.py\"],\"dependencies\":{\"python\":\"*\"},\"tools\":[{\"name\":\"a\"}]}"},{"path":"m.py","content":"def a(x:"}]}`)
	rules := agentdef.Validation{RequiredDocstring: true, RequireTypeHints: true, AllowedImports: []string{"re"}, BlockedImports: []string{"eval"}}
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := readPackage(text, rules)
		if len(problems) > 0 {
			return
		}
		for name := range p.files {
			if badPath(name) != "" {
				t.Errorf("the path %q was taken", name)
			}
		}
	})
}

// FuzzScript reads programs: what is found in them lies in them, and in order.
func FuzzScript(f *testing.F) {
	f.Add("/** A. */\nexport function a({ b }, ...c) { return `x ${ `y ${b}` } /` / 2; } // z")
	f.Add("import a from 'b'; const r = /[/]'\"/; export const c = (d) => d; export { c as e };")
	f.Add("def a(b: int = (1, 2), *c, d='x') -> int:\n    r'''doc'''\n    import os, re as x\n")
	f.Add("from . import (a,\n b)\nasync def c(self, /): # d\n  \"e\\\"f\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range scriptKinds {
			s := readSource(text, kind.scan)
			if len(s.code) != len(text) || strings.Count(s.code, "\n") != strings.Count(text, "\n") {
				t.Fatal("the code is not as long as its text")
			}
			if !slices.IsSortedFunc(s.spans, func(a, b span) int { return a.start - b.start }) {
				t.Fatal("the spans are not in order")
			}
			kind.functions(s)
			kind.imports(s)
		}
	})
}

func TestOnlyLooks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"files__read_text": true, "files__list_dir": true, "files__search": true, "files__write_text": false,
		"files__find_and_delete": false, "archive__unpack": false, "x__ready": false,
	} {
		if onlyLooks(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestTheFormOfAPackageIsTrue reads the example that a model is given.
func TestTheFormOfAPackageIsTrue(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(codeForm, "for JavaScript: ")
	example, rest, ok := strings.Cut(rest, ". For Python")
	_, permissions, ok2 := strings.Cut(rest, "Permissions, if any: ")
	permissions, _, ok3 := strings.Cut(permissions, ".\n")
	if !ok || !ok2 || !ok3 {
		t.Fatal("the examples are not where they are looked for")
	}
	for _, text := range []string{
		example,
		strings.TrimSuffix(example, "}") + ", " + permissions + "}",
		strings.ReplaceAll(strings.ReplaceAll(example, "qjs", "python"), "main.js", "main.py"),
	} {
		if _, err := manifests.Parse([]byte(text), "skill.json"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := manifests.CompileSchema(json.RawMessage(filesSchema)); err != nil {
		t.Error(err)
	}
}

// TestTheDefinitionInTheDocumentationIsOne reads the example for people.
func TestTheDefinitionInTheDocumentationIsOne(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if _, err := agentdef.Parse([]byte(text), "release-notes.yaml"); err != nil {
		t.Error(err)
	}
}
