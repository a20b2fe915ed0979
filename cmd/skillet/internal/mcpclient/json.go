package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxValues bounds the objects and lists of a configuration, and so how deep they are nested.
const maxValues = 1 << 20

// A configuration is a text that is one JSON object. Where comments are allowed it may be what
// editors let people write: with comments, and commas behind the last member.
type configuration struct {
	bom  string
	text string
	root hujson.Value
}

func parse(text string, comments bool) (*configuration, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	c := &configuration{}
	c.text, c.bom = text, ""
	if rest, ok := strings.CutPrefix(text, "\uFEFF"); ok {
		c.text, c.bom = rest, "\uFEFF"
	}
	if !utf8.ValidString(c.text) {
		return nil, errors.New("it is not UTF-8")
	}
	if strings.Count(c.text, "{")+strings.Count(c.text, "[") > maxValues {
		return nil, fmt.Errorf("it has more than %d objects and lists", maxValues)
	}
	var err error
	if c.root, err = hujson.Parse([]byte(c.text)); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if !comments && !c.root.IsStandard() {
		return nil, errors.New("it has comments, or commas behind the last member, which its client does not read")
	}
	_, err = membersOf(&c.root)
	return c, err
}

func (c *configuration) String() string { return c.bom + c.root.String() }

// membersOf is a value as an object, which has each name once.
func membersOf(v *hujson.Value) (*hujson.Object, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	names := map[string]bool{}
	for _, m := range o.Members {
		name := nameOf(m)
		if names[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		names[name] = true
	}
	return o, nil
}

func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

func find(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
}

// jsonSet puts an entry under a member of an object in a text, which may be empty. Everything else
// stays byte for byte.
func jsonSet(text, under, name string, entry any, comments bool) (string, error) {
	c, err := parse(text, comments)
	if err != nil {
		return "", err
	}
	root, _ := membersOf(&c.root)
	i := find(root, under)
	if i < 0 {
		err := c.add(&c.root, under, map[string]any{name: entry})
		return c.String(), err
	}
	servers := &root.Members[i].Value
	in, err := membersOf(servers)
	if err != nil {
		return "", fmt.Errorf("%q: %w", under, err)
	}
	if i = find(in, name); i < 0 {
		err := c.add(servers, name, entry)
		return c.String(), err
	}
	old := &in.Members[i]
	value, err := valueOf(entry, lineIndent(c.text, old.Name.StartOffset), unit(c.text))
	if err != nil || same(old.Value, value) {
		return text, err
	}
	old.Value.Value = value.Value
	return c.String(), nil
}

// same reports whether values are the same, however they are written.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	for _, v := range []*hujson.Value{&a, &b} {
		v.BeforeExtra, v.AfterExtra = nil, nil
		v.Minimize()
	}
	return bytes.Equal(a.Pack(), b.Pack())
}

// add adds a member behind the last one of an object.
func (c *configuration) add(to *hujson.Value, name string, member any) error {
	o, _ := to.Value.(*hujson.Object)
	outer := lineIndent(c.text, to.StartOffset)
	in, lines := outer+unit(c.text), false
	if len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			in, lines = before[i+1:], true
		}
	}
	value, err := valueOf(member, in, unit(c.text))
	if err != nil {
		return err
	}
	switch blank := strings.TrimSpace(string(o.AfterExtra)) == ""; {
	case len(o.Members) == 0 && blank:
		o.AfterExtra = []byte("\n" + outer)
	case len(o.Members) > 0 && !lines: // what was in one line
		o.AfterExtra = append([]byte("\n"+outer), o.AfterExtra...)
	}
	value.BeforeExtra = []byte(" ")
	o.Members = append(o.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: []byte("\n" + in), Value: hujson.String(name)}, Value: value})
	return nil
}

// jsonRemove takes an entry out from under a member. ok is false when there is none.
func jsonRemove(text, under, name string, comments bool) (_ string, ok bool, err error) {
	if strings.TrimSpace(text) == "" {
		return text, false, nil
	}
	c, err := parse(text, comments)
	if err != nil {
		return "", false, err
	}
	root, _ := membersOf(&c.root)
	i := find(root, under)
	if i < 0 {
		return text, false, nil
	}
	o, err := membersOf(&root.Members[i].Value)
	if err != nil {
		return text, false, nil
	}
	if i = find(o, name); i < 0 {
		return text, false, nil
	}
	old := o.Members[i]
	o.Members = slices.Delete(o.Members, i, i+1)
	switch {
	case i > 0:
		o.Members[i-1].Value.AfterExtra = old.Value.AfterExtra
	case len(o.Members) > 0:
		o.Members[0].Name.BeforeExtra = old.Name.BeforeExtra
	default:
		o.AfterExtra = slices.Concat(old.Name.BeforeExtra, old.Value.AfterExtra, o.AfterExtra)
		if strings.TrimSpace(string(o.AfterExtra)) == "" {
			o.AfterExtra = nil
		}
	}
	return c.String(), true, nil
}

// lineIndent is the white space at the beginning of the line of a place.
func lineIndent(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit is by what a text indents.
func unit(text string) string {
	for line := range strings.Lines(text) {
		if in := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; in != "" && strings.TrimSpace(line) != "" {
			return in
		}
	}
	return "  "
}

// valueOf is a value as it is written behind a key.
func valueOf(v any, prefix, unit string) (hujson.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, unit)
	if err := e.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.TrimSpace(b.Bytes()))
}
