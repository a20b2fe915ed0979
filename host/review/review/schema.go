package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// toolSteps compare the tools of two manifests, by name.
func toolSteps(before, after []manifests.Tool) []ToolStep {
	old := map[string]manifests.Tool{}
	for _, t := range before {
		old[t.Name] = t
	}
	steps := []ToolStep{}
	for _, t := range after {
		was, ok := old[t.Name]
		delete(old, t.Name)
		if !ok {
			steps = append(steps, ToolStep{Change: Added, Tool: t.Name, Details: []string{}})
		} else if s := compareTools(was, t); len(s.Details) > 0 {
			steps = append(steps, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		steps = append(steps, ToolStep{Change: Removed, Tool: name, Breaking: true, Details: []string{}})
	}
	slices.SortStableFunc(steps, func(a, b ToolStep) int { return strings.Compare(a.Tool, b.Tool) })
	return steps
}

func compareTools(before, after manifests.Tool) ToolStep {
	c := comparison{}
	c.schemas("input", given, before.InputSchema, after.InputSchema)
	c.schemas("output", answered, before.OutputSchema, after.OutputSchema)
	c.promise("that it changes nothing", before.ReadOnly, after.ReadOnly)
	c.promise("that it can be called twice", before.Idempotent, after.Idempotent)
	if before.Description != after.Description {
		c.note(false, "its description says something else")
	}
	return ToolStep{Change: Changed, Tool: after.Name, Breaking: c.breaking, Details: c.details}
}

// A side of a tool's schema: what callers give, or what they are answered. What
// breaks them is the opposite: to demand more, and to promise less.
type side int

const (
	given side = iota
	answered
)

// always is what a member is that has to be there.
var always = [...]string{given: "required", answered: "always there"}

// A comparison gathers what is different about a tool.
type comparison struct {
	breaking bool
	details  []string
}

func (c *comparison) note(breaking bool, format string, args ...any) {
	c.breaking = c.breaking || breaking
	c.details = append(c.details, fmt.Sprintf(format, args...))
}

func (c *comparison) promise(what string, before, after bool) {
	switch {
	case before && !after:
		c.note(true, "no longer promises %s", what)
	case after && !before:
		c.note(false, "promises %s", what)
	}
}

// schemas compares two schemas; an empty one accepts, and promises, anything.
func (c *comparison) schemas(where string, s side, before, after json.RawMessage) {
	if bytes.Equal(before, after) {
		return
	}
	var was, is any
	switch {
	case len(before) == 0:
		c.note(s == given, "%s: now has a schema", where)
		return
	case len(after) == 0:
		c.note(s == answered, "%s: has no schema any more", where)
		return
	case decode(before, &was) != nil || decode(after, &is) != nil:
		c.note(true, "%s: has another schema", where)
		return
	}
	c.values(where, s, was, is, 0)
}

func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// maxSchemaDepth bounds how deep schemas are compared member by member.
const maxSchemaDepth = 32

// values compares two schemas member by member, as far as they are objects that
// this package understands. What it does not understand may break.
func (c *comparison) values(where string, s side, before, after any, depth int) {
	was, ok1 := before.(map[string]any)
	is, ok2 := after.(map[string]any)
	if !ok1 || !ok2 || depth > maxSchemaDepth {
		if !reflect.DeepEqual(before, after) {
			c.note(true, "%s: has another schema", where)
		}
		return
	}
	c.kinds(where, s, was["type"], is["type"])
	c.properties(where, s, was, is, depth)
	c.choices(where, s, list(was["enum"]), list(is["enum"]))
	if w, i := was["items"], is["items"]; w != nil && i != nil {
		c.values(where+"[]", s, w, i, depth+1)
	} else if !reflect.DeepEqual(w, i) {
		c.note((i != nil) == (s == given), "%s: its items have another schema", where)
	}
	if !reflect.DeepEqual(rest(was), rest(is)) {
		c.note(true, "%s: is checked in another way", where)
	}
}

// understood are the members of a schema that are compared by their meaning;
// silent ones mean nothing to a program.
var (
	understood = []string{"type", "properties", "required", "enum", "items", "additionalProperties"}
	silent     = []string{"description", "title", "examples", "example", "default", "$comment", "$schema", "$id"}
)

// rest is a schema without what is compared by itself.
func rest(schema map[string]any) map[string]any {
	left := map[string]any{}
	for name, v := range schema {
		if !slices.Contains(understood, name) && !slices.Contains(silent, name) {
			left[name] = v
		}
	}
	return left
}

// kinds compares types: more of them accepts more, and promises less.
func (c *comparison) kinds(where string, s side, before, after any) {
	was, is := list(before), list(after)
	if slices.Equal(was, is) {
		return
	}
	c.note(c.less(s, was, is), "%s: is %s (before: %s)", where, orAnything(is), orAnything(was))
}

// choices compares the values a member may have.
func (c *comparison) choices(where string, s side, was, is []string) {
	if slices.Equal(was, is) {
		return
	}
	c.note(c.less(s, was, is), "%s: may be %s (before: %s)", where, orAnything(is), orAnything(was))
}

// less reports whether a caller loses something when a set of what is possible
// changes; an empty set is everything.
func (c *comparison) less(s side, was, is []string) bool {
	if s == answered {
		was, is = is, was
	}
	if len(is) == 0 {
		return false
	}
	return len(was) == 0 || slices.ContainsFunc(was, func(v string) bool { return !slices.Contains(is, v) })
}

func orAnything(values []string) string {
	if len(values) == 0 {
		return "anything"
	}
	return strings.Join(values, " or ")
}

// list is a value, or a list of values, as sorted text.
func list(v any) []string {
	var all []string
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		for _, e := range v {
			all = append(all, text(e))
		}
	default:
		all = []string{text(v)}
	}
	slices.Sort(all)
	return all
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil { // it was decoded from JSON
		panic("review: " + err.Error())
	}
	return string(b)
}

// properties compares the members of two object schemas.
func (c *comparison) properties(where string, s side, before, after map[string]any, depth int) {
	was, _ := before["properties"].(map[string]any)
	is, _ := after["properties"].(map[string]any)
	needed, needs := list(before["required"]), list(after["required"])
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.property(where+"."+name, s, was[name], is[name], slices.Contains(needed, name), slices.Contains(needs, name), closed(after), depth)
	}
	if closed(before) != closed(after) {
		c.note(closed(after) == (s == given), "%s: %s", where, map[bool]string{true: "takes no other members any more", false: "may have other members"}[closed(after)])
	}
}

// closed reports whether an object may have only the members that are named.
func closed(schema map[string]any) bool { return schema["additionalProperties"] == false }

// property compares one member. needed and needs say whether it had, and has, to
// be there.
func (c *comparison) property(where string, s side, was, is any, needed, needs, closed bool, depth int) {
	switch {
	case was == nil && needs:
		c.note(s == given, "%s: is new, and %s", where, always[s])
	case was == nil:
		c.note(false, "%s: is new", where)
	case is == nil:
		c.note(s == answered || closed, "%s: is gone", where)
	default:
		switch {
		case needs && !needed:
			c.note(s == given, "%s: is %s now", where, always[s])
		case needed && !needs:
			c.note(s == answered, "%s: is not %s any more", where, always[s])
		}
		c.values(where, s, was, is, depth+1)
	}
}
