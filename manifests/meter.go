package manifests

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Checking a value against a schema can take time exponential in both: a chain
// of definitions that each apply the next one twice, or a recursive schema with
// two branches over the same member. A skill writes the schema and the output
// that is checked against it, so it could stop the host. The meter walks value
// and schema first, without doing the work, and refuses a pair that would take
// more than MaxSteps.
const (
	// MaxSteps is how many steps checking one value may take; a step is one
	// subschema applied to one value, and more where that costs more.
	MaxSteps = 1_000_000
	// maxRefs is how many subschemas may apply to one value one inside another.
	maxRefs = 100
	// exact is what comparing two numbers costs: the library does it in exact
	// arithmetic.
	exact = 8
	// smallSet is up to how many items the library compares pairwise when it
	// looks for duplicates.
	smallSet = 20
)

// measure returns a problem when checking v against s would take too long.
func measure(s *jsonschema.Schema, v any) *Problem {
	m := meter{left: MaxSteps}
	if m.walk(s, v, 0) {
		return nil
	}
	return &Problem{
		Message:    fmt.Sprintf("takes more than %d steps to check against the schema", MaxSteps),
		Suggestion: "make the value smaller or the schema simpler",
	}
}

// A meter counts down the steps that are left. Each of its methods reports
// whether any are.
type meter struct{ left int }

func (m *meter) spend(n int) bool {
	m.left -= n
	return m.left >= 0 && n >= 0
}

// walk accounts for applying s to v. refs says how many subschemas stand
// between s and the one that was first applied to v.
func (m *meter) walk(s *jsonschema.Schema, v any, refs int) bool {
	if s == nil {
		return true
	}
	if refs > maxRefs || !m.spend(1+own(s, v)) {
		return false
	}
	for t := range inPlace(s) {
		if !m.walk(t, v, refs+1) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return m.object(s, v)
	case []any:
		return m.list(s, v)
	}
	return true
}

// own is what s itself costs on v, apart from its subschemas.
func own(s *jsonschema.Schema, v any) int {
	n := 0
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	switch v := v.(type) {
	case json.Number:
		n *= exact
		if s.MultipleOf != nil || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil {
			n += exact
		}
	case string:
		n += len(v) / 64
		n += matching(s.Pattern, v)
	case map[string]any:
		n += len(v) + len(s.Required) + len(s.DependentRequired) + len(s.DependentSchemas) + len(s.Dependencies)
	case []any:
		n += len(v)
		if s.UniqueItems {
			n += comparing(v)
		}
	}
	return n
}

// matching is what matching text against p costs: the automaton's states times
// the characters, a hundred of them to a step.
func matching(p jsonschema.Regexp, text string) int {
	c, ok := p.(*pattern)
	if !ok {
		return 0
	}
	return 1 + len(text)*c.cost/100
}

// comparing is what looking for duplicates costs. The library hashes items
// when there are many; for lists and objects the hash can be made to collide.
func comparing(items []any) int {
	nested := slices.ContainsFunc(items, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
	if !nested && len(items) > smallSet {
		return len(items)
	}
	return len(items) * len(items) / 2
}

func (m *meter) object(s *jsonschema.Schema, v map[string]any) bool {
	for name, value := range v {
		known := false
		if p, ok := s.Properties[name]; ok {
			known = true
			if !m.walk(p, value, 0) {
				return false
			}
		}
		for re, p := range s.PatternProperties {
			if !m.spend(matching(re, name)) {
				return false
			}
			if !re.MatchString(name) {
				continue
			}
			known = true
			if !m.walk(p, value, 0) {
				return false
			}
		}
		rest, _ := s.AdditionalProperties.(*jsonschema.Schema)
		if known {
			rest = nil
		}
		if !m.walk(rest, value, 0) || !m.walk(s.PropertyNames, name, 0) || !m.walk(s.UnevaluatedProperties, value, 0) {
			return false
		}
	}
	return true
}

func (m *meter) list(s *jsonschema.Schema, v []any) bool {
	first, rest := itemSchemas(s)
	for i, item := range v {
		at := rest
		if i < len(first) {
			at = first[i]
		}
		if !m.walk(at, item, 0) || !m.walk(s.Contains, item, 0) || !m.walk(s.UnevaluatedItems, item, 0) {
			return false
		}
	}
	return true
}

// itemSchemas returns the schemas of the first items of a list and the one of
// all others, in any draft; nil where there is none.
func itemSchemas(s *jsonschema.Schema) (first []*jsonschema.Schema, rest *jsonschema.Schema) {
	if s.PrefixItems != nil || s.Items2020 != nil {
		return s.PrefixItems, s.Items2020
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return nil, items
	case []*jsonschema.Schema:
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
		return items, rest
	}
	return nil, nil
}

// inPlace yields the subschemas of s that apply to the same value as s.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, t := range [...]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
			if t != nil && !yield(t) {
				return
			}
		}
		for _, group := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, t := range group {
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range s.DependentSchemas {
			if !yield(t) {
				return
			}
		}
		for _, t := range s.Dependencies {
			if t, ok := t.(*jsonschema.Schema); ok && !yield(t) {
				return
			}
		}
	}
}

// parts returns every subschema of s.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Collect(inPlace(s))
	all = append(all, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.UnevaluatedItems)
	all = slices.AppendSeq(all, maps.Values(s.Properties))
	all = slices.AppendSeq(all, maps.Values(s.PatternProperties))
	if t, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		all = append(all, t)
	}
	first, rest := itemSchemas(s)
	all = append(append(all, first...), rest)
	return slices.DeleteFunc(all, func(t *jsonschema.Schema) bool { return t == nil })
}
