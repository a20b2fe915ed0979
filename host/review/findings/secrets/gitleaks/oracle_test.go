package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/skillet-run/skillet/host/review/findings/secrets"
)

// The embedded table is what this program makes of the module's rules.
func TestTableIsWhatTheModuleSays(t *testing.T) {
	want, err := table()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("rules.json is not what gitleaks says: run `make generate`")
	}
}

// theirs is what gitleaks finds in a text, one line a secret.
func theirs(d *detect.Detector, text string) []string {
	var all []string
	for _, f := range d.DetectString(text) {
		all = append(all, fmt.Sprintf("%s %q", f.RuleID, f.Secret))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func ours(m *secrets.Matcher, text string) []string {
	var all []string
	for _, f := range m.Find("", []byte(text)) {
		all = append(all, fmt.Sprintf("%s %q", f.Rule, text[f.Start:f.End]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A tally counts how two detectors agree.
type tally struct{ same, both, missed, extra int }

func (c *tally) compare(t *testing.T, d *detect.Detector, text string) {
	t.Helper()
	want, have := theirs(d, text), ours(secrets.New(), text)
	if slices.Equal(want, have) {
		c.same++
	}
	for _, s := range want {
		if slices.Contains(have, s) {
			c.both++
		} else {
			c.missed++
			t.Errorf("not found: %s in %q", s, shorten(text))
		}
	}
	for _, s := range have {
		if !slices.Contains(want, s) {
			c.extra++
			t.Errorf("found, and gitleaks does not: %s in %q", s, shorten(text))
		}
	}
}

func shorten(text string) string { return text[:min(len(text), 400)] }

// What fits the pattern of a rule is a secret here exactly when it is one there.
func TestSamplesOfEachRule(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, hit := tally{}, map[string]bool{}
	for _, r := range secrets.Rules() {
		if r.Regex == "" {
			continue
		}
		re, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		g := sampler{rand.New(rand.NewPCG(1, uint64(len(r.ID))))}
		for i := range rounds(4) {
			sample := g.sample(re)
			text := []string{sample, "a = \"" + sample + "\"\nb = 1\n", "see " + sample + " there\n" + sample, "\n\n{\"x\": \"" + sample + "\"}"}[i%4]
			c.compare(t, d, text)
			for _, f := range theirs(d, text) {
				hit[strings.Fields(f)[0]] = true
			}
		}
	}
	t.Logf("%d texts with the same secrets, %d secrets found by both, %d missed, %d more; %d rules of %d made one",
		c.same, c.both, c.missed, c.extra, len(hit), len(secrets.Rules()))
	if len(hit) < 180 {
		t.Errorf("the samples are secrets by %d rules only", len(hit))
	}
}

// apart are rules that go on over many lines, into whatever comes next, and
// rules that match without any of their keywords, which gitleaks then looks for
// in all of a file, and this package nearby.
var apart = []string{
	"curl-auth-header", "curl-auth-user", "private-key", "kubernetes-secret-yaml",
	"airtable-personnal-access-token", "facebook-access-token", "sourcegraph-access-token",
}

// rounds is n, or many more for the long proof.
func rounds(n int) int {
	if os.Getenv("SKILLET_PROVE") != "" {
		return 10 * n
	}
	return n
}

// Secrets far from one another in a long text of many others are found as well.
func TestManyInOneText(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	g, c := sampler{rand.New(rand.NewPCG(3, 4))}, tally{}
	for range rounds(1) {
		var b strings.Builder
		for _, r := range secrets.Rules() {
			if r.Regex == "" || slices.Contains(apart, r.ID) {
				continue
			}
			re, err := syntax.Parse(r.Regex, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n%s\n", g.sample(re), strings.Repeat("key nothing to see here. ", g.IntN(100)))
		}
		c.compare(t, d, b.String())
	}
	t.Logf("%d secrets found by both, %d missed, %d more", c.both, c.missed, c.extra)
}

// The source of this project, and whatever a directory in GITLEAKS_CORPUS holds,
// has the same secrets for both.
func TestTrees(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../../../../../manifests", "../../../../../skills", os.Getenv("GITLEAKS_CORPUS")} {
		if dir == "" {
			continue
		}
		files, c := 0, tally{}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, ".wasm") {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(b) < 1<<20 && !bytes.Contains(b, []byte("gitleaks:allow")) {
				files++
				c.compare(t, d, string(b))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d files, %d secrets found by both, %d missed, %d more", filepath.Base(dir), files, c.both, c.missed, c.extra)
	}
}

// A sampler makes texts that match a regular expression.
type sampler struct{ *rand.Rand }

func (g sampler) sample(re *syntax.Regexp) string {
	var b strings.Builder
	g.write(&b, re)
	return b.String()
}

func (g sampler) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.class(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte('a' + g.IntN(26)))
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.IntN(len(re.Sub))])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := bounds(re)
		for range low + g.IntN(high-low+1) {
			g.write(b, re.Sub[0])
		}
	default:
		for _, s := range re.Sub {
			g.write(b, s)
		}
	}
}

// bounds is how often a part is repeated.
func bounds(re *syntax.Regexp) (low, high int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, 8
	case syntax.OpPlus:
		return 1, 8
	case syntax.OpQuest:
		return 0, 1
	}
	if re.Max < 0 {
		return re.Min, re.Min + 20
	}
	return re.Min, re.Max
}

// class picks a character, an ASCII one when there is one.
func (g sampler) class(ranges []rune) rune {
	for range 100 {
		i := 2 * g.IntN(len(ranges)/2)
		low, high := ranges[i], min(ranges[i+1], 0x7e)
		if low <= high {
			if r := low + rune(g.IntN(int(high-low)+1)); r >= ' ' || r == '\n' {
				return r
			}
		}
	}
	return ranges[0]
}
