package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// pythonEngine is the module of the interpreter, from npm's cache or the registry.
var pythonEngine = sync.OnceValues(func() ([]byte, error) {
	h, err := host()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find("python")
	files, err := script.Engine(context.Background(), h, fetcher(), in)
	return files[script.ModuleFile], err
})

// python is the runner and the interpreter, or the test is skipped.
func python(t testing.TB) (*here, script.Interpreter, []byte) {
	t.Helper()
	h, err := host()
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := pythonEngine()
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindNotFound {
		t.Skipf("no interpreter: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, _ := script.Find("python")
	return h, in, wasm
}

func buildPython(t testing.TB, files map[string]string) ([]byte, error) {
	t.Helper()
	h, in, wasm := python(t)
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return script.Build(context.Background(), h, in, wasm, script.Source{Files: tree, Main: "main.py"})
}

// runPython builds a program of one file and calls its function run.
func runPython(t testing.TB, text, input string) (sandbox.Result, error) {
	t.Helper()
	wasm, err := buildPython(t, map[string]string{"main.py": text})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := python(t)
	return h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte(input)})
}

// Each file of testdata/python is a program whose function run gives the same
// with CPython.
func TestPythonIsLikeCPython(t *testing.T) {
	t.Parallel()
	python(t)
	cpython, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to compare with")
	}
	list, err := filepath.Glob("testdata/python/*.py")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, name := range list {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(cpython, "-c", string(text)+"\nimport json\nprint(json.dumps(run({})))")
			c.Stderr = t.Output()
			want, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, err := runPython(t, string(text), "{}")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got.Output, want)
		})
	}
}

// compare tells of each member of two objects that differs.
func compare(t *testing.T, got, want []byte) {
	t.Helper()
	var g, w map[string]any
	if err := errors.Join(json.Unmarshal(got, &g), json.Unmarshal(want, &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for k := range w {
		if !reflect.DeepEqual(g[k], w[k]) {
			t.Errorf("%s: %v, want %v", k, g[k], w[k])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%d members, want %d", len(g), len(w))
	}
}

func TestPythonBuildIsReproducible(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.py":          "import random, time\nfrom text import shout\nfrom deep.er import level\nimport deep.other as o\nseen = [random.random(), time.time()]\ndef run(s): return shout(s) + str(level) + str(o.n) + str(len(seen))\n",
		"text.py":          "def shout(s):\n    return s.upper() + '!'\n",
		"deep/__init__.py": "",
		"deep/er.py":       "from .other import n\nfrom . import third\nlevel = n + third.x\n",
		"deep/other.py":    "n = 3\n",
		"deep/third.py":    "x = 4\n",
		"unused.py":        "this is not Python",
	}
	first, err := buildPython(t, files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := buildPython(t, files)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two builds differ, %v", err)
	}
	h, _, _ := python(t)
	r, err := h.Run(context.Background(), first, sandbox.Call{Export: "run", Input: []byte(`"hi"`)})
	if err != nil || string(r.Output) != `"HI!732"` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

func TestWrongPythonSaysWhere(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"invalid syntax (at main.py:2)":                               {"main.py": "def f():\n  return (1;\n"},
		"invalid syntax (at text.py:1)":                               {"main.py": "import text\n", "text.py": "a = = 1\n"},
		"no module named 'requests' (at main.py:1)":                   {"main.py": "import requests\ndef f(x): pass\n"},
		"name 'x' isn't defined (at main.py:3)":                       {"main.py": "\n\nx.y\ndef f(i): pass\n"},
		"it offers no function":                                       {"main.py": "a = 1\n"},
		"log: the host cannot be called by code outside of functions": {"main.py": "print('told')\nimport _skillet\n_skillet.call('log', '{}')\ndef f(i): pass\n"},
		"main.py: file not found":                                     {"other.py": ""},
		"main.py: the text is not UTF-8":                              {"main.py": "\xff"},
		"IndentationError: unindent":                                  {"main.py": "if True:\n    a = 1\n  b = 2\n"},
	} {
		_, err := buildPython(t, files)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.KindVerification || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestPythonErrors(t *testing.T) {
	t.Parallel()
	const text = `
class Quota(Exception):
    kind = "limit"

def deep(n):
    if n == 0:
        raise ValueError("bottom")
    deep(n - 1)

def run(i):
    if i == "kind": raise Quota("too much")
    if i == "deep": deep(3)
    if i == "text": raise Exception("just words")
    if i == "exit":
        import sys
        sys.exit(3)
    if i == "set": return {1, 2}
    if i == "key": return {"a": {1: 2}}
    if i == "nan": return [float("nan")]
    return i["x"]
`
	for input, want := range map[string]string{
		`"kind"`: "limit: too much", `"deep"`: "failed: ValueError: bottom (at main.py:7)", `"text"`: "failed: just words (at main.py:13)",
		`"exit"`: "failed: the script ended itself", `"set"`: "invalid: the result is no value of JSON: Object of type set",
		`"nan"`: "invalid: the result is no value of JSON", `{}`: "failed: KeyError: x (at main.py:20)",
	} {
		_, err := runPython(t, text, input)
		var guest *sandbox.GuestError
		if !errors.As(err, &guest) || !strings.Contains(guest.Kind+": "+guest.Message, want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
	if r, err := runPython(t, text, `"key"`); err != nil || string(r.Output) != `{"a": {"1": 2}}` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

// Every call starts from the same state, and draws other numbers.
func TestPythonIsFresh(t *testing.T) {
	t.Parallel()
	wasm, err := buildPython(t, map[string]string{"main.py": `
import random, uuid, time
first = random.random()
count = 0
def run(i):
    global count
    count += 1
    return [count, random.random(), str(uuid.uuid4()), time.time() > 1700000000 if i else 0, first]
`})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := python(t)
	seen := map[string]bool{}
	for range 4 {
		r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte("1"), Random: true, Clock: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		if err := json.Unmarshal(r.Output, &got); err != nil || got[0] != 1.0 || got[3] != true {
			t.Errorf("%s, %v", r.Output, err)
		}
		seen[string(r.Output)] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d different answers of 4", len(seen))
	}
}

// Programs that mean harm are stopped, and the next call finds nothing of them.
func TestHostilePython(t *testing.T) {
	t.Parallel()
	wasm, err := buildPython(t, map[string]string{"main.py": `
def down(n): return down(n + 1)
def run(i):
    if i == "loop":
        while True: pass
    if i == "bomb":
        a = []
        while True: a.append("x" * 100000)
    if i == "string":
        s = "x"
        while True: s += s
    if i == "down":
        try: down(0)
        except RuntimeError as e: return str(e)
    if i == "fall": down(0)
    if i == "number": return len(str((8 + i.count("u")) ** 9 ** 7))
    return i
`})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := python(t)
	limits := sandbox.DefaultLimits()
	limits.MemoryBytes, limits.Wall, limits.Fuel = 16<<20, 5*time.Second, 5_000_000_000
	for input, want := range map[string]string{
		`"loop"`: "fuel", `"bomb"`: "MemoryError", `"string"`: "MemoryError", `"fall"`: "maximum recursion depth exceeded", `"number"`: "fuel",
	} {
		_, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte(input), Limits: limits})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
		r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte(`7`), Limits: limits})
		if err != nil || string(r.Output) != "7" {
			t.Errorf("after %s: %s, %v", input, r.Output, err)
		}
	}
	r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte(`"down"`), Limits: limits})
	if err != nil || string(r.Output) != `"maximum recursion depth exceeded"` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

func TestPythonThatDoesNotEndAtTheTopLevel(t *testing.T) {
	t.Parallel()
	_, err := buildPython(t, map[string]string{"main.py": "a = []\nwhile True: a.append('x' * 1000000)\n"})
	var e *fault.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "MemoryError") {
		t.Errorf("%v", err)
	}
	_, err = buildPython(t, map[string]string{"main.py": "#" + strings.Repeat("x", script.MaxProgram)})
	if !errors.As(err, &e) || e.Kind != fault.KindLimit {
		t.Errorf("%v", err)
	}
}

// The collector runs within a call: what is made and dropped does not add up.
func TestPythonCollectsWithinACall(t *testing.T) {
	t.Parallel()
	r, err := runPython(t, `
def pieces(n):
    for i in range(n):
        yield [str(i), {"i": i}]
def run(i):
    total = 0
    for n in range(200000):
        total += len("garbage %d and more of it to be long" % n)
    kept = list(pieces(5000))
    for n in range(50000):
        drop = [str(n)] * 20
    sorted_ = sorted(kept, key=lambda p: -int((lambda s: "%s" % s)(p[0])))
    whole = all([kept[i][0] == str(i) and kept[i][1]["i"] == i for i in range(5000)])
    made = "".join([str(x) for x in map(lambda p: p[1]["i"] + len(str(p)), kept)])
    return [total, whole, sorted_[0][0], len(made)]
`, "{}")
	if err != nil || string(r.Output) != `[7888890, true, "4999", 18936]` {
		t.Errorf("%s, %v", r.Output, err)
	}
	if r.PeakMemoryBytes > 8<<20 {
		t.Errorf("%d bytes at the peak", r.PeakMemoryBytes)
	}
}

// The interpreter's own tool.
func TestPythonEval(t *testing.T) {
	t.Parallel()
	h, _, wasm := python(t)
	for code, want := range map[string]string{
		"1 + 2": "3", "a = 3\nb = 4\na * b": "12", "a = 1": "null",
		"import json\ndef f(x):\n    return x * 2\nf(21)": "42", "for i in range(3):\n    pass": "null",
	} {
		input, _ := json.Marshal(map[string]string{"code": code})
		r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "eval", Input: input})
		if err != nil || string(r.Output) != want {
			t.Errorf("%q: %s, %v, want %s", code, r.Output, err, want)
		}
	}
}

func BenchmarkPythonBuild(b *testing.B) {
	h, in, wasm := python(b)
	tree := fstest.MapFS{"main.py": {Data: []byte("import json, re, dataclasses\ndef run(i):\n    return i\n")}}
	for b.Loop() {
		if _, err := script.Build(context.Background(), h, in, wasm, script.Source{Files: tree, Main: "main.py"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPythonCall(b *testing.B) {
	for name, text := range map[string]string{
		"nothing":    "def run(i):\n    return i\n",
		"loop":       "def run(i):\n    n = 0\n    for x in range(100000):\n        n += x\n    return n\n",
		"exceptions": "def f(x):\n    raise ValueError(x)\ndef run(i):\n    n = 0\n    for x in range(10000):\n        try: f(x)\n        except ValueError as e: n += 1\n    return n\n",
		"garbage":    "def run(i):\n    n = 0\n    for x in range(200000):\n        n += len('garbage %d and more of it' % x)\n    return n\n",
	} {
		b.Run(name, func(b *testing.B) {
			wasm, err := buildPython(b, map[string]string{"main.py": text})
			if err != nil {
				b.Fatal(err)
			}
			h, _, _ := python(b)
			if _, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte("{}")}); err != nil {
				b.Fatal(err) // compiled once
			}
			for b.Loop() {
				if _, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "run", Input: []byte("{}")}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
