package semver_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests/semver"
)

// answers are npm's answers to our questions, see testdata/ask.js.
type answers struct {
	Versions []semver.Version // from old to new
	Ranges   []struct {
		Text               string
		Plain, Prereleases *answer // nil when npm refuses the constraint
	}
}

type answer struct{ Canonical, Allows string }

func readAnswers(t testing.TB) (a answers) {
	t.Helper()
	b, err := os.ReadFile("testdata/npm.json")
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnswersOfNPM(t *testing.T) {
	a := readAnswers(t)
	for _, row := range a.Ranges {
		r, err := semver.ParseRange(row.Text)
		if row.Plain == nil {
			if !errors.Is(err, semver.ErrRange) {
				t.Errorf("%q: got %v and error %v, and npm refuses it", row.Text, r, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		checkAnswer(t, a.Versions, r, row.Plain)
		if row.Prereleases != nil {
			checkAnswer(t, a.Versions, r.WithPrereleases(), row.Prereleases)
		}
	}
}

func checkAnswer(t *testing.T, versions []semver.Version, r semver.Range, want *answer) {
	t.Helper()
	if r.String() != want.Canonical {
		t.Errorf("%q is %q, and %q for npm", r.Text(), r, want.Canonical)
	}
	for i, v := range versions {
		if r.Allows(v) != (want.Allows[i] == '+') {
			t.Errorf("%q (%v) allows %v: %t", r.Text(), r, v, r.Allows(v))
		}
	}
}

func TestOrder(t *testing.T) {
	versions := readAnswers(t).Versions
	for i, v := range versions {
		for j, w := range versions {
			if got, want := v.Compare(w), i-j; (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("compare %v with %v: %d", v, w, got)
			}
		}
	}
}

func TestBuildMetadata(t *testing.T) {
	texts := []string{"1.0.0", "1.0.0+1", "1.0.0+2", "1.0.0+10", "1.0.0+a", "1.0.0+a.1", "1.0.0+b"}
	for i := range texts[1:] {
		v, w := semver.MustParseVersion(texts[i]), semver.MustParseVersion(texts[i+1])
		if v.Compare(w) != 0 {
			t.Errorf("%v and %v differ in precedence", v, w)
		}
		if v.CompareBuild(w) >= 0 || w.CompareBuild(v) <= 0 {
			t.Errorf("%v is not before %v", v, w)
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"v1.2.3":                            "write 1.2.3",
		"=1.2.3":                            "write 1.2.3",
		" 1.2.3 ":                           "write 1.2.3",
		"01.2.3":                            "write 1.2.3",
		"1.2.3-01":                          "write 1.2.3-1",
		"1.2.3beta":                         "write 1.2.3-beta",
		"v1.2":                              "write 1.2.0",
		"1.2":                               "write 1.2.0",
		"1":                                 "write 1.0.0",
		"1.2.x":                             "three numbers",
		"":                                  "three numbers",
		"latest":                            "three numbers",
		"1.2.3-":                            "three numbers",
		"1.2.3+":                            "three numbers",
		"1.2.3-a..b":                        "three numbers",
		"1.2.3-ä":                           "three numbers",
		"1.2.3.4":                           "three numbers",
		"9007199254740992.0.0":              "above 9007199254740991",
		strings.Repeat("1", 257):            "more than 256",
		"1.2.3-" + strings.Repeat("1", 251): "more than 256",
	} {
		v, err := semver.ParseVersion(text)
		if !errors.Is(err, semver.ErrVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v and error %v, want one with %q", text, v, err, want)
		}
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"^1.2.3beta":              "; write ^1.2.3-beta",
		">=1.2.3, <2":             "; write >=1.2.3 <2",
		"=>1.2":                   "; write >=1.2",
		"^01.2":                   "; write ^1.2",
		"1.x.3":                   "number behind an x",
		"~1.2.3 || latest":        `has "latest" where a version belongs; write one such as ^1.2.0`,
		">=":                      `has no version behind ">="`,
		"^9007199254740991.0.0":   "bound above",
		"9007199254740992":        "above 9007199254740991",
		strings.Repeat("1 ", 600): "more than 1024",
	} {
		r, err := semver.ParseRange(text)
		if !errors.Is(err, semver.ErrRange) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v and error %v, want one with %q", text, r, err, want)
		}
	}
}

// TestSetLaws checks the operations of sets on all pairs of sets that npm's
// questions make: for each version that may matter, what is in the result
// follows from what is in the operands; and equal sets are equal in every way.
func TestSetLaws(t *testing.T) {
	a := readAnswers(t)
	sets, names := someSets(a)
	for i, s := range sets {
		if !s.Complement().Complement().Equal(s) {
			t.Errorf("%s: the complement of the complement is another set", names[i])
		}
		if again, err := semver.ParseRange(s.String()); err == nil && !again.Set().Equal(s) {
			t.Errorf("%s: the text %q reads as another set", names[i], s)
		}
		for j, u := range sets[:i] {
			checkPair(t, a.Versions, names[i]+" and "+names[j], s, u)
		}
	}
}

func someSets(a answers) (sets []semver.Set, names []string) {
	for i, row := range a.Ranges {
		r, err := semver.ParseRange(row.Text)
		if err != nil || i%3 != 0 {
			continue
		}
		for _, r := range []semver.Range{r, r.WithPrereleases()} {
			if !slices.ContainsFunc(sets, r.Set().Equal) {
				sets, names = append(sets, r.Set()), append(names, r.Text())
			}
		}
	}
	return sets, names
}

func checkPair(t *testing.T, versions []semver.Version, name string, s, u semver.Set) {
	t.Helper()
	union, both, minus, not := s.Union(u), s.Intersect(u), s.Minus(u), s.Complement()
	for _, v := range versions {
		inS, inU := s.Has(v), u.Has(v)
		if union.Has(v) != (inS || inU) || both.Has(v) != (inS && inU) || minus.Has(v) != (inS && !inU) || not.Has(v) == inS {
			t.Errorf("%s: wrong about %v", name, v)
		}
	}
	if !union.Equal(u.Union(s)) || !both.Equal(u.Intersect(s)) || !union.Complement().Equal(not.Intersect(u.Complement())) {
		t.Errorf("%s: the same set in two ways is not equal", name)
	}
	if s.IsSubset(u) != union.Equal(u) || both.IsEmpty() != s.IsSubset(u.Complement()) {
		t.Errorf("%s: wrong about being a subset", name)
	}
}

func TestSetText(t *testing.T) {
	for text, want := range map[string]string{
		"^1.2.3": "^1.2.3", "~1.2.3": "~1.2.3", "1.2.3": "1.2.3", "^0.2.3": "^0.2.3", "~0.2.3": "^0.2.3", "^0.0.3": "0.0.3", "*": "*", "1.2.x": "~1.2.0",
		">=1.2.3 <3": ">=1.2.3 <3.0.0", "<2": "<2.0.0", ">1.2.3": ">=1.2.4", "1.2.3 || 1.2.4": ">=1.2.3 <1.2.5", ">2 <1": "no version",
		"^1.2.3-beta": "^1.2.3-beta", "1.2.3-beta": "1.2.3-beta", "1 || 3": "^1.0.0 || ^3.0.0", "<1.2.3-beta": "<1.2.3-beta", "": "*",
		">=1.2.3-beta": ">=1.2.3-beta", ">1.2.3-beta.2 <1.3": "~1.2.3-beta.2.0", ">0.9 <=0.9.5": "no version",
	} {
		if got := semver.MustParseRange(text).Set().String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := semver.All().String(); got != "any version" {
		t.Error(got)
	}
	if got := semver.MustParseRange("^1").WithPrereleases().Set().String(); got != "^1.0.0 and prereleases >=1.0.0-0 <2.0.0-0" {
		t.Error(got)
	}
}

func TestNewest(t *testing.T) {
	versions := readAnswers(t).Versions
	for text, want := range map[string]string{"*": "9007199254740991.9007199254740991.9007199254740991", "^1": "1.9.9", "~1.2.3-0": "1.2.99", "1.3.0-0": "1.3.0-0", "5": ""} {
		got, ok := semver.MustParseRange(text).Newest(versions)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestZeroValues(t *testing.T) {
	var r semver.Range
	if r.Allows(semver.Version{}) || r.WithPrereleases().Allows(semver.Version{}) || r.String() != "<0.0.0-0" || !r.Set().IsEmpty() {
		t.Error("the zero constraint allows something")
	}
	if (semver.Version{}).String() != "0.0.0" {
		t.Error("the zero version is not 0.0.0")
	}
}
