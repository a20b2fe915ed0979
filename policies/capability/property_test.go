package capability

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// generator makes capabilities and requests from so few pieces that patterns
// and requests meet often.
type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) path(pieces ...string) string {
	n := g.IntN(4)
	segments := make([]string, n)
	for i := range segments {
		segments[i] = g.pick(pieces...)
	}
	return "/" + strings.Join(segments, "/")
}

func (g generator) capability() Capability {
	switch g.IntN(6) {
	case 0, 1, 2:
		return MustParse(g.pick("fs.read:", "fs.read:", "fs.read:", "fs.write:") + g.path("a", "b", "ab", "ba", "*", "**", "**", "a*", "*b", "*a*", "a*b"))
	case 3, 4:
		return MustParse("http:" + g.pick("GET", "POST", "GET,POST", "*") + " " + g.pick("https://", "http://") +
			g.pick("x.example", "a.x.example", "b.a.x.example", "*.x.example", "*.a.x.example", "10.0.0.1", "[::1]") +
			g.pick("", "", ":8080") + g.pick("", "/", "/*", "/a", "/a*", "/a/*", "/a/b", "/a%2Fb", "/a%2F*"))
	default:
		return MustParse(g.pick("kv", "clock", "random", "notify", "secret:*", "secret:a", "secret:a*", "secret:ab", "skill:a*", "model:ab*"))
	}
}

func (g generator) request() Request {
	switch g.IntN(6) {
	case 0, 1, 2:
		return Request{Action: Action(g.pick("fs.read", "fs.read", "fs.write")), Resource: g.path("a", "b", "ab", "ba", "aab", "aba", "c", "..", "*", "**")}
	case 3, 4:
		return Request{Action: HTTP, Method: g.pick("GET", "POST", "get", "", "PUT"), Resource: g.pick("https://", "http://") +
			g.pick("x.example", "a.x.example", "b.a.x.example", "c.x.example", "A.X.example", "x.example.", "10.0.0.1", "[::ffff:10.0.0.1]", "[::1]") +
			g.pick("", ":8080", ":443", ":80") + g.pick("", "/", "/a", "/a/", "/a/b", "//a/./b", "/a%2Fb", "/a%2fb/c", "/a/../b", "/a?q=1", "/c")}
	default:
		return Request{Action: Action(g.pick("kv", "clock", "secret", "skill", "model")), Resource: g.pick("a", "ab", "abc", "b", "*", "")}
	}
}

func (g generator) set() Set {
	cs := make([]Capability, g.IntN(5))
	for i := range cs {
		cs[i] = g.capability()
	}
	return NewSet(cs...)
}

// each calls check with fresh random choices, many times; the seed is fixed, so
// a failure repeats.
func each(t *testing.T, check func(g generator)) {
	t.Helper()
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 25_000 {
		if check(g); t.Failed() {
			return
		}
	}
}

func TestCoversIsSound(t *testing.T) {
	covered := 0
	each(t, func(g generator) {
		c, d := g.capability(), g.capability()
		if !c.Covers(d) {
			return
		}
		for range 20 {
			r := g.request()
			if !d.Allows(r) {
				continue
			}
			covered++
			if !c.Allows(r) {
				t.Errorf("%s covers %s, but does not allow %s", c, d, r)
			}
		}
	})
	if covered < 500 {
		t.Errorf("only %d cases were about anything", covered)
	}
}

func TestCoversIsAnOrder(t *testing.T) {
	each(t, func(g generator) {
		a, b, c := g.capability(), g.capability(), g.capability()
		if !a.Covers(a) {
			t.Errorf("%s does not cover itself", a)
		}
		if a.Covers(b) && b.Covers(c) && !a.Covers(c) {
			t.Errorf("%s covers %s covers %s, but not the first the last", a, b, c)
		}
		if a.Covers(b) && b.Covers(a) && a != b {
			t.Errorf("%s and %s are one capability with two texts", a, b)
		}
	})
}

func TestRoundTrip(t *testing.T) {
	each(t, func(g generator) {
		c := g.capability()
		text, err := c.MarshalText()
		if err != nil {
			t.Error(err)
		}
		var again Capability
		if err := again.UnmarshalText(text); err != nil || again != c {
			t.Errorf("%q became %v, %v", text, again, err)
		}
	})
}

func TestNarrowestCapability(t *testing.T) {
	each(t, func(g generator) {
		r := g.request()
		c, err := r.Capability()
		if err != nil {
			return
		}
		if !c.Allows(r) {
			t.Errorf("the capability of %s is %s and does not allow it", r, c)
		}
		if d := g.capability(); d.Allows(r) != d.Covers(c) {
			t.Errorf("%s: allows %s is %v, covers %s is %v", d, r, d.Allows(r), c, d.Covers(c))
		}
		q := g.request()
		canonical, err := q.Canonical()
		if first, _ := r.Canonical(); c.Allows(q) && (err != nil || canonical.text() != first.text()) {
			t.Errorf("%s allows %s besides %s", c, q, r)
		}
	})
}

// text is String without what kv and its like ignore.
func (r Request) text() string {
	if r.Action.Shape() == ShapeNone {
		return string(r.Action)
	}
	return r.String()
}

func TestSetLaws(t *testing.T) {
	each(t, func(g generator) {
		s, u, r := g.set(), g.set(), g.request()
		inS, inU := allows(s, r), allows(u, r)
		if got := allows(s.Union(u), r); got != (inS || inU) {
			t.Errorf("union of\n%s\nand\n%s\n%s: %v", s, u, r, got)
		}
		if got := allows(s.Intersect(u), r); got != (inS && inU) {
			t.Errorf("intersection of\n%s\nand\n%s\nis\n%s\n%s: %v", s, u, s.Intersect(u), r, got)
		}
		left := s.Minus(u)
		if inS && !inU && !allows(left, r) || allows(left, r) && !inS {
			t.Errorf("difference of\n%s\nand\n%s\n%s: %v", s, u, r, allows(left, r))
		}
		if s.CoversSet(u) && inU && !inS {
			t.Errorf("set\n%s\ncovers\n%s\nbut not %s", s, u, r)
		}
		checkEqualities(t, s, u)
	})
}

func allows(s Set, r Request) bool {
	by, ok := s.Allows(r)
	return ok && by.Allows(r)
}

func checkEqualities(t *testing.T, s, u Set) {
	t.Helper()
	for name, ok := range map[string]bool{
		"union is commutative":        s.Union(u).Equal(u.Union(s)),
		"union is idempotent":         s.Union(s).Equal(s),
		"union covers both":           s.Union(u).CoversSet(s) && s.Union(u).CoversSet(u),
		"intersect is commutative":    s.Intersect(u).Equal(u.Intersect(s)),
		"intersect is idempotent":     s.Intersect(s).Equal(s),
		"both cover intersect":        s.CoversSet(s.Intersect(u)) && u.CoversSet(s.Intersect(u)),
		"minus itself is empty":       s.Minus(s).IsEmpty(),
		"minus nothing is itself":     s.Minus(Set{}).Equal(s),
		"minus and union go back":     s.Minus(u).Union(u).CoversSet(s),
		"set of its members":          NewSet(s.All()...).Equal(s),
		"diff with itself":            Diff(s, s).IsEmpty(),
		"diff grows when not covered": Diff(s, u).Grows() == !s.CoversSet(u),
		"equal sets, equal digests":   s.Equal(u) == (s.Digest() == u.Digest()),
		"sorted":                      slices.IsSorted(s.Strings()),
	} {
		if !ok {
			t.Errorf("%s: not so for\n%s\nand\n%s", name, s, u)
		}
	}
}

// TestDiffAccountsForEverything checks that every member that came or went is
// in exactly one change.
func TestDiffAccountsForEverything(t *testing.T) {
	each(t, func(g generator) {
		before, after := g.set(), g.set()
		d := Diff(before, after)
		var came, went []Capability
		for _, c := range slices.Concat(d.Added, d.Widened) {
			came = append(came, c.New...)
		}
		for _, c := range slices.Concat(d.Removed, d.Narrowed) {
			went = append(went, c.Old...)
		}
		if !NewSet(came...).Equal(after.Minus(before)) || !NewSet(went...).Equal(before.Minus(after)) {
			t.Errorf("from\n%s\nto\n%s\ncame %v, went %v", before, after, came, went)
		}
		if len(d.Words()) != len(came)+len(went) {
			t.Errorf("%d lines for %d changes", len(d.Words()), len(came)+len(went))
		}
	})
}

// TestCoversIsComplete compares Covers with what a pattern really matches, for
// every pair of small patterns over every small path.
func TestCoversIsComplete(t *testing.T) {
	t.Parallel()
	var paths []Request
	for _, p := range allPaths([]string{"a", "b", "ab", "zz"}, 4) {
		paths = append(paths, Request{Action: FSRead, Resource: p})
	}
	patterns := map[Capability][]bool{}
	for _, p := range allPaths([]string{"a", "*", "**", "a*", "*b"}, 3) {
		c := MustParse("fs.read:" + p)
		matches := make([]bool, len(paths))
		for i, r := range paths {
			matches[i] = c.Allows(r)
		}
		patterns[c] = matches
	}
	for c, cm := range patterns {
		for d, dm := range patterns {
			if got, want := c.Covers(d), includes(cm, dm); got != want {
				t.Errorf("%s covers %s: %v, but by matching %v", c, d, got, want)
			}
		}
	}
}

func allPaths(segments []string, depth int) []string {
	all, level := []string{"/"}, []string{""}
	for range depth {
		var longer []string
		for _, p := range level {
			for _, s := range segments {
				longer = append(longer, p+"/"+s)
			}
		}
		all, level = append(all, longer...), longer
	}
	return all
}

func includes(big, small []bool) bool {
	for i := range small {
		if small[i] && !big[i] {
			return false
		}
	}
	return true
}
