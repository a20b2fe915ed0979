package suggest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/policies/capability"
)

var (
	since = time.Date(2026, 10, 22, 0, 0, 0, 0, time.UTC)
	old   = since.Add(-time.Hour)
	today = since.Add(30 * 24 * time.Hour)
)

func grants(texts ...string) (gs []Grant) {
	for i, t := range texts {
		text, passing := strings.CutPrefix(t, "passing ")
		text, isNew := strings.CutPrefix(text, "new ")
		g := Grant{ID: fmt.Sprint(i), Capability: capability.MustParse(text), Given: old, Passing: passing}
		if isNew {
			g.Given = today
		}
		gs = append(gs, g)
	}
	return gs
}

func uses(texts ...string) (us []Use) {
	for _, t := range texts {
		request, by, _ := strings.Cut(t, " by ")
		us = append(us, Use{Request: request, Capability: by, Count: 2, Last: today})
	}
	return us
}

// lines are what is advised, one line a grant.
func lines(all []Advice) (ls []string) {
	for _, a := range all {
		l := string(a.Verdict)
		for _, c := range a.To {
			l += " " + c.String()
		}
		ls = append(ls, l)
	}
	return ls
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	const far = "https://api.example.com"
	for name, c := range map[string]struct {
		grants, uses, want []string
	}{
		"files one by one": {[]string{"fs.read:/data/**"}, []string{"fs.read:/data/b/2", "fs.read:/data/a/1"},
			[]string{"narrow fs.read:/data/a/1 fs.read:/data/b/2"}},
		"three of a directory": {[]string{"fs.read:/data/**"}, []string{"fs.read:/data/a/1", "fs.read:/data/a/2", "fs.read:/data/a/3", "fs.read:/data/b/1"},
			[]string{"narrow fs.read:/data/a/* fs.read:/data/b/1"}},
		"three directories": {[]string{"fs.read:/data/**"}, strings.Fields("fs.read:/data/x/a/1 fs.read:/data/x/a/2 fs.read:/data/x/a/3 fs.read:/data/x/b/1 fs.read:/data/x/b/2 fs.read:/data/x/b/3 fs.read:/data/x/c/1 fs.read:/data/x/c/2 fs.read:/data/x/c/3"),
			[]string{"narrow fs.read:/data/x/**"}},
		"within a pattern": {[]string{"fs.read:/data/*/*.csv"}, strings.Fields("fs.read:/data/a/1.csv fs.read:/data/a/2.csv fs.read:/data/a/3.csv"),
			[]string{"narrow fs.read:/data/a/*.csv"}},
		"all of it": {[]string{"fs.read:/data/*"}, strings.Fields("fs.read:/data/1 fs.read:/data/2 fs.read:/data/3"), []string{"keep"}},
		"reading and writing apart": {[]string{"fs.read:/d/**", "fs.write:/d/**"}, strings.Fields("fs.read:/d/1 fs.read:/d/2 fs.write:/d/3"),
			[]string{"narrow fs.read:/d/1 fs.read:/d/2", "narrow fs.write:/d/3"}},
		"a file with a star in its name": {[]string{"fs.read:/d/**"}, []string{"fs.read:/d/e/a*b"}, []string{"narrow fs.read:/d/e/*"}},
		"a directory with one":           {[]string{"fs.read:/d/**"}, []string{"fs.read:/d/e*/ab"}, []string{"keep"}},
		"URLs": {[]string{"http:* https://*.example.com/*"}, []string{"http:GET " + far + "/v1/a", "http:POST " + far + "/v1/a", "http:GET " + far + "/v1/b"},
			[]string{"narrow http:GET " + far + "/v1/b http:GET,POST " + far + "/v1/a"}},
		"URLs of one path": {[]string{"http:GET https://*.example.com/*"}, []string{"http:GET " + far + "/v1/a", "http:GET " + far + "/v1/c", "http:GET " + far + "/v1/b", "http:GET https://www.example.com/v1/a"},
			[]string{"narrow http:GET " + far + "/v1/* http:GET https://www.example.com/v1/a"}},
		"never across hosts": {[]string{"http:GET https://*.example.com/*"}, []string{"http:GET https://a.example.com/", "http:GET https://b.example.com/", "http:GET https://c.example.com/", "http:GET https://d.example.com/"},
			[]string{"narrow http:GET https://a.example.com/ http:GET https://b.example.com/ http:GET https://c.example.com/ http:GET https://d.example.com/"}},
		"names": {[]string{"secret:*", "skill:a*"}, []string{"secret:github", "secret:a", "secret:b", "secret:c", "skill:ab"},
			[]string{"narrow secret:a secret:b secret:c secret:github", "narrow skill:ab"}},
		"nothing further to say": {[]string{"kv", "clock", "random", "notify"}, []string{"kv", "clock"}, []string{"keep", "keep", "revoke", "revoke"}},
		"new ones wait":          {[]string{"new kv", "new fs.read:/d/**", "clock"}, []string{"fs.read:/d/x"}, []string{"wait", "narrow fs.read:/d/x", "revoke"}},
		"passing ones stay":      {[]string{"passing kv", "passing fs.read:/d/x", "fs.read:/d/**"}, []string{"fs.read:/d/x"}, []string{"keep", "keep", "narrow fs.read:/d/x"}},
		"the narrowest that does": {[]string{"fs.read:/d/**", "fs.read:/d/e/*", "fs.read:/d/e/x"}, []string{"fs.read:/d/e/x"},
			[]string{"revoke", "revoke", "keep"}},
		"what was not granted":   {[]string{"kv"}, []string{"fs.read:/etc/passwd", "kv"}, []string{"keep"}},
		"not known one by one":   {[]string{"fs.read:/d/**", "fs.read:/e/**"}, []string{"fs.read:/d/x", " by fs.read:/d/**"}, []string{"keep", "revoke"}},
		"by a wider grant":       {[]string{"fs.read:/d/e/*", "fs.read:/f"}, []string{" by fs.read:/d/**"}, []string{"keep", "revoke"}},
		"not known at all":       {[]string{"fs.read:/d/**", "kv", "new clock"}, []string{" by "}, []string{"keep", "keep", "keep"}},
		"a request that was cut": {[]string{"fs.read:/d/**", "kv"}, []string{"fs.read:relative… by fs.read:/d/**", "kv"}, []string{"keep", "keep"}},
	} {
		all := Suggest(grants(c.grants...), uses(c.uses...), since)
		if got := lines(all); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestTooManyPlaces(t *testing.T) {
	t.Parallel()
	var us []Use
	for i := range MaxCapabilities + 1 {
		us = append(us, uses(fmt.Sprintf("fs.read:/d/%d/x%d/f", i, i))...)
	}
	g := grants("fs.read:/d/**")
	if got := Suggest(g, us, since)[0]; got.Verdict != Keep {
		t.Errorf("%+v", got)
	}
	if got := Suggest(g, us[1:], since)[0]; got.Verdict != Narrow || len(got.To) != MaxCapabilities {
		t.Errorf("%+v", got)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	got := Merge([]Use{{"b", "x", 1, old}, {"a", "x", 1, old}, {"b", "x", 2, today}, {"b", "y", 1, old}})
	want := []Use{{"a", "x", 1, old}, {"b", "x", 3, today}, {"b", "y", 1, old}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// generator makes grants and requests of so few pieces that they meet often.
type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) path(pieces ...string) string {
	segments := make([]string, g.IntN(4)+1)
	for i := range segments {
		segments[i] = g.pick(pieces...)
	}
	return "/" + strings.Join(segments, "/")
}

func (g generator) grant() string {
	prefix := g.pick("", "", "", "passing ", "new ")
	switch g.IntN(5) {
	case 0, 1:
		return prefix + g.pick("fs.read:", "fs.read:", "fs.write:") + g.path("a", "b", "*", "**", "**", "a*", "*b")
	case 2, 3:
		return prefix + "http:" + g.pick("GET", "POST", "GET,POST", "*") + " https://" + g.pick("x.example", "a.x.example", "*.x.example") + g.pick("/*", "/a*", "/a/*", "/a/b", "")
	}
	return prefix + g.pick("kv", "clock", "secret:*", "secret:a*", "secret:ab")
}

func (g generator) use() string {
	switch g.IntN(5) {
	case 0, 1:
		return g.pick("fs.read:", "fs.write:") + g.path("a", "b", "ab", "c", "d", "e", "a*")
	case 2, 3:
		return "http:" + g.pick("GET", "POST") + " https://" + g.pick("x.example", "a.x.example", "b.x.example") + g.path("a", "b", "c", "d", "a%2Ab")
	}
	return g.pick("kv", "clock", "secret:ab", "secret:a", "secret:b", " by fs.read:/a/**", " by ", "http:…")
}

// TestProperties checks what always holds.
func TestProperties(t *testing.T) {
	t.Parallel()
	narrowed := 0
	for seed := range uint64(4000) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		var gs, us []string
		for range g.IntN(5) + 1 {
			gs = append(gs, g.grant())
		}
		for range g.IntN(20) {
			us = append(us, g.use())
		}
		given, done := grants(gs...), uses(us...)
		all := Suggest(given, done, since)
		for _, a := range all {
			if a.Verdict == Narrow {
				narrowed++
			}
		}
		proposed := Proposed(all)
		checkCovered(t, seed, given, done, proposed)
		checkWithin(t, seed, given, all)
		g.Shuffle(len(done), func(i, k int) { done[i], done[k] = done[k], done[i] })
		if again := Suggest(given, done, since); !reflect.DeepEqual(lines(again), lines(all)) {
			t.Fatalf("seed %d: the order of uses makes a difference: %q, %q", seed, lines(all), lines(again))
		}
		if t.Failed() {
			t.Fatalf("seed %d: grants %q, uses %q: %q", seed, gs, us, lines(all))
		}
	}
	if narrowed < 500 {
		t.Errorf("only %d grants were narrowed: the test shows little", narrowed)
	}
}

// checkCovered: every use that a grant covers is covered by what is proposed.
func checkCovered(t *testing.T, seed uint64, given []Grant, done []Use, proposed capability.Set) {
	for _, u := range done {
		r, ok := Request(u.Request)
		if !ok {
			continue
		}
		for _, g := range given {
			if _, allowed := proposed.Allows(r); g.Capability.Allows(r) && !allowed {
				t.Errorf("seed %d: %s was done and would be refused", seed, u.Request)
			}
		}
	}
}

// checkWithin: nothing is proposed that its grant does not cover, and no host
// that was not used.
func checkWithin(t *testing.T, seed uint64, given []Grant, all []Advice) {
	for i, a := range all {
		for _, c := range a.To {
			if !given[i].Capability.Covers(c) {
				t.Errorf("seed %d: %s is more than %s", seed, c, given[i].Capability)
			}
			if end, ok := c.Endpoint(); ok && strings.Contains(end.Host, "*") {
				t.Errorf("seed %d: %s is for several hosts", seed, c)
			}
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{"kv", "fs.read:/a/b", "http:GET https://x.example/a", "secret:a", "", "fs.read:relative…", "http:GET"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := Request(text)
		if ok && r.String() != text {
			t.Errorf("%q was read as %q", text, r)
		}
		all := Suggest(grants("fs.read:/**", "http:* https://x.example/*", "kv"), []Use{{Request: text, Capability: text, Count: 1, Last: today}}, since)
		if _, allowed := Proposed(all).Allows(r); ok && !allowed && slices.ContainsFunc(all, func(a Advice) bool { return a.Grant.Capability.Allows(r) }) {
			t.Errorf("%q would be refused", text)
		}
	})
}
