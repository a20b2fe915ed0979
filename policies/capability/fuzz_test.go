package capability

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/goldentest"
	"unicode"
	"unicode/utf8"
)

// FuzzParse checks what Parse promises about any text: a canonical text that
// reads back, or an error whose suggestion is a capability.
func FuzzParse(f *testing.F) {
	for _, table := range []string{"canonical.txt", "words.txt", "errors.txt"} {
		for _, input := range goldentest.Inputs(f, table) {
			f.Add(unescape(input))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			checkParseError(t, text, err)
			return
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			t.Fatalf("%q is %q, which reads back as %v, %v", text, c, again, err)
		}
		if !utf8.ValidString(c.String()) || strings.ContainsFunc(c.String(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q has the text %q", text, c)
		}
		if !c.Covers(c) || !c.Covers(Capability{}) || (Capability{}).Covers(c) || c.Words() == "do nothing" {
			t.Fatalf("%q: covers or words are wrong", c)
		}
		data, err := json.Marshal(NewSet(c))
		var s Set
		if err != nil || json.Unmarshal(data, &s) != nil || !s.Equal(NewSet(c)) {
			t.Fatalf("%q: as JSON %s, %v", c, data, err)
		}
	})
}

func checkParseError(t *testing.T, text string, err error) {
	t.Helper()
	var pe *ParseError
	if !errors.As(err, &pe) || pe.Message == "" || pe.Text != text || pe.What != "capability" {
		t.Fatalf("%q: %#v", text, err)
	}
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsGraphic(r) }) {
		t.Fatalf("error %q is not one printable line", err)
	}
	if pe.Suggestion == "" {
		return
	}
	if c, err := Parse(pe.Suggestion); err != nil || c.String() != pe.Suggestion {
		t.Fatalf("%q: suggestion %q: %v", text, pe.Suggestion, err)
	}
}

// FuzzCovers looks for two capabilities and a request that show Covers to be
// unsound, and for requests whose narrowest capability is not theirs.
func FuzzCovers(f *testing.F) {
	requests := append(goldentest.Inputs(f, "requests.txt"), "")
	for i, pair := range append(goldentest.Inputs(f, "covers.txt"), goldentest.Inputs(f, "allows.txt")...) {
		left, right, _ := strings.Cut(pair, " | ")
		f.Add(left, right, unescape(requests[i%len(requests)]))
		f.Add(left, right, right)
	}
	f.Fuzz(func(t *testing.T, left, right, request string) {
		r := requestOf(request)
		narrow, narrowErr := r.Capability()
		if narrowErr == nil && !narrow.Allows(r) {
			t.Fatalf("the capability of %s is %s and does not allow it", r, narrow)
		}
		c, errC := Parse(left)
		d, errD := Parse(right)
		if errC != nil || errD != nil {
			return
		}
		if c.Covers(d) && d.Allows(r) && !c.Allows(r) {
			t.Fatalf("%s covers %s, but does not allow %s", c, d, r)
		}
		if narrowErr == nil && c.Allows(r) != c.Covers(narrow) {
			t.Fatalf("%s: allows %s is %v, covers %s is %v", c, r, c.Allows(r), narrow, c.Covers(narrow))
		}
		both := NewSet(c).Intersect(NewSet(d))
		if _, ok := both.Allows(r); ok && !(c.Allows(r) && d.Allows(r)) {
			t.Fatalf("%s and %s do not both allow %s", c, d, r)
		}
		if _, ok := NewSet(c, d).Allows(r); ok != (c.Allows(r) || d.Allows(r)) {
			t.Fatalf("the set of %s and %s is wrong about %s", c, d, r)
		}
	})
}
