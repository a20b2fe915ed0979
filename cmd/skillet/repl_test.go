package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNotebooks goes on with JavaScript and Python, each call in a process of its
// own.
func TestNotebooks(t *testing.T) {
	t.Parallel()
	if !interpreted(t) {
		t.Skip("no engines: neither in the cache of npm nor from its registry")
	}
	skills, err := filepath.Abs("../../skills")
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t)
	for _, engine := range []string{"qjs", "python"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := p.command(ctx, "engine", "add", engine, "--yes")
		cmd.Env = append(cmd.Env, "npm_config_cache="+npmCache(), "npm_config_registry="+os.Getenv("npm_config_registry"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("engine add %s: %v\n%s", engine, err, out)
		}
	}
	for repl, steps := range map[string][][2]string{
		"js-repl": {
			{"let x = 41", "null"}, {"x + 1", "42"}, {"const f = n => n * x", "null"}, {"console.log('hi'); f(2)", "82"},
			{"x = 'before'; throw new TypeError('no')", "TypeError: no"}, {"x", `"before"`}, {"const later = await Promise.resolve([x])", "null"},
			{"class P { get v() { return later } }", "null"}, {"new P().v", `["before"]`}, {"nope(", "SyntaxError"}, {"later[0].length", "6"},
		},
		"python-repl": {
			{"x = 41", "null"}, {"x + 1", "42"}, {"def f(n):\n    return n * x\n", "null"}, {"print('hi')\nf(2)", "82"},
			{"x = 'before'; raise TypeError('no')", "TypeError: no"}, {"x", `"before"`},
			{"class P:\n    v = [x]\n", "null"}, {"P().v", `["before"]`}, {"nope(", "SyntaxError"}, {"len(P.v)", "1"},
		},
	} {
		p.must(0, "install", filepath.Join(skills, repl), "--yes", "--allow-unsigned")
		for _, step := range steps {
			code, out, errs := p.run("run", repl, "--session", "work", "code="+step[0])
			if strings.Contains(step[0], "hi") && !strings.Contains(errs, "[info] hi") {
				t.Errorf("%s: %s: printed nothing: %s", repl, step[0], errs)
			}
			if code == 0 && out != step[1] || code != 0 && !strings.Contains(errs, step[1]) {
				t.Errorf("%s: %s: exit code %d, %s%s", repl, step[0], code, out, errs)
			}
		}
		open := map[string]string{"js-repl": "let a = 5\nfunction f() {\n  return a * 2\n}\n\nnope\nf() \\\n + 1", "python-repl": "a = 5\ndef f():\n    return a * 2\n\nnope\nf() \\\n + 1"}[repl]
		cmd := p.command(t.Context(), "session", "open", repl, "work")
		cmd.Stdin = strings.NewReader(open)
		if out, err := cmd.Output(); err != nil || string(out) != "null\nnull\n11\n" {
			t.Errorf("%s: opened: %q, %v", repl, out, err)
		}
		fresh := map[string]string{"js-repl": "typeof x", "python-repl": "'x' in globals()"}[repl]
		if out := p.must(0, "run", repl, "code="+fresh); out != `"undefined"` && out != "false" {
			t.Errorf("%s: a call in no session finds %s", repl, out)
		}
	}
}
