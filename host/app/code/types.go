package code

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// A schema is what is read of a JSON Schema to write types. What is not read makes a type
// wider, and never narrower.
type schema struct {
	Type        any                `json:"type"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Enum        []json.RawMessage  `json:"enum"`
	Const       json.RawMessage    `json:"const"`
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
	Description string             `json:"description"`

	anything bool // the schema is true
}

// UnmarshalJSON reads a schema. One that is not an object of the usual form is one of anything.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	var p plain
	if json.Unmarshal(b, &p) != nil {
		*s = schema{anything: true}
		return nil
	}
	*s = schema(p)
	return nil
}

// Bounds of a written type.
const (
	maxTypeDepth   = 5
	maxTypeMembers = 40
	maxTypeBytes   = 4 << 10
)

// typesOf are the types of a tool, as a language writes them.
func typesOf(language string, t Tool) string {
	w := typescript()
	if language == "python" {
		w = pythonTypes()
	}
	in, out := "any", "any"
	if len(t.of.InputSchema) > 0 {
		in = w.typeOf(read(t.of.InputSchema), 0)
	} else {
		in = w.free
	}
	if out = w.any; len(t.of.OutputSchema) > 0 {
		out = w.typeOf(read(t.of.OutputSchema), 0)
	}
	text := fmt.Sprintf(w.function, t.Call, in, out)
	if len(text) > maxTypeBytes {
		text = fmt.Sprintf(w.function, t.Call, w.object, w.any)
	}
	return text
}

func read(b json.RawMessage) *schema {
	var s schema
	_ = s.UnmarshalJSON(b) // which never fails
	return &s
}

// A writer writes types of a language.
type writer struct {
	function                                      string // of the call, the input and the output
	any, object, free                             string
	scalar                                        map[string]string
	or                                            string
	list, members, between, member, optional, end string
	literal                                       func(json.RawMessage) string
}

func typescript() writer {
	return writer{
		function: "%s(input: %s): Promise<%s>", any: "unknown", object: "object", free: "unknown",
		scalar: map[string]string{"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"},
		or:     " | ", list: "Array<%s>", members: "{ ", between: "; ", member: "%s: %s", optional: "%s?: %s", end: " }",
		literal: func(b json.RawMessage) string { return string(b) },
	}
}

func pythonTypes() writer {
	return writer{
		function: "%s(input: %s) -> %s", any: "Any", object: "dict", free: "Any",
		scalar: map[string]string{"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"},
		or:     " | ", list: "list[%s]", members: "{", between: ", ", member: "%s: %s", optional: "%s?: %s", end: "}",
		literal: func(b json.RawMessage) string {
			switch string(b) {
			case "true":
				return "True"
			case "false":
				return "False"
			case "null":
				return "None"
			}
			return string(b)
		},
	}
}

func (w writer) typeOf(s *schema, depth int) string {
	switch {
	case s == nil || s.anything || depth > maxTypeDepth:
		return w.any
	case len(s.Const) > 0:
		return w.constant(s.Const)
	case len(s.Enum) > 0:
		var all []string
		for _, e := range s.Enum[:min(len(s.Enum), maxTypeMembers)] {
			all = append(all, w.constant(e))
		}
		if len(s.Enum) > maxTypeMembers {
			all = append(all, w.any)
		}
		return strings.Join(all, w.or)
	case len(s.AnyOf)+len(s.OneOf) > 0 && s.Type == nil:
		return w.either(append(slices.Clone(s.AnyOf), s.OneOf...), depth)
	}
	if names, ok := s.Type.([]any); ok {
		var all []string
		for _, n := range names {
			name, _ := n.(string)
			all = append(all, w.named(name, s, depth))
		}
		return strings.Join(slices.Compact(all), w.or)
	}
	name, _ := s.Type.(string)
	return w.named(name, s, depth)
}

// constant is a literal of JSON. A text of it is quoted as both languages quote.
func (w writer) constant(b json.RawMessage) string {
	if len(b) > 60 || strings.ContainsAny(string(b), "{[") {
		return w.any
	}
	return w.literal(b)
}

func (w writer) either(of []*schema, depth int) string {
	var all []string
	for _, s := range of[:min(len(of), maxTypeMembers)] {
		if t := w.typeOf(s, depth+1); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return strings.Join(all, w.or)
}

func (w writer) named(name string, s *schema, depth int) string {
	if t, ok := w.scalar[name]; ok {
		return t
	}
	switch {
	case name == "array":
		item := w.typeOf(s.Items, depth+1)
		return fmt.Sprintf(w.list, item)
	case len(s.Properties) > 0:
		return w.membersOf(s, depth)
	case name == "object":
		return w.object
	}
	return w.any
}

func (w writer) membersOf(s *schema, depth int) string {
	names := make([]string, 0, len(s.Properties))
	for n := range s.Properties {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { // what is needed comes first
		x, y := slices.Contains(s.Required, a), slices.Contains(s.Required, b)
		if x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, n := range names[:min(len(names), maxTypeMembers)] {
		form := w.optional
		if slices.Contains(s.Required, n) {
			form = w.member
		}
		shown := n
		if !isMember(n) {
			shown = strconv.Quote(n)
		}
		all = append(all, fmt.Sprintf(form, shown, w.typeOf(s.Properties[n], depth+1)))
	}
	if len(names) > maxTypeMembers {
		all = append(all, "...")
	}
	return w.members + strings.Join(all, w.between) + w.end
}

func isMember(n string) bool {
	return n != "" && !strings.ContainsFunc(n, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// wordsIn are the names and descriptions in the schemas of a tool, to be searched.
func wordsIn(t manifests.Tool) string {
	var b strings.Builder
	var walk func(s *schema, depth int)
	walk = func(s *schema, depth int) {
		if s == nil || depth > maxTypeDepth || b.Len() > maxTypeBytes {
			return
		}
		b.WriteString(s.Description + "\n")
		names := make([]string, 0, len(s.Properties))
		for n := range s.Properties {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			b.WriteString(n + "\n")
			walk(s.Properties[n], depth+1)
		}
		walk(s.Items, depth+1)
	}
	for _, s := range []json.RawMessage{t.InputSchema, t.OutputSchema} {
		if len(s) > 0 {
			walk(read(s), 0)
		}
	}
	return b.String()
}
