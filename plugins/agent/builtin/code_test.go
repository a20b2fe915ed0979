package builtin_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
)

type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

const goodManifest = `{"name":"word-count","version":"0.1.0","description":"Counts words","type":"code_inline","command":"qjs","args":["main.js"],
"dependencies":{"qjs":"*"},"tools":[{"name":"count","description":"Counts the words of a text.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},"output_schema":{"type":"object"}}]}`

const goodScript = `/**
 * Counts the words of a text.
 * @param {{text: string}} input
 */
export function count({ text }) {
	return { words: text.split(/\s+/).filter((w) => w !== "").length };
}
`

const goodCases = `[{"name":"counts","tool":"count","input":{"text":"a b"},"expect":{"words":2}}]`

func goodFiles() map[string]string {
	return map[string]string{"skill.json": goodManifest, "main.js": goodScript, "tests/cases.json": goodCases, "README.md": "# word-count\n"}
}

func packageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	a := struct {
		Files     []file `json:"files"`
		Rationale string `json:"rationale"`
	}{Rationale: "Words are counted often."}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		a.Files = append(a.Files, file{name, files[name]})
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func goodPackage(t *testing.T) string { return packageOf(t, goodFiles()) }

func TestCodeProposesAndWaits(t *testing.T) {
	t.Parallel()
	bad := goodFiles()
	delete(bad, "README.md")
	h := &agenttest.Host{Model: agenttest.Script(agenttest.Says(packageOf(t, bad)), agenttest.Says("```json\n"+goodPackage(t)+"\n```"))}
	r := play(t, agent.Task{Agent: "code", Goal: "Write a skill that counts words.", Validation: json.RawMessage(`{"required_docstring":true,"require_type_hints":true}`)}, h)
	if !r.Done || len(r.Proposals) != 1 || !strings.Contains(r.Answer, "waits for a person") || r.Confidence != 0.77 {
		t.Errorf("%+v", r)
	}
	if second := h.Thoughts()[1].Request.System; !strings.Contains(second, "README.md is missing") {
		t.Errorf("the second thought is told %s", second)
	}
	proposed := 0
	for _, record := range h.Records() {
		if record.Skill != nil {
			proposed++
			if len(record.Skill.Files) != 4 || string(record.Skill.Files["main.js"]) != goodScript || record.Skill.Rationale == "" {
				t.Errorf("proposed %+v", record.Skill)
			}
		}
	}
	if proposed != 1 || len(h.Called()) != 0 {
		t.Errorf("%d proposals, %d calls", proposed, len(h.Called()))
	}
}

func TestCodeGivesUp(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{Model: agenttest.Script(agenttest.Says(`{"files":[]}`))}
	r := play(t, agent.Task{Agent: "code", Iterations: 3}, h)
	if r.Done || !strings.Contains(r.Problem, "3 attempts") || len(h.Thoughts()) != 3 || len(r.Proposals) != 0 {
		t.Errorf("%+v", r)
	}
	h = &agenttest.Host{Model: agenttest.Script(agenttest.Says(goodPackage(t))), RefuseProposals: errors.New("agents may not propose here")}
	if r := play(t, agent.Task{Agent: "code"}, h); r.Done || !strings.Contains(r.Problem, "may not propose here") {
		t.Errorf("%+v", r)
	}
	if r := play(t, agent.Task{Agent: "code", Validation: json.RawMessage(`[]`)}, h); r.Done || r.Problem == "" {
		t.Errorf("%+v", r)
	}
}

const pythonManifest = `{"name":"word-count","version":"0.1.0","description":"Counts words","type":"code_inline","command":"python","args":["main.py"],
"dependencies":{"python":"*"},"tools":[{"name":"count"}]}`

const goodPython = `import json
from typing import Any

def count(input: dict[str, Any]) -> dict:
    """Counts the words of a text."""
    return {"words": len(input["text"].split())}

def _half(n: int = 2, *rest: int, **named: int) -> int:
    'Halves.'
    return n // 2
`

func pythonFiles(script string) map[string]string {
	f := goodFiles()
	delete(f, "main.js")
	f["skill.json"], f["main.py"] = pythonManifest, script
	return f
}

func with(files map[string]string, name, content string) map[string]string {
	if content == "" {
		delete(files, name)
	} else {
		files[name] = content
	}
	return files
}

const checkRules = `{"required_docstring":true,"require_type_hints":true,"max_file_size_kb":100,
	"allowed_imports":["skillet","json","typing"],"blocked_imports":["eval","exec","os.system"]}`

// TestPackagesAreChecked breaks a package in each way.
func TestPackagesAreChecked(t *testing.T) {
	t.Parallel()
	swap := func(text, old, by string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in it", old)
		}
		return strings.ReplaceAll(text, old, by)
	}
	js := func(script string) map[string]string { return with(goodFiles(), "main.js", script) }
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"good", goodFiles(), ""},
		{"good python", pythonFiles(goodPython), ""},
		{"no manifest", with(goodFiles(), "skill.json", ""), "skill.json is missing"},
		{"manifest", with(goodFiles(), "skill.json", swap(goodManifest, `"version"`, `"versoin"`)), "versoin"},
		{"kind", with(goodFiles(), "skill.json", `{"name":"a","version":"1.0.0","description":"d","type":"prompt_inline","prompt":"x"}`), "code_inline"},
		{"command", with(goodFiles(), "skill.json", swap(goodManifest, `"qjs"`, `"bash"`)), "must be qjs or python"},
		{"no dependency", with(goodFiles(), "skill.json", swap(goodManifest, `"dependencies":{"qjs":"*"},`, "")), "does not name qjs"},
		{"no script", with(goodFiles(), "main.js", ""), "name of the script"},
		{"no tool", js(swap(goodScript, "function count", "function total")), "function count for the tool count not found"},
		{"not exported", js(swap(goodScript, "export function", "function")), "function count for the tool count not found"},
		{"exported later", js(swap(goodScript, "export function", "function") + "export { count };"), ""},
		{"arrow", js("/** Counts. @param {object} input */\nexport const count = async (input) => ({ words: 1 });"), ""},
		{"no doc", js("export function count({ text }) { return {}; }"), "does not say what it does"},
		{"no type", js("/** Counts. */\nexport function count(input, b = f(1, 2)) { return {}; }"), "have no type: input, b"},
		{"eval", js(goodScript + "const x = eval(\"1\");"), "calls eval"},
		{"eval in a template", js(goodScript + "const x = `a ${eval(1)} b`;"), "calls eval"},
		{"eval in a string", js(goodScript + "const x = 'eval(1)'; // eval(2)\nconst y = /eval('/;"), ""},
		{"a method exec", js(goodScript + "const x = /a/.exec(\"a\");"), ""},
		{"import", js("import fs from \"fs\";\n" + goodScript), "imports fs, which is neither"},
		{"dynamic import", js(goodScript + "const m = await import(name);"), "imports (unknown)"},
		{"require", js(goodScript + "const m = require('node:fs');"), "imports node:fs"},
		{"re-export", js("export * from \"./none.js\";\n" + goodScript), "imports ./none.js"},
		{"own file", with(js("import { a } from \"./a.js\";\n"+goodScript), "a.js", "export const a = 1;"), ""},
		{"import that is not allowed", with(js("import { log } from \"skillet\";\n"+goodScript), "x.txt", "no-skillet"), "imports skillet, which is not allowed"},
		{"allowed import", js("import { log } from \"skillet\";\n" + goodScript), ""},
		{"python doc", pythonFiles(swap(goodPython, "    'Halves.'\n", "")), "_half does not say"},
		{"python type", pythonFiles(swap(goodPython, "n: int = 2", "n=2")), "have no type: n"},
		{"python private tool", pythonFiles(swap(goodPython, "def count", "  def count")), "function count for the tool count not found"},
		{"python import", pythonFiles("import os.path, re\n" + goodPython), "imports os.path, which is not allowed"},
		{"python from", pythonFiles("from os import (\n  system)\n" + goodPython), "imports os.system"},
		{"python exec", pythonFiles(goodPython + "exec ('1')\n"), "calls exec"},
		{"python dotted call", pythonFiles(goodPython + "os.system('x')\n"), "calls os.system"},
		{"python in text", pythonFiles(goodPython + "x = '''\nimport os\nexec(1)\n'''\n# eval(1)\n"), ""},
		{"no cases", with(goodFiles(), "tests/cases.json", ""), "no test case calls the tool count"},
		{"a case of nothing", with(goodFiles(), "tests/cases.json", swap(goodCases, `"tool":"count"`, `"tool":"other"`)), "which there is not"},
		{"a case that is none", with(goodFiles(), "tests/cases.json", swap(goodCases, `"expect"`, `"expects"`)), "expects"},
		{"no readme", with(goodFiles(), "README.md", " "), "README.md"},
		{"size", with(goodFiles(), "README.md", strings.Repeat("x", 101<<10)), "may have 100 KiB"},
		{"outside", with(goodFiles(), "../x.md", "x"), "leads out"},
		{"hidden", with(goodFiles(), ".git/x.md", "x"), "hidden"},
		{"absolute", with(goodFiles(), "/x.md", "x"), "leads out"},
		{"a program", with(goodFiles(), "x.wasm", "x"), "of no kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := checkRules
			if c.files["x.txt"] != "" {
				rules = strings.Replace(rules, `"skillet",`, "", 1)
			}
			h := &agenttest.Host{Model: agenttest.Script(agenttest.Says(packageOf(t, c.files)))}
			r := play(t, agent.Task{Agent: "code", Iterations: 1, Validation: json.RawMessage(rules)}, h)
			said := strings.Join(r.Decisions, "\n")
			if r.Done != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("done %v: %s", r.Done, said)
			}
		})
	}
}
