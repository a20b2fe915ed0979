package bundle_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

const manifest = `{
  "name": "demo",
  "description": "Shows something.",
  "version": "1.2.0",
  "license": "legal/TERMS",
  "type": "code_inline",
  "command": "bin/main.wasm",
  "tools": [{"name": "run"}]
}
`

const skillMD = "---\nname: demo\ndescription: Shows something.\n---\nDo it.\n"

// module is the header of a WebAssembly module.
const module = "\x00asm\x01\x00\x00\x00"

// demo are the files of a package that has one of everything.
func demo() map[string][]byte {
	return map[string][]byte{
		"skill.json":                []byte(manifest),
		"SKILL.md":                  []byte(skillMD),
		"README.md":                 []byte("# Demo\n"),
		"LICENSE":                   []byte("Do what you like.\n"),
		"legal/TERMS":               []byte("Nothing else.\n"),
		"bin/main.wasm":             []byte(module),
		"assets/a.txt":              []byte("a\n"),
		"assets/deep/er/b.bin":      {0, 1, 2, 3},
		"assets/größe/日本.txt":       []byte("names beyond ASCII\n"),
		"assets/empty":              {},
		"schemas/in.json":           []byte("{}\n"),
		"tests/one.json":            []byte("{}\n"),
		"references/notes.md":       []byte("notes\n"),
		"scripts/" + longName + "x": []byte("a path that ustar cannot hold\n"),
	}
}

var longName = strings.Repeat("long-name/", 9) + strings.Repeat("n", 40)

// surroundings lie in a directory and are no part of the package.
func surroundings() map[string][]byte {
	return map[string][]byte{
		"main.go":              []byte("package main\n"),
		"main_test.go":         []byte("package main\n"),
		"bin/other.wasm":       []byte(module),
		".git/config":          []byte("[core]\n"),
		"assets/.DS_Store":     []byte("x"),
		"tests/.cache/entry":   []byte("x"),
		"demo-1.2.0.skill":     []byte("x"),
		"node_modules/x/a.txt": []byte("x"),
	}
}

func writeTree(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for path, b := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func demoDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, demo())
	writeTree(t, dir, surroundings())
	return dir
}

func archiveOf(t testing.TB, p *bundle.Package) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteArchive(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func demoPackage(t testing.TB) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(demo())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSameDigestFromEverywhere packs the same skill in every way.
func TestSameDigestFromEverywhere(t *testing.T) {
	t.Parallel()
	fromFiles := demoPackage(t)
	dir := demoDir(t)
	fromDir, err := bundle.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	packed, err := bundle.Pack(dir, out)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "demo-1.2.0.skill")
	fromFile, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*bundle.Package{"dir": fromDir, "pack": packed, "file": fromFile, "open": opened} {
		if p.Digest() != fromFiles.Digest() || !bytes.Equal(p.Index(), fromFiles.Index()) {
			t.Errorf("%s: have\n%s\nwant\n%s", name, p.Index(), fromFiles.Index())
		}
		if !bytes.Equal(archiveOf(t, p), archiveOf(t, fromFiles)) {
			t.Errorf("%s: the archive differs", name)
		}
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
		t.Errorf("Pack left something behind: %v, %v", entries, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestPackageContents(t *testing.T) {
	t.Parallel()
	p := demoPackage(t)
	var paths []string
	for _, f := range p.Files() {
		paths = append(paths, f.Path)
		b, err := p.Read(f.Path)
		if err != nil || !bytes.Equal(b, demo()[f.Path]) || f.Size != int64(len(b)) || f.Digest.Verify(b) != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if want := slices.Sorted(maps.Keys(demo())); !slices.Equal(paths, want) {
		t.Errorf("have %q, want %q", paths, want)
	}
	if _, err := p.Read("main.go"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	path, wasm, err := p.Module()
	if err != nil || path != "bin/main.wasm" || string(wasm) != module {
		t.Errorf("%s %q %v", path, wasm, err)
	}
	if p.Manifest().Name != "demo" || p.FileName() != "demo-1.2.0.skill" {
		t.Errorf("%+v", p.Manifest())
	}
}

// TestPackageIsImmutable changes everything a package hands out.
func TestPackageIsImmutable(t *testing.T) {
	t.Parallel()
	p := demoPackage(t)
	before := p.Digest()
	p.Files()[0].Path = "changed"
	b, err := p.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	b[0] = 'X'
	_, wasm, err := p.Module()
	if err != nil {
		t.Fatal(err)
	}
	wasm[0] = 'X'
	again, err := bundle.ReadArchive(bytes.NewReader(archiveOf(t, p)))
	if err != nil || again.Digest() != before || p.Digest() != before {
		t.Errorf("the package changed: %v", err)
	}
}

func TestIndexIsCanonical(t *testing.T) {
	t.Parallel()
	p, err := bundle.FromFiles(map[string][]byte{"SKILL.md": []byte(skillMD), "assets/a b": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s %d SKILL.md\n%s 1 assets/a b\n", manifests.DigestOf([]byte(skillMD)), len(skillMD), manifests.DigestOf([]byte("x")))
	if string(p.Index()) != want {
		t.Errorf("have %q, want %q", p.Index(), want)
	}
	if p.Digest() != manifests.DigestOf([]byte(want)) {
		t.Error("the digest is not that of the index")
	}
	if p.Manifest().Type != manifests.KindConversation {
		t.Errorf("type %s", p.Manifest().Type)
	}
	if _, _, err := p.Module(); !errors.Is(err, bundle.ErrNoModule) {
		t.Errorf("a module of a conversation: %v", err)
	}
}

// TestEveryByteCounts changes each file by one byte.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	want := demoPackage(t).Digest()
	for path := range demo() {
		files := demo()
		files[path] = append(files[path], '\n')
		p, err := bundle.FromFiles(files)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.Digest() == want {
			t.Errorf("a byte more in %s leaves the digest as it was", path)
		}
	}
}

func TestFromFilesRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		want   error
		text   string
	}{
		"nothing":        {func(f map[string][]byte) { clear(f) }, bundle.ErrNoManifest, "it has neither skill.json"},
		"two manifests":  {func(f map[string][]byte) { f["skill.yaml"] = f["skill.json"] }, bundle.ErrNoManifest, "skill.json and skill.yaml"},
		"no module":      {func(f map[string][]byte) { delete(f, "bin/main.wasm") }, bundle.ErrNoModule, "bin/main.wasm"},
		"another skill":  {func(f map[string][]byte) { f["SKILL.md"] = []byte(strings.Replace(skillMD, "demo", "other", 1)) }, bundle.ErrUnsafe, "is about other"},
		"source":         {func(f map[string][]byte) { f["main.go"] = nil }, bundle.ErrUnsafe, `"main.go" does not belong`},
		"second module":  {func(f map[string][]byte) { f["bin/other.wasm"] = nil }, bundle.ErrUnsafe, `"bin/other.wasm" does not belong`},
		"asset as file":  {func(f map[string][]byte) { f["assets"] = nil }, bundle.ErrUnsafe, `"assets" is`},
		"file as parent": {func(f map[string][]byte) { f["README.md/x"] = nil }, bundle.ErrUnsafe, "is a directory, and"},
		"large file":     {func(f map[string][]byte) { f["assets/large"] = make([]byte, bundle.MaxFileBytes+1) }, bundle.ErrTooLarge, `"assets/large"`},
		"large package": {func(f map[string][]byte) {
			b := make([]byte, bundle.MaxFileBytes)
			f["assets/1"], f["assets/2"] = b, b
		}, bundle.ErrTooLarge, "bytes"},
		"many files": {func(f map[string][]byte) {
			for i := range bundle.MaxFiles {
				f[fmt.Sprintf("assets/%d", i)] = nil
			}
		}, bundle.ErrTooLarge, "files"},
	} {
		files := demo()
		c.change(files)
		p, err := bundle.FromFiles(files)
		if p != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	files := demo()
	files["skill.json"] = []byte("{}")
	var problems manifests.Errors
	if _, err := bundle.FromFiles(files); !errors.As(err, &problems) {
		t.Errorf("a bad manifest: %v", err)
	}
	files = demo()
	files["SKILL.md"] = []byte("no front matter")
	if _, err := bundle.FromFiles(files); !errors.As(err, &problems) {
		t.Errorf("a bad SKILL.md: %v", err)
	}
}

// TestNames holds the names of files to what is safe everywhere.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a.b.c", "A-Z_0~9 (1)", "größer", "日本", "📎", "con1", "connect", "lpt", "a+b@c,d;e=f'g!#$%&[]{}^`"} {
		files := demo()
		files["assets/"+name] = nil
		if _, err := bundle.FromFiles(files); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "../x", "../../x", "a/../b", "a//b", "a/", "./a", "/a", ".hidden", "a/.git/b", "a\\b", "a:b", "C:", "a*", "a?", `a"b`, "a<b", "a>b", "a|b",
		"a\x00b", "a\nb", "a\x1b[2J", "a\u202eb", "a\u200bb", "a\ufeffb", "a\u00a0b", "a\u2028b", "a\xffb", "a\ufffdb", "e\u0301", "\u212b", // Angstrom sign
		"con", "CON", "nul.txt", "com1", "LPT9.x", "aux.", "a.", "a ", " a", "a/con/b",
		strings.Repeat("x", 300), strings.Repeat("a/", 16) + "b",
	} {
		files := demo()
		files["assets/"+name] = nil
		if _, err := bundle.FromFiles(files); !errors.Is(err, bundle.ErrUnsafe) {
			t.Errorf("%q: %v", name, err)
		} else if strings.ContainsAny(err.Error(), "\x1b\u202e\n\x00") {
			t.Errorf("%q: the error repeats it as it is: %q", name, err)
		}
	}
}

// TestTwins adds two names that some file system takes for one.
func TestTwins(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"assets/readme", "assets/README"},
		{"assets/straße", "assets/STRASSE"},
		{"assets/GRÖSSE", "assets/größe"},
		{"assets/a", "assets/A/b"},
		{"assets/x/a", "assets/X/b"},
		{"assets/ς", "assets/σ"},
	} {
		files := demo()
		delete(files, "assets/größe/日本.txt")
		files[c[0]], files[c[1]] = nil, nil
		if _, err := bundle.FromFiles(files); !errors.Is(err, bundle.ErrUnsafe) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func TestPackWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := demoDir(t)
	out := filepath.Join(t.TempDir(), "own-name.skill")
	if err := os.WriteFile(out, []byte("the one before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "skill.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Pack(dir, out); err == nil {
		t.Error("packed a skill without a name")
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "the one before" {
		t.Errorf("a pack that came to nothing changed the file: %q, %v", b, err)
	}
	writeTree(t, dir, demo())
	if _, err := bundle.Pack(dir, out); err != nil {
		t.Fatal(err)
	}
	if p, err := bundle.Open(out); err != nil || p.Manifest().Name != "demo" {
		t.Error(err)
	}
	if _, err := bundle.Pack(dir, filepath.Join(dir, "no", "such", "place.skill")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("packed into nowhere: %v", err)
	}
}

// TestPackRefusesWhatOpenWould shows that a package that compresses too well is
// refused when it is made, and not only by those who receive it.
func TestPackRefusesWhatOpenWould(t *testing.T) {
	t.Parallel()
	dir := demoDir(t)
	writeTree(t, dir, map[string][]byte{"assets/zeros": make([]byte, 8<<20)})
	out := t.TempDir()
	if _, err := bundle.Pack(dir, out); !errors.Is(err, bundle.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestOpenNamesThePath(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.skill")
	if _, err := bundle.Open(missing); !errors.Is(err, fs.ErrNotExist) || err.Error() != "open package "+missing+": "+fs.ErrNotExist.Error() && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	empty := t.TempDir()
	if _, err := bundle.Open(empty); !errors.Is(err, bundle.ErrNoManifest) || !strings.Contains(err.Error(), empty) {
		t.Errorf("%v", err)
	}
}
