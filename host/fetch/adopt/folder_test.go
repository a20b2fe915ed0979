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
	p, err := Folder(folder, FolderCommand)
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
	again, err := Folder(folder, FolderCommand)
	if err != nil || again.Digest() != p.Digest() {
		t.Errorf("two are different, %v", err)
	}
}

// What only the interpreter for documents has is found in the text of the scripts, unless the
// folder has it itself.
func TestFolderCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"import os, json":                        FolderCommand,
		"import os, lxml.etree as e # comment":   OfficeCommand,
		"def f():\n    from PIL import Image":    OfficeCommand,
		"try:\n\timport yaml\nexcept: pass":      OfficeCommand,
		"# import lxml\nx = 'from PIL'":          FolderCommand,
		"import lxmlish, pilot; from . import x": FolderCommand,
	} {
		files := map[string][]byte{"SKILL.md": []byte("---\nname: demo\ndescription: d\n---\nDo it."), "scripts/a.py": []byte(text)}
		for _, own := range []string{"", "vendor/lxml/__init__.py", "scripts/lxml.py"} {
			if own != "" {
				files[own] = []byte("import lxml")
			}
			p, err := bundle.FromFiles(files)
			if err != nil {
				t.Fatal(err)
			}
			got, err := FolderCommands(p)
			want := want
			if own != "" && text == "import os, lxml.etree as e # comment" {
				want = FolderCommand
			}
			if err != nil || len(got) != 2 || got[0] != want {
				t.Errorf("%q and %s: %q, %v, want %s first", text, own, got, err, want)
			}
			delete(files, own)
		}
	}
}
