package script_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/script"
)

func TestShelfKeepsWhatIsSealed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "scripts")
	s := script.NewCache(hclog.NewNullLogger(), dir, []byte("key"))
	in, _ := script.Find("qjs")
	id, other := script.ID(in, "a", "b", "main.js"), script.ID(in, "a", "c", "main.js")
	if _, ok := s.Get(id); ok || id == other {
		t.Fatal("found before it was put there")
	}
	s.Put(id, []byte("module"))
	if got, ok := s.Get(id); !ok || !bytes.Equal(got, []byte("module")) {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := script.NewCache(hclog.NewNullLogger(), dir, []byte("other key")).Get(id); ok {
		t.Error("found with another key")
	}
	path := filepath.Join(dir, id+".wasm")
	if err := os.Rename(path, filepath.Join(dir, other+".wasm")); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get(other); ok {
		t.Error("found under the name of another script")
	}
	s.Put(id, []byte("module"))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get(id); ok {
		t.Error("found after it was altered")
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	tree := script.Tree{"a/b.txt": []byte("hello")}
	b, err := fs.ReadFile(tree, "a/b.txt")
	info, statErr := fs.Stat(tree, "a/b.txt")
	if string(b) != "hello" || errors.Join(err, statErr) != nil || info.Size() != 5 || info.Name() != "b.txt" || !info.Mode().IsRegular() {
		t.Errorf("%q, %v, %v", b, err, info)
	}
	for _, name := range []string{"a", "../a/b.txt", "none"} {
		if _, err := tree.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzProgram: any text is a program, or an error; nothing outside of the tree is
// read.
func FuzzProgram(f *testing.F) {
	f.Add("export const f = 1", `{"main": "x"}`)
	f.Add("import a from 'left/deep'; import '/etc/passwd'; export default a", `{"exports": {".": {"import": "./i.js"}, "./deep": "./main.js"}}`)
	f.Add("const a = <b>{c}</b>; await 1", `[`)
	in, _ := script.Find("qjs")
	f.Fuzz(func(t *testing.T, text, manifest string) {
		files := script.Tree{"main.tsx": []byte(text), "node_modules/left/package.json": []byte(manifest), "node_modules/left/i.js": []byte("export default 1")}
		if b, err := in.Program(files, "main.tsx"); (b == nil) == (err == nil) {
			t.Fatalf("%q, %v", b, err)
		}
	})
}
