package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/author/toolchain"
)

// A watching is `skillet dev --json` in a project.
type watching struct {
	t    testing.TB
	cmd  *exec.Cmd
	home string
	out  *bufio.Scanner
}

// dev starts dev in a directory, and waits until it is ready.
func (p *person) dev(t testing.TB, dir string, env []string, args ...string) *watching {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.program, append([]string{"dev", "--json"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, cmd: cmd, out: bufio.NewScanner(out)}
	w.out.Buffer(nil, 1<<20)
	var ready greeting
	w.line(&ready)
	if ready.Event != "ready" {
		t.Fatalf("the first line is %+v", ready)
	}
	w.home = ready.Home
	return w
}

func (w *watching) line(to any) {
	w.t.Helper()
	if !w.out.Scan() {
		w.t.Fatalf("dev ended: %v", w.out.Err())
	}
	if err := json.Unmarshal(w.out.Bytes(), to); err != nil {
		w.t.Fatalf("%s: %v", w.out.Bytes(), err)
	}
}

// next waits for a result that is, or is not, good.
func (w *watching) next(ok bool) author.Turn {
	w.t.Helper()
	var r author.Turn
	w.line(&r)
	if r.OK != ok || r.Event != "result" || r.TotalMS <= 0 {
		w.t.Fatalf("%+v, %+v", r, r.Error)
	}
	return r
}

// end presses Ctrl-C, which is no failure.
func (w *watching) end() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.t.Fatal(err)
	}
	for w.out.Scan() {
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("dev ends with %v", err)
	}
}

// TestDevReloads saves a module again and again, and asks another process for
// what serves.
func TestDevReloads(t *testing.T) {
	if underRace {
		t.Skip("the race detector sees nothing of the programs it runs")
	}
	t.Parallel()
	p := newPerson(t)
	dir := filepath.Join(p.work, "skill")
	p.write("skill/main.wasm", modules["broken"]())
	p.write("skill/skill.json", []byte(`{"name":"echo","version":"1.0.0","description":"answers","type":"code_inline","command":"main.wasm","tools":[{"name":"echo"}]}`))
	w := p.dev(t, dir, p.command(t.Context()).Env)
	first := w.next(true)
	if !first.Replaced || first.Skill != "echo@1.0.0" {
		t.Errorf("%+v", first)
	}
	ask := func(code int) string { return p.must(code, "--home", w.home, "run", "echo", "--input", "hello") }
	ask(1)

	p.write("skill/main.wasm", echo())
	second := w.next(true)
	if !second.Replaced || second.Digest == first.Digest || !slices.Contains(second.Changed, "main.wasm") {
		t.Errorf("%+v", second)
	}
	if got := ask(0); got != "hello" {
		t.Errorf("the new version answers %q", got)
	}

	p.write("skill/main.wasm", []byte("no module"))
	if bad := w.next(false); bad.Replaced || bad.Error == nil {
		t.Errorf("%+v", bad)
	}
	if got := ask(0); got != "hello" {
		t.Errorf("the version before answers %q", got)
	}

	p.write("skill/notes/.hidden", nil) // no source
	p.write("skill/main.wasm", echo())
	p.write("skill/tests/a.json", []byte(`[{"name":"hello","tool":"echo","input_text":"hello","expect_text":"goodbye"}]`))
	third := w.next(false) // the case fails, and the version serves all the same
	if third.Cases == nil || third.Cases.Failed != 1 || !third.Replaced {
		t.Errorf("%+v", third)
	}
	w.end()
}

// TestHotReloadOff has the first version stay.
func TestHotReloadOff(t *testing.T) {
	if underRace {
		t.Skip("the race detector sees nothing of the programs it runs")
	}
	t.Parallel()
	p := newPerson(t)
	p.write("skill/main.wasm", modules["broken"]())
	p.write("skill/skill.json", []byte(`{"name":"echo","version":"1.0.0","description":"answers","type":"code_inline","command":"main.wasm","tools":[{"name":"echo"}],
		"development":{"hot_reload":false}}`))
	w := p.dev(t, filepath.Join(p.work, "skill"), p.command(t.Context()).Env)
	w.next(true)
	p.write("skill/main.wasm", echo())
	if r := w.next(true); r.Replaced || r.Skill != "" {
		t.Errorf("%+v", r)
	}
	p.must(1, "--home", w.home, "run", "echo", "--input", "hello")
	w.end()
}

// TestDevScript saves a script with an error in it, and without.
func TestDevScript(t *testing.T) {
	if underRace {
		t.Skip("it runs only other programs")
	}
	long(t, "it makes an interpreter")
	t.Parallel()
	a := newAuthor(t)
	a.engine(toolchain.JS)
	a.in(a.work, "new", "greeter", "--lang", "js")
	main, err := os.ReadFile(filepath.Join(a.work, "greeter", "main.js"))
	if err != nil {
		t.Fatal(err)
	}
	w := a.dev(t, filepath.Join(a.work, "greeter"), authorEnviron(a.work), "--allow", "fs.read:"+a.work+"/**")
	w.next(true)
	path := filepath.Join(a.work, "greeter", "README.md")
	ask := func() string {
		out, _ := a.in(a.work, "--home", w.home, "run", "greeter", "path="+path)
		return out
	}
	before := ask()
	a.write("greeter/main.js", bytes.Replace(main, []byte("return {"), []byte("return {{"), 1))
	if r := w.next(false); r.Error == nil || !strings.Contains(r.Error.Message, "main.js:") {
		t.Errorf("%+v", r.Error)
	}
	if got := ask(); got != before {
		t.Errorf("the version before answers %s, want %s", got, before)
	}
	a.write("greeter/main.js", bytes.Replace(main, []byte("words: words.length"), []byte("words: 0"), 1))
	r := w.next(false) // the cases say so
	if r.Cases == nil || r.Cases.Failed == 0 || !r.Replaced {
		t.Errorf("%+v", r)
	}
	if got := ask(); !strings.Contains(got, `"words":0`) {
		t.Errorf("the new version answers %s", got)
	}
	t.Logf("from saving to the result: %.0f ms", r.TotalMS)
	w.end()
}

// TestNewAsks chooses a language at a terminal.
func TestNewAsks(t *testing.T) {
	if underRace {
		t.Skip("the race detector sees nothing of the programs it runs")
	}
	t.Parallel()
	p := newPerson(t)
	s := p.sit("new", "greeter")
	s.sees("number or name: ")
	s.types("wasi\n")
	s.ends(0)
	if _, err := os.Stat(filepath.Join(p.work, "greeter", "main.go")); err != nil {
		t.Error(err)
	}
	s = p.sit("new", "other")
	s.sees("number or name: ")
	s.types("cobol\n")
	s.ends(2)
}

// At a terminal, new offers the interpreter that a new skill needs.
func TestNewOffersInterpreter(t *testing.T) {
	p := newPerson(t)
	s := p.sit("new", "greeter", "--lang", "js")
	s.sees("It runs in the interpreter qjs, which is not installed. Install it now?")
	s.types("n\n")
	s.ends(0)
	if !interpreted(t) {
		t.Skip("no engines: neither in the cache of npm nor from its registry")
	}
	cmd := p.command(t.Context(), "new", "other", "--lang", "ts")
	cmd.Env = append(cmd.Env, "npm_config_cache="+npmCache(), "npm_config_registry="+os.Getenv("npm_config_registry"))
	s = p.sitAt(cmd)
	s.sees("Install it now?")
	s.types("y\n")
	s.ends(0)
	s = p.sit("new", "third", "--lang", "js")
	if shown := s.ends(0); strings.Contains(shown, "Install it now?") {
		t.Errorf("it asks about what is installed: %s", shown)
	}
}

// BenchmarkReload is from saving JavaScript to the result of its test cases.
func BenchmarkReload(b *testing.B) {
	p := &person{work: b.TempDir()}
	made, err := program()
	if err != nil {
		b.Fatal(err)
	}
	p.program = filepath.Join(p.work, "skillet")
	if err := os.Symlink(made.path, p.program); err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) {
		cmd := exec.CommandContext(b.Context(), p.program, args...)
		cmd.Dir, cmd.Env = p.work, authorEnviron(p.work)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Skipf("%v: %s", err, out)
		}
	}
	run("engine", "add", "qjs", "--yes", "--allow-unsigned")
	run("new", "greeter", "--lang", "js")
	path := filepath.Join(p.work, "greeter", "main.js")
	source, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	w := p.dev(b, filepath.Dir(path), authorEnviron(p.work))
	w.next(true)
	total, build, install := 0.0, 0.0, 0.0
	for i := 0; b.Loop(); i++ {
		text := bytes.Replace(source, []byte("may not read"), []byte("may not ("+strconv.Itoa(i)+") read"), 1)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			b.Fatal(err)
		}
		r := w.next(true)
		total, build, install = total+r.TotalMS, build+r.BuildMS, install+r.InstallMS
	}
	b.ReportMetric(total/float64(b.N), "ms/reload")
	b.ReportMetric(build/float64(b.N), "ms/build")
	b.ReportMetric(install/float64(b.N), "ms/install")
	w.end()
}
