package semver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/manifests/semver"
)

// npmOptions are the options of a case of npm's: loose alone, or an object.
type npmOptions struct{ Loose, IncludePrerelease bool }

func (o *npmOptions) UnmarshalJSON(b []byte) error {
	var fields map[string]any
	if json.Unmarshal(b, &fields) != nil {
		o.Loose = string(b) != "false" && string(b) != "null"
		return nil
	}
	loose := fields["loose"]
	o.Loose = loose != nil && loose != false && loose != 0.0
	o.IncludePrerelease = fields["includePrerelease"] == true
	return nil
}

// An npmCase is one row of one of npm's tables.
type npmCase []json.RawMessage

func (c npmCase) text(i int) (s string) {
	if json.Unmarshal(c[i], &s) != nil {
		return "not a text: " + string(c[i])
	}
	return s
}

func (c npmCase) options(i int) (o npmOptions) {
	if i < len(c) {
		_ = json.Unmarshal(c[i], &o)
	}
	return o
}

// version reads a version the way npm does: what only npm takes is refused with
// the text to write, and that is read instead.
func version(text string) (semver.Version, error) {
	v, err := semver.ParseVersion(text)
	var refused *semver.Error
	if errors.As(err, &refused) && refused.Instead != "" {
		return semver.ParseVersion(refused.Instead)
	}
	return v, err
}

func constraint(text string, o npmOptions) (semver.Range, error) {
	r, err := semver.ParseRange(text)
	var refused *semver.Error
	if errors.As(err, &refused) && refused.Instead != "" && o.Loose {
		r, err = semver.ParseRange(refused.Instead)
	}
	if err == nil && o.IncludePrerelease {
		r = r.WithPrereleases()
	}
	return r, err
}

// npmTables says what holds for a row of each table, by the name of its file in
// test/fixtures. Not here are increments and truncations: this package makes no
// versions.
func npmTables() map[string]func(c npmCase) bool {
	return map[string]func(c npmCase) bool{
		"comparator-intersection": func(c npmCase) bool { return npmIntersects(c) },
		"range-intersection":      func(c npmCase) bool { return npmIntersects(c) },
		"comparisons":             func(c npmCase) bool { return npmCompare(c) > 0 },
		"equality":                func(c npmCase) bool { return npmCompare(c) == 0 },
		"invalid-versions": func(c npmCase) bool {
			_, err := version(c.text(0))
			return errors.Is(err, semver.ErrVersion)
		},
		"valid-versions":       npmValid,
		"range-include":        func(c npmCase) bool { return npmAllows(c) },
		"range-exclude":        func(c npmCase) bool { return !npmAllows(c) },
		"range-parse":          npmParse,
		"version-gt-range":     func(c npmCase) bool { return npmOutside(c, ">=") },
		"version-lt-range":     func(c npmCase) bool { return npmOutside(c, "<=") },
		"version-not-gt-range": func(c npmCase) bool { return !npmOutside(c, ">=") },
		"version-not-lt-range": func(c npmCase) bool { return !npmOutside(c, "<=") },
	}
}

func npmCompare(c npmCase) int {
	v, err1 := version(c.text(0))
	w, err2 := version(c.text(1))
	if err1 != nil || err2 != nil {
		return -2
	}
	return v.Compare(w)
}

func npmAllows(c npmCase) bool {
	r, err1 := constraint(c.text(0), c.options(2))
	v, err2 := version(c.text(1))
	return err1 == nil && err2 == nil && r.Allows(v)
}

// npmOutside says whether no version that is allowed is op the version.
func npmOutside(c npmCase, op string) bool {
	r, err := constraint(c.text(0), c.options(2))
	if err != nil {
		return false
	}
	v, err := version(c.text(1))
	if err != nil {
		return false
	}
	beyond := semver.MustParseRange(op + v.String()).WithPrereleases()
	return r.Set().Intersect(beyond.Set()).IsEmpty()
}

func npmIntersects(c npmCase) bool {
	o := npmOptions{IncludePrerelease: len(c) > 3 && string(c[3]) == "true"}
	r, err1 := constraint(c.text(0), o)
	s, err2 := constraint(c.text(1), o)
	return err1 == nil && err2 == nil && !r.Set().Intersect(s.Set()).IsEmpty() == (string(c[2]) == "true")
}

func npmParse(c npmCase) bool {
	o := c.options(2)
	r, err := constraint(c.text(0), o)
	if string(c[1]) == "null" {
		return errors.Is(err, semver.ErrRange)
	}
	return err == nil && r.String() == c.text(1)
}

func npmValid(c npmCase) bool {
	v, err := version(c.text(0))
	want := [3]uint64{}
	for i := range want {
		_ = json.Unmarshal(c[i+1], &want[i])
	}
	return err == nil && [3]uint64{v.Major(), v.Minor(), v.Patch()} == want &&
		v.IsPrerelease() == (string(c[4]) != "[]") && (v.Build() != "") == (string(c[5]) != "[]")
}

// npmDifferences are the rows that do not hold, by table and row, and why: npm's
// gtr and ltr say that a prerelease which is not allowed is beyond the releases
// around it that are.
func npmDifferences() map[string]string {
	return map[string]string{
		`version-gt-range ["0.7.x" "0.7.2-beta"]`:   "0.7.3 is newer, and allowed",
		`version-lt-range [">1.2.3" "1.3.0-alpha"]`: "1.2.4 is older, and allowed",
	}
}

// npmDump prints npm's tables as JSON.
const npmDump = `
const fs = require('fs'), dir = process.argv[1] + '/test/fixtures/', all = {};
for (const f of fs.readdirSync(dir)) all[f.replace('.js', '')] = require(dir + f);
console.log(JSON.stringify(all))`

// TestNPMTables runs the tables of npm/node-semver in the checkout that
// SKILLET_NODE_SEMVER names. It needs node to read them.
func TestNPMTables(t *testing.T) {
	dir := os.Getenv("SKILLET_NODE_SEMVER")
	if dir == "" {
		t.Skip("SKILLET_NODE_SEMVER names no checkout of npm/node-semver")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", "-e", npmDump, dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var tables map[string][]npmCase
	if err := json.Unmarshal(out, &tables); err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, holds := range npmTables() {
		if len(tables[name]) == 0 {
			t.Errorf("%s: no cases", name)
		}
		for _, c := range tables[name] {
			if row := fmt.Sprintf("%s %s", name, c); holds(c) == (npmDifferences()[row] != "") {
				t.Errorf("%s: %s does not hold, or is no longer a difference", name, c)
			}
		}
		total += len(tables[name])
	}
	t.Logf("proof: %d of npm's own cases in %d tables, %d of them answered otherwise", total, len(npmTables()), len(npmDifferences()))
}
