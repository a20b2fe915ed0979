package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// TestConformance runs every case in every language whose compiler is here, in the sandbox and in the reference
// engine, with equal results.
func TestConformance(t *testing.T) {
	t.Parallel()
	rt, out := newSandbox(t), newOutside(t)
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			quickly(t, l)
			t.Parallel()
			wasm := l.module(t)
			sandboxed, referenced := renamed{newOurs(t, rt, wasm), l.exports}, renamed{newTheirs(t, wasm), l.exports}
			if l.script == "" { // whose interpreters read and write JSON
				t.Run("JSON", func(t *testing.T) { testJSON(t, sandboxed) })
			}
			for _, c := range Cases() {
				if c.Raw && l.script != "" {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					got := runCase(t, "sandbox", sandboxed, c, out)
					again := runCase(t, "reference", referenced, c, out)
					if got != again && !strings.Contains(c.Output, `"*"`) && !strings.Contains(c.Output, `"..."`) {
						t.Errorf("the sandbox has %s, %s %s; the reference engine has %s, %s %s",
							short(got.output), got.kind, short(got.message), short(again.output), again.kind, short(again.message))
					}
				})
			}
		})
	}
}

// quickly skips the languages that are tried only where all tests are wanted.
func quickly(t *testing.T, l language) {
	t.Helper()
	if testing.Short() && l.name != "go" {
		t.Skip("it runs the compilers of many languages; make test LONG=1 runs it")
	}
}

// runCase runs one case in one engine, and compares what comes of it.
func runCase(t *testing.T, name string, e engine, c Case, out outside) result {
	t.Helper()
	w := newWorld(t, c, out)
	for _, b := range c.Before {
		if r := w.call(t, e, b); r.err != nil || r.kind != "" {
			t.Fatalf("%s before: %s %s %v", b.Tool, r.kind, r.message, r.err)
		}
	}
	w.got = Left{}
	r := w.call(t, e, c.Call)
	switch {
	case r.err != nil:
		t.Fatalf("%s: %v", name, r.err)
	case r.kind != c.Kind:
		t.Errorf("%s: error %q %s, want %q", name, r.kind, short(r.message), c.Kind)
	case c.Kind != "" && !says(r.message, c.Message):
		t.Errorf("%s: the error says %s, want %q", name, short(r.message), c.Message)
	case c.Kind == "" && c.Raw && r.output != c.Output:
		t.Errorf("%s: output %s, want %s", name, short(r.output), short(c.Output))
	case c.Kind == "" && !c.Raw:
		if err := equal([]byte(r.output), []byte(c.Output)); err != nil {
			t.Errorf("%s: output %s, want %s: %v", name, short(r.output), short(c.Output), err)
		}
	}
	w.check(t)
	return r
}

// call makes one call. In the result the world's own places are as the case has them.
func (w *world) call(t *testing.T, e engine, c Call) result {
	t.Helper()
	env := hostfn.NewEnv(w.settings(t))
	defer env.Close()
	r := e.run(t, Call{c.Tool, w.text.Replace(c.Input)}, env)
	w.keep(env)
	r.output, r.message = w.back.Replace(r.output), w.back.Replace(r.message)
	r.message = r.message[:min(len(r.message), 1000)] // the sandbox cuts them too
	return r
}

// says compares a message with one of the table.
func says(got, want string) bool {
	if part, ok := strings.CutPrefix(want, "..."); ok {
		return strings.Contains(got, part)
	}
	return want == "" || got == want
}

// equal compares two JSON values, where what is wanted may have places for anything.
func equal(got, want []byte) error {
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		return err
	}
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Errorf("the table: %w", err)
	}
	return match("output", g, w)
}

// match compares decoded values.
func match(at string, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		return matchObject(at, got, want)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s has another length or type", at)
		}
		for i := range want {
			if err := match(fmt.Sprintf("%s[%d]", at, i), list[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if want != "*" && !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s differs", at)
	}
	return nil
}

// matchObject compares objects; with "..." there may be more.
func matchObject(at string, got any, want map[string]any) error {
	members, ok := got.(map[string]any)
	_, more := want["..."]
	if !ok || !more && len(members) != len(want) {
		return fmt.Errorf("%s is no object, or has other members", at)
	}
	for k, v := range want {
		if k == "..." {
			continue
		}
		m, ok := members[k]
		if !ok {
			return fmt.Errorf("%s.%s is missing", at, k)
		}
		if err := match(at+"."+k, m, v); err != nil {
			return err
		}
	}
	return nil
}

// TestEverythingIsTried: there is a case for each function that works, and for each of its errors.
func TestEverythingIsTried(t *testing.T) {
	t.Parallel()
	api, err := hostapi.Load()
	must(t, err)
	names, tried := map[string]bool{}, map[string]bool{}
	for _, c := range Cases() {
		if names[c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		names[c.Name] = true
		tried[c.Tool+" "+c.Kind] = true
	}
	for _, f := range api.Functions {
		if !tried[f.Name+" "] {
			t.Errorf("%s is never expected to work", f.Name)
		}
		for _, e := range f.Errors {
			if !tried[f.Name+" "+e.Kind] {
				t.Errorf("%s never fails with %s, which it does when %s", f.Name, e.Kind, e.When)
			}
		}
	}
	for _, k := range api.Kinds {
		if k.Name != string(hostfn.KindNotRecorded) && !tried["fail "+k.Name] {
			t.Errorf("no tool reports an error of kind %s", k.Name)
		}
	}
}

// TestEveryLanguageHasEveryTool: the skill in each language has a tool for each function, whether its compiler is here
// or not.
func TestEveryLanguageHasEveryTool(t *testing.T) {
	t.Parallel()
	api, err := hostapi.Load()
	must(t, err)
	files, err := filepath.Glob("*/functions.*")
	must(t, err)
	files = append(files, "rust/src/functions.rs")
	if len(files) != len(languages()) {
		t.Errorf("%q are not a file for each of %d languages", files, len(languages()))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, f := range api.Functions {
			if !regexp.MustCompile(`\b` + f.Name + `\b`).Match(text) {
				t.Errorf("%s has no tool %s", file, f.Name)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want string
		ok        bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`{"a":1,"b":2}`, `{"...":0,"a":1}`, true},
		{`{"b":2}`, `{"...":0,"a":1}`, false},
		{`[1,2]`, `[1]`, false},
		{`[1,{"x":[]}]`, `["*","*"]`, true},
		{`"x"`, `"*"`, true},
		{`null`, `{}`, false},
	} {
		if err := equal([]byte(c.got), []byte(c.want)); (err == nil) != c.ok {
			t.Errorf("%s against %s: %v", c.got, c.want, err)
		}
	}
}
