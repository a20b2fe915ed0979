package toolchain

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func wantKind(t *testing.T, err error, want fault.Kind) *fault.Error {
	t.Helper()
	e := fault.AsError(err)
	if e == nil || e.Kind != want {
		t.Fatalf("got %v, want kind %s", err, want)
	}
	return e
}

func manifest(command, export string) string {
	return `{"name":"x","version":"1.0.0","description":"d","type":"code_inline","command":"` + command + `","tools":[{"name":"run","export":"` + export + `"}]}`
}

func TestRecognise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []string
		want  Project
	}{
		{"go module", []string{"go.mod", "main.js"}, Project{Language: Go}},
		{"go without a module", []string{"main.go"}, Project{Language: Go}},
		{"crate", []string{"Cargo.toml", "src/lib.rs"}, Project{Language: Rust}},
		{"assemblyscript", []string{"asconfig.json", "assembly/index.ts"}, Project{Language: AssemblyScript}},
		{"zig", []string{"src/main.zig"}, Project{Language: Zig}},
		{"c", []string{"count.c", "skillet.h"}, Project{Language: C}},
		{"c++ with a c file", []string{"src/count.cc", "src/old.c"}, Project{Language: CPP}},
		{"javascript", []string{"main.mjs"}, Project{Language: JS, Entry: "main.mjs"}},
		{"typescript before javascript", []string{"main.ts", "main.js"}, Project{Language: TS, Entry: "main.ts"}},
		{"python", []string{"main.py"}, Project{Language: Python, Entry: "main.py"}},
		{"only the module", []string{"main.wasm"}, Project{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range c.files {
				put(t, dir, map[string]string{f: ""})
			}
			p, err := Recognise(dir)
			if err != nil || p.Language != c.want.Language || p.Entry != c.want.Entry || p.Module != DefaultModule || p.Command {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestTheManifestSaysWhatIsBuilt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{"main.go": "", "skill.json": manifest("bin/tool.wasm", "_start")})
	p, err := Recognise(dir)
	if err != nil || p.Module != "bin/tool.wasm" || !p.Command || p.Manifest == nil {
		t.Errorf("%+v, %v", p, err)
	}
	put(t, dir, map[string]string{"skill.json": strings.Replace(manifest("qjs", "run"), `"tools"`, `"args":["main.js"],"dependencies":{"qjs":"*"},"tools"`, 1)})
	if p, err = Recognise(dir); err != nil || p.Module != "" {
		t.Errorf("an interpreter: %+v, %v", p, err)
	}
	if b, err := p.Build(t.Context(), Settings{}); err != nil || b.Changed || b.DurationMS != 0 {
		t.Errorf("nothing is to be built: %+v, %v", b, err)
	}
}

func TestWhatCannotBeRecognised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Recognise(filepath.Join(dir, "none"))
	wantKind(t, err, fault.KindNotFound)
	put(t, dir, map[string]string{"notes.txt": ""})
	_, err = Recognise(filepath.Join(dir, "notes.txt"))
	wantKind(t, err, fault.KindUsage)
	_, err = Recognise(dir)
	wantKind(t, err, fault.KindUsage)
	put(t, dir, map[string]string{"main.go": "", "skill.json": `{"colour":1}`})
	_, err = Recognise(dir)
	wantKind(t, err, fault.KindUsage)
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	nothing := Settings{Environ: []string{"PATH=" + t.TempDir()}}
	for _, l := range Languages() {
		found := Find(t.Context(), l, "", nothing)
		if found.Ready != l.IsScript() || found.Title == "" || found.Words() == "" {
			t.Errorf("%s: %+v", l, found)
		}
		if l.IsScript() {
			if err := found.Missing(); err != nil {
				t.Errorf("%s: %v", l, err)
			}
			continue
		}
		e := wantKind(t, found.Missing(), fault.KindNotFound)
		for _, n := range found.Needs {
			if !strings.Contains(e.Message, n.Program) || n.Get == "" || !strings.Contains(e.Way().String(), n.Get) {
				t.Errorf("%s: %s: %s; hint: %s", l, n.Program, e.Message, e.Way().String())
			}
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{"1.24", "1.24", true}, {"1.24.1", "1.24", true}, {"1.23.9", "1.24", false}, {"2.0", "1.24", true},
		{"0.9.0", "0.14.0", false}, {"0.14", "0.14.0", false}, {"18.19.1", "18", true}, {"dev", "1", false}, {"", "", true},
	} {
		if got := atLeast(c.have, c.want); got != c.ok {
			t.Errorf("%q is %q or later: %v", c.have, c.want, got)
		}
	}
}

// pretend makes a program that says it is Go, and does something else when it is
// to build.
func pretend(t *testing.T, version, build string) Settings {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in for the compiler is a shell script")
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"go": "#!/bin/sh\nif [ \"$1\" = version ]; then echo go version go" + version + " here; exit; fi\n" + build + "\n"})
	return Settings{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=/nowhere", "TOKEN=secret", "GOPROXY=off", "GOFLAGS=-x"}}
}

func project(t *testing.T) Project {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, map[string]string{"main.go": ""})
	p, err := Recognise(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnOldCompilerIsRefused(t *testing.T) {
	t.Parallel()
	_, err := project(t).Build(t.Context(), pretend(t, "1.20.3", "exit 1"))
	if e := wantKind(t, err, fault.KindNotFound); !strings.Contains(e.Message, "go is 1.20.3, and 1.24 or later is needed") {
		t.Error(e.Message)
	}
}

func TestACompilerSeesOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	_, err := project(t).Build(t.Context(), pretend(t, "1.30.0", "env; exit 3"))
	wrong := (*SourceError)(nil)
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	lines := strings.Split(wrong.Output, "\n")
	for want, there := range map[string]bool{
		"HOME=/nowhere": true, "GOPROXY=off": true, "GOFLAGS=": true, "GOWORK=off": true, "GOOS=wasip1": true, "LC_ALL=C": true, "PYTHONSAFEPATH=1": true,
		"TOKEN=secret": false, "GOFLAGS=-x": false,
	} {
		if slices.Contains(lines, want) != there {
			t.Errorf("%s is there: %v, in\n%s", want, !there, wrong.Output)
		}
	}
}

func TestABuildEnds(t *testing.T) {
	t.Parallel()
	s := pretend(t, "1.30.0", "sleep 600 & sleep 600")
	s.Timeout = 300 * time.Millisecond
	began := time.Now()
	_, err := project(t).Build(t.Context(), s)
	if e := wantKind(t, err, fault.KindLimit); !strings.Contains(e.Way().String(), "[set_field timeout]") {
		t.Error(e.Way().String())
	}
	if time.Since(began) > time.Minute {
		t.Error("what the compiler started was waited for")
	}
}

func TestACompilerThatWritesNothing(t *testing.T) {
	t.Parallel()
	_, err := project(t).Build(t.Context(), pretend(t, "1.30.0", "exit 0"))
	wantKind(t, err, fault.KindSkill)
}

func TestMuchOutputIsCut(t *testing.T) {
	t.Parallel()
	_, err := project(t).Build(t.Context(), pretend(t, "1.30.0", "yes error | head -c 9000000; exit 1"))
	wrong := (*SourceError)(nil)
	if !errors.As(err, &wrong) || len(wrong.Output) == 0 || len(wrong.Output) > maxOutput {
		t.Errorf("%d bytes, %v", len(wrong.Output), err)
	}
}

const tool = `package main

//go:wasmexport run
func run() int32 { return 0 }

func main() {}
`

func real() Settings { return Settings{Environ: os.Environ()} }

func TestGoIsBuiltTheSameAnywhere(t *testing.T) {
	t.Parallel()
	var modules [][]byte
	for range 2 {
		dir := t.TempDir()
		put(t, dir, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "main.go": tool, "skill.json": manifest("main.wasm", "run")})
		b, err := Build(t.Context(), dir, real())
		if err != nil || !b.Changed || b.Language != Go {
			t.Fatalf("%+v, %v", b, err)
		}
		if b, err = Build(t.Context(), dir, real()); err != nil || b.Changed {
			t.Errorf("the second time: %+v, %v", b, err)
		}
		wasm, err := os.ReadFile(filepath.Join(dir, "main.wasm"))
		if err != nil || int64(len(wasm)) != b.Bytes {
			t.Fatal(err)
		}
		p, err := bundle.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if found := Check(p, nil); Refusal("x", found) != nil {
			t.Errorf("%+v", found)
		}
		modules = append(modules, wasm)
	}
	if !bytes.Equal(modules[0], modules[1]) {
		t.Error("two directories, two modules")
	}
}

func TestWhatTheCompilerSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() { x := 1 }\n", "main.wasm": "before"})
	_, err := Build(t.Context(), dir, real())
	wrong := (*SourceError)(nil)
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Output, "./main.go:3:15: declared and not used: x") || strings.Contains(wrong.Output, dir) {
		t.Errorf("%v: %+v", err, wrong)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "main.wasm")); err != nil || string(b) != "before" {
		t.Errorf("the module is %q, %v", b, err)
	}
}

func TestTestsOfTheLanguage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"go.mod": "module x\n\ngo 1.24\n", "a.go": "package x\n",
		"a_test.go": "package x\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { t.Error(\"so it is\") }\n",
	})
	p, err := Recognise(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Test(t.Context(), real())
	if wrong := (*SourceError)(nil); !errors.As(err, &wrong) || !strings.Contains(wrong.Output, "so it is") {
		t.Errorf("%v", err)
	}
	put(t, dir, map[string]string{"a_test.go": "package x\n"})
	if err := p.Test(t.Context(), real()); err != nil {
		t.Error(err)
	}
	p.Language = JS
	wantKind(t, p.Test(t.Context(), real()), fault.KindUsage)
}

// pack makes a package of a module and a manifest.
func pack(t *testing.T, manifest string, m *wasmtest.Module) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": []byte(manifest), "main.wasm": m.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m := wasmtest.New()
	m.ImportFunc("env", "strlen", wasmtest.Signature{Params: []byte{0x7f}, Results: []byte{0x7f}})
	m.ImportFunc("skillet:host/v1", "kv_get", wasmtest.Signature{Params: []byte{0x7f, 0x7f, 0x7f, 0x7f}, Results: []byte{0x7e}})
	m.ExportFunc("runs", m.Func(wasmtest.Signature{}, ""))
	m.ExportFunc("takes", m.Func(wasmtest.Signature{Params: []byte{0x7f}}, ""))
	found := Check(pack(t, manifest("main.wasm", "run"), m), []string{"skillet:host/v1.kv_get"})
	var got []string
	for _, p := range found {
		if !p.Refused || p.WayOut == "" {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Words)
	}
	want := []string{
		"tool run: main.wasm exports no function run",
		"main.wasm imports strlen of env",
		"main.wasm calls kv_get, and the manifest does not ask for kv",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !strings.Contains(found[0].WayOut, "did you mean runs?") {
		t.Error(found[0].WayOut)
	}
	e := wantKind(t, Refusal("x", found), fault.KindVerification)
	if !strings.Contains(e.Message, "strlen") {
		t.Error(e.Message)
	}
	if found := Check(pack(t, manifest("main.wasm", "takes"), m), nil); !strings.Contains(found[0].Words, "takes parameters") {
		t.Errorf("%+v", found)
	}
}

func TestCargoMessages(t *testing.T) {
	t.Parallel()
	got, err := cargoArtifact([]byte("noise\n" + `{"reason":"compiler-artifact","filenames":["/t/libdep.rlib"]}` + "\n" +
		`{"reason":"compiler-artifact","filenames":["/t/x.wasm"]}` + "\n" + `{"reason":"build-finished","success":true}` + "\n"))
	if err != nil || got != "/t/x.wasm" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := cargoArtifact(nil); err == nil {
		t.Error("there is no module, and no error")
	}
}
