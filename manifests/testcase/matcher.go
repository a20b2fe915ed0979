package testcase

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/skillet-run/skillet/manifests"
)

// A matcher notes where a value does not fit.
type matcher func(c *comparison, at string, got any)

// matcherKinds are the matchers there are, by name. all are the members of the object
// they stand in.
func matcherKinds() map[string]func(v any, all map[string]any, exact bool) (matcher, error) {
	return map[string]func(v any, all map[string]any, exact bool) (matcher, error){
		"$any":      matchAny,
		"$type":     matchType,
		"$regex":    matchRegex,
		"$contains": matchContains,
		"$approx":   matchApprox,
		"$within":   matchWithin,
		"$length":   matchLength,
		"$schema":   matchSchema,
		"$exact":    matchExact,
		"$one_of":   matchOneOf,
		"$not":      matchNot,
		"$absent":   matchAbsent,
	}
}

// compileMatchers reads an object of matchers, all of which have to fit.
func compileMatchers(v map[string]any, exact bool) (*want, error) {
	kinds, w := matcherKinds(), &want{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		compile, ok := kinds[name]
		if !ok {
			return nil, unknownMatcher(name, slices.Sorted(maps.Keys(kinds)))
		}
		m, err := compile(v[name], v, exact)
		if err != nil {
			return nil, below(err, name)
		}
		if w.absent = w.absent || name == "$absent"; m != nil {
			w.matchers = append(w.matchers, m)
		}
	}
	if w.absent && len(v) > 1 {
		return nil, wrong("write one or the other", "what is absent fits no other matcher")
	}
	return w, nil
}

func unknownMatcher(name string, names []string) error {
	suggestion := "the matchers are " + strings.Join(names, ", ") + `; {"$exact": {...}} stands around an object that has such members itself`
	if best, ok := nearest.Name(name, names); ok {
		suggestion = "did you mean " + best + "?"
	}
	return wrong(suggestion, "%s is not a matcher", name)
}

func matchAny(v any, _ map[string]any, _ bool) (matcher, error) {
	if v != true {
		return nil, wrong(`write {"$any": true}`, "has to be true")
	}
	return func(*comparison, string, any) {}, nil
}

func matchAbsent(v any, _ map[string]any, _ bool) (matcher, error) {
	if v != true {
		return nil, wrong(`write {"$absent": true}`, "has to be true")
	}
	return nil, nil
}

// typeNames are the types of JSON, and integer.
func typeNames() []string {
	return []string{"null", "boolean", "number", "integer", "string", "array", "object"}
}

func matchType(v any, _ map[string]any, _ bool) (matcher, error) {
	name, _ := v.(string)
	if !slices.Contains(typeNames(), name) {
		return nil, wrong("write one of "+strings.Join(typeNames(), ", "), "%s is not a type", brief(v))
	}
	return func(c *comparison, at string, got any) {
		if has := typeOf(got); has != name && (name != "number" || has != "integer") {
			c.differ(at, "a value of the type "+name, got)
		}
	}, nil
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if r := number(v); r != nil && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// Bounds on a regular expression: its length, the states of its automaton, and
// states times the bytes it is matched with.
const (
	maxRegex      = 1000
	maxStates     = 5000
	maxRegexSteps = 1_000_000_000
)

// compileRegex compiles a regular expression in RE2 syntax.
func compileRegex(text string) (re *regexp.Regexp, states int, err error) {
	if len(text) > maxRegex {
		return nil, 0, wrong(fmt.Sprintf("at most %d are accepted", maxRegex), "the regular expression has %d bytes", len(text))
	}
	re, states, err = manifests.CompilePattern(text)
	var tooLarge *manifests.PatternSizeError
	switch {
	case errors.As(err, &tooLarge), states > maxStates:
		return nil, 0, wrong("write a simpler one", "the regular expression is too large")
	case err != nil:
		return nil, 0, wrong("write it in RE2 syntax", "is not a regular expression: %v", err)
	}
	return re, states, nil
}

func matchRegex(v any, _ map[string]any, _ bool) (matcher, error) {
	text, ok := v.(string)
	if !ok {
		return nil, wrong("", "wants text, has %s", brief(v))
	}
	re, states, err := compileRegex(text)
	if err != nil {
		return nil, err
	}
	return func(c *comparison, at string, got any) {
		have, ok := got.(string)
		switch {
		case !c.spend(at, 1+states*len(have)/(maxRegexSteps/maxSteps)):
		case !ok || !re.MatchString(have):
			c.differ(at, "text that matches "+text, got)
		}
	}, nil
}

// matchContains is about a part of a text, or an item of a list.
func matchContains(v any, _ map[string]any, exact bool) (matcher, error) {
	item, err := compile(v, exact)
	if err != nil {
		return nil, err
	}
	part, isText := v.(string)
	return func(c *comparison, at string, got any) {
		switch got := got.(type) {
		case string:
			if isText && strings.Contains(got, part) {
				return
			}
		case []any:
			if c.any(at, item, got) {
				return
			}
		}
		c.differ(at, "something that contains "+brief(v), got)
	}, nil
}

// any reports whether one of several values fits.
func (c *comparison) any(at string, w *want, values []any) bool {
	for _, v := range values {
		if c.fits(at, w, v) {
			return true
		}
	}
	return false
}

// fits compares without noting differences.
func (c *comparison) fits(at string, w *want, v any) bool {
	inner := comparison{left: c.left, quiet: true}
	inner.compare(at, w, v)
	had := c.left >= 0
	if c.left = inner.left; had && c.left < 0 {
		c.exhausted(at)
	}
	return c.left >= 0 && !inner.differs
}

// matchApprox is about a number near another: within $within of it, or within a
// billionth part of it.
func matchApprox(v any, all map[string]any, _ bool) (matcher, error) {
	n, _ := v.(json.Number)
	near := number(n)
	if near == nil {
		return nil, wrong("", "wants a number, has %s", brief(v))
	}
	by := new(big.Rat).Mul(new(big.Rat).Abs(near), big.NewRat(1, 1_000_000_000))
	if w, ok := all["$within"].(json.Number); ok {
		if by = number(w); by == nil || by.Sign() < 0 {
			return nil, wrong("", "$within wants a number from 0 on, has %s", w)
		}
	}
	return func(c *comparison, at string, got any) {
		n, _ := got.(json.Number)
		has := number(n)
		if has == nil || new(big.Rat).Abs(new(big.Rat).Sub(has, near)).Cmp(by) > 0 {
			c.differ(at, "a number within "+by.FloatString(9)+" of "+brief(v), got)
		}
	}, nil
}

func matchWithin(v any, all map[string]any, _ bool) (matcher, error) {
	if _, ok := all["$approx"]; !ok {
		return nil, wrong(`write {"$approx": 3.14, "$within": 0.01}`, "stands beside $approx only")
	}
	if _, ok := v.(json.Number); !ok {
		return nil, wrong("", "wants a number, has %s", brief(v))
	}
	return nil, nil
}

// matchLength is about the characters of a text, the items of a list, or the
// members of an object.
func matchLength(v any, _ map[string]any, _ bool) (matcher, error) {
	low, high, err := lengths(v)
	if err != nil {
		return nil, err
	}
	return func(c *comparison, at string, got any) {
		n, ok := lengthOf(got)
		if !ok || n < low || n > high {
			c.add(Difference{Path: at, Expected: "the length " + brief(v), Got: fmt.Sprintf("%d: %s", n, brief(got))})
		}
	}, nil
}

func lengthOf(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	case map[string]any:
		return len(v), true
	}
	return 0, false
}

// lengths reads a length, or an object with min and max.
func lengths(v any) (low, high int, err error) {
	const help = `write a whole number, or {"min": 1, "max": 9}`
	high = 1 << 40
	if n, ok := v.(json.Number); ok {
		x, err := n.Int64()
		if err != nil || x < 0 {
			return 0, 0, wrong(help, "%s is not a length", n)
		}
		return int(x), int(x), nil
	}
	bounds, ok := v.(map[string]any)
	if !ok || len(bounds) == 0 {
		return 0, 0, wrong(help, "%s is not a length", brief(v))
	}
	for name, b := range bounds {
		n, _ := b.(json.Number)
		x, err := n.Int64()
		switch {
		case err != nil || x < 0 || name != "min" && name != "max":
			return 0, 0, wrong(help, "%s %s is not a length", name, brief(b))
		case name == "min":
			low = int(x)
		default:
			high = int(x)
		}
	}
	return low, high, nil
}

// schemaSteps is what checking against a schema counts: it may take long by
// itself.
const schemaSteps = maxSteps / 20

func matchSchema(v any, _ map[string]any, _ bool) (matcher, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, wrong("", "is not a JSON Schema: %v", err)
	}
	s, err := manifests.CompileSchema(raw)
	if err != nil {
		return nil, wrong("", "is not a JSON Schema: %v", err)
	}
	return func(c *comparison, at string, got any) {
		if !c.spend(at, schemaSteps) {
			return
		}
		raw, err := json.Marshal(got)
		if err == nil {
			err = s.Check(raw)
		}
		if err != nil {
			c.add(Difference{Path: at, Expected: "what fits the schema", Got: clip(err.Error())})
		}
	}, nil
}

func matchExact(v any, _ map[string]any, _ bool) (matcher, error) {
	w := literal(v)
	return func(c *comparison, at string, got any) { c.compare(at, w, got) }, nil
}

func matchOneOf(v any, _ map[string]any, exact bool) (matcher, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, wrong(`write {"$one_of": ["a", "b"]}`, "wants a list, has %s", brief(v))
	}
	forms := make([]*want, len(list))
	for i, x := range list {
		var err error
		if forms[i], err = compile(x, exact); err != nil {
			return nil, below(err, fmt.Sprintf("[%d]", i))
		}
	}
	return func(c *comparison, at string, got any) {
		for _, w := range forms {
			if c.fits(at, w, got) {
				return
			}
		}
		c.differ(at, "one of "+brief(v), got)
	}, nil
}

func matchNot(v any, _ map[string]any, exact bool) (matcher, error) {
	w, err := compile(v, exact)
	if err != nil {
		return nil, err
	}
	return func(c *comparison, at string, got any) {
		if c.fits(at, w, got) {
			c.differ(at, "something else than "+brief(v), got)
		}
	}, nil
}
