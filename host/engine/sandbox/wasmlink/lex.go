package wasmlink

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// TextError says what is wrong with a module in the text format, and where.
type TextError struct {
	// Line and Column count from 1; columns in bytes.
	Line, Column int
	// Message says what was found.
	Message string
}

// Error returns the message with its place.
func (e *TextError) Error() string {
	return fmt.Sprintf("assemble: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// maxDepth is how deep parentheses may nest.
const maxDepth = 500

// node is an expression of the text format: a list in parentheses, a string, or
// a word.
type node struct {
	at     int // offset in the text
	list   bool
	quoted bool
	word   string // or the content of a string
	nodes  []node // of a list
}

// head is the word a list starts with.
func (n *node) head() string {
	if !n.list || len(n.nodes) == 0 || n.nodes[0].list || n.nodes[0].quoted {
		return ""
	}
	return n.nodes[0].word
}

// is reports whether a node is a list that starts with a word.
func (n *node) is(word string) bool { return n.head() == word && word != "" }

// name returns the identifier a node is, such as $f.
func (n *node) name() (string, bool) {
	ok := !n.list && !n.quoted && strings.HasPrefix(n.word, "$")
	return n.word, ok
}

// source is a text and the first error that was found in it.
type source struct {
	text string
	pos  int
	err  *TextError
}

func (s *source) fail(at int, format string, args ...any) {
	if s.err != nil {
		return
	}
	before := s.text[:at]
	s.err = &TextError{
		Line:    1 + strings.Count(before, "\n"),
		Column:  at - strings.LastIndexByte(before, '\n'),
		Message: fmt.Sprintf(format, args...),
	}
}

// parse reads the whole text.
func (s *source) parse() []node {
	nodes := s.sequence(0)
	if s.err == nil && s.pos < len(s.text) {
		s.fail(s.pos, "a parenthesis that closes nothing")
	}
	return nodes
}

// sequence reads nodes up to a closing parenthesis or the end.
func (s *source) sequence(depth int) []node {
	var list []node
	for s.err == nil {
		s.space()
		if s.pos >= len(s.text) || s.text[s.pos] == ')' {
			break
		}
		list = append(list, s.node(depth))
	}
	return list
}

func (s *source) node(depth int) node {
	n := node{at: s.pos}
	switch s.text[s.pos] {
	case '(':
		if depth >= maxDepth {
			s.fail(s.pos, "parentheses nest more than %d deep", maxDepth)
			return n
		}
		s.pos++
		n.list, n.nodes = true, s.sequence(depth+1)
		if s.err == nil && s.pos >= len(s.text) {
			s.fail(n.at, "a parenthesis that is never closed")
			return n
		}
		s.pos++
	case '"':
		n.quoted, n.word = true, s.quoted()
	default:
		from := s.pos
		for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n();\"", rune(s.text[s.pos])) {
			s.pos++
		}
		if n.word = s.text[from:s.pos]; n.word == "" {
			s.fail(from, "unexpected %q", s.text[from])
		}
	}
	return n
}

// space passes over blanks and comments.
func (s *source) space() {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case strings.HasPrefix(rest, ";;"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				s.pos += i
			} else {
				s.pos = len(s.text)
			}
		case strings.HasPrefix(rest, "(;"):
			s.comment()
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.pos++
		default:
			return
		}
	}
}

// comment passes over a block comment and those in it.
func (s *source) comment() {
	at, depth := s.pos, 0
	for s.pos+1 < len(s.text) {
		switch s.text[s.pos : s.pos+2] {
		case "(;":
			depth++
			s.pos += 2
		case ";)":
			depth--
			s.pos += 2
		default:
			s.pos++
		}
		if depth == 0 {
			return
		}
	}
	s.pos = len(s.text)
	s.fail(at, "a comment that is never closed")
}

// quoted reads a string with its escapes (core specification 6.3.3).
func (s *source) quoted() string {
	from := s.pos
	var out []byte
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '\n'; s.pos++ {
		switch c := s.text[s.pos]; c {
		case '"':
			s.pos++
			return string(out)
		case '\\':
			out = s.escape(out)
		default:
			out = append(out, c)
		}
	}
	s.fail(from, "a string that is never closed")
	return ""
}

var escapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', '"': '"', '\'': '\'', '\\': '\\'}

// escape reads what follows a backslash, up to its last byte.
func (s *source) escape(out []byte) []byte {
	rest := s.text[s.pos+1:]
	if rest == "" {
		return out
	}
	if c, ok := escapes[rest[0]]; ok {
		s.pos++
		return append(out, c)
	}
	if rest[0] == 'u' {
		return s.unicode(out, rest)
	}
	var b byte
	if n, err := fmt.Sscanf(rest[:min(2, len(rest))], "%02x", &b); n != 1 || err != nil || len(rest) < 2 {
		s.fail(s.pos, "unknown escape")
		return out
	}
	s.pos += 2
	return append(out, b)
}

// unicode reads u{HEX}.
func (s *source) unicode(out []byte, rest string) []byte {
	end := strings.IndexByte(rest, '}')
	var r rune
	if end < 0 || !strings.HasPrefix(rest, "u{") {
		s.fail(s.pos, "unknown escape")
		return out
	}
	if n, err := fmt.Sscanf(rest[2:end], "%x", &r); n != 1 || err != nil || !utf8.ValidRune(r) {
		s.fail(s.pos, "no character %s", rest[:end+1])
		return out
	}
	s.pos += end + 1
	return utf8.AppendRune(out, r)
}
