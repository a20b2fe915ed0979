package testcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A Mode says how much of a value a [Pattern] describes.
type Mode int

// The modes.
const (
	// Subset patterns describe at least what is there: an object may have more
	// members, at any depth. A list has exactly the items described.
	Subset Mode = iota
	// Exact patterns describe all of it.
	Exact
)

// A Pattern is what a value has to be. In it, an object whose members all begin
// with "$" is a matcher; see [Schema] for those there are. The zero value fits
// everything.
type Pattern struct{ root *want }

// A want is a value of a pattern.
type want struct {
	exact    bool
	members  map[string]*want
	items    []*want
	object   bool
	list     bool
	scalar   any // nil, bool, string or json.Number
	matchers []matcher
	absent   bool
}

// CompilePattern reads a pattern. An empty one fits everything. The error is a
// *[PatternError].
func CompilePattern(raw json.RawMessage, m Mode) (Pattern, error) {
	if len(raw) == 0 {
		return Pattern{}, nil
	}
	v, err := decode(raw)
	if err != nil {
		return Pattern{}, &PatternError{Message: "is not JSON: " + err.Error()}
	}
	w, err := compile(v, m == Exact)
	if err != nil {
		return Pattern{}, err
	}
	return Pattern{w}, nil
}

// decode reads JSON, numbers as they are written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// A PatternError says what is wrong with a pattern.
type PatternError struct {
	Path       string // inside of the pattern
	Message    string
	Suggestion string
}

// Error returns the path and the message.
func (e *PatternError) Error() string { return strings.TrimPrefix(e.Path+": "+e.Message, ": ") }

// wrong makes a PatternError.
func wrong(suggestion, format string, args ...any) *PatternError {
	return &PatternError{Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
}

// below puts the step to a member or an item before the path of an error.
func below(err error, step string) error {
	if e, ok := err.(*PatternError); ok {
		if e.Path != "" && !strings.HasPrefix(e.Path, "[") {
			step += "."
		}
		e.Path = step + e.Path
	}
	return err
}

func compile(v any, exact bool) (*want, error) {
	switch v := v.(type) {
	case map[string]any:
		if isMatcher(v) {
			return compileMatchers(v, exact)
		}
		return compileObject(v, exact)
	case []any:
		w := &want{list: true, exact: exact}
		for i, item := range v {
			x, err := compile(item, exact)
			if err != nil {
				return nil, below(err, fmt.Sprintf("[%d]", i))
			}
			w.items = append(w.items, x)
		}
		return w, nil
	}
	return &want{scalar: v}, nil
}

func compileObject(v map[string]any, exact bool) (*want, error) {
	w := &want{object: true, exact: exact, members: make(map[string]*want, len(v))}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if strings.HasPrefix(name, "$") {
			return nil, wrong(`write {"$exact": {...}} around an object that has such members itself`, "the matcher %s stands beside the member %s", name, other(v))
		}
		x, err := compile(v[name], exact)
		if err != nil {
			return nil, below(err, name)
		}
		w.members[name] = x
	}
	return w, nil
}

// other is a member of an object that is not a matcher.
func other(v map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !strings.HasPrefix(name, "$") {
			return name
		}
	}
	return ""
}

// isMatcher reports whether an object of a pattern is a matcher.
func isMatcher(v map[string]any) bool {
	for name := range v {
		if !strings.HasPrefix(name, "$") {
			return false
		}
	}
	return len(v) > 0
}

// literal is a value with nothing in it that is a matcher.
func literal(v any) *want {
	switch v := v.(type) {
	case map[string]any:
		w := &want{object: true, exact: true, members: make(map[string]*want, len(v))}
		for name, x := range v {
			w.members[name] = literal(x)
		}
		return w
	case []any:
		w := &want{list: true, exact: true}
		for _, x := range v {
			w.items = append(w.items, literal(x))
		}
		return w
	}
	return &want{scalar: v}
}

// Match says where a value does not fit; nil when it fits. raw is JSON; what is
// none fits only the pattern that fits everything.
func (p Pattern) Match(at string, raw []byte) []Difference {
	if p.root == nil {
		return nil
	}
	v, err := decode(raw)
	if err != nil {
		return []Difference{{Path: at, Expected: "JSON", Got: clip(string(raw))}}
	}
	return p.match(at, v)
}

// MatchText says where a text does not fit; nil when it fits.
func (p Pattern) MatchText(at, text string) []Difference {
	if p.root == nil {
		return nil
	}
	return p.match(at, text)
}

func (p Pattern) match(at string, v any) []Difference {
	c := comparison{left: maxSteps}
	c.compare(at, p.root, v)
	return c.found
}

// Bounds on one comparison: a pattern, and what it is compared with, may be
// written by whoever wrote the skill.
const (
	maxSteps       = 5_000_000
	maxDifferences = 20
	// exact is what comparing two numbers counts: it is done in exact arithmetic.
	exact = 20
)

// A comparison collects differences.
type comparison struct {
	left    int // steps
	found   []Difference
	quiet   bool // only differs is of interest
	differs bool
}

// spend counts steps, and reports whether any are left.
func (c *comparison) spend(at string, n int) bool {
	if c.left < 0 {
		return false
	}
	if c.left -= n; c.left < 0 {
		c.exhausted(at)
		return false
	}
	return true
}

func (c *comparison) exhausted(at string) {
	c.add(Difference{Path: at, Expected: "something that can be compared", Got: fmt.Sprintf("more than %d steps of comparing", maxSteps)})
}

func (c *comparison) add(d Difference) {
	c.differs = true
	if len(c.found) < maxDifferences && !c.quiet {
		c.found = append(c.found, d)
	}
}

// differ notes that a value is not what is wanted.
func (c *comparison) differ(at string, expected string, got any) {
	if c.differs = true; !c.quiet && len(c.found) < maxDifferences {
		c.add(Difference{Path: at, Expected: expected, Got: brief(got)})
	}
}

func (c *comparison) compare(at string, w *want, got any) {
	if c.quiet && c.differs || !c.spend(at, 1) {
		return
	}
	switch {
	case len(w.matchers) > 0 || w.absent:
		for _, m := range w.matchers {
			m(c, at, got)
		}
	case w.object:
		c.compareObject(at, w, got)
	case w.list:
		c.compareList(at, w, got)
	default:
		c.compareScalar(at, w.scalar, got)
	}
}

func (c *comparison) compareObject(at string, w *want, got any) {
	have, ok := got.(map[string]any)
	if !ok {
		c.differ(at, "an object", got)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.members)) {
		x, there := have[name]
		switch m := w.members[name]; {
		case m.absent && there:
			c.differ(step(at, name), "no such member", x)
		case m.absent:
		case !there:
			c.add(Difference{Path: step(at, name), Expected: m.brief(), Got: "no such member"})
		default:
			c.compare(step(at, name), m, x)
		}
	}
	if !w.exact {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := w.members[name]; !ok {
			c.differ(step(at, name), "no such member", have[name])
		}
	}
}

func (c *comparison) compareList(at string, w *want, got any) {
	have, ok := got.([]any)
	if !ok {
		c.differ(at, fmt.Sprintf("a list of %d", len(w.items)), got)
		return
	}
	for i, x := range w.items[:min(len(w.items), len(have))] {
		c.compare(fmt.Sprintf("%s[%d]", at, i), x, have[i])
	}
	for i := len(have); i < len(w.items); i++ {
		c.add(Difference{Path: fmt.Sprintf("%s[%d]", at, i), Expected: w.items[i].brief(), Got: "no such item"})
	}
	for i := len(w.items); i < len(have); i++ {
		c.differ(fmt.Sprintf("%s[%d]", at, i), "no such item", have[i])
	}
}

func (c *comparison) compareScalar(at string, w, got any) {
	if text, ok := w.(string); ok {
		if have, ok := got.(string); ok && have != text {
			c.add(Difference{Path: at, Expected: brief(text), Got: brief(have), before: text, after: have})
			return
		}
	}
	if _, ok := w.(json.Number); ok && w != got && !c.spend(at, exact) {
		return
	}
	if !equal(w, got) {
		c.differ(at, brief(w), got)
	}
}

// equal compares scalars: numbers by what they mean, however they are written.
func equal(a, b any) bool {
	x, ok := a.(json.Number)
	if !ok {
		if _, nested := b.(map[string]any); nested {
			return false
		}
		if _, nested := b.([]any); nested {
			return false
		}
		return a == b
	}
	y, ok := b.(json.Number)
	return ok && (x == y || sameNumber(x, y))
}

func sameNumber(x, y json.Number) bool {
	p, q := number(x), number(y)
	return p != nil && q != nil && p.Cmp(q) == 0
}

// number is a number exactly; nil for one whose arithmetic would take long.
func number(n json.Number) *big.Rat {
	const longest, largest = 256, 400
	text := string(n)
	if len(text) > longest {
		return nil
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var e int
		if _, err := fmt.Sscanf(text[i+1:], "%d", &e); err != nil || e > largest || e < -largest {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// step is the path of a member.
func step(at, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return strings.ContainsRune(".[]\" \n\t", r) }) {
		b, _ := json.Marshal(name) // a string cannot fail
		return at + "[" + string(b) + "]"
	}
	return at + "." + name
}
