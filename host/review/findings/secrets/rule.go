package secrets

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

type regex = *regexp.Regexp

// A rule is one of the table, compiled when it is needed.
type rule struct {
	Rule
	reach   int  // how far from the end of a keyword a match may begin or end
	led     bool // the regex began with lead, which was taken off
	compile func() regex
	path    func() regex
	allowed func() []allow
}

// lead is how many rules begin: it only names what the secret is for. Without
// it a regular expression is many times as fast; what it would have matched is
// found by hand.
const (
	lead     = `(?i)[\w.-]{0,50}?`
	leadMost = 50
)

func newRule(r Rule) *rule {
	text, led := r.Regex, strings.HasPrefix(r.Regex, lead)
	if led {
		text = `(?i)` + r.Regex[len(lead):]
	}
	return &rule{
		Rule: r, led: led, reach: reachOf(r),
		compile: sync.OnceValue(func() regex { return regexp.MustCompile(text) }),
		path:    sync.OnceValue(func() regex { return regexp.MustCompile(r.Path) }),
		allowed: sync.OnceValue(func() []allow {
			var all []allow
			for _, a := range r.Allow {
				all = append(all, newAllow(a))
			}
			return all
		}),
	}
}

// generic reports whether the rule knows only what is around a secret.
func (r *rule) generic() bool { return strings.Contains(strings.ToLower(r.ID), "generic") }

func budgetOf(r Rule) int {
	if strings.Contains(r.ID, "generic") {
		return genericBudget
	}
	return budget
}

// isFor reports whether the rule is for a file at path.
func (r *rule) isFor(path string) bool {
	switch {
	case r.Regex != "" && r.Path == "":
		return true
	case path == "":
		return false
	}
	return r.path().MatchString(path)
}

// overlap is how much two pieces of a long text have in common.
func (r *rule) overlap() int { return min(r.reach, maxChunk/4) }

// find returns what the regular expression matches in a piece of text. inside
// says that the text does not begin with it: then a match at its very beginning
// may be none, and the piece before has it if it is one.
func (r *rule) find(text []byte, inside bool) []Match {
	var found []Match
	last := 0
	for _, at := range r.compile().FindAllIndex(text, maxInChunk) {
		from, to := at[0], at[1]
		for n := 0; r.led && from > last && n < leadMost && isName(text[from-1]); n++ {
			from--
		}
		last = to
		whole := text[from:to]
		trimmed := bytes.TrimLeft(whole, "\n")
		from += len(whole) - len(trimmed)
		to = from + len(bytes.TrimRight(trimmed, "\n"))
		if inside && at[0] == 0 || from == to {
			continue
		}
		found = append(found, Match{from: from, to: to})
	}
	return found
}

// isName reports whether b fits [\w.-].
func isName(b byte) bool {
	return b == '_' || b == '.' || b == '-' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// secret returns where in a match the secret is.
func (r *rule) secret(match []byte) (from, to int) {
	groups := r.compile().FindSubmatchIndex(match)
	if r.Group > 0 && len(groups) > 2*r.Group+1 && groups[2*r.Group] >= 0 {
		return groups[2*r.Group], groups[2*r.Group+1]
	}
	for i := 2; i+1 < len(groups); i += 2 {
		if groups[i] >= 0 && groups[i+1] > groups[i] {
			return groups[i], groups[i+1]
		}
	}
	return 0, len(match)
}

// What an unbounded repetition counts for: of a class that spans lines, and of
// any other.
const (
	longRun  = 8 << 10
	shortRun = 512
)

// reachOf is how long a match of the rule can be, or nearly.
func reachOf(r Rule) int {
	re, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil { // a test parses all
		return longRun
	}
	return min(max(longest(re), shortRun), 2*longRun)
}

func longest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return 3 * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpPlus:
		return run(re.Sub[0])
	case syntax.OpRepeat:
		if re.Max < 0 {
			return max(run(re.Sub[0]), 2*re.Min*longest(re.Sub[0]))
		}
		return re.Max * longest(re.Sub[0])
	case syntax.OpAlternate:
		n := 0
		for _, s := range re.Sub {
			n = max(n, longest(s))
		}
		return n
	}
	n := 0
	for _, s := range re.Sub {
		n += longest(s)
	}
	return n
}

// run is what an unbounded repetition of re counts for.
func run(re *syntax.Regexp) int {
	class := re.Op == syntax.OpCharClass && len(re.Rune) >= 2 && re.Rune[0] == 0
	if re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL || class {
		return longRun
	}
	return shortRun
}

// An allow is an [Allow], compiled when it is needed.
type allow struct {
	Allow
	regexes func() []regex
}

func newAllow(a Allow) allow {
	return allow{Allow: a, regexes: sync.OnceValue(func() []regex {
		var all []regex
		for _, text := range a.Regexes {
			all = append(all, regexp.MustCompile(text))
		}
		return all
	})}
}

// A span is a part of a text.
type span struct{ from, to int }

// spans are parts of a text, sorted, without overlap.
type spans []span

// add adds [from, to) of a text of n bytes. Ends must not come before those
// that were added already.
func (s *spans) add(from, to, n int) {
	from, to = max(0, from), min(n, to)
	if k := len(*s); k > 0 && from <= (*s)[k-1].to {
		(*s)[k-1].to = to
		return
	}
	*s = append(*s, span{from, to})
}
