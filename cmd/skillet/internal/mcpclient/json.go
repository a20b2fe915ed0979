package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep values may be nested.
const maxDepth = 64

// An object is where an object of a text stands, with its members.
type object struct {
	open, close int // of its braces
	members     []member
	comma       int // behind the comma after the last member; 0 for none
}

// A member is where a member of an object stands.
type member struct {
	name       string
	start, end int     // of the key, and behind the value
	value      int     // where the value begins
	object     *object // the value, if it is an object
}

func (o *object) find(name string) (member, int) {
	for i, m := range o.members {
		if m.name == name {
			return m, i
		}
	}
	return member{}, -1
}

// A reader reads JSON, and where comments are allowed, what editors let people write: comments, and
// commas behind the last member.
type reader struct {
	text     string
	at       int
	comments bool
}

// readObject reads a text that is one object.
func readObject(text string, comments bool) (*object, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	r := &reader{text: text, comments: comments}
	if strings.HasPrefix(text, "\uFEFF") {
		r.at = len("\uFEFF")
	}
	if err := r.space(); err != nil {
		return nil, err
	}
	o, err := r.value(0)
	if err == nil {
		err = r.space()
	}
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, errors.New("it is not an object")
	case r.at != len(text):
		return nil, r.wrong("text behind the object")
	}
	return o, nil
}

func (r *reader) wrong(what string) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(r.text[:min(r.at, len(r.text))], "\n"), what)
}

func (r *reader) rest() string { return r.text[r.at:] }

// space skips white space, and comments.
func (r *reader) space() error {
	for {
		r.at += len(r.rest()) - len(strings.TrimLeft(r.rest(), " \t\r\n"))
		switch rest := r.rest(); {
		case r.comments && strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			r.at += n
		case r.comments && strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return r.wrong("a comment that does not end")
			}
			r.at += n + 4
		default:
			return nil
		}
	}
}

// next takes a character if it is next, and the space behind it.
func (r *reader) next(c byte) (bool, error) {
	if r.at >= len(r.text) || r.text[r.at] != c {
		return false, nil
	}
	r.at++
	return true, r.space()
}

// value reads a value; it returns what is an object.
func (r *reader) value(depth int) (*object, error) {
	if depth > maxDepth {
		return nil, r.wrong("it is nested too deeply")
	}
	if r.at >= len(r.text) {
		return nil, r.wrong("it ends too early")
	}
	switch r.text[r.at] {
	case '{':
		return r.object(depth)
	case '[':
		return nil, r.list(depth)
	case '"':
		_, err := r.string()
		return nil, err
	}
	n := strings.IndexAny(r.rest(), " \t\r\n,]}/")
	if n < 0 {
		n = len(r.rest())
	}
	if !json.Valid([]byte(r.rest()[:n])) {
		return nil, r.wrong("a value is expected")
	}
	r.at += n
	return nil, nil
}

func (r *reader) string() (string, error) {
	for i := r.at + 1; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			i++
		case '"':
			var s string
			if err := json.Unmarshal([]byte(r.text[r.at:i+1]), &s); err != nil {
				return "", r.wrong("a string that is not one")
			}
			r.at = i + 1
			return s, nil
		}
	}
	return "", r.wrong("a string that does not end")
}

func (r *reader) object(depth int) (*object, error) {
	o := &object{open: r.at}
	r.at++
	if err := r.space(); err != nil {
		return nil, err
	}
	for {
		if r.at < len(r.text) && r.text[r.at] == '}' && (len(o.members) == 0 || o.comma > 0) {
			o.close = r.at
			r.at++
			return o, nil
		}
		m, err := r.member(depth)
		if err != nil {
			return nil, err
		}
		if _, i := o.find(m.name); i >= 0 {
			return nil, r.wrong(fmt.Sprintf("%q is there twice", m.name))
		}
		o.members, o.comma = append(o.members, m), 0
		if err := r.space(); err != nil {
			return nil, err
		}
		at := r.at + 1
		comma, err := r.next(',')
		if err != nil {
			return nil, err
		}
		if comma && r.comments {
			o.comma = at
		}
		if !comma && (r.at >= len(r.text) || r.text[r.at] != '}') {
			return nil, r.wrong("a comma or } is expected")
		}
		if !comma {
			o.close = r.at
			r.at++
			return o, nil
		}
	}
}

func (r *reader) member(depth int) (m member, err error) {
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return m, r.wrong("a name is expected")
	}
	m.start = r.at
	if m.name, err = r.string(); err != nil {
		return m, err
	}
	if err := r.space(); err != nil {
		return m, err
	}
	colon, err := r.next(':')
	if err != nil {
		return m, err
	}
	if !colon {
		return m, r.wrong("a colon is expected")
	}
	m.value = r.at
	m.object, err = r.value(depth + 1)
	m.end = r.at
	return m, err
}

func (r *reader) list(depth int) error {
	r.at++
	if err := r.space(); err != nil {
		return err
	}
	for first, comma := true, false; ; first = false {
		if end, err := r.end(first || comma && r.comments); end || err != nil {
			return err
		}
		if _, err := r.value(depth + 1); err != nil {
			return err
		}
		if err := r.space(); err != nil {
			return err
		}
		var err error
		if comma, err = r.next(','); err != nil {
			return err
		}
		if !comma {
			if r.at >= len(r.text) || r.text[r.at] != ']' {
				return r.wrong("a comma or ] is expected")
			}
			r.at++
			return nil
		}
	}
}

// end takes the end of a list, where one may end.
func (r *reader) end(may bool) (bool, error) {
	if !may || r.at >= len(r.text) || r.text[r.at] != ']' {
		return false, nil
	}
	r.at++
	return true, nil
}

// jsonSet puts an entry under a member of an object in a text, which may be empty. Everything else
// stays byte for byte.
func jsonSet(text, under, name string, entry any, comments bool) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := readObject(text, comments)
	if err != nil {
		return "", err
	}
	m, i := root.find(under)
	if i < 0 {
		return insert(text, root, under, map[string]any{name: entry})
	}
	if m.object == nil {
		return "", fmt.Errorf("%q is not an object", under)
	}
	old, i := m.object.find(name)
	if i < 0 {
		return insert(text, m.object, name, entry)
	}
	if sameValue(text[old.value:old.end], entry) {
		return text, nil
	}
	value, err := indented(entry, lineIndent(text, old.start), unit(text))
	return text[:old.value] + value + text[old.end:], err
}

// sameValue reports whether a text is a value, however it is written.
func sameValue(text string, v any) bool {
	var b bytes.Buffer
	want, err := indented(v, "", "")
	if err != nil || json.Compact(&b, []byte(text)) != nil {
		return false
	}
	is := b.String()
	b.Reset()
	return json.Compact(&b, []byte(want)) == nil && b.String() == is
}

// insert adds a member behind the last one of an object.
func insert(text string, o *object, name string, value any) (string, error) {
	outer := lineIndent(text, o.open)
	in := outer + unit(text)
	at, before, after := o.open+1, "\n", ""
	if n := len(o.members); n > 0 {
		last := o.members[n-1]
		at, before = last.end, ",\n"
		if o.comma > 0 {
			at, before = o.comma, "\n"
		}
		if strings.Contains(text[o.open:o.members[0].start], "\n") {
			in = lineIndent(text, o.members[0].start)
		} else {
			after = "\n" + outer // what was in one line
		}
	} else if strings.TrimSpace(text[at:o.close]) == "" {
		text, after = text[:at]+text[o.close:], "\n"+outer
	}
	key, err := json.Marshal(name)
	if err != nil {
		return "", err
	}
	v, err := indented(value, in, unit(text))
	return text[:at] + before + in + string(key) + ": " + v + after + text[at:], err
}

// jsonRemove takes an entry out from under a member. ok is false when there is none.
func jsonRemove(text, under, name string, comments bool) (_ string, ok bool, err error) {
	if strings.TrimSpace(text) == "" {
		return text, false, nil
	}
	root, err := readObject(text, comments)
	if err != nil {
		return "", false, err
	}
	m, i := root.find(under)
	if i < 0 || m.object == nil {
		return text, false, nil
	}
	o := m.object
	old, i := o.find(name)
	switch {
	case i < 0:
		return text, false, nil
	case i > 0:
		return text[:o.members[i-1].end] + text[old.end:], true, nil
	case len(o.members) > 1:
		return text[:old.start] + text[o.members[1].start:], true, nil
	}
	start, end := old.start, max(old.end, o.comma)
	if rest := text[end:o.close]; strings.TrimSpace(text[o.open+1:start]) == "" && strings.TrimSpace(rest) == "" {
		start, end = o.open+1, o.close
	}
	return text[:start] + text[end:], true, nil
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

// indented is a value as JSON behind a key.
func indented(v any, prefix, unit string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, unit)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
