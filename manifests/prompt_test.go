package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// promptOf is a prompt_inline skill.
func promptOf(t *testing.T, prompt, more string) *manifests.Manifest {
	t.Helper()
	m, err := manifests.Parse(fmt.Appendf(nil, `{"name":"demo","description":"d","version":"1.0.0","type":"prompt_inline","prompt":%q%s}`, prompt, more), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// words writes parts as text, with <name> for placeholders.
func words(parts []manifests.PromptPart) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
		if p.Name != "" {
			b.WriteString("<" + p.Name + ">")
		}
	}
	return b.String()
}

func TestPromptParts(t *testing.T) {
	t.Parallel()
	const params = `,"parameters":[{"name":"a","type":"string"},{"name":"b","type":"string"}]`
	for text, want := range map[string]string{
		"{a}{b}":                       "<a><b>",
		"say {a}, {b}.":                "say <a>, <b>.",
		"{{a}} is {a} and {b}":         "{a} is <a> and <b>",
		"{{{a}}} {a}{b}":               "{{a}} <a><b>",
		`{"x": {"y": 1}} { a } {a}{b}`: `{"x": {"y": 1}} { a } <a><b>`,
		"{1} {} {a-b} {a}{b}":          "{1} {} {a-b} <a><b>",
	} {
		if got := words(promptOf(t, text, params).PromptParts()); got != want {
			t.Errorf("%s: have %s, want %s", text, got, want)
		}
	}
}

// In a conversation only the names of parameters are placeholders of the prompt,
// and one name of the template stands for the context files.
func TestConversationParts(t *testing.T) {
	t.Parallel()
	m, err := manifests.Parse([]byte(`{"name":"demo","description":"d","version":"1.0.0","type":"conversation",
		"prompt":"Use {a}, {b} and {{a}} {{b}}","prompt_template":"{code} {{code}}","parameters":[{"name":"a","type":"string"}],
		"context_files":{"patterns":["*.go"]}}`), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := words(m.PromptParts()), "Use <a>, {b} and {a} {{b}}"; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
	if got, want := words(m.TemplateParts()), "<code> {code}"; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
	if got := m.ContextName(); got != "code" {
		t.Errorf("the context files stand for %q", got)
	}
}

func TestPromptTool(t *testing.T) {
	t.Parallel()
	m := promptOf(t, "{kind} {n} {ok} {word} {free} {x}", `,"parameters":[
		{"name":"kind","type":"enum","values":["test","example"],"required":true},
		{"name":"n","type":"integer","default":3},{"name":"ok","type":"boolean"},{"name":"x","type":"number"},
		{"name":"word","type":"string","pattern":"^[a-z]+$"},{"name":"free","type":"string"}]`)
	tool, ok := m.PromptTool()
	if !ok || tool.Name != manifests.PromptToolName {
		t.Fatalf("%+v, %v", tool, ok)
	}
	for input, want := range map[string]string{
		`{"kind":"test"}`:                         "",
		`{"kind":"test","n":2,"ok":true,"x":1.5}`: "",
		`{}`:                            "kind",
		`{"kind":"other"}`:              "kind",
		`{"kind":"test","n":1.5}`:       "n",
		`{"kind":"test","word":"A"}`:    "word",
		`{"kind":"test","word":"a\nb"}`: "word",
		`{"kind":"test","free":1}`:      "free",
		`{"kind":"test","colour":"x"}`:  "colour",
		`[]`:                            "list",
		`{`:                             "",
	} {
		err := m.ValidateInput(tool, []byte(input))
		switch {
		case input == `{` && err == nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", input, err, want)
		case input != `{` && want == "" && err != nil:
			t.Errorf("%s: %v", input, err)
		}
	}
	if got, err := manifests.CoerceArgs(tool, []string{"kind=test", "n=4", "free=5"}); err != nil || string(got) != `{"free":"5","kind":"test","n":4}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestContextFiles(t *testing.T) {
	t.Parallel()
	c := manifests.ContextFiles{
		Patterns:        []string{"*.go", "docs/**/*.md", "src/{a,b}/*.txt", "./*.top", "all/", ".github/*.yml"},
		ExcludePatterns: []string{"target/", "*_test.go", "docs/private", "gen/*.go"},
	}
	for p, want := range map[string]bool{
		"main.go": true, "deep/er/main.go": true, "main.go.txt": false,
		"docs/a.md": true, "docs/x/y/a.md": true, "a.md": false, "docs/private/a.md": false, "docs/private": false,
		"src/a/x.txt": true, "src/c/x.txt": false,
		"a.top": true, "x/a.top": false, "all/a": true, "all/x/a": true, "x/all/a": false,
		"target/a.go": false, "x/target/a.go": false, "a/target.go": true, "main_test.go": false,
		"gen/a.go": false, "x/gen/a.go": true,
		".hidden.go": false, ".git/a.go": false, ".github/a.yml": true, "x/.git/a.go": false,
	} {
		if got := c.Takes(p); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	for dir, want := range map[string]bool{"src": true, "target": false, "a/target": false, ".git": true, "docs/private": false} {
		if got := c.Enters(dir); got != want {
			t.Errorf("enters %s: %v, want %v", dir, got, want)
		}
	}
	c.Patterns = c.Patterns[:5]
	if c.Enters(".git") || c.Files() != 10 || c.FileBytes() != 100<<10 {
		t.Errorf("%v, %d, %d", c.Enters(".git"), c.Files(), c.FileBytes())
	}
}

// A conversation asks to read what its patterns take, and not more often than
// once.
func TestContextFilesAreAskedFor(t *testing.T) {
	t.Parallel()
	m, err := manifests.Parse([]byte(`{"name":"demo","description":"d","version":"1.0.0","type":"conversation","prompt":"p",
		"security":{"permissions":{"file_read":[{"path":"./docs","reason":"r"}]}},
		"context_files":{"patterns":["*.go","docs/*.md","src/**","a/b?.txt","{x,y/z}/*.c","**","cmd/**.rs","README.md","./lib/[ab]*"]}}`), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := m.Requests("/ws")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range asked {
		got = append(got, r.Field+" "+r.Capability.String())
	}
	want := []string{
		"security.permissions.file_read[0] fs.read:/ws/docs/**",
		"context_files.patterns[0] fs.read:/ws/**/*.go",
		"context_files.patterns[2] fs.read:/ws/src/**",
		"context_files.patterns[3] fs.read:/ws/a/*",
		"context_files.patterns[4] fs.read:/ws/**",
	}
	if !slices.Equal(got, want) {
		t.Errorf("have:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
