// Package secrets finds what looks like a password, key or token in any bytes,
// by the rules of gitleaks v8.30.1 (MIT licence; see NOTICE.md beside the table).
//
// The rules are data, in rules.json, which the program in the directory
// gitleaks makes from that module; the program is a module of its own, so that
// this one depends on none of what gitleaks does. Its tests ask gitleaks itself
// whether this package finds the same. Four things are different on purpose: a
// comment "gitleaks:allow" allows nothing, no file is left out for its name, a
// rule looks only around its keywords, and a [Matcher] has a budget.
//
// The package knows bytes and rules. What a secret opens, and whether it is
// meant to be there, it cannot know.
package secrets

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/review/findings/words"
)

//go:embed rules.json
var embedded []byte

// Source is where the rules come from.
const Source = "gitleaks v8.30.1"

// A Table is the form of rules.json.
type Table struct {
	Source string  `json:"source"`
	Allow  []Allow `json:"allow"` // for all rules
	Rules  []Rule  `json:"rules"` // in the order in which they are applied
}

// A Rule is one form that secrets have.
type Rule struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	// Regex has the secret as its first group that is not empty, or as its
	// group Group when that is not 0, or is the secret. A rule without Regex is
	// about files whose path matches Path.
	Regex string `json:"regex,omitempty"`
	Group int    `json:"group,omitempty"`
	// Path is a regular expression for the paths of the files the rule is for;
	// empty for all.
	Path string `json:"path,omitempty"`
	// Entropy in bits a byte that the secret must exceed; 0 for any.
	Entropy float64 `json:"entropy,omitempty"`
	// Keywords, in lower case, one of which a match has in it.
	Keywords []string `json:"keywords,omitempty"`
	Allow    []Allow  `json:"allow,omitempty"`
}

// An Allow lists matches of a rule that are not secrets.
type Allow struct {
	// Target is what Regexes are applied to: "match", "line", or the secret
	// when it is empty.
	Target  string   `json:"target,omitempty"`
	Regexes []string `json:"regexes,omitempty"`
	// StopWords, in lower case, are looked for in the secret.
	StopWords []string `json:"stop_words,omitempty"`
	// All demands that a regex and a stop word fit, not just one of the two.
	All bool `json:"all,omitempty"`
}

// Rules returns the rules of the embedded table.
func Rules() []Rule { return load().Rules }

// load reads the embedded table, which a test has read before.
func load() Table {
	var t Table
	if err := json.Unmarshal(embedded, &t); err != nil {
		panic("read the embedded rules: " + err.Error())
	}
	return t
}

// An index is the table made ready. It does not change.
type index struct {
	rules []*rule
	allow []allow
	words *words.Set
	users [][]int // for each word, the rules that have it
	// byPath are the rules that are about files as a whole.
	byPath []int
}

// ready is the embedded table, made ready at its first use.
var ready = sync.OnceValue(func() *index {
	t := load()
	x := &index{}
	for _, a := range t.Allow {
		x.allow = append(x.allow, newAllow(a))
	}
	var all []string
	for i, r := range t.Rules {
		x.rules = append(x.rules, newRule(r))
		if r.Regex == "" {
			x.byPath = append(x.byPath, i)
		}
		for _, k := range r.Keywords {
			at := slices.Index(all, k)
			if at < 0 {
				at = len(all)
				all, x.users = append(all, k), append(x.users, nil)
			}
			x.users[at] = append(x.users[at], i)
		}
	}
	x.words = words.New(all)
	return x
})

// A Match is one secret.
type Match struct {
	Rule        string // id of the rule
	Description string // of the rule
	Start, End  int    // where the secret is, in bytes
	// Generic says that the rule only knows what is around a secret.
	Generic bool

	from, to int // all that the rule matched
}

// Bounds on what a [Matcher] gives to regular expressions, in bytes: for each
// rule, and for the ones of which nearly every text has the keywords. What an
// honest package needs is a tenth of that.
const (
	budget        = 512 << 10
	genericBudget = 2 << 20
	// maxChunk is the longest text that one regular expression gets at once,
	// and maxInChunk how many matches are taken from it.
	maxChunk   = 32 << 10
	maxInChunk = 50
)

// A Matcher looks for secrets in the files of one package. It is not safe for
// concurrent use.
type Matcher struct {
	*index
	left  []int // budget of each rule
	short []string
}

// New returns a matcher with its budget untouched.
func New() *Matcher {
	m := &Matcher{index: ready()}
	for _, r := range m.rules {
		m.left = append(m.left, budgetOf(r.Rule))
	}
	return m
}

// Short returns the ids of the rules whose budget did not last, sorted: there
// may be more in the package than Find returned.
func (m *Matcher) Short() []string {
	slices.Sort(m.short)
	m.short = slices.Compact(m.short)
	return slices.Clone(m.short)
}

// Find returns the secrets in a file, sorted by place. A secret that a more
// telling rule found is not told again by a generic one.
func (m *Matcher) Find(path string, text []byte) []Match {
	touched := map[int]*spans{}
	m.words.Each(text, func(word, end int) {
		for _, r := range m.users[word] {
			if touched[r] == nil {
				touched[r] = &spans{}
			}
			touched[r].add(end-m.rules[r].reach, end+m.rules[r].reach, len(text))
		}
	})
	var found []Match
	for _, i := range m.byPath {
		if r := m.rules[i]; r.isFor(path) {
			found = append(found, Match{Rule: r.ID, Description: r.Description})
		}
	}
	for _, i := range slices.Sorted(maps.Keys(touched)) {
		if !m.rules[i].isFor(path) {
			continue
		}
		for _, s := range *touched[i] {
			found = append(found, m.search(i, text, s)...)
		}
	}
	found = withoutTwins(found)
	slices.SortStableFunc(found, func(a, b Match) int { return a.Start - b.Start })
	return slices.CompactFunc(found, func(a, b Match) bool { return a.Rule == b.Rule && a.Start == b.Start && a.End == b.End })
}

// search applies a rule to a part of a text, piece by piece.
func (m *Matcher) search(id int, text []byte, s span) []Match {
	var found []Match
	r := m.rules[id]
	for from := s.from; from < s.to; from += maxChunk - 2*r.overlap() {
		to := min(s.to, from+maxChunk)
		if m.left[id] -= to - from; m.left[id] < 0 {
			m.short = append(m.short, r.ID)
			return found
		}
		for _, x := range r.find(text[from:to], from > 0) {
			x.from, x.to = x.from+from, x.to+from
			if m.isSecret(r, text, &x) {
				found = append(found, x)
			}
		}
		if to == s.to {
			break
		}
	}
	return found
}

// isSecret finds the secret in a match and asks entropy and allow lists.
func (m *Matcher) isSecret(r *rule, text []byte, x *Match) bool {
	x.Start, x.End = r.secret(text[x.from:x.to])
	x.Start, x.End = x.Start+x.from, x.End+x.from
	x.Rule, x.Description, x.Generic = r.ID, r.Description, r.generic()
	secret := string(text[x.Start:x.End])
	if r.Entropy != 0 && entropy(secret) <= r.Entropy {
		return false
	}
	c := candidate{secret: secret, match: text[x.from:x.to], line: lineOf(text, x.from, x.to)}
	return !slices.ContainsFunc(m.allow, c.allowedBy) && !slices.ContainsFunc(r.allowed(), c.allowedBy)
}

// withoutTwins leaves out what a generic rule found within what another found
// at the same place.
func withoutTwins(found []Match) []Match {
	var telling []Match
	for _, f := range found {
		if !f.Generic {
			telling = append(telling, f)
		}
	}
	slices.SortFunc(telling, func(a, b Match) int { return a.Start - b.Start })
	return slices.DeleteFunc(found, func(f Match) bool {
		if !f.Generic {
			return false
		}
		i, _ := slices.BinarySearchFunc(telling, f.Start+1, func(t Match, at int) int { return t.Start - at })
		return i > 0 && telling[i-1].End >= f.End
	})
}

// maxLine is how much of a line is looked at to either side of a match.
const maxLine = 4 << 10

// lineOf is the lines that [from, to) is part of.
func lineOf(text []byte, from, to int) []byte {
	before := text[max(0, from-maxLine):from]
	after := text[to:min(len(text), to+maxLine)]
	begin := from - len(before) + bytes.LastIndexByte(before, '\n') + 1
	end := to + len(after)
	if i := bytes.IndexByte(after, '\n'); i >= 0 {
		end = to + i
	}
	return text[begin:end]
}

// entropy is Shannon's, in bits; as the thresholds of the rules were found with
// it, the characters are counted and the bytes divided by.
func entropy(secret string) float64 {
	counts := map[rune]int{}
	for _, r := range secret {
		counts[r]++
	}
	all := make([]int, 0, len(counts))
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all) // sums of floats depend on their order
	bits := 0.0
	for _, n := range all {
		p := float64(n) / float64(len(secret))
		bits -= p * math.Log2(p)
	}
	return bits
}

// A candidate is a match before the allow lists were asked.
type candidate struct {
	secret      string
	match, line []byte
}

func (c candidate) allowedBy(a allow) bool {
	target := []byte(c.secret)
	switch a.Target {
	case "match":
		target = c.match
	case "line":
		target = c.line
	}
	fits := slices.ContainsFunc(a.regexes(), func(re regex) bool { return re.Match(target) })
	lower := strings.ToLower(c.secret)
	stops := slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(lower, w) })
	if a.All {
		return (fits || len(a.Regexes) == 0) && (stops || len(a.StopWords) == 0)
	}
	return fits || stops
}
