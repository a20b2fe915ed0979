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
		{`{"cases": [{"skill": "a", "request": "kv", "address": "::1", "want": "allow"}]}`, "not for one"},
		{`{"cases": [{"skill": "a", "request": "http:GET http://localhost/", "address": "localhost", "want": "allow"}]}`, "such as 127.0.0.1"},
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

// A rule that names an address, or looks at it, holds for the names that lead there; the maximum is one of names.
func TestAddressOfAHost(t *testing.T) {
	t.Parallel()
	dir, system := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "mine.cedar"), `
		@id("by-host") forbid (principal, action == Action::"http", resource == Host::"10.0.0.1");
		@id("by-address") forbid (principal, action == Action::"http", resource) when { context has address && context.address.isLoopback() };
		@id("named") forbid (principal, action == Action::"http", resource == Host::"closed.corp.example");`)
	write(t, filepath.Join(system, MaximumFile), `{"capabilities": ["http:GET https://*.corp.example/*"]}`)
	m, err := LoadMaximum(system)
	if err != nil {
		t.Fatal(err)
	}
	s := mustLoad(t, dir).Within(m)
	for _, c := range []struct{ host, address, want, by string }{
		{"a.corp.example", "", "allow", "granted"}, {"a.corp.example", "10.0.0.2", "allow", "granted"},
		{"a.corp.example", "10.0.0.1", "deny", "by-host"}, {"a.corp.example", "::ffff:10.0.0.1", "deny", "by-host"},
		{"a.corp.example", "127.0.0.9", "deny", "by-address"}, {"a.corp.example", "::1", "deny", "by-address"},
		{"closed.corp.example", "8.8.8.8", "deny", "named"}, {"other.example", "8.8.8.8", "deny", maximumID},
	} {
		o := s.Try("f", Case{
			Skill: "web", Request: "http:GET https://" + c.host + "/x", Address: c.address, Grants: []string{"http:GET https://*.corp.example/*", "http:GET https://other.example/*"}, Want: c.want, By: []string{c.by},
		}, "/home/me/.skillet")
		if !o.OK {
			t.Errorf("%+v: %s", c, o.Problem)
		}
	}
}
