package manifests_test

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// addFiles seeds f with the documents in testdata.
func addFiles(f *testing.F, add func(data []byte, name string), patterns ...string) {
	f.Helper()
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		if err != nil || len(files) == 0 {
			f.Fatal(p, err)
		}
		for _, file := range files {
			if filepath.Ext(file) == ".golden" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			add(data, file)
		}
	}
}

// FuzzParse demands that every document is either refused with problems, or
// gives a manifest that validates, reads back as itself and asks for no more
// than it can say.
func FuzzParse(f *testing.F) {
	addFiles(f, func(data []byte, name string) { f.Add(data, strings.HasSuffix(name, ".json")) },
		"testdata/*.json", "testdata/*.yaml", "testdata/bad/*.json", "testdata/bad/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		name := "skill.yaml"
		if isJSON {
			name = "skill.json"
		}
		m, err := manifests.Parse(data, name)
		if err != nil {
			var errs manifests.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("no problems: %v", err)
			}
			return
		}
		checkManifest(t, m)
	})
}

func checkManifest(t *testing.T, m *manifests.Manifest) {
	t.Helper()
	if err := m.Validate(); err != nil {
		t.Fatalf("parsed and invalid: %v", err)
	}
	if _, err := m.Requests("/work"); err != nil {
		t.Fatalf("parsed and asks for what cannot be said: %v", err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := manifests.Parse(text, "skill.json")
	if err != nil {
		t.Fatalf("%s does not read back: %v", text, err)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != string(text) {
		t.Fatalf("reads back differently:\n%s\n%s\n%v", text, second, err)
	}
	l := m.Limits()
	if l.Seconds <= 0 || limit.Time.Of(l) > limit.Time.Ceiling() || l.MemoryBytes == 0 || l.Fuel == 0 || l.OutputBytes == 0 {
		t.Fatalf("unbounded: %+v", l)
	}
}

func FuzzSkillMD(f *testing.F) {
	f.Add([]byte(skillMD))
	addFiles(f, func(data []byte, _ string) { f.Add(data) }, "testdata/bad/*.md")
	f.Fuzz(func(t *testing.T, data []byte) {
		front, frontErr := manifests.FrontMatter(data)
		var object map[string]any
		if err := json.Unmarshal(front, &object); frontErr == nil && err != nil {
			t.Fatalf("front matter %s: %v", front, err)
		}
		m, err := manifests.ParseSkillMD(data, "SKILL.md")
		if err != nil {
			return
		}
		if name, _ := object["name"].(string); strings.TrimSpace(name) != m.Name {
			t.Fatalf("%s: front matter %s, %v", m.Name, front, frontErr)
		}
		if m.Type != manifests.KindConversation || m.Prompt == "" || len(m.Unsupported()) > 0 || len(m.PromptParts()) != 1 {
			t.Fatalf("%+v", m)
		}
		checkManifest(t, m)
	})
}

func FuzzParseRef(f *testing.F) {
	for _, seed := range []string{"demo", "demo@1.2.0", "demo:run", "demo@1.2.0-rc.1+b:run", "@:", "a@b:c", "demo@01.0.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := manifests.ParseRef(text)
		if err != nil {
			if !errors.Is(err, manifests.ErrRef) {
				t.Fatal(err)
			}
			return
		}
		if r.String() != text {
			t.Fatalf("%q reads back as %q", text, r)
		}
	})
}

// FuzzCoerceArgs demands that what comes out is JSON with the keys that went
// in, and that checking it against the schema ends.
func FuzzCoerceArgs(f *testing.F) {
	f.Add(argsSchema, "text=5", "tags=a")
	f.Add(personSchema, `friends=[{"name": "Ada"}]`, "age=1e400")
	f.Add(doubling(30), "x=1", "y=2")
	f.Add(`{"type": "object", "patternProperties": {"(": {}}}`, "a=1", "b")
	f.Add(`{"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}`, "a=1", "a=2")
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{"type": "null"}]}}}`, "a=null", "a=1")
	f.Fuzz(func(t *testing.T, schema, one, two string) {
		tool := manifests.Tool{Name: "run", InputSchema: json.RawMessage(schema)}
		out, err := manifests.CoerceArgs(tool, []string{one, two})
		if err != nil {
			if !errors.Is(err, manifests.ErrInput) {
				t.Fatal(err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(out, &object); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		key, _, _ := strings.Cut(one, "=")
		if _, ok := object[key]; !ok {
			t.Fatalf("%s has no %q", out, key)
		}
		if err := (&manifests.Manifest{}).ValidateInput(tool, out); err != nil && !errors.Is(err, manifests.ErrInput) {
			t.Fatal(err)
		}
	})
}

// FuzzContextFiles demands that a skill asks for every file that its patterns
// take.
func FuzzContextFiles(f *testing.F) {
	for _, seed := range [][2]string{
		{"*.go", "a/b.go"}, {"**", "a"}, {"./x/", "x/y"}, {"a/{b,c/d}/*", "a/c/d/e"}, {"[a-c]?.txt", "x/bd.txt"},
		{"a**b/c", "axb/c"}, {".x/*", ".x/y"}, {"{a,b}", "b"}, {"**/x**", "y/xz"}, {"a//b", "a/b"}, {"*", ".a"}, {"*", `\`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, p string) {
		if p != path.Clean(p) || path.IsAbs(p) || strings.HasPrefix(p, "..") || !utf8.ValidString(p) || strings.ContainsFunc(p, unprintable) {
			return
		}
		doc, err := json.Marshal(map[string]any{
			"name": "demo", "description": "d", "version": "1.0.0", "type": "conversation", "prompt": "p",
			"context_files": map[string]any{"patterns": []string{glob}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifests.Parse(doc, "skill.json")
		if err != nil || !m.ContextFiles.Takes(p) {
			return
		}
		asked, err := m.Requests("/ws")
		if err != nil || len(asked) != 1 {
			t.Fatalf("%q: %v, %v", glob, asked, err)
		}
		if !asked[0].Capability.Allows(capability.Request{Action: capability.FSRead, Resource: "/ws/" + p}) {
			t.Fatalf("%q takes %q, and asks for %s", glob, p, asked[0].Capability)
		}
	})
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
