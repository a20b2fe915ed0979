package adopt

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/skillet-run/skillet/manifests/bundle"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	folder, err := bundle.FromFiles(map[string][]byte{
		"SKILL.md":                       []byte("---\nname: demo\ndescription: d\n---\nDo it."),
		"scripts/a.py":                   []byte("import b"),
		"scripts/deep/b.py":              []byte("pass"),
		"scripts/deep/parts/__init__.py": nil,
		"scripts/deep/parts/c.py":        []byte("pass"),
		"scripts/_d.py":                  []byte("pass"),
		"vendor/e/__init__.py":           []byte("pass"),
		"data/f.txt":                     []byte("text"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, s := range folder.Manifest().AgentSkill.Scripts {
		tools = append(tools, s.Tool+" "+s.Path)
	}
	if want := []string{"a scripts/a.py", "deep_b scripts/deep/b.py"}; !reflect.DeepEqual(tools, want) {
		t.Errorf("tools: %q, want %q", tools, want)
	}
	p, err := Folder(folder)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Read(p.Manifest().Args[0])
	var index FolderIndex
	if err != nil || json.Unmarshal(b, &index) != nil {
		t.Fatalf("%s, %v", b, err)
	}
	want := FolderIndex{At: "/skills/demo", Library: []string{"vendor"}, Files: []string{
		"scripts/_d.py", "scripts/a.py", "scripts/deep/b.py", "scripts/deep/parts/__init__.py", "scripts/deep/parts/c.py", "vendor/e/__init__.py",
	}}
	if !reflect.DeepEqual(index, want) {
		t.Errorf("%+v, want %+v", index, want)
	}
	again, err := Folder(folder)
	if err != nil || again.Digest() != p.Digest() {
		t.Errorf("two are different, %v", err)
	}
}
