package schema_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/manifest.md")

// TestPage compares the page about the manifest with its schema.
func TestPage(t *testing.T) {
	const path, begin, end = "../../docs/manifest.md", "-update -->\n", "<!-- end -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the fields", path)
	}
	want := head + begin + fieldsPage(t) + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Errorf("%s does not have the fields of the schema: run go test ./manifests/schema -run TestPage -update", path)
	}
}

// A field is a node of the schema of the manifest, with its properties in their order.
type field struct {
	Description string           `json:"description"`
	Ref         string           `json:"$ref"`
	Type        any              `json:"type"`
	Enum        []string         `json:"enum"`
	Minimum     json.Number      `json:"minimum"`
	Above       json.Number      `json:"exclusiveMinimum"`
	Maximum     json.Number      `json:"maximum"`
	MaxLength   json.Number      `json:"maxLength"`
	MaxItems    json.Number      `json:"maxItems"`
	Support     string           `json:"x-support"`
	Required    []string         `json:"required"`
	Items       *field           `json:"items"`
	Properties  fields           `json:"properties"`
	Patterns    map[string]field `json:"patternProperties"`
	Defs        map[string]field `json:"$defs"`
}

type fields struct {
	names []string
	of    map[string]*field
}

func (f *fields) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &f.of); err != nil {
		return err
	}
	at := map[string]int64{}
	dec := json.NewDecoder(bytes.NewReader(b))
	for depth := 0; ; {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		switch v := tok.(type) {
		case json.Delim:
			if strings.ContainsRune("{[", rune(v)) {
				depth++
			} else {
				depth--
			}
		case string:
			if _, isName := f.of[v]; isName && depth == 1 && at[v] == 0 {
				at[v] = dec.InputOffset()
			}
		}
	}
	for name := range f.of {
		f.names = append(f.names, name)
	}
	slices.SortFunc(f.names, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
	return nil
}

// fieldsPage is a table of the fields of each object of the manifest.
func fieldsPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("skill.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root field
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	p := page{defs: root.Defs}
	p.object("", root)
	return p.b.String()
}

type page struct {
	b    strings.Builder
	defs map[string]field
}

// resolved is f with what it refers to; its own description and class win.
func (p *page) resolved(f field) field {
	if f.Ref == "" {
		return f
	}
	d := p.defs[strings.TrimPrefix(f.Ref, "#/$defs/")]
	d.Description, d.Support = cmp.Or(f.Description, d.Description), cmp.Or(f.Support, d.Support)
	return d
}

// object writes the table of an object, and those of the objects in it.
func (p *page) object(path string, o field) {
	if path == "" {
		p.b.WriteString("\n## Fields\n\n")
	} else {
		fmt.Fprintf(&p.b, "\n## `%s`\n\n%s\n\n", path, o.Description)
	}
	p.b.WriteString("| field | value | meaning |\n| --- | --- | --- |\n")
	var below []func()
	for _, name := range o.Properties.names {
		f := p.resolved(*o.Properties.of[name])
		if f.Support == "unsupported" {
			f.Description += " Other values are refused."
		}
		if f.Support == "informational" {
			f.Description += " *Shown only.*"
		}
		required := ""
		if slices.Contains(o.Required, name) {
			required = ", required"
		}
		fmt.Fprintf(&p.b, "| `%s` | %s%s | %s |\n", name, p.value(f), required, strings.ReplaceAll(f.Description, "|", "\\|"))
		below = append(below, func() { p.below(strings.TrimPrefix(path+"."+name, "."), f) })
	}
	for _, write := range below {
		write()
	}
}

// below writes the tables of the objects in a field.
func (p *page) below(path string, f field) {
	switch {
	case len(f.Properties.names) > 1 || len(f.Properties.names) == 1 && f.Properties.names[0] != "reason":
		p.object(path, f)
	case f.Items != nil:
		p.below(path+"[]", p.resolved(*f.Items))
	}
	for _, v := range f.Patterns {
		p.below(path+".NAME", p.resolved(v))
	}
}

// value says what a field takes.
func (p *page) value(f field) string {
	types, _ := f.Type.([]any)
	if one, ok := f.Type.(string); ok {
		types = []any{one}
	}
	var names []string
	for _, name := range types {
		names = append(names, map[any]string{"string": "text", "object": "object", "array": "list", "integer": "integer", "number": "number", "boolean": "`true` or `false`"}[name])
	}
	text := strings.Join(names, " or ")
	switch {
	case len(f.Enum) > 0:
		text = "`" + strings.Join(f.Enum, "`, `") + "`"
	case f.Items != nil && f.MaxItems != "":
		text = fmt.Sprintf("list of at most %s", f.MaxItems)
	case f.Maximum != "" && f.Above != "":
		text += fmt.Sprintf(" above %s, at most %s", f.Above, f.Maximum)
	case f.Maximum != "":
		text += fmt.Sprintf(" from %s to %s", f.Minimum, f.Maximum)
	case f.MaxLength != "":
		text += fmt.Sprintf(" of at most %s characters", f.MaxLength)
	}
	return text
}
