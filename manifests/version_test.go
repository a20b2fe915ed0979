package manifests_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

func TestCompareVersions(t *testing.T) {
	want := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.2.0", "1.10.0", "2.0.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, manifests.CompareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if manifests.CompareVersions("1.0.0+a", "1.0.0+b") != 0 {
		t.Error("build metadata has no precedence")
	}
}

func TestDependencyForms(t *testing.T) {
	t.Parallel()
	const doc = `{"name": "demo", "description": "Shows.", "version": "1.0.0", "type": "code_inline", "command": "main.wasm", "tools": [{"name": "run"}],
"dependencies": {"csv": "^1.2.0", "text": {"version": "2.x", "optional": true}, "table": {"version": "1.0.0 - 1.4.0", "isolated": true}}}`
	m, err := manifests.Parse([]byte(doc), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]manifests.Dependency{
		"csv":   {Version: "^1.2.0"},
		"text":  {Version: "2.x", Optional: true},
		"table": {Version: "1.0.0 - 1.4.0", Isolated: true},
	}
	if !maps.Equal(m.Dependencies, want) {
		t.Errorf("got %v, want %v", m.Dependencies, want)
	}
	for text, want := range map[string]string{
		`{"optional": true}`:               "version: is missing",
		`{"version": "1.2.3beta"}`:         "write 1.2.3-beta",
		`{"version": "^1", "opt": true}`:   "opt",
		`{"version": "^1", "optional": 1}`: "optional",
		`">=1.0, <2"`:                      "write >=1.0 <2",
	} {
		_, err := manifests.Parse([]byte(strings.Replace(doc, `"^1.2.0"`, text, 1)), "skill.json")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
