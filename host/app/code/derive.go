package code

import (
	"encoding/json"
	"maps"
	"slices"
)

// Bounds of a schema that is derived of a value. What is deeper, or has more members, may be
// anything.
const (
	maxDeriveDepth   = 6
	maxDeriveMembers = 100
)

// inputSchema is a schema of inputs like one: with its members, each of its type.
func inputSchema(input json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return written(derived(v, 0))
}

// outputSchema is a schema of what a script may come to when it came to a value once: of the
// same type, with members of the same names perhaps, of which nobody knows more. There is none
// for null.
func outputSchema(value json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(value, &v) != nil || v == nil {
		return nil
	}
	s := typed{Type: typeName(v)}
	if members, ok := v.(map[string]any); ok && len(members) > 0 && len(members) <= maxDeriveMembers {
		s.Properties = map[string]typed{}
		for name := range members {
			s.Properties[name] = typed{}
		}
	}
	return written(s)
}

// A typed is a schema that is derived.
type typed struct {
	Type       string           `json:"type,omitempty"`
	Properties map[string]typed `json:"properties,omitempty"`
	Required   []string         `json:"required,omitempty"`
	Items      *typed           `json:"items,omitempty"`
}

func written(s typed) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // there is nothing in it that cannot be written
		return json.RawMessage("{}")
	}
	return b
}

func typeName(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "" // null: another value would be of any type
}

func derived(v any, depth int) typed {
	s := typed{Type: typeName(v)}
	switch v := v.(type) {
	case map[string]any:
		if depth >= maxDeriveDepth || len(v) > maxDeriveMembers || len(v) == 0 {
			return s
		}
		s.Properties = map[string]typed{}
		for name, member := range v {
			s.Properties[name] = derived(member, depth+1)
		}
		s.Required = slices.Sorted(maps.Keys(v))
	case []any:
		s.Items = common(v, depth+1)
	}
	return s
}

// common is the schema of all items of a list; nil when they are not of one type.
func common(items []any, depth int) *typed {
	if len(items) == 0 {
		return nil
	}
	s := derived(items[0], depth)
	for _, item := range items[1:] {
		var same bool
		if s, same = merged(s, derived(item, depth)); !same {
			return nil
		}
	}
	return &s
}

// merged is a schema of what fits either; false when their types differ.
func merged(a, b typed) (typed, bool) {
	if a.Type != b.Type || a.Type == "" {
		return typed{}, false
	}
	if a.Items != nil && b.Items != nil {
		if s, same := merged(*a.Items, *b.Items); same {
			a.Items = &s
		} else {
			a.Items = nil
		}
	}
	a.Required = slices.DeleteFunc(slices.Clone(a.Required), func(name string) bool { return !slices.Contains(b.Required, name) })
	all := map[string]typed{}
	for name, s := range a.Properties {
		all[name] = s
	}
	for name, s := range b.Properties {
		if known, ok := all[name]; ok {
			s, _ = merged(known, s) // of two types, anything
		}
		all[name] = s
	}
	a.Properties = all
	return a, true
}
