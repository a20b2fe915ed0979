package bundle_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// TestSourcesOfScripts: what a script may import is a part of its package, and what
// an installer put beside it is not.
func TestSourcesOfScripts(t *testing.T) {
	t.Parallel()
	const manifest = `{"name":"demo","description":"A demo.","version":"1.0.0","type":"code_inline","command":"python","args":["MAIN"],
		"tools":[{"name":"run"}],"dependencies":{"python":"*"}}`
	for _, tt := range []struct {
		main  string
		files []string
		want  []string
	}{
		{"main.py",
			[]string{"main.py", "words.py", "words.txt", "shapes/round.py", "other.js", ".hidden.py", "__pycache__/words.py", "env/pyvenv.cfg", "env/lib/x.py", "tests/a.json"},
			[]string{"main.py", "shapes/round.py", "skill.json", "tests/a.json", "words.py"}},
		{"main.js",
			[]string{"main.js", "words.ts", "node_modules/left/pad.js", "lib/deep/x.mjs", "words.py"},
			[]string{"lib/deep/x.mjs", "main.js", "skill.json", "words.ts"}},
		{"src/main.py", []string{"src/main.py", "src/words.py", "setup.py"}, []string{"skill.json", "src/main.py", "src/words.py"}},
	} {
		dir := t.TempDir()
		for _, f := range append(tt.files, "skill.json") {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o700); err != nil {
				t.Fatal(err)
			}
			text := "x = 1\n"
			if f == "skill.json" {
				text = strings.Replace(manifest, "MAIN", tt.main, 1)
			}
			if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := bundle.ReadDir(dir)
		if err != nil {
			t.Errorf("%s: %v", tt.main, err)
			continue
		}
		var got []string
		for _, f := range p.Files() {
			got = append(got, f.Path)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: packed %q, want %q", tt.main, got, tt.want)
		}
	}
}
