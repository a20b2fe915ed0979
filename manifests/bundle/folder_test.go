package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// A folder of the Agent Skills specification is packed whole: its text may speak
// of any file in it.
func TestFolderIsPackedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"forms.md", "deep/er/x.py", "scripts/a.py", ".git/config", "deep/.env", "node_modules/a/index.js", "deep/__pycache__/x.pyc"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: demo\ndescription: d\n---\nSee forms.md."), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := bundle.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"SKILL.md", "deep/er/x.py", "forms.md", "scripts/a.py"}
	if got := paths(p); !slices.Equal(got, want) {
		t.Errorf("have %q, want %q", got, want)
	}
	packed := filepath.Join(t.TempDir(), "demo.skill")
	if _, err := bundle.Pack(dir, packed); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bundle.ReadArchive(bytes.NewReader(b))
	if err != nil || again.Digest() != p.Digest() {
		t.Errorf("packed and read: %v", err)
	}
	// With a manifest of its own it is a package like any other.
	manifest := `{"name":"demo","version":"1.0.0","description":"d","type":"conversation","prompt":"p"}`
	if err := os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = bundle.ReadDir(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := paths(p), []string{"SKILL.md", "scripts/a.py", "skill.json"}; !slices.Equal(got, want) {
		t.Errorf("have %q, want %q", got, want)
	}
}

func paths(p *bundle.Package) []string {
	var all []string
	for _, f := range p.Files() {
		all = append(all, f.Path)
	}
	return all
}
