package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// TestBundledSkills builds, packs and installs the skills that come with
// skillet, and runs every tool of each of them with a case of the package's
// own, at a terminal and with --json.
func TestBundledSkills(t *testing.T) {
	if underRace {
		t.Skip("the race detector sees nothing of the programs it runs")
	}
	long(t, "it builds every bundled skill")
	p := newPerson(t)
	borrow(t, p.home)
	args := []string{"install", "--yes"}
	var packages []*bundle.Package
	for _, name := range bundledSkills(t) {
		path := p.build(name)
		pkg, err := bundle.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		args, packages = append(args, path), append(packages, pkg)
	}
	p.must(0, args...)
	if got, want := strings.Count(p.must(0, "list"), "*"), len(packages); got != want {
		t.Errorf("%d skills are installed, want %d", got, want)
	}
	for _, pkg := range packages {
		m := pkg.Manifest()
		t.Run(m.Name, func(t *testing.T) {
			cases := casesOf(t, pkg)
			for _, tool := range m.Tools {
				c, ok := cases[tool.Name]
				if !ok {
					t.Errorf("no case in tests/ shows what %s:%s answers", m.Name, tool.Name)
					continue
				}
				t.Run(tool.Name, func(t *testing.T) {
					t.Parallel()
					c.try(t, p, m)
				})
			}
		})
	}
}

// bundledSkills are the names of the directories in skills with a manifest and a
// module to be built of Go.
func bundledSkills(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range manifests.FileNames() {
		found, err := filepath.Glob("../../skills/*/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if _, err := os.Stat(filepath.Join(filepath.Dir(f), "main.go")); err != nil {
				continue
			}
			names = append(names, filepath.Base(filepath.Dir(f)))
		}
	}
	if len(names) < 7 {
		t.Fatalf("only %d skills: %v", len(names), names)
	}
	return names
}

// build compiles a skill where it is, as make does, and packs it.
func (p *person) build(name string) string {
	p.t.Helper()
	dir := filepath.Join("..", "..", "skills", name)
	sources, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range sources { // for the cache of go test
		if _, err := os.ReadFile(f); err != nil && filepath.Ext(f) == ".go" {
			p.t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "main.wasm"), "./"+dir)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(p.must(0, "pack", abs, "--output", p.work))
}

// A bundledCase is an entry of a package's tests/*.json; skills/README.md says
// what it means.
type bundledCase struct {
	Name, Tool string
	Grants     []string
	Files      map[string]string
	Serve      map[string]struct {
		Status       int
		Headers      map[string]string
		Body, Base64 string
	}
	Input, Expect json.RawMessage
}

// casesOf finds, for each tool, the first case that has an answer.
func casesOf(t *testing.T, pkg *bundle.Package) map[string]bundledCase {
	t.Helper()
	found := map[string]bundledCase{}
	for _, f := range pkg.Files() {
		if !strings.HasPrefix(f.Path, "tests/") || filepath.Ext(f.Path) != ".json" {
			continue
		}
		b, err := pkg.Read(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []bundledCase
		if err := json.Unmarshal(b, &cases); err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		for _, c := range cases {
			if _, ok := found[c.Tool]; !ok && c.Expect != nil {
				found[c.Tool] = c
			}
		}
	}
	return found
}

// try runs the case twice: at a terminal, and with --json.
func (c bundledCase) try(t *testing.T, of *person, m *manifests.Manifest) {
	p := &person{t: t, work: t.TempDir(), program: of.program, home: of.home}
	server := httptest.NewServer(http.HandlerFunc(c.answer))
	t.Cleanup(server.Close)
	work, err := filepath.EvalSymlinks(p.work)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("${workspace}", work, "${server}", server.URL).Replace
	input := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(input, []byte(fill(string(c.Input))), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", m.Name + ":" + c.Tool, "--input", "@" + input}
	for _, g := range c.Grants {
		args = append(args, "--allow", fill(g))
	}
	c.place(p)
	shown := p.sit(args...).ends(0)
	if strings.TrimSpace(shown) == "" {
		t.Error("nothing is shown at a terminal")
	}

	c.place(p)
	var r task.Result
	if err := json.Unmarshal([]byte(p.must(0, append(args, "--json")...)), &r); err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Skill != m.Name+"@"+m.Version || r.Tool != c.Tool || r.Fuel == 0 || r.PeakMemoryBytes == 0 {
		t.Errorf("the result is %+v", r)
	}
	if !fits(decoded(t, []byte(fill(string(c.Expect)))), decoded(t, r.Data)) {
		t.Errorf("%s answers %s, want %s", c.Name, r.Data, c.Expect)
	}
}

// place makes the workspace what it is before the case.
func (c bundledCase) place(p *person) {
	p.t.Helper()
	if err := errors.Join(os.RemoveAll(p.work), os.Mkdir(p.work, 0o755)); err != nil {
		p.t.Fatal(err)
	}
	for name, content := range c.Files {
		p.write(name, []byte(content))
	}
}

func (c bundledCase) answer(w http.ResponseWriter, r *http.Request) {
	page, ok := c.Serve[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	for name, value := range page.Headers {
		w.Header().Set(name, value)
	}
	if page.Status != 0 {
		w.WriteHeader(page.Status)
	}
	body, err := base64.StdEncoding.DecodeString(page.Base64)
	if err != nil || page.Base64 == "" {
		body = []byte(page.Body)
	}
	_, _ = w.Write(body)
}

func decoded(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}

// fits reports whether got has all that want has: an object may have more.
func fits(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		for name := range want {
			ok = ok && fits(want[name], have[name])
		}
		return ok
	case []any:
		have, ok := got.([]any)
		ok = ok && len(have) == len(want)
		for i := range want {
			ok = ok && fits(want[i], have[i])
		}
		return ok
	}
	return reflect.DeepEqual(want, got)
}
