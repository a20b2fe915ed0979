package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// readJSON reads one JSON value (RFC 8259). It is stricter than encoding/json:
// duplicate members, invalid UTF-8 and values nested deeper than [MaxDepth] are
// problems, so that nothing reads the same bytes in another way.
func readJSON(data []byte) (*node, *Problem) {
	if !utf8.Valid(data) {
		return nil, invalidUTF8(data)
	}
	if p := syntaxProblem(data); p != nil {
		return nil, p
	}
	r := &jsonReader{data: data, tokens: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.tokens.UseNumber()
	return r.value(0)
}

func invalidUTF8(data []byte) *Problem {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return &Problem{Line: line, Message: "is not valid UTF-8", Suggestion: "save the document as UTF-8"}
}

// syntaxProblem says where data is not JSON; nil when it is.
func syntaxProblem(data []byte) *Problem {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if err == nil {
		return nil
	}
	p := &Problem{Message: "is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := data[:min(max(syntax.Offset, 0), int64(len(data)))]
		p.Line = 1 + bytes.Count(before, []byte{'\n'})
	}
	return p
}

// A jsonReader makes nodes of the tokens of a document that is known to be
// JSON.
type jsonReader struct {
	data   []byte
	tokens *json.Decoder
	offset int64 // up to which lines are counted
	line   int
}

// next returns the next token and the line it ends on, which for JSON is the
// line it starts on.
func (r *jsonReader) next() (json.Token, *Problem) {
	t, err := r.tokens.Token()
	if err != nil {
		return nil, &Problem{Line: r.line, Message: "is not JSON: " + err.Error()}
	}
	end := r.tokens.InputOffset()
	r.line += bytes.Count(r.data[r.offset:end], []byte{'\n'})
	r.offset = end
	return t, nil
}

func (r *jsonReader) value(depth int) (*node, *Problem) {
	t, p := r.next()
	if p != nil {
		return nil, p
	}
	n := &node{line: r.line, scalar: t}
	switch t := t.(type) {
	case json.Delim:
		if depth >= MaxDepth {
			return nil, tooDeep(r.line)
		}
		if t == '{' {
			return r.object(n, depth)
		}
		return r.list(n, depth)
	case json.Number:
		if p := checkNumber(t.String()); p != nil {
			p.Line = r.line
			return nil, p
		}
	}
	return n, nil
}

func tooDeep(line int) *Problem {
	return &Problem{Line: line, Message: fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
}

func (r *jsonReader) object(n *node, depth int) (*node, *Problem) {
	n.kind, n.scalar = objectNode, nil
	seen := map[string]int{}
	for r.tokens.More() {
		t, p := r.next()
		if p != nil {
			return nil, p
		}
		name, line := t.(string), r.line
		v, p := r.value(depth + 1)
		if p != nil {
			return nil, p.under(keyStep(name))
		}
		if p := n.add(seen, field{name, line, v}); p != nil {
			return nil, p
		}
	}
	_, p := r.next()
	return n, p
}

func (r *jsonReader) list(n *node, depth int) (*node, *Problem) {
	n.kind, n.scalar = listNode, nil
	for r.tokens.More() {
		v, p := r.value(depth + 1)
		if p != nil {
			return nil, p.under(indexStep(len(n.items)))
		}
		n.items = append(n.items, v)
	}
	_, p := r.next()
	return n, p
}
