package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on every document and value this package reads, so that none can
// exhaust the host: see also [MaxSchemaBytes].
const (
	// MaxBytes is the size of a manifest or SKILL.md in bytes.
	MaxBytes = 1 << 20
	// MaxDepth is how deeply objects and lists may nest.
	MaxDepth = 64
	// MaxNumberLength is how many characters a number may have, and
	// MaxExponent how far its exponent may be from zero: exact arithmetic on
	// 1e999999 takes minutes.
	MaxNumberLength = 256
	MaxExponent     = 400
)

// A node is one value of a document, and the line it starts on. It is an
// object, a list, or a scalar.
type node struct {
	line   int
	kind   nodeKind
	fields []field // of an object, in the order of the document
	items  []*node // of a list
	scalar any     // nil, bool, string or json.Number
}

type nodeKind uint8

const (
	scalarNode nodeKind = iota
	objectNode
	listNode
)

// A field is one member of an object.
type field struct {
	name  string
	line  int
	value *node
}

// join appends a step, such as `name` or `[0]` or `["odd name"]`, to a path. The
// empty step stays where it is.
func join(path, step string) string {
	if step == "" {
		return path
	}
	if path == "" || strings.HasPrefix(step, "[") {
		return path + step
	}
	return path + "." + step
}

// keyStep is the step to the member called name.
func keyStep(name string) string {
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !isWord(r) && r != '-' && r != '$'
	}) < 0
	if plain {
		return name
	}
	return "[" + strconv.Quote(name) + "]"
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// under moves a problem found inside a member or item to where it stands.
func (p *Problem) under(step string) *Problem {
	p.Path = join(step, p.Path)
	return p
}

// add appends a member to an object; a second one of the same name is a
// problem, because readers disagree which of the two counts.
func (n *node) add(seen map[string]int, f field) *Problem {
	if first, ok := seen[f.name]; ok {
		p := &Problem{Line: f.line, Path: keyStep(f.name), Message: "given twice", Suggestion: "remove one of the two"}
		if first > 0 {
			p.Message = fmt.Sprintf("given twice, first on line %d", first)
		}
		return p
	}
	seen[f.name] = f.line
	n.fields = append(n.fields, f)
	return nil
}

// get returns the member called name, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// plain returns n as the values encoding/json makes, numbers as json.Number.
func (n *node) plain() any {
	switch n.kind {
	case objectNode:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.name] = f.value.plain()
		}
		return m
	case listNode:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.plain()
		}
		return l
	default:
		return n.scalar
	}
}

// appendJSON appends n as JSON, members in the order of the document.
func (n *node) appendJSON(b *bytes.Buffer) {
	switch n.kind {
	case objectNode:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			appendScalar(b, f.name)
			b.WriteByte(':')
			f.value.appendJSON(b)
		}
		b.WriteByte('}')
	case listNode:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.appendJSON(b)
		}
		b.WriteByte(']')
	default:
		appendScalar(b, n.scalar)
	}
}

func appendScalar(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // a string, a bool, nil or a checked number
		panic("manifests: encode a scalar: " + err.Error())
	}
	b.Truncate(b.Len() - 1) // the encoder ends with a line feed
}

// visit calls f for n and everything below, with its path and line.
func (n *node) visit(path string, line int, f func(path string, line int, n *node)) {
	f(path, line, n)
	for _, m := range n.fields {
		m.value.visit(join(path, keyStep(m.name)), m.line, f)
	}
	for i, item := range n.items {
		item.visit(join(path, indexStep(i)), item.line, f)
	}
}

// lineIndex returns the line of every field of n, by path.
func (n *node) lineIndex() map[string]int {
	lines := map[string]int{}
	n.visit("", n.line, func(path string, line int, _ *node) { lines[path] = line })
	return lines
}

// checkNumber refuses a JSON number that exact arithmetic would choke on.
func checkNumber(text string) *Problem {
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil {
			n = MaxExponent + 1
		}
		exponent = max(n, -n)
	}
	if len(text) <= MaxNumberLength && exponent <= MaxExponent {
		return nil
	}
	return &Problem{
		Message:    "a number this large or this precise is not accepted",
		Suggestion: fmt.Sprintf("write at most %d characters and an exponent within ±%d", MaxNumberLength, MaxExponent),
	}
}
