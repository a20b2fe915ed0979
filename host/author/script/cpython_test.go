package script_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// cpythonHost keeps machine code in a directory, so that it is compiled once.
var cpythonHost = sync.OnceValues(func() (*here, error) {
	h, err := host()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "cpython")
	if err != nil {
		return nil, err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{
		Functions: hostfn.Functions(), CacheDir: cmp.Or(os.Getenv("TEST_CODE_CACHE"), filepath.Join(dir, "code")), CompileTime: 10 * time.Minute, Larger: script.Larger(),
	})
	return &here{Pool: h.Pool, runtime: r, loaded: map[string]*sandbox.Module{}}, err
})

// cpythonEngine is the module of the interpreter, from npm's cache or the registry.
var cpythonEngine = sync.OnceValues(func() ([]byte, error) {
	h, err := cpythonHost()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find("cpython")
	files, err := script.Engine(context.Background(), h, fetcher(), in)
	return files[script.ModuleFile], err
})

// cpython is the runner and the interpreter, or the test is skipped.
func cpython(t testing.TB) (*here, script.Interpreter, []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("to link and to compile CPython takes long; make test LONG=1 runs it")
	}
	h, err := cpythonHost()
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := cpythonEngine()
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindNotFound {
		t.Skipf("no interpreter: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, _ := script.Find("cpython")
	return h, in, wasm
}

func buildCPython(t testing.TB, main string) ([]byte, error) {
	t.Helper()
	h, in, wasm := cpython(t)
	return script.Build(context.Background(), h, in, wasm, script.Source{Files: os.DirFS("testdata/cpython"), Main: main})
}

// cpythonTools is the module of testdata/cpython/main.py.
var cpythonTools = sync.OnceValues(func() ([]byte, error) {
	h, err := cpythonHost()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find("cpython")
	wasm, err := cpythonEngine()
	if err != nil {
		return nil, err
	}
	return script.Build(context.Background(), h, in, wasm, script.Source{Files: os.DirFS("testdata/cpython"), Main: "main.py"})
})

// runCPython calls a function of testdata/cpython/main.py.
func runCPython(t testing.TB, tool, input string, c sandbox.Call) (sandbox.Result, error) {
	t.Helper()
	h, _, _ := cpython(t)
	wasm, err := cpythonTools()
	if err != nil {
		t.Fatal(err)
	}
	c.Export, c.Input = tool, []byte(input)
	if c.Scratch == 0 {
		c.Scratch = 1 << 20
	}
	return h.Run(context.Background(), wasm, c)
}

func TestCPythonRunsTheLibrary(t *testing.T) {
	for tool, c := range map[string]struct{ input, want string }{
		"library": {`{"kind":"k"}`, `{"xml": ["x", "y"], "decimal": "3.3", "re": "two one", "json": {"é": [1.5, null, true]}, "args": 7, "csv": ["2", "4"], "match": "k", "merged": {"a": 1, "b": 4}, "slice": "cba"}`},
		"waits":   {``, `[[3, 1, 2], 1, 3]`},
		"scratch": {``, `["one\ntwo\n", ["a.zip", "deep"], []]`},
	} {
		if r, err := runCPython(t, tool, c.input, sandbox.Call{}); err != nil || string(r.Output) != c.want {
			t.Errorf("%s: %s, %v, want %s", tool, r.Output, err, c.want)
		}
	}
}

// Nothing is left of the call before, and what is drawn depends on the seed alone.
func TestCPythonIsFresh(t *testing.T) {
	draw := func(c sandbox.Call) (text string, fuel uint64) {
		r, err := runCPython(t, "fresh", "", c)
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		if err := json.Unmarshal(r.Output, &got); err != nil || got[0] != 1.0 || got[1] == got[2] && c.Seed != 0 {
			t.Errorf("%s, %v", r.Output, err)
		}
		return string(r.Output), r.Fuel
	}
	seen := map[string]bool{}
	for seed := range uint64(4) {
		first, fuel := draw(sandbox.Call{Seed: seed})
		if again, same := draw(sandbox.Call{Seed: seed}); first != again || fuel != same {
			t.Errorf("seed %d: %s with %d fuel, then %s with %d", seed, first, fuel, again, same)
		}
		real, _ := draw(sandbox.Call{Seed: seed, Random: true})
		seen[first], seen[real] = true, true
	}
	if len(seen) != 8 {
		t.Errorf("%d different answers of 8", len(seen))
	}
}

func TestCPythonErrors(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"fails", `{}`, `failed: KeyError: 'nothing' (at main.py:`},
		{"fails", `{}`, `: return x["nothing"])`},
		{"fails", `"kind"`, "limit: too much"},
		{"fails", `"chain"`, `failed: ValueError: bottom (at main.py:`},
		{"fails", `"exit"`, "failed: the script ended itself"},
		{"fails", `"set"`, "invalid: the result is no value of JSON: Object of type set"},
		{"fails", `{`, "invalid: input: not valid JSON"},
		{"asks", ``, "denied: get key a: denied"},
		{"tells", `{"n":"x"}`, "invalid: n: must be a whole number"},
		{"opens", `"/etc/passwd"`, "denied: FileNotFoundError: [Errno 44] No such file or directory: '/etc/passwd': denied"},
		{"saves", `"out.txt"`, "denied: FileNotFoundError: [Errno 44] No such file or directory: 'out.txt': not granted; what may be written is in /tmp"},
		{"opens", `"/tmp/none"`, "failed: FileNotFoundError"},
		{"starts", ``, "subprocess: no programs can be started here; call another skill with skillet.skills.call (at main.py:"},
		{"shells", ``, "os.system: no programs can be started here"},
		{"threads", ``, "RuntimeError: threading: there are no threads here; call the function directly, or use asyncio"},
		{"pools", ``, "RuntimeError: threading: there are no threads here"},
		{"connects", ``, "there are no sockets here; send requests with skillet.http"},
		{"fetches", ``, "there are no sockets here; send requests with skillet.http"},
		{"imports", `"ssl"`, "ModuleNotFoundError: No module named 'ssl': there are no sockets here"},
		{"imports", `"numpy"`, "No module named 'numpy': it has native code"},
		{"imports", `"nothing"`, "ModuleNotFoundError: No module named 'nothing' (at main.py:"},
		{"never", ``, "asyncio: all tasks wait for something that does not come"},
		{"fill", ``, "No space left on device"},
	} {
		_, err := runCPython(t, c.tool, c.input, sandbox.Call{})
		var guest *sandbox.GuestError
		if !errors.As(err, &guest) || !strings.Contains(guest.Kind+": "+guest.Message, c.want) {
			t.Errorf("%s %s: %v, want %q", c.tool, c.input, err, c.want)
		}
	}
}

// Programs that mean harm are stopped, and the next call finds nothing of them.
func TestHostileCPython(t *testing.T) {
	limits := sandbox.DefaultLimits()
	limits.Fuel = 3_000_000_000
	for tool, want := range map[string]string{
		"loops": "fuel", "grows": "MemoryError", "hoards": "MemoryError", "down": "RecursionError: maximum recursion depth exceeded",
	} {
		if _, err := runCPython(t, tool, "1", sandbox.Call{Limits: limits}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tool, err, want)
		}
		if r, err := runCPython(t, "scratch", "", sandbox.Call{Limits: limits}); err != nil || !strings.HasPrefix(string(r.Output), `["one`) {
			t.Errorf("after %s: %s, %v", tool, r.Output, err)
		}
	}
}

// Directories that a call has are seen, whichever they are, and no others.
func TestCPythonSeesItsDirectories(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		if err := errors.Join(os.Mkdir(in, 0o700), os.Mkdir(out, 0o700), os.WriteFile(filepath.Join(in, "a.txt"), []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
		files, err := jail.Open([]jail.Root{{Path: in}, {Path: out, Write: true}}, jail.GuardFunc(func(jail.Op, string) error { return nil }), jail.Quota{})
		if err != nil {
			t.Fatal(err)
		}
		input, _ := json.Marshal(map[string]string{"from": filepath.Join(in, "a.txt"), "to": out})
		r, err := runCPython(t, "copied", string(input), sandbox.Call{FS: files})
		if want := `["` + name + `", ["copy.txt"]]`; err != nil || string(r.Output) != want {
			t.Errorf("%s, %v, want %s", r.Output, err, want)
		}
		if b, err := os.ReadFile(filepath.Join(out, "copy.txt")); err != nil || string(b) != strings.ToUpper(name) {
			t.Errorf("%s, %v", b, err)
		}
		input, _ = json.Marshal(map[string]string{"from": filepath.Join(in, "a.txt"), "to": in})
		if r, err := runCPython(t, "copied", string(input), sandbox.Call{FS: files}); err == nil {
			t.Errorf("written to a directory that may only be read: %s", r.Output)
		}
		input, _ = json.Marshal(filepath.Join(in, "../../a.txt"))
		if r, err := runCPython(t, "opens", string(input), sandbox.Call{FS: files}); err == nil {
			t.Errorf("left the directory: %s", r.Output)
		}
	}
}

func TestCPythonTellsTheLog(t *testing.T) {
	env := hostfn.NewEnv(hostfn.Settings{})
	r, err := runCPython(t, "tells", `{"n":4}`, sandbox.Call{Env: env})
	var lines []string
	for _, l := range env.Logs() {
		lines = append(lines, l.Level+" "+l.Message)
	}
	want := []string{"info one two", "info three", "warn careful", "warn from the SDK"}
	if err != nil || string(r.Output) != "4" || strings.Join(lines, "|") != strings.Join(want, "|") {
		t.Errorf("%s, %v, %q", r.Output, err, lines)
	}
}

// A file that guards its main part is a program: each call runs it as the command
// line would.
func TestCPythonProgram(t *testing.T) {
	h, _, _ := cpython(t)
	wasm, err := buildCPython(t, "program.py")
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]struct {
		output string
		code   uint32
	}{
		`{"args":["a","b c"],"stdin":"text"}`: {"1 ['a', 'b c'] text\nbye\n", 0},
		`{"other":1}`:                         {"1 [] {\"other\":1}\nbye\n", 0},
		`{"args":["--code","3"]}`:             {"1 [] \nbye\n", 3},
		`{"args":["--nothing"]}`:              {"", 2},
	} {
		for range 2 {
			r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "__main__", Input: []byte(input)})
			if string(r.Output) != want.output || r.ExitCode != want.code || (err == nil) != (want.code == 0) || len(r.Stderr) == 0 {
				t.Errorf("%s: %q, code %d, %v, %s", input, r.Output, r.ExitCode, err, r.Stderr)
			}
		}
	}
	if r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "shout", Input: []byte(`"a"`)}); err != nil || string(r.Output) != `"A"` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

func TestWrongCPythonSaysWhere(t *testing.T) {
	h, in, wasm := cpython(t)
	for want, files := range map[string]script.Tree{
		"SyntaxError: invalid syntax (at main.py:2:12: return (1;)": {"main.py": []byte("def f():\n  return (1;\n")},
		"SyntaxError: invalid syntax (at text.py:1:5: a = = 1)":     {"main.py": []byte("import text\ndef f(x): pass\n"), "text.py": []byte("a = = 1\n")},
		"No module named 'requests': there are no sockets here":     {"main.py": []byte("import requests\ndef f(x): pass\n")},
		"NameError: name 'x' is not defined (at main.py:3: x.y)":    {"main.py": []byte("\n\nx.y\ndef f(i): pass\n")},
		"it offers no function":                                     {"main.py": []byte("a = 1\n")},
		"the host cannot be called by code outside of functions":    {"main.py": []byte("import skillet\nskillet.log('a')\ndef f(i): pass\n")},
	} {
		_, err := script.Build(context.Background(), h, in, wasm, script.Source{Files: files, Main: "main.py"})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.KindVerification || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A file of the program comes before a module of the library with its name.
func TestCPythonOwnNames(t *testing.T) {
	h, in, wasm := cpython(t)
	built, err := script.Build(context.Background(), h, in, wasm, script.Source{Main: "csv.py", Files: script.Tree{
		"csv.py":      []byte("import textwrap, html.own\ndef run(x): return [textwrap.own, html.own.n]\n"),
		"textwrap.py": []byte("own = 1\n"), "html/__init__.py": nil, "html/own.py": []byte("n = 2\n"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := h.Run(context.Background(), built, sandbox.Call{Export: "run"}); err != nil || string(r.Output) != "[1, 2]" {
		t.Errorf("%s, %v", r.Output, err)
	}
}

// The interpreter's own tool.
func TestCPythonEval(t *testing.T) {
	h, _, wasm := cpython(t)
	for code, want := range map[string]string{
		"1 + 2": "3", "a = 3\nb = 4\na * b": "12", "a = 1": "null",
		"import json\ndef f(x):\n    return x * 2\nf(21)": "42",
	} {
		input, _ := json.Marshal(map[string]string{"code": code})
		r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "eval", Input: input})
		if err != nil || string(r.Output) != want {
			t.Errorf("%q: %s, %v, want %s", code, r.Output, err, want)
		}
	}
}

func TestCPythonEngineIsReproducible(t *testing.T) {
	h, in, wasm := cpython(t)
	files, err := script.Engine(context.Background(), h, fetcher(), in)
	if err != nil || !bytes.Equal(files[script.ModuleFile], wasm) {
		t.Errorf("two builds differ, %v", err)
	}
	for name, want := range map[string]string{
		"engine": "Apache License", "python": "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Zlib": "provided 'as-is'",
		"BSD-2-Clause": "Redistribution", "MIT": "Permission is hereby granted", "bzip2-1.0.6": "Julian",
	} {
		if text := string(files["assets/LICENSE-"+name+".txt"]); !strings.Contains(text, want) {
			t.Errorf("the text of the licence of %s: %.80q", name, text)
		}
	}
}

// BenchmarkCPythonCall is a fresh call of each of the two interpreters of Python.
func BenchmarkCPythonCall(b *testing.B) {
	program := script.Tree{"main.py": []byte("import json, re\nword = re.compile(\"b\")\ndef run(i):\n    return json.loads(json.dumps({\"a\": word.sub(\"c\", i)}))\n")}
	for name, get := range map[string]func(testing.TB) (*here, script.Interpreter, []byte){"cpython": cpython, "micropython": python} {
		b.Run(name, func(b *testing.B) {
			h, in, interpreter := get(b)
			wasm, err := script.Build(context.Background(), h, in, interpreter, script.Source{Files: program, Main: "main.py"})
			if err != nil {
				b.Fatal(err)
			}
			// Not by h.Run, which looks the module up by all of its bytes.
			m, err := h.module(context.Background(), wasm)
			if err != nil {
				b.Fatal(err)
			}
			call := sandbox.Call{Export: "run", Input: []byte(`"abc"`), Env: hostfn.NewEnv(hostfn.Settings{})}
			for range 3 {
				if _, err := m.Call(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := m.Call(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
