package semver

import (
	"fmt"
	"slices"
	"strings"
)

// MaxRangeLength is how many bytes a constraint may have.
const MaxRangeLength = 1024

// A Range is a version constraint. The zero value allows no version and has no
// text; a Range comes from [ParseRange].
type Range struct {
	text        string
	prereleases bool
	either      [][]comparator // one list must hold, and all of it
	set         Set
}

// ParseRange reads a constraint as the package comment describes it; a blank text
// allows every release. The error is an [*Error] that wraps [ErrRange].
func ParseRange(text string) (Range, error) { return parseRange(text, false) }

// MustParseRange is [ParseRange] for constraints written in a program; it panics
// when text is none.
func MustParseRange(text string) Range {
	r, err := ParseRange(text)
	if err != nil {
		panic(err)
	}
	return r
}

func parseRange(text string, prereleases bool) (Range, error) {
	r, problem := readRange(text, prereleases)
	if problem != "" {
		return Range{}, rangeError(text, problem)
	}
	return r, nil
}

// readRange returns what is wrong with text, or nothing.
func readRange(text string, prereleases bool) (r Range, problem string) {
	r = Range{text: strings.Join(strings.Fields(text), " "), prereleases: prereleases}
	if len(text) > MaxRangeLength {
		return r, fmt.Sprintf("has more than %d characters", MaxRangeLength)
	}
	for part := range strings.SplitSeq(text, "||") {
		d := desugarer{prereleases: prereleases}
		all, problem := parseAll(&d, strings.Fields(part))
		if problem == "" {
			problem = d.problem()
		}
		if problem != "" {
			return r, problem
		}
		r.either = append(r.either, simplifyAll(all, prereleases))
	}
	r.either = simplifyEither(r.either)
	for _, all := range r.either {
		r.set = r.set.Union(setOf(all, prereleases))
	}
	return r, ""
}

// parseAll reads the words of one alternative. It returns what is wrong with
// them, or nothing.
func parseAll(d *desugarer, words []string) (all []comparator, problem string) {
	if len(words) == 0 {
		return []comparator{anything()}, ""
	}
	if len(words) == 3 && words[1] == "-" {
		return parseHyphen(d, words[0], words[2])
	}
	for i := 0; i < len(words); i++ {
		sign, rest := cutSign(words[i])
		if rest == "" && i+1 < len(words) { // a blank between sign and version
			i++
			rest = words[i]
		}
		next, problem := parseOne(d, sign, rest)
		if problem != "" {
			return nil, problem
		}
		all = append(all, next...)
	}
	return all, ""
}

func parseHyphen(d *desugarer, low, high string) ([]comparator, string) {
	from, problem := parseOperand(low, "v")
	if problem != "" {
		return nil, problem
	}
	to, problem := parseOperand(high, "v")
	if problem != "" {
		return nil, problem
	}
	return d.hyphen(from, to), ""
}

// signs are what may stand before a version, the longer before what they begin
// with.
func signs() []string { return []string{"~>", "~", "^", ">=", "<=", ">", "<", "="} }

func cutSign(word string) (sign, rest string) {
	for _, s := range signs() {
		if rest, ok := strings.CutPrefix(word, s); ok {
			return s, rest
		}
	}
	return "", word
}

func parseOne(d *desugarer, sign, text string) ([]comparator, string) {
	if text == "" {
		return nil, fmt.Sprintf("has no version behind %q", sign)
	}
	prefix := "v"
	if strings.HasPrefix(sign, "~") || sign == "^" {
		prefix = "v="
	}
	p, problem := parseOperand(text, prefix)
	switch {
	case problem != "":
		return nil, problem
	case sign == "^":
		return d.caret(p), ""
	case strings.HasPrefix(sign, "~"):
		return d.tilde(p), ""
	case sign == "=":
		return d.compare(exactly, p), ""
	}
	return d.compare(operator(sign), p), ""
}

// parseOperand reads the version a sign stands before, of which numbers may be
// missing. One of the characters of prefix may stand in front of it.
func parseOperand(text, prefix string) (partial, string) {
	bare := text
	if strings.ContainsRune(prefix, rune(text[0])) {
		bare = text[1:]
	}
	p, ok := parsePartial(bare)
	switch {
	case !ok || len(bare)-len(p.version.build) > MaxLength:
		return p, fmt.Sprintf("has %q where a version belongs", shorten(text))
	case !p.wildcardsLast:
		return p, fmt.Sprintf("has a number behind an x in %q", text)
	}
	return p, ""
}

// simplifyAll leaves out what says nothing, the way npm does.
func simplifyAll(all []comparator, prereleases bool) []comparator {
	zero := comparator{op: atLeast, version: firstRelease}.String()
	if prereleases {
		zero = comparator{op: atLeast, version: firstPrerelease}.String()
	}
	var out []comparator
	seen := map[string]bool{}
	for _, c := range all {
		text := c.String()
		if c == nothing() {
			return []comparator{c}
		}
		if c.any || text == zero || seen[text] {
			continue
		}
		seen[text] = true
		out = append(out, c)
	}
	if len(out) == 0 {
		out = append(out, anything())
	}
	return out
}

// simplifyEither leaves out alternatives that allow nothing, and keeps only the
// first that allows every release, if there is one.
func simplifyEither(either [][]comparator) [][]comparator {
	isNothing := func(all []comparator) bool { return all[0] == nothing() }
	some := slices.DeleteFunc(slices.Clone(either), isNothing)
	if len(some) == 0 {
		return either[:1]
	}
	if i := slices.IndexFunc(some, func(all []comparator) bool { return all[0].any }); i >= 0 {
		return some[i : i+1]
	}
	return some
}

// setOf returns the versions that all of the comparators allow.
func setOf(all []comparator, prereleases bool) Set {
	s := All()
	named := Set{}
	for _, c := range all {
		s = s.Intersect(c.set())
		if !c.any && c.version.IsPrerelease() {
			named = named.Union(prereleasesOf(c.version))
		}
	}
	if !prereleases {
		s.prereleases = s.Intersect(named).prereleases
	}
	return s
}

// WithPrereleases returns the constraint with the same text that takes
// prereleases as it takes releases: what npm calls includePrerelease. ^1.2.0
// then allows 1.3.0-rc.1, and 1.x also 1.0.0-rc.1.
func (r Range) WithPrereleases() Range {
	if r.prereleases || r.either == nil {
		return r
	}
	all, err := parseRange(r.text, true)
	if err != nil {
		panic("semver: " + err.Error()) // the text was read before, and the bounds are the same
	}
	return all
}

// TakesPrereleases reports whether r comes from [Range.WithPrereleases].
func (r Range) TakesPrereleases() bool { return r.prereleases }

// Allows reports whether r allows v.
func (r Range) Allows(v Version) bool { return r.set.Has(v) }

// Set returns the versions r allows.
func (r Range) Set() Set { return r.set }

// Text returns the constraint as it was written, blanks apart.
func (r Range) Text() string { return r.text }

// String returns the constraint in the form npm gives it, comparators only:
// ^1.2.3 is >=1.2.3 <2.0.0-0, and * any release. The zero value has the text of
// a constraint that allows nothing.
func (r Range) String() string {
	if r.either == nil {
		return nothing().String()
	}
	alternatives := make([]string, len(r.either))
	for i, all := range r.either {
		words := make([]string, len(all))
		for j, c := range all {
			words[j] = c.String()
		}
		alternatives[i] = strings.Join(words, " ")
	}
	if text := strings.Join(alternatives, "||"); text != "" {
		return text
	}
	return "*"
}

// Newest returns the newest of versions that r allows; ok is false when it
// allows none of them.
func (r Range) Newest(versions []Version) (newest Version, ok bool) {
	for _, v := range versions {
		if r.Allows(v) && (!ok || v.CompareBuild(newest) > 0) {
			newest, ok = v, true
		}
	}
	return newest, ok
}
