package hostapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// words are how everything in the description is named.
var words = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// placeholder is a field's name in a template.
var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

// check returns everything in which the description contradicts itself.
func (a *Interface) check() error {
	var all []error
	for name, n := range a.names() {
		if n > 1 {
			all = append(all, fmt.Errorf("%s is described twice", name))
		}
		if _, word, _ := strings.Cut(name, " "); !words.MatchString(word) {
			all = append(all, fmt.Errorf("%s is not a name", name))
		}
	}
	for _, t := range a.Transfer {
		all = append(all, t.check())
	}
	for _, r := range a.Records {
		all = append(all, a.checkFields("record "+r.Name, r.Fields))
	}
	for _, f := range a.Functions {
		all = append(all, a.checkFunction(f))
	}
	return errors.Join(all...)
}

// names counts how often each thing is described.
func (a *Interface) names() map[string]int {
	n := map[string]int{}
	for _, k := range a.Kinds {
		n["kind "+k.Name]++
	}
	for _, l := range a.Limits {
		n["limit "+l.Name]++
	}
	for _, t := range a.Transfer {
		n["function "+t.Name]++
	}
	for _, f := range a.Functions {
		n["function "+f.Name]++
	}
	for _, e := range a.Enums {
		n["type "+e.Name]++
		for _, v := range e.Values {
			n[e.Name+" "+v.Name]++
		}
	}
	for _, r := range a.Records {
		n["type "+r.Name]++
	}
	return n
}

// check returns what is wrong with a transfer function.
func (t Transfer) check() error {
	var all []error
	if !slices.Contains([]string{"", "i32", "i64"}, t.Result) {
		all = append(all, fmt.Errorf("%s: result %q", t.Name, t.Result))
	}
	for _, p := range t.Params {
		if !slices.Contains([]string{"pointer", "length", "i64"}, p.Type) {
			all = append(all, fmt.Errorf("%s: parameter %s of type %q", t.Name, p.Name, p.Type))
		}
	}
	return errors.Join(all...)
}

// checkFields returns what is wrong with the members of an object.
func (a *Interface) checkFields(where string, fields []Field) error {
	var all []error
	seen := map[string]bool{}
	for _, f := range fields {
		_, isEnum := a.Enum(f.Type.Base)
		_, isRecord := a.Record(f.Type.Base)
		known := isEnum || isRecord || slices.Contains([]Base{String, Bool, Int, Uint, Float, Time}, f.Type.Base)
		switch {
		case seen[f.Name] || !words.MatchString(f.Name):
			all = append(all, fmt.Errorf("%s: field %q is not a name, or there twice", where, f.Name))
		case !known:
			all = append(all, fmt.Errorf("%s: field %s has the unknown type %s", where, f.Name, f.Type))
		case f.Doc == "":
			all = append(all, fmt.Errorf("%s: field %s is not explained", where, f.Name))
		case f.Nullable && (!f.Optional || f.Type.List || f.Type.Map):
			all = append(all, fmt.Errorf("%s: field %s cannot be nullable", where, f.Name))
		case f.Default != "" && (!f.Optional || f.Type.List || f.Type.Map || f.Type.Base != String && !isEnum):
			all = append(all, fmt.Errorf("%s: field %s cannot have a default", where, f.Name))
		}
		seen[f.Name] = true
	}
	return errors.Join(all...)
}

// checkFunction returns what is wrong with a function.
func (a *Interface) checkFunction(f Function) error {
	all := []error{a.checkFields(f.Name+" request", f.Request), a.checkFields(f.Name+" response", f.Response)}
	if f.Doc == "" || f.Words == "" || f.Subject == "" || (f.Grant == "") == (f.Free == "") {
		all = append(all, fmt.Errorf("%s: it needs a doc, words, a subject, and either a grant or the reason why none", f.Name))
	}
	for _, template := range []string{f.Subject, f.Grant} {
		for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
			if !slices.ContainsFunc(f.Request, func(x Field) bool { return x.Name == m[1] && x.Type == Type{Base: String} }) {
				all = append(all, fmt.Errorf("%s: %q names no text of the request", f.Name, template))
			}
		}
	}
	for _, e := range f.Errors {
		if !slices.ContainsFunc(a.Kinds, func(k Value) bool { return k.Name == e.Kind }) || e.When == "" {
			all = append(all, fmt.Errorf("%s: error of kind %q", f.Name, e.Kind))
		}
	}
	all = append(all, a.checkExample(f.Name+" example request", f.Example.Request, f.Request))
	all = append(all, a.checkExample(f.Name+" example response", f.Example.Response, f.Response))
	return errors.Join(all...)
}

// checkExample compares an example with the fields it is of.
func (a *Interface) checkExample(where string, example json.RawMessage, fields []Field) error {
	if err := a.Conforms(example, fields); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// Conforms reports in what a JSON object differs from its description: a member that is not described, one
// that is missing and not optional, or one of another type. Records in it are compared too.
func (a *Interface) Conforms(object json.RawMessage, fields []Field) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return fmt.Errorf("not an object: %w", err)
	}
	var all []error
	for _, f := range fields {
		raw, ok := members[f.Name]
		switch {
		case !ok && !f.Optional:
			all = append(all, fmt.Errorf("%s is missing", f.Name))
		case ok && !(f.Nullable && string(raw) == "null"):
			if err := a.conforms(raw, f.Type); err != nil {
				all = append(all, fmt.Errorf("%s: %w", f.Name, err))
			}
		}
		delete(members, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all = append(all, fmt.Errorf("%s is not described", name))
	}
	return errors.Join(all...)
}

// conforms compares one value with its type.
func (a *Interface) conforms(raw json.RawMessage, t Type) error {
	switch {
	case t.Map:
		return each(raw, map[string]json.RawMessage{}, func(m map[string]json.RawMessage) []json.RawMessage { return slices.Collect(maps.Values(m)) },
			func(v json.RawMessage) error { return a.conforms(v, Type{Base: t.Base, List: t.List}) })
	case t.List:
		return each(raw, []json.RawMessage{}, func(l []json.RawMessage) []json.RawMessage { return l },
			func(v json.RawMessage) error { return a.conforms(v, Type{Base: t.Base}) })
	}
	if r, ok := a.Record(t.Base); ok {
		return a.Conforms(raw, r.Fields)
	}
	if e, ok := a.Enum(t.Base); ok {
		return e.holds(raw)
	}
	return t.Base.holds(raw)
}

// each decodes a container and checks what is in it.
func each[T any](raw json.RawMessage, into T, values func(T) []json.RawMessage, check func(json.RawMessage) error) error {
	if err := json.Unmarshal(raw, &into); err != nil || string(raw) == "null" {
		return fmt.Errorf("%s is another type", raw)
	}
	var all []error
	for _, v := range values(into) {
		all = append(all, check(v))
	}
	return errors.Join(all...)
}

// holds reports whether a value is one of the enum's words.
func (e Enum) holds(raw json.RawMessage) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || !slices.ContainsFunc(e.Values, func(v Value) bool { return v.Name == s }) {
		return fmt.Errorf("%s is not a %s", raw, e.Name)
	}
	return nil
}

// holds reports whether a value is one of the base.
func (b Base) holds(raw json.RawMessage) error {
	into := map[Base]any{String: new(string), Bool: new(bool), Int: new(int64), Uint: new(uint64), Float: new(float64), Time: new(rfc3339)}[b]
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return fmt.Errorf("%s is not a %s", raw, b)
	}
	return nil
}
