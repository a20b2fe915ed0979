package hostapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated: what is generated is what the description makes of it.
func TestGenerated(t *testing.T) {
	t.Parallel()
	stale, err := Stale("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stale {
		t.Errorf("%s is stale: make generate", path)
	}
}

// TestGenerate writes what is stale, and nothing twice.
func TestGenerate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	copyParts(t, root)
	first, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, o := range Outputs() {
		if !o.Part() {
			whole++
		}
	}
	if len(first) != whole {
		t.Errorf("wrote %q into an empty tree", first)
	}
	if again, err := Generate(root); err != nil || len(again) != 0 {
		t.Errorf("wrote %q again, %v", again, err)
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "host-interface.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if stale, err := Stale(root); err != nil || len(stale) != 1 || stale[0] != "docs/host-interface.md" {
		t.Errorf("stale: %q, %v", stale, err)
	}
}

// copyParts copies the files that are only generated in part.
func copyParts(t *testing.T, root string) {
	t.Helper()
	for _, o := range Outputs() {
		if !o.Part() {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", o.Path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(o.Path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, o.Path), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSplice(t *testing.T) {
	t.Parallel()
	part := func(text string) emitter { return func(*Interface) ([]byte, error) { return []byte(text), nil } }
	o := Output{parts: []emitter{part("one\n"), part("two\n")}}
	const file = "above\n// " + beginMark + ", see there\nold\n// " + endMark + "\nbetween\n# " + beginMark + "\n# " + endMark + "\nbelow\n"
	const want = "above\n// " + beginMark + ", see there\none\n// " + endMark + "\nbetween\n# " + beginMark + "\ntwo\n# " + endMark + "\nbelow\n"
	for _, now := range []string{file, want} {
		if got, err := o.Render(nil, []byte(now)); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	for _, bad := range []string{"", "// " + beginMark + "\n", "// " + endMark + "\n", "// " + beginMark, file + file} {
		if _, err := o.Render(nil, []byte(bad)); err == nil {
			t.Errorf("%q has two pairs of marks", bad)
		}
	}
}

// TestContradictions: a description that cannot be right is an error that says where.
func TestContradictions(t *testing.T) {
	t.Parallel()
	tests := []struct{ old, made, want string }{
		{`"name": "kv_get"`, `"name": "kv_put"`, "function kv_put is described twice"},
		{`"name": "kv_get"`, `"name": "KV get"`, "function KV get is not a name"},
		{`"subject": "get key {key}"`, `"subject": "get key {name}"`, `kv_get: "get key {name}" names no text`},
		{`"type": "level"`, `"type": "levels"`, "log request: field level has the unknown type levels"},
		{`"type": "string[]{}"`, `"type": "string{}[]"`, `type "string{}[]"`},
		{`"optional": true, "nullable": true`, `"nullable": true`, "field revision cannot be nullable"},
		{`"grant": "notify"`, `"grant": ""`, "notify: it needs a doc"},
		{`{"kind": "conflict", "when"`, `{"kind": "clash", "when"`, `fs_write: error of kind "clash"`},
		{`"request": {"key": "cursor"}`, `"request": {"key": 7}`, "kv_get example request: key: 7 is not a string"},
		{`"response": {"deleted": true}`, `"response": {}`, "kv_delete example response: deleted is missing"},
		{`"response": {"deleted": true}`, `"response": {"deleted": true, "x": 1}`, "x is not described"},
		{`"keys": ["cache/a", "cache/b"]`, `"keys": ["cache/a", null]`, "keys: null is not a string"},
		{`"level": "warn", "fields"`, `"level": "loud", "fields"`, `level: "loud" is not a level`},
		{`"modified": "2026-01-02T15:04:05Z"}]`, `"modified": "yesterday"}]`, `entries: modified: "yesterday" is not a time`},
		{`"result": "i32"`, `"result": "i31"`, `input_read: result "i31"`},
		{`"module"`, `"modul"`, "unknown field"},
	}
	for _, tt := range tests {
		text := strings.Replace(string(source), tt.old, tt.made, 1)
		if text == string(source) {
			t.Errorf("%s is not in the description", tt.old)
		}
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.made, err, tt.want)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"string", "string[]", "string{}", "string[]{}"} {
		var got Type
		if err := json.Unmarshal([]byte(`"`+s+`"`), &got); err != nil || got.String() != s {
			t.Errorf("%s is read as %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "[]", "string[][]", "string{}{}"} {
		if err := new(Type).UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q is a type", s)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := pascal("http_request", goInitials()) + " " + goPrivate("http_request") + " " + camel("fs_read", nil) + " " + goName("timeout_ms"); got != "HTTPRequest httpRequest fsRead TimeoutMS" {
		t.Error(got)
	}
}
