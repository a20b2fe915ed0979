package conformance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/sdk"
)

// A language is one in which the conformance skill is written.
type language struct {
	// name is also that of the folder with the source.
	name  string
	title string
	// sdk is the folder in a project that the files of the SDK go to; empty is the project itself.
	sdk string
	// main is a file of the source, and edit a line of it that changes what is built when its two numbers do.
	main, edit string
	// more are files that a project has besides.
	more map[string]string
	// exports are the names of tools that cannot be exported by their own.
	exports map[string]string
	// script names the interpreter of those whose tools are given JSON and give JSON, and no other bytes. The SDK is
	// then built in.
	script string
}

// languages is the table of those there are.
func languages() []language {
	return []language{
		{name: "go", title: "Go", sdk: "skill", main: "main.go", edit: "var Edit%d = %d", more: map[string]string{"go.mod": "module conformance\n\ngo 1.26\n"}},
		{name: "c", title: "C", main: "main.c", edit: "int edit%d = %d;"},
		{name: "cpp", title: "C++", main: "main.cpp", edit: "int edit%d = %d;"},
		{name: "rust", title: "Rust", sdk: "skillet", main: "src/lib.rs", edit: "pub const EDIT%d: i64 = %d;"},
		{name: "zig", title: "Zig", main: "main.zig", edit: "pub const edit%d = %d;", exports: map[string]string{"log": "log_line"}},
		{name: "assemblyscript", title: "AssemblyScript", main: "main.ts", edit: "export const edit%d: i32 = %d;", more: map[string]string{"asconfig.json": asconfig}},
		{name: "js", title: "JavaScript", main: "main.js", edit: "export const edit%d = %d;", script: "qjs"},
		{name: "ts", title: "TypeScript", main: "main.ts", edit: "export const edit%d: number = %d;", script: "qjs"},
		{name: "python", title: "Python", main: "main.py", edit: "edit%d = %d", script: "python"},
	}
}

// asconfig has the options of a project in AssemblyScript.
const asconfig = `{
  "entries": ["main.ts"],
  "options": { "exportStart": "_initialize", "runtime": "incremental", "use": ["abort=skillet/index/onAbort"] },
  "targets": { "release": { "optimizeLevel": 3, "shrinkLevel": 1 } }
}
`

// top is the top of the tree.
const top = "../.."

// settings say where the compilers are.
func settings(t testing.TB) toolchain.Settings {
	t.Helper()
	tools, err := filepath.Abs(top + "/.tools")
	must(t, err)
	return toolchain.Settings{Environ: os.Environ(), Tools: tools}
}

// have skips the test when the compiler is not here.
func (l language) have(t testing.TB) {
	t.Helper()
	if l.script != "" {
		interpreter(t, l.script)
		return
	}
	if missing := toolchain.Find(t.Context(), toolchain.Language(l.name), "", settings(t)).Missing(); missing != nil {
		t.Skipf("%v: make toolchains", missing)
	}
}

// module builds the skill, or skips the test when the compiler is not here. The project stays between two runs of the
// tests where there is a place for it, so that the compiler finds what it built before.
func (l language) module(t testing.TB) []byte {
	t.Helper()
	l.have(t)
	s := settings(t)
	dir := filepath.Join(s.Tools, "conformance", l.name)
	if _, err := os.Stat(s.Tools); err != nil {
		dir = t.TempDir()
	}
	l.project(t, dir)
	return l.compile(t, dir)
}

// compile builds a project.
func (l language) compile(t testing.TB, dir string) []byte {
	t.Helper()
	if l.script != "" {
		return l.build(t, dir)
	}
	p := toolchain.Project{Dir: dir, Language: toolchain.Language(l.name), Module: toolchain.DefaultModule}
	wasm, err := p.Compile(t.Context(), settings(t))
	if wrong := (*toolchain.SourceError)(nil); errors.As(err, &wrong) {
		t.Fatalf("%v\n%s", err, wrong.Output)
	}
	must(t, err)
	return wasm
}

// project makes a project of the source and the files of the SDK, as a new skill has them: it depends on nothing else.
func (l language) project(t testing.TB, dir string) {
	t.Helper()
	l.files(t, dir)
	copyFiles(t, os.DirFS(l.name), dir)
}

// files puts everything but the source into a project.
func (l language) files(t testing.TB, dir string) {
	t.Helper()
	if l.script == "" {
		files, err := sdk.Files(l.name)
		must(t, err)
		copyFiles(t, files, filepath.Join(dir, l.sdk))
	}
	for name, content := range l.more {
		must(t, refresh([]byte(content), filepath.Join(dir, name)))
	}
}

// copyFiles copies those files that are others. Go's sources import the SDK from where it is in this tree, and here
// from where it is in the project.
func copyFiles(t testing.TB, from fs.FS, dir string) {
	t.Helper()
	must(t, fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		b = bytes.ReplaceAll(b, []byte(`"github.com/skillet-run/skillet/sdk/go"`), []byte(`"conformance/skill"`))
		return refresh(b, filepath.Join(dir, filepath.FromSlash(name)))
	}))
}

// refresh writes a file that is another.
func refresh(content []byte, to string) error {
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// TestFreestanding builds the skill in C and C++ without a C library, for WebAssembly as it was at first, where the
// header has to bring everything itself.
func TestFreestanding(t *testing.T) {
	t.Parallel()
	rt, out := newSandbox(t), newOutside(t)
	for _, l := range languages() {
		command, ok := map[string][]string{"c": {"cc", "-std=c11"}, "cpp": {"c++", "-std=c++17", "-fno-exceptions", "-fno-rtti"}}[l.name]
		if !ok {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.have(t)
			zig := toolchain.Find(t.Context(), toolchain.Language(l.name), "", settings(t)).Needs[0].Command
			sources, err := filepath.Glob(l.name + "/*")
			must(t, err)
			wasm := filepath.Join(t.TempDir(), "main.wasm")
			words := slices.Concat(zig, command, sources, []string{
				"-target", "wasm32-freestanding", "-mcpu=mvp", "-nostdlib", "-O2", "-pedantic", "-Wno-gnu", "-Wall", "-Wextra", "-Werror",
				"-I../c", "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=65536", "-o", wasm,
			})
			if text, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			module, err := os.ReadFile(wasm)
			must(t, err)
			e := newOurs(t, rt, module)
			testJSON(t, e)
			for _, c := range Cases() {
				t.Run(c.Name, func(t *testing.T) { runCase(t, "sandbox", e, c, out) })
			}
		})
	}
}
