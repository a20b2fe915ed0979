package policies

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.json"), `{"cases": [
		{"name": "data", "skill": "csv", "request": "fs.read:/data/a.csv", "grants": ["fs.read:/data/**"], "want": "allow", "by": ["granted"]},
		{"skill": "csv", "request": "fs.read:/data/a.csv", "want": "deny"},
		{"skill": "csv", "request": "fs.read:/home/me/.ssh/id", "grants": ["fs.read:/**"], "want": "deny", "by": ["no-credentials"]},
		{"skill": "web", "request": "http:GET https://a.github.io/", "grants": ["http:GET https://*.github.io/*"], "want": "ask"},
		{"skill": "web", "request": "http:GET https://a.github.io/", "grants": ["http:GET https://*.github.io/*"], "approved": true, "want": "allow"},
		{"skill": "csv", "install": "nothing", "want": "allow"},
		{"skill": "csv", "install": "nothing", "origin": "generated", "want": "ask"},
		{"skill": "csv", "install": "kv", "want": "ask"}
	]}`)
	write(t, filepath.Join(dir, "notes.txt"), "no cases")
	files, err := ReadCases(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases := files[filepath.Join(dir, "mine.json")]
	if len(files) != 1 || len(cases) != 8 {
		t.Fatalf("%d files, %d cases", len(files), len(cases))
	}
	s := mustLoad(t, "")
	for _, c := range cases {
		if o := s.Try("mine.json", c, "/home/me/.skillet"); !o.OK {
			t.Errorf("%+v: %s", c, o.Problem)
		}
	}
}

func TestCaseFails(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	for _, c := range []struct {
		of   Case
		want string
	}{
		{Case{Skill: "csv", Request: "kv", Want: "allow"}, "want allow, and the policies say deny: no policy permits this"},
		{Case{Skill: "csv", Request: "kv", Grants: []string{"kv"}, Want: "allow", By: []string{"mine"}}, "policy mine did not decide"},
	} {
		if o := s.Try("f", c.of, "/home/me/.skillet"); o.OK || !strings.Contains(o.Problem, c.want) {
			t.Errorf("%+v: %q, want %q", c.of, o.Problem, c.want)
		}
	}
}

func TestBadCases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"cases": []}`, "tests nothing"},
		{`{"cases": [{"skill": "a", "want": "allow"}]}`, `case 1: it needs "request" or "install"`},
		{`{"cases": [{"skill": "a", "request": "kv", "install": "kv", "want": "allow"}]}`, "not both"},
		{`{"cases": [{"name": "n", "skill": "a", "request": "kv", "want": "yes"}]}`, "case 1 (n): want is"},
		{`{"cases": [{"request": "kv", "want": "allow"}]}`, "names no skill"},
		{`{"cases": [{"skill": "a", "request": "kv", "grants": ["kw"], "want": "allow"}]}`, "kw"},
		{`{"cases": [{"skill": "a", "install": "kw", "want": "allow"}]}`, "kw"},
		{`{"cases": [{"skill": "a", "reqest": "kv", "want": "allow"}]}`, "reqest"},
		{`{"cases": [{"skill": "a", "request": "kv", "want": "deny"}]} x`, "follows"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "c.json"), c.text)
		if _, err := ReadCases(filepath.Join(dir, "c.json")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ReadCases(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a path that does not exist was read")
	}
}

func FuzzCases(f *testing.F) {
	f.Add([]byte(`{"cases": [{"skill": "csv", "request": "fs.read:/data/a.csv", "grants": ["fs.read:/data/**"], "want": "allow"}]}`))
	f.Add([]byte(`{"cases": [{"skill": "csv", "install": "http:GET https://*.github.io/*", "want": "ask", "bytes": -1}]}`))
	s := mustLoad(f, "")
	f.Fuzz(func(t *testing.T, text []byte) {
		cases, err := parseCases(text)
		if err == nil && len(cases) == 0 {
			t.Fatal("no cases, and no error")
		}
		for _, c := range cases {
			s.Try("f", c, "/home/me/.skillet")
		}
	})
}

func FuzzMaximum(f *testing.F) {
	f.Add([]byte(`{"capabilities": ["fs.read:/srv/**"], "max_memory_mb": 64}`))
	s := mustLoad(f, "")
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMaximum(text)
		if err != nil {
			return
		}
		q := queryOf(t, "call granted | fs.read:/srv/a")
		if d := s.Within(m).Decide(q); d.Effect == Allow && m.Capabilities != nil && !m.admits(q) {
			t.Fatal("more than the maximum was allowed")
		}
	})
}
