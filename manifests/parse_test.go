package manifests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/goldentest"
	"github.com/skillet-run/skillet/policies/limit"
)

// minimal is the smallest manifest of a skill that runs code; extra fields go
// where the %s stands.
const minimal = `{"name": "demo", "description": "Shows something.", "version": "1.0.0",
"type": "code_inline", "command": "main.wasm", "tools": [{"name": "run"}]%s}`

func parse(t *testing.T, text string) *manifests.Manifest {
	t.Helper()
	m, err := manifests.Parse([]byte(text), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func readFile(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func complete(t *testing.T, name string) *manifests.Manifest {
	t.Helper()
	m, err := manifests.Parse(readFile(t, "testdata", name), name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCompleteExample(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"complete", "complete-prompt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkExample(t, name)
		})
	}
}

func checkExample(t *testing.T, name string) {
	t.Helper()
	fromJSON, fromYAML := complete(t, name+".json"), complete(t, name+".yaml")
	one, two := marshal(t, fromJSON), marshal(t, fromYAML)
	if one != two {
		t.Errorf("JSON and YAML read differently:\n%s\n%s", one, two)
	}
	if err := fromYAML.Validate(); err != nil {
		t.Errorf("a parsed manifest does not validate: %v", err)
	}
	again, err := manifests.Parse([]byte(one), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	if three := marshal(t, again); three != one {
		t.Errorf("the JSON form does not read back:\n%s\n%s", one, three)
	}
}

func TestParseFillsIn(t *testing.T) {
	t.Parallel()
	m := parse(t, fmt.Sprintf(minimal, `, "security": {"permissions": {"network": ["https://example.com/*"]}}`))
	tool, ok := m.DefaultTool()
	if !ok || tool.Export != "run" {
		t.Errorf("export is %q, %v; want run", tool.Export, ok)
	}
	if !m.Security.Permissions.NetworkAccess {
		t.Error("network_access does not follow from network")
	}
	if _, ok := m.Tool("walk"); ok {
		t.Error("found a tool that is not there")
	}
	if got := m.Unsupported(); len(got) != 0 {
		t.Errorf("a plain skill cannot be installed: %v", got)
	}
}

func TestParseByName(t *testing.T) {
	t.Parallel()
	asJSON := fmt.Sprintf(minimal, "")
	asYAML := "name: demo\ndescription: Shows something.\nversion: 1.0.0\ntype: code_inline\ncommand: main.wasm\ntools: [{name: run}]\n"
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"skill.json", asJSON, true},
		{"dir/skill.json", "\ufeff" + asJSON, true},
		{"skill.yaml", asYAML, true},
		{"skill.yml", "\ufeff" + asYAML, true},
		{"skill.yaml", asJSON, true}, // JSON is YAML
		{"skill.json", asYAML, false},
		{"", asJSON, true},
		{"", asYAML, true},
		{"", "", false},
		{"SKILL.md", asYAML, false},
		{"SKILL.md", "---\nname: demo\ndescription: d\n---\nDo it.\n", true},
	} {
		if _, err := manifests.Parse([]byte(c.text), c.name); (err == nil) != c.ok {
			t.Errorf("%q, %.20q: %v", c.name, c.text, err)
		}
	}
}

func TestValidateChecksAFilledInManifest(t *testing.T) {
	t.Parallel()
	m := &manifests.Manifest{
		Name: "Demo", Description: "d", Version: "1.0.0", Type: manifests.KindCodeInline, Command: "main.wasm",
		Tools: []manifests.Tool{{Name: "run", InputSchema: json.RawMessage(`{"type": "array"}`)}},
	}
	var errs manifests.Errors
	if err := m.Validate(); !errors.As(err, &errs) || errs[0].Path != "name" || errs[0].Line != 0 {
		t.Errorf("a bad name: %v", err)
	}
	m.Name = "demo"
	if err := m.Validate(); !errors.As(err, &errs) || errs[0].Path != "tools[0].input_schema" {
		t.Errorf("an input that is no object: %v", err)
	}
	m.Tools[0].InputSchema = json.RawMessage(`{`)
	if err := m.Validate(); !errors.As(err, &errs) {
		t.Errorf("a schema that is no JSON: %v", err)
	}
	m.Tools[0].InputSchema = nil
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
}

// TestHugeDocuments holds the parser to its bounds: every document here is
// refused, and quickly.
func TestHugeDocuments(t *testing.T) {
	t.Parallel()
	const n = 50_000
	for name, text := range map[string]string{
		"size":            "name: " + strings.Repeat("x", manifests.MaxBytes),
		"flow lists":      strings.Repeat("[", n),
		"closed lists":    strings.Repeat("[", n) + strings.Repeat("]", n),
		"flow maps":       strings.Repeat("{a: ", n),
		"block lists":     strings.Repeat("- ", n),
		"block keys":      strings.Repeat("? ", n),
		"deep maps":       deepYAML(2000),
		"comments":        strings.Repeat("# c\n", n),
		"commented items": strings.Repeat("# c\n- a\n", n/2),
		"documents":       strings.Repeat("---\n", n),
		"anchors":         strings.Repeat("&a ", n),
		"quotes":          strings.Repeat("'", n+1),
		"block text":      "|\n" + strings.Repeat(" \n", n),
		"tabs":            "a:\n" + strings.Repeat("\t", n),
		"many keys":       strings.Repeat("a: 1\n", n),
		"directives":      strings.Repeat("%YAML 1.2\n", n/2),
		"tags":            strings.Repeat("!a ", n),
	} {
		for _, file := range []string{"skill.yaml", "skill.json"} {
			if m, err := manifests.Parse([]byte(text), file); err == nil {
				t.Errorf("%s was read as %s: %+v", name, file, m)
			}
		}
	}
}

func deepYAML(n int) string {
	var b strings.Builder
	for i := range min(n, 1000) {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, ext := range []string{".json", ".yaml"} {
		nested := func(n int) string {
			return strings.Repeat(`{"properties":{"x":`, n) + "{}" + strings.Repeat("}}", n)
		}
		text := func(n int) string {
			schema := `{"type": "object", "allOf": [` + nested(n) + `]}`
			return fmt.Sprintf(minimal, `, "security": {}`)[:len(minimal)-len(`"tools": [{"name": "run"}]%s}`)] + `"tools": [{"name": "run", "input_schema": ` + schema + `}]}`
		}
		if _, err := manifests.Parse([]byte(text(20)), "skill"+ext); err != nil {
			t.Errorf("%s: 20 levels: %.200v", ext, err)
		}
		_, err := manifests.Parse([]byte(text(40)), "skill"+ext)
		if err == nil || !strings.Contains(err.Error(), "deeper than 64") {
			t.Errorf("%s: 80 levels: %.200v", ext, err)
		}
	}
}

func TestCeilings(t *testing.T) {
	t.Parallel()
	for _, l := range limit.All() {
		field, ok := strings.CutPrefix(l.Path(), "security.resource_limits.")
		if !ok {
			continue
		}
		ceiling := l.Number(l.Ceiling())
		text := func(value float64) string {
			return fmt.Sprintf(minimal, fmt.Sprintf(`, "security": {"resource_limits": {%q: %.0f}}`, field, value))
		}
		parse(t, text(ceiling))
		_, err := manifests.Parse([]byte(text(ceiling+1)), "skill.json")
		var errs manifests.Errors
		if !errors.As(err, &errs) || errs[0].Path != "security.resource_limits."+field || !strings.Contains(err.Error(), fmt.Sprintf("%.0f is the ceiling", ceiling)) {
			t.Errorf("%s above its ceiling: %v", field, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var defaults limit.Set
	for _, l := range limit.All() {
		l.Put(&defaults, l.Default())
	}
	defaults.KVBytes = 0 // without the permission
	with := func(change func(l *limit.Set)) limit.Set {
		l := defaults
		change(&l)
		return l
	}
	const section = `, "security": {"resource_limits": {%s}}`
	for extra, want := range map[string]limit.Set{
		"": defaults,
		fmt.Sprintf(section, `"max_memory_mb": 1`):                                          with(func(l *limit.Set) { l.MemoryBytes = 1 << 20 }),
		fmt.Sprintf(section, `"max_execution_time": 2`):                                     with(func(l *limit.Set) { l.Seconds = 2 }),
		fmt.Sprintf(section, `"max_fuel": 3`):                                               with(func(l *limit.Set) { l.Fuel = 3 }),
		fmt.Sprintf(section, `"max_output_kb": 4`):                                          with(func(l *limit.Set) { l.OutputBytes = 4 << 10 }),
		fmt.Sprintf(section, `"max_file_size_mb": 5`):                                       with(func(l *limit.Set) { l.FileSizeBytes = 5 << 20 }),
		fmt.Sprintf(section, `"max_host_calls": 6`):                                         with(func(l *limit.Set) { l.HostCalls = 6 }),
		`, "resilience": {"timeout": 90}`:                                                   with(func(l *limit.Set) { l.Seconds = 90 }),
		`, "resilience": {"timeout": 0.5}`:                                                  with(func(l *limit.Set) { l.Seconds = 0.5 }),
		`, "resilience": {"timeout": 5}` + fmt.Sprintf(section, `"max_execution_time": 60`): with(func(l *limit.Set) { l.Seconds = 5 }),
		`, "resilience": {"timeout": 60}` + fmt.Sprintf(section, `"max_execution_time": 5`): with(func(l *limit.Set) { l.Seconds = 5 }),
		`, "security": {"permissions": {"kv": "counts"}}`:                                   with(func(l *limit.Set) { l.KVBytes = 10 << 20 }),
		`, "security": {"permissions": {"kv": {"max_mb": 3}}}`:                              with(func(l *limit.Set) { l.KVBytes = 3 << 20 }),
	} {
		if got := parse(t, fmt.Sprintf(minimal, extra)).Limits(); got != want {
			t.Errorf("%s: have %+v, want %+v", extra, got, want)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	m := complete(t, "complete.json")
	asked, err := m.Requests("/work/project")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range asked {
		fmt.Fprintf(&got, "%s | %s | %s\n", r.Field, r.Capability, r.Reason)
	}
	goldentest.File(t, "testdata/complete.requests.golden", got.String())
}

func TestRequestedPaths(t *testing.T) {
	t.Parallel()
	const ws = "/work/project"
	for path, want := range map[string]string{
		".":            "/work/project/**",
		"./":           "/work/project/**",
		"src":          "/work/project/src/**",
		"./src/":       "/work/project/src/**",
		"./README.md":  "/work/project/README.md/**",
		"./src/*.go":   "/work/project/src/*.go",
		"./src/**":     "/work/project/src/**",
		"/":            "/**",
		"/data":        "/data/**",
		"/data/":       "/data/**",
		"/data/*/logs": "/data/*/logs/**",
	} {
		m := parse(t, fmt.Sprintf(minimal, fmt.Sprintf(`, "security": {"permissions": {"file_read": [%q]}}`, path)))
		asked, err := m.Requests(ws)
		if err != nil || len(asked) != 1 || asked[0].Capability.String() != "fs.read:"+want {
			t.Errorf("%s: have %v, %v; want %s", path, asked, err, want)
		}
	}
	m := parse(t, fmt.Sprintf(minimal, `, "security": {"permissions": {"file_read": ["./src"]}}`))
	for _, ws := range []string{"", "relative", "/odd/*/name"} {
		var errs manifests.Errors
		if asked, err := m.Requests(ws); !errors.As(err, &errs) || errs[0].Path != "security.permissions.file_read[0]" {
			t.Errorf("workspace %q: %v, %v", ws, asked, err)
		}
	}
}

func TestInterpreters(t *testing.T) {
	t.Parallel()
	const head = "name: demo\ndescription: Shows something.\nversion: 1.0.0\ntype: code_inline\ntools: [{name: run}]\n"
	for text, where := range map[string]string{
		"command: qjs\nargs: [lib/main.js]\ndependencies: {qjs: ^1}\n":                         "",
		"command: qjs\ndependencies: {qjs: '*'}\n":                                             "args",
		"command: qjs\nargs: [../main.js]\ndependencies: {qjs: '*'}\n":                         "args[0]",
		"command: qjs\nargs: [a.js, b]\ndependencies: {qjs: '*'}\n":                            "args[1]",
		"command: qjs\nargs: [main.js]\n":                                                      "dependencies",
		"command: qjs\nargs: [main.js]\ndependencies: {qjs: {version: '*', optional: true}}\n": "dependencies.qjs.optional",
	} {
		m, err := manifests.Parse([]byte(head+text), "skill.yaml")
		var errs manifests.Errors
		switch {
		case where == "" && (err != nil || !m.Interpreted()):
			t.Errorf("%s: %v", text, err)
		case where != "" && (!errors.As(err, &errs) || errs[0].Path != where):
			t.Errorf("%s: %v, want an error at %s", text, err, where)
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	const head = "name: demo\ndescription: Shows something.\nversion: 1.0.0\n"
	for text, refused := range map[string]string{
		"type: code_inline\ncommand: a.wasm\ntools: [{name: run}]\n":                                                             "",
		"type: code_inline\ncommand: a.wasm\nargs: [-v]\ntools: [{name: run, export: _start}]\n":                                 "",
		"type: code_session\ncommand: a.wasm\ntools: [{name: run}]\n":                                                            "",
		"type: code_inline\ncommand: qjs\nargs: [main.js]\ndependencies: {qjs: '*'}\ntools: [{name: a}, {name: b, export: a}]\n": "",
		"type: conversation\nprompt_template: \"Review this: {code}\"\ncontext_files: {patterns: [a]}\n":                         "",
		"type: prompt_inline\nprompt: \"Write {kind}.\"\nparameters: [{name: kind, type: string}]\n":                             "",
		"type: conversation\nprompt: Hello {there}\n":                                                                            "",
		"type: code_inline\ncommand: a.wasm\ntools: [{name: run}]\nresilience: {health_check: {interval: 5}}\n":                  "",
	} {
		m, err := manifests.Parse([]byte(head+text), "skill.yaml")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var paths []string
		for _, p := range m.Unsupported() {
			paths = append(paths, p.Path)
			if p.Line == 0 || p.Suggestion == "" || p.Message == "" {
				t.Errorf("%s: incomplete: %+v", text, p)
			}
		}
		if got := strings.Join(paths, " "); got != refused {
			t.Errorf("%s: refuses %q, want %q", text, got, refused)
		}
	}
}
