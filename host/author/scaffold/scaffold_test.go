package scaffold

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/testcase"
)

func wantKind(t *testing.T, err error, want fault.Kind) *fault.Error {
	t.Helper()
	e := fault.AsError(err)
	if e == nil || e.Kind != want {
		t.Fatalf("got %v, want kind %s", err, want)
	}
	return e
}

// TestEveryLanguage demands that what is written is whole: a manifest that can be
// installed, cases that can be read, and source of the language.
func TestEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, l := range Languages() {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a new", "word-count")
			files, err := Write(Order{Dir: dir, Name: "word-count", Language: l})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || len(b) == 0 || bytes.Contains(b, []byte("{{")) && !strings.Contains(name, "skillet") {
					t.Errorf("%s: %d bytes, %v", name, len(b), err)
				}
			}
			for _, want := range []string{"skill.json", "README.md", ".gitignore", "tests/count.json"} {
				if !slices.Contains(files, want) {
					t.Errorf("there is no %s", want)
				}
			}
			whole(t, dir, l)
		})
	}
}

func whole(t *testing.T, dir string, l toolchain.Language) {
	t.Helper()
	p, err := toolchain.Recognise(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := l
	if l == toolchain.WASI {
		want = toolchain.Go
	}
	if p.Language != want || p.Command != (l == toolchain.WASI) || p.Module != "main.wasm" {
		t.Errorf("it is taken for %+v", p)
	}
	m := p.Manifest
	if u := m.Unsupported(); len(u) > 0 {
		t.Errorf("%v", manifests.Errors(u))
	}
	if m.Name != "word-count" || len(m.Tools) != 1 || len(m.Tools[0].OutputSchema) == 0 || m.Security.Permissions.FileRead[0].Reason == "" {
		t.Errorf("%+v", m)
	}
	b, err := os.ReadFile(filepath.Join(dir, "tests", "count.json"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := testcase.Parse(b, "tests/count.json")
	if err != nil || len(cases) < 5 {
		t.Errorf("%d cases, %v", len(cases), err)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "README.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Order{Dir: dir, Name: "x", Language: toolchain.WASI}
	_, err := Write(o)
	if e := wantKind(t, err, fault.KindConflict); !strings.Contains(e.Message, "README.md") || !strings.Contains(e.Way().String(), "[set_field force]") {
		t.Errorf("%s; %s", e.Message, e.Way().String())
	}
	entries, err := os.ReadDir(dir)
	if b, _ := os.ReadFile(mine); err != nil || string(b) != "mine" || len(entries) != 1 {
		t.Errorf("%q, %v, %v", b, entries, err)
	}
	o.Force = true
	if _, err := Write(o); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(mine); !bytes.Contains(b, []byte("# x")) {
		t.Errorf("%q", b)
	}
}

func TestALinkLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "tests")); err != nil {
		t.Skip(err)
	}
	refused := func(dir, what string) {
		t.Helper()
		_, err := Write(Order{Dir: dir, Name: "x", Language: toolchain.WASI, Force: true})
		if e := wantKind(t, err, fault.KindUsage); !strings.Contains(e.Message, what+" is in the way") {
			t.Errorf("%s", e.Message)
		}
		if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
			t.Errorf("%v", entries)
		}
	}
	refused(dir, "tests")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("it wrote something first: %v", entries)
	}
	other := t.TempDir()
	if err := os.Symlink(filepath.Join(elsewhere, "x"), filepath.Join(other, "README.md")); err != nil {
		t.Fatal(err)
	}
	refused(other, "README.md")
	file, dangling, link := filepath.Join(other, "file"), filepath.Join(other, "dangling"), filepath.Join(other, "link")
	empty := t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Symlink(filepath.Join(elsewhere, "x"), dangling), os.Symlink(empty, link)); err != nil {
		t.Fatal(err)
	}
	refused(file, file)
	refused(dangling, dangling)
	refused(link, link)
	refused(link+"/", link+"/")
	if _, err := Write(Order{Dir: link, Name: "x", Language: toolchain.WASI}); err != nil { // a directory by another name
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Word", "a--b", "-a", "a_b", "../x", "a/b", strings.Repeat("a", maxName+1), "x\ny"} {
		wantKind(t, CheckName(name), fault.KindUsage)
		_, err := Write(Order{Dir: t.TempDir(), Name: name, Language: toolchain.WASI})
		wantKind(t, err, fault.KindUsage)
	}
	if err := CheckName("word-count2"); err != nil {
		t.Error(err)
	}
	_, err := Write(Order{Dir: t.TempDir(), Name: "x", Language: "cobol"})
	wantKind(t, err, fault.KindUsage)
}
