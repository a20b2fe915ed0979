package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CoerceArgs turns "key=value" pairs, as given on a command line, into the JSON
// object that is the input of tool. The input schema says what each value is:
//
//   - text is taken as it stands, so that name=5 is "5" where text is wanted;
//   - a number, true, false and null are written as in JSON;
//   - a list is one JSON list, or the items, one pair each;
//   - an object is JSON;
//   - where several types are allowed, text comes last;
//   - where the schema does not say, JSON is tried, then text.
//
// The value is not checked any further: see [Manifest.ValidateInput]. A key the
// schema does not know, a key given twice that is not a list, and a value of the
// wrong type are problems. The error wraps [ErrInput] and [Errors].
func CoerceArgs(tool Tool, pairs []string) (json.RawMessage, error) {
	out, errs := coerce(tool, pairs)
	if len(errs) > 0 {
		return nil, valueError(ErrInput, tool.Name, errs)
	}
	return out, nil
}

func coerce(tool Tool, pairs []string) (json.RawMessage, Errors) {
	if len(tool.InputSchema) == 0 {
		return nil, Errors{{Message: "the tool does not say which arguments it takes", Suggestion: "give its input whole"}}
	}
	s, errs := compileSchema(tool.InputSchema)
	if len(errs) > 0 {
		return nil, errs
	}
	keys, values, errs := groupPairs(pairs)
	object := make(map[string]json.RawMessage, len(keys))
	for _, key := range keys {
		property, p := propertyOf(s.compiled, key)
		if p == nil {
			object[key], p = coerceAll(property, values[key])
		}
		if p != nil {
			p.Path = keyStep(key)
			errs = append(errs, *p)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil, Errors{{Message: err.Error()}}
	}
	return out, nil
}

// groupPairs splits the pairs and gathers the values of each key, keys in the
// order in which they first came.
func groupPairs(pairs []string) (keys []string, values map[string][]string, errs Errors) {
	values = map[string][]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			errs = append(errs, Problem{Message: fmt.Sprintf("%s is not a key=value pair", show(pair)), Suggestion: "write key=value"})
			continue
		}
		if len(values[key]) == 0 {
			keys = append(keys, key)
		}
		values[key] = append(values[key], value)
	}
	return keys, values, errs
}

// propertyOf returns the schema of the member called key; nil when anything
// goes.
func propertyOf(root *jsonschema.Schema, key string) (*jsonschema.Schema, *Problem) {
	known := map[string]bool{}
	open, closed := false, false // said of any member; of neither, a member that is not named is likely a typing error
	for s := range inclusive(root) {
		closed = closed || s.Properties != nil || s.PatternProperties != nil
		if p, ok := s.Properties[key]; ok {
			return p, nil
		}
		for name := range s.Properties {
			known[name] = true
		}
		for re, p := range s.PatternProperties {
			if re.MatchString(key) {
				return p, nil
			}
		}
		switch rest := s.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			return rest, nil
		case bool:
			open, closed = open || rest, closed || !rest
		}
	}
	if open || !closed {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(known))
	p := &Problem{Message: "unknown argument", Suggestion: didYouMean(key, names)}
	if p.Suggestion == "" {
		p.Suggestion = "the arguments are " + strings.Join(names, ", ")
	}
	if len(names) == 0 {
		p.Suggestion = "the tool takes none"
	}
	return nil, p
}

// inclusive yields s and every subschema that applies to the same value, each
// once.
func inclusive(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		seen := map[*jsonschema.Schema]bool{}
		todo := []*jsonschema.Schema{s}
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			if at == nil || seen[at] {
				continue
			}
			seen[at] = true
			if !yield(at) {
				return
			}
			for t := range inPlace(at) {
				if t != at.Not {
					todo = append(todo, t)
				}
			}
		}
	}
}

// wanted are the types a value may have.
type wanted map[string]bool

// typesOf gathers the types s allows; empty when it does not say. Constants and
// enumerations say by their values.
func typesOf(s *jsonschema.Schema) wanted {
	w := wanted{}
	if s == nil {
		return w
	}
	for at := range inclusive(s) {
		switch {
		case at.Types != nil:
			for _, t := range at.Types.ToStrings() {
				w[t] = true
			}
		case at.Enum != nil:
			for _, v := range at.Enum.Values {
				w[typeName(v)] = true
			}
		case at.Const != nil:
			w[typeName(*at.Const)] = true
		}
	}
	return w
}

// typeName is the JSON type of a value encoding/json makes.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "string"
}

// itemsOf returns the schema of the i-th item of a list; nil when anything
// goes.
func itemsOf(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	for at := range inclusive(s) {
		first, rest := itemSchemas(at)
		if i < len(first) {
			return first[i]
		}
		if rest != nil {
			return rest
		}
	}
	return nil
}

// coerceAll makes one value of all that were given for a key.
func coerceAll(s *jsonschema.Schema, texts []string) (json.RawMessage, *Problem) {
	w := typesOf(s)
	if !w["array"] {
		if len(texts) > 1 {
			return nil, &Problem{Message: fmt.Sprintf("given %d times", len(texts)), Suggestion: "give it once; it is not a list"}
		}
		return coerceOne(w, texts[0])
	}
	if len(texts) == 1 {
		if v, ok := asJSON(texts[0], '['); ok {
			return v, nil
		}
		delete(w, "array")
		if v, p := coerceOne(w, texts[0]); len(w) > 0 && p == nil {
			return v, nil
		}
	}
	items := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		v, p := coerceOne(typesOf(itemsOf(s, i)), text)
		if p != nil {
			return nil, p
		}
		items[i] = v
	}
	out, err := json.Marshal(items)
	if err != nil {
		return nil, &Problem{Message: err.Error()}
	}
	return out, nil
}

// coerceOne makes one value of a text.
func coerceOne(w wanted, text string) (json.RawMessage, *Problem) {
	switch {
	case (w["null"] || len(w) == 0) && text == "null",
		(w["boolean"] || len(w) == 0) && (text == "true" || text == "false"),
		(w["number"] || len(w) == 0) && isNumber(text),
		w["integer"] && isNumber(text) && isWhole(text):
		return json.RawMessage(text), nil
	}
	for kind, open := range map[string]byte{"object": '{', "array": '['} {
		if v, ok := asJSON(text, open); ok && (w[kind] || len(w) == 0) {
			return v, nil
		}
	}
	if !utf8.ValidString(text) {
		return nil, &Problem{Message: "is not valid UTF-8"}
	}
	if w["string"] || len(w) == 0 {
		out, err := json.Marshal(text)
		if err != nil {
			return nil, &Problem{Message: err.Error()}
		}
		return out, nil
	}
	return nil, &Problem{Message: fmt.Sprintf("wants %s, has %s", typesInWords(slices.Sorted(maps.Keys(w))), show(text))}
}

// asJSON returns text when it is JSON that starts with open.
func asJSON(text string, open byte) (json.RawMessage, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != open {
		return nil, false
	}
	if _, p := readJSON([]byte(trimmed)); p != nil {
		return nil, false
	}
	return json.RawMessage(trimmed), true
}

// isNumber reports whether text is a JSON number within bounds.
func isNumber(text string) bool {
	if text == "" || strings.Trim(text[:1], "-0123456789") != "" || !json.Valid([]byte(text)) {
		return false
	}
	return checkNumber(text) == nil && strings.TrimSpace(text) == text
}

func isWhole(number string) bool {
	r, ok := new(big.Rat).SetString(number)
	return ok && r.IsInt()
}
