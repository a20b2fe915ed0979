package manifests_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// goFields returns the path of every field that holds a value in a Manifest,
// found by reflection.
func goFields(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return []string{path}
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return goFields(t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct:
		return []string{path}
	}
	var all []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if path != "" {
			name = path + "." + name
		}
		all = append(all, goFields(f.Type, name)...)
	}
	return all
}

// TestEveryFieldIsClassified demands that the schema and the Go type describe
// the same fields, and that each of them says what this host does with it.
func TestEveryFieldIsClassified(t *testing.T) {
	t.Parallel()
	known := map[string]manifests.Support{}
	for _, f := range manifests.Fields() {
		known[f.Path] = f.Support
		switch f.Support {
		case manifests.Enforced, manifests.Informational, manifests.Unsupported:
		default:
			t.Errorf("%s is not classified: give it x-support in the schema", f.Path)
		}
		if f.Description == "" {
			t.Errorf("%s has no description in the schema", f.Path)
		}
	}
	inGo := goFields(reflect.TypeFor[manifests.Manifest](), "")
	for _, path := range inGo {
		if _, ok := known[path]; !ok {
			t.Errorf("%s is a field of Manifest and not in the schema", path)
		}
	}
	for path := range known {
		if !slices.Contains(inGo, path) {
			t.Errorf("%s is in the schema and no field of Manifest", path)
		}
	}
}

// TestUnsupportedFieldsAreRefused demands that the complete examples use every
// field, and that exactly the fields classified as unsupported keep it from
// being installed.
func TestUnsupportedFieldsAreRefused(t *testing.T) {
	t.Parallel()
	used, refused := map[string]bool{}, map[string]bool{}
	for _, example := range []string{"complete", "complete-prompt", "complete-session", "complete-plugin", "complete-mcp", "complete-mcp-url"} {
		maps.Copy(used, documentFields(t, readFile(t, "testdata", example+".json")))
		for _, p := range complete(t, example+".json").Unsupported() {
			refused[p.Path] = false
			if p.Message == "" || p.Suggestion == "" || p.Line == 0 {
				t.Errorf("no reason, way out or line: %+v", p)
			}
		}
	}
	for _, f := range manifests.Fields() {
		if !used[f.Path] {
			t.Errorf("no complete example uses %s", f.Path)
		}
		section, ok := refusedAt(refused, f.Path)
		if ok {
			refused[section] = true
		}
		reason := strings.HasSuffix(f.Path, ".reason")
		if ok != (f.Support == manifests.Unsupported) && !reason {
			t.Errorf("%s is classified as %s, and refused: %v", f.Path, f.Support, ok)
		}
	}
	for path, classified := range refused {
		if !classified {
			t.Errorf("%s is refused, and no field of the schema", path)
		}
	}
}

// refusedAt returns the refusal that a field falls under: its own, or that of a
// section around it.
func refusedAt(refused map[string]bool, field string) (string, bool) {
	field = strings.ReplaceAll(field, "[]", "")
	for path := range maps.Keys(refused) {
		if field == path || strings.HasPrefix(field, path+".") {
			return path, true
		}
	}
	return "", false
}

// documentFields returns every field a document gives a value, sections
// included, as the schema names them.
func documentFields(t *testing.T, data []byte) map[string]bool {
	t.Helper()
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		found[path] = true
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(strings.TrimPrefix(path+"."+name, "."), member)
			}
		case []any:
			for _, item := range v {
				walk(path+"[]", item)
			}
		}
		// Text stands for the main field of a permission.
		if _, ok := v.(string); ok && path == "security.permissions.random" {
			found[path+".reason"] = true
		}
	}
	walk("", doc)
	return found
}

// TestSwitchedOffIsSupported shows that naming a feature to switch it off asks
// for nothing.
func TestSwitchedOffIsSupported(t *testing.T) {
	t.Parallel()
	const off = `name: demo
description: Shows something.
version: 1.0.0
type: code_inline
command: main.wasm
tools: [{name: run}]
security:
  permissions: {network_access: false, process_spawn: false, skills: [], models: []}
  resource_limits: {max_cpu_percent: 100}
resilience:
  retry_config: {max_attempts: 1}
  health_check: {enabled: false, interval: 30}
dependencies: {}
provides: {}
development:
  session_isolation: false
  hot_reload: false
  debug_mode: false
  test_framework: {unit_tests: false, integration_tests: false, mock_services: false}
`
	m, err := manifests.Parse([]byte(off), "skill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Unsupported(); len(got) > 0 {
		t.Errorf("refused: %v", manifests.Errors(got))
	}
}
