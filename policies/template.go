package policies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/skillet-run/skillet/internal/nearest"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Template makes policies that many people want, and the cases that test them.
type Template struct {
	Name string `json:"name"`
	// About says what its policies do.
	About string `json:"about"`
	// Values are what can be said of it.
	Values []TemplateValue `json:"values"`

	text  string
	cases func(Written) []Case
	check func(Written) error
}

// A TemplateValue is something that a person says of a template.
type TemplateValue struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Default is what it is when nobody says; a value without has to be given.
	Default string `json:"default,omitempty"`

	optional bool // it may be empty
}

// Written is what a template made.
type Written struct {
	// ID is the id of the first policy.
	ID string
	// Policy is the text of a policy file, and Cases that of a file of test cases.
	Policy, Cases []byte

	values map[string]string
}

// List returns the elements of a value that are parted by commas.
func (w Written) List(name string) []string {
	var all []string
	for one := range strings.SplitSeq(w.values[name], ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// Value is a value as it was given.
func (w Written) Value(name string) string { return w.values[name] }

// Number is a value that is a whole number; 0 for any other.
func (w Written) Number(name string) int {
	n, _ := strconv.Atoi(w.values[name])
	return n
}

// quoted is a text as Cedar has it.
func quoted(s string) string { return string(cedar.String(s).MarshalCedar()) }

func quotedList(all []string) string {
	var b []string
	for _, s := range all {
		b = append(b, quoted(s))
	}
	return strings.Join(b, ", ")
}

func actionList(all []string) string {
	var b []string
	for _, s := range all {
		b = append(b, "Action::"+quoted(s))
	}
	return strings.Join(b, ", ")
}

// Templates returns all templates, in the order in which they are listed.
func Templates() []Template { return slices.Clone(templates) }

// TemplateNamed finds a template; the error offers the nearest name.
func TemplateNamed(name string) (Template, error) {
	var names []string
	for _, t := range templates {
		if names = append(names, t.Name); t.Name == name {
			return t, nil
		}
	}
	return Template{}, unknown("template", name, names)
}

func unknown(what, name string, names []string) error {
	if best, ok := nearest.Name(name, names); ok {
		return fmt.Errorf("%s %s does not exist; did you mean %s?", what, name, best)
	}
	return fmt.Errorf("%s %s does not exist; there are %s", what, name, strings.Join(names, ", "))
}

// Write makes the policies of a template. id is that of the first one; "" for the name of the
// template.
func (t Template) Write(id string, values map[string]string) (Written, error) {
	w := Written{ID: id, values: map[string]string{}}
	if w.ID == "" {
		w.ID = t.Name
	}
	if !isID(w.ID) || strings.HasPrefix(w.ID, ".") {
		return w, fmt.Errorf("%q is not an id: letters, digits, dots, hyphens and underscores", w.ID)
	}
	var names []string
	for _, v := range t.Values {
		names = append(names, v.Name)
		w.values[v.Name] = v.Default
	}
	for name, value := range values {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return w, fmt.Errorf("template %s takes no values", t.Name)
			}
			return w, unknown("value", name, names)
		}
		w.values[name] = value
	}
	for _, v := range t.Values {
		if w.values[v.Name] == "" && !v.optional {
			return w, fmt.Errorf("%s is missing: %s", v.Name, v.About)
		}
	}
	if t.check != nil {
		if err := t.check(w); err != nil {
			return w, err
		}
	}
	return t.fill(w)
}

func (t Template) fill(w Written) (Written, error) {
	form, err := template.New(t.Name).Funcs(template.FuncMap{"q": quoted, "list": quotedList, "actions": actionList}).Parse(t.text)
	if err != nil {
		return w, fmt.Errorf("template %s: %w", t.Name, err)
	}
	var b bytes.Buffer
	if err := form.Execute(&b, w); err != nil {
		return w, fmt.Errorf("template %s: %w", t.Name, err)
	}
	w.Policy = b.Bytes()
	w.Cases, err = json.MarshalIndent(struct {
		Cases []Case `json:"cases"`
	}{t.cases(w)}, "", "  ")
	w.Cases = append(w.Cases, '\n')
	return w, err
}

// With returns a set that has the policies that were written, too. Errors are those of [Load].
func (s *Set) With(w Written) (*Set, error) {
	l, err := newLoader()
	if err != nil {
		return nil, err
	}
	l.policies, l.byID = slices.Clone(s.policies), maps.Clone(s.byID)
	l.addText(w.ID+".cedar", w.Policy)
	more, err := l.set()
	if err != nil {
		return nil, err
	}
	return more.Within(s.maximum), nil
}

// Tests are the cases that were written.
func (w Written) Tests() []Case {
	cases, _ := parseCases(w.Cases)
	return cases
}

// callActions are the actions of which policies can look at the call.
func callActions() []string {
	all := []string{ActionCall}
	for _, a := range capability.Actions() {
		all = append(all, string(a))
	}
	return all
}
