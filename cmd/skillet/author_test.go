package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/author/scaffold"
	"github.com/skillet-run/skillet/host/author/toolchain"
)

// authorEnviron is what an author's shell has: compilers keep their caches where
// they always do.
func authorEnviron(home string) []string {
	env := []string{"HOME=" + home, "USER=ada", "SKILLET_SECRET_KEY=file", "PATH=" + os.Getenv("PATH"), "SKILLET_HOME=" + filepath.Join(home, "home")}
	person, err := os.UserHomeDir()
	if err != nil {
		return env
	}
	tools, err := filepath.Abs("../../.tools")
	if err != nil {
		return env
	}
	usual := map[string]string{
		"SKILLET_TOOLS": tools, "CARGO_HOME": filepath.Join(person, ".cargo"), "RUSTUP_HOME": filepath.Join(person, ".rustup"),
		"XDG_CACHE_HOME": filepath.Join(person, ".cache"), "GOMODCACHE": filepath.Join(person, "go", "pkg", "mod"),
		"PYENV_ROOT": filepath.Join(person, ".pyenv"), "npm_config_cache": filepath.Join(person, ".npm"),
		"GOCACHE": "", "GOPATH": "", "GOPROXY": "", "GOSUMDB": "", "RUSTUP_TOOLCHAIN": "", "npm_config_registry": "", "TMPDIR": "",
		"HTTPS_PROXY": "", "HTTP_PROXY": "", "NO_PROXY": "", "SSL_CERT_FILE": "",
	}
	for name, value := range usual {
		if v, ok := os.LookupEnv(name); ok {
			value = v
		}
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// A writer is a person with compilers.
type writer struct{ *person }

func newAuthor(t *testing.T) writer {
	t.Helper()
	p := newPerson(t)
	borrow(t, p.home)
	return writer{p}
}

// in runs a command in a directory, which must end well, and returns what it
// printed and how long it took.
func (a writer) in(dir string, args ...string) (string, time.Duration) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 4*time.Minute) // a first C++ build makes the library
	defer cancel()
	cmd := exec.CommandContext(ctx, a.program, args...)
	cmd.Dir, cmd.Env = dir, authorEnviron(a.work)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.t.Fatalf("skillet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), time.Since(began)
}

// ready skips a test of a language whose compiler is not here.
func ready(t *testing.T, l toolchain.Language) {
	t.Helper()
	s := toolchain.Settings{Environ: authorEnviron(t.TempDir())}
	for _, v := range s.Environ {
		if dir, ok := strings.CutPrefix(v, "SKILLET_TOOLS="); ok {
			s.Tools = dir
		}
	}
	if err := toolchain.Find(t.Context(), l, "", s).Missing(); err != nil {
		t.Skip(err)
	}
}

// TestNewSkills makes a skill in each language and takes it the whole way: test,
// build, pack, install and run, with its grant and without.
func TestNewSkills(t *testing.T) {
	if underRace {
		t.Skip("it runs only other programs")
	}
	for _, l := range scaffold.Languages() {
		t.Run(string(l), func(t *testing.T) {
			if l != toolchain.Go && l != toolchain.JS {
				long(t, "it runs compilers")
			}
			t.Parallel()
			ready(t, l)
			a := newAuthor(t)
			a.engine(l)
			began := time.Now()
			name := "word-" + string(l)
			dir := filepath.Join(a.work, name)
			a.in(a.work, "new", name, "--lang", string(l))
			out, _ := a.in(dir, "test")
			if !strings.Contains(out, "6 passed") {
				t.Errorf("test says\n%s", out)
			}
			a.in(dir, "pack", ".")
			a.in(dir, "install", "--yes", "--allow-unsigned", name+"-0.1.0.skill")
			text := filepath.Join(dir, "verse.txt")
			a.write(name+"/verse.txt", []byte("to be or not to be\n"))
			answer, _ := a.in(dir, "run", name, "path="+text, "word=be", "--json")
			var got struct{ Data map[string]int }
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatalf("%v: %s", err, answer)
			}
			for member, want := range map[string]int{"lines": 1, "words": 6, "bytes": 19, "matches": 2} {
				if got.Data[member] != want {
					t.Errorf("%s: %d, want %d", member, got.Data[member], want)
				}
			}
			t.Logf("%s: from nothing to an answer in %v", l, time.Since(began).Round(time.Millisecond))
			a.reproducible(name, l)
		})
	}
}

// reproducible builds the same skill in another directory.
func (a writer) reproducible(name string, l toolchain.Language) {
	a.t.Helper()
	elsewhere := filepath.Join(a.work, "elsewhere", "deeper")
	if err := os.MkdirAll(elsewhere, 0o755); err != nil {
		a.t.Fatal(err)
	}
	a.in(elsewhere, "new", name, "--lang", string(l))
	a.in(filepath.Join(elsewhere, name), "build")
	var modules []string
	for _, dir := range []string{a.work, elsewhere} {
		b, err := os.ReadFile(filepath.Join(dir, name, "main.wasm"))
		if err != nil {
			a.t.Fatal(err)
		}
		modules = append(modules, string(b))
	}
	if modules[0] != modules[1] {
		a.t.Errorf("%s: two directories, two modules", l)
	}
}

// interpreter is the name of the interpreter of a script language.
func interpreter(l toolchain.Language) string {
	if slices.Contains([]toolchain.Language{toolchain.JS, toolchain.TS}, l) {
		return "qjs"
	}
	return "python"
}

// engine installs the interpreter of a script language.
func (a writer) engine(l toolchain.Language) {
	a.t.Helper()
	if !l.IsScript() {
		return
	}
	cmd := exec.CommandContext(a.t.Context(), a.program, "engine", "add", interpreter(l))
	cmd.Dir, cmd.Env = a.work, authorEnviron(a.work)
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Skipf("the interpreter of %s cannot be had here: %s", l, out)
	}
}
