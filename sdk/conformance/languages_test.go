package conformance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/sdk"
)

// A language is one in which the conformance skill is written.
type language struct {
	// name is also that of the folder with the source.
	name  string
	title string
	// here says that the source is built where it is, and else with the files of the SDK beside it, as in a new project.
	here bool
	// exports are the names of tools that cannot be exported by their own.
	exports map[string]string
	// script says that the tools are given JSON and give JSON, and no other bytes.
	script bool
}

// languages is the table of those there are.
func languages() []language {
	return []language{
		{name: "go", title: "Go", here: true},
		{name: "c", title: "C"},
		{name: "cpp", title: "C++"},
		{name: "zig", title: "Zig", exports: map[string]string{"log": "log_line"}},
	}
}

// top is the top of the tree.
const top = "../.."

// module builds the skill, or skips the test when the compiler is not here.
func (l language) module(t testing.TB) []byte {
	t.Helper()
	tools, err := filepath.Abs(top + "/.tools")
	must(t, err)
	s := toolchain.Settings{Environ: os.Environ(), Tools: tools}
	if missing := toolchain.Find(t.Context(), toolchain.Language(l.name), "", s).Missing(); missing != nil {
		t.Skipf("%v: make toolchains", missing)
	}
	dir, err := filepath.Abs(l.name)
	must(t, err)
	if !l.here {
		dir = l.project(t, tools)
	}
	wasm, err := toolchain.Project{Dir: dir, Language: toolchain.Language(l.name), Module: toolchain.DefaultModule}.Compile(t.Context(), s)
	if wrong := (*toolchain.SourceError)(nil); errors.As(err, &wrong) {
		t.Fatalf("%v\n%s", err, wrong.Output)
	}
	must(t, err)
	return wasm
}

// project puts the source and the SDK into a directory, which stays between two runs of the tests where there is a
// place for it, so that the compiler finds what it built before.
func (l language) project(t testing.TB, tools string) string {
	t.Helper()
	dir := filepath.Join(tools, "conformance", l.name)
	if _, err := os.Stat(tools); err != nil {
		dir = t.TempDir()
	}
	files, err := sdk.Files(l.name)
	must(t, err)
	for _, from := range []fs.FS{files, os.DirFS(l.name)} {
		must(t, fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return refresh(from, name, filepath.Join(dir, filepath.FromSlash(name)))
		}))
	}
	return dir
}

// refresh copies a file that is another.
func refresh(from fs.FS, name, to string) error {
	b, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
