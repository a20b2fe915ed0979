// Package script takes JavaScript, TypeScript and Python apart just far enough
// to tell names, literals and comments from one another. It is not a parser: it
// never fails, reads any bytes in linear time and constant memory, and where a
// language cannot be read without parsing it (a slash in JavaScript), it guesses
// as editors do.
//
// It knows nothing of what code means.
package script

import (
	"bytes"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Language is one that can be taken apart.
type Language int

// The languages. TypeScript is read as JavaScript.
const (
	None Language = iota
	JavaScript
	Python
)

// LanguageOf returns the language of a file by its extension; None for others.
func LanguageOf(path string) Language {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx":
		return JavaScript
	case ".py", ".pyi", ".pyw":
		return Python
	}
	return None
}

// A Kind says what a token is.
type Kind int

// The kinds. White space is skipped.
const (
	Name    Kind = iota // an identifier or keyword
	Literal             // a text, or the part of one up to a hole or from one
	Other               // a number, an operator, a bracket, a regular expression
	Comment
)

// A Token is a piece of source.
type Token struct {
	Kind       Kind
	Start, End int // in bytes
	// Text is the name, the operator, or what the literal says, without
	// quotes and with its escapes read. Of a comment it is empty.
	Text string
	// Hole is set on a literal that goes on with a value put in at run time.
	Hole bool
	// Escaped is set on a name that was written with escapes.
	Escaped bool
}

// maxDepth is how deep literals with holes may nest within one another; in those
// beyond it, holes are read as text.
const maxDepth = 100

// Tokens yields the tokens of a source.
func Tokens(l Language, src []byte) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		x := lexer{lang: l, src: src, yield: yield}
		if bytes.HasPrefix(src, []byte("#!")) {
			x.comment(x.lineEnd())
		}
		for x.at < len(src) && !x.done {
			x.step()
		}
	}
}

// A lexer is at one place of a source.
type lexer struct {
	lang  Language
	src   []byte
	at    int
	yield func(Token) bool
	done  bool
	holes []hole
	// noRegexp is up to where a regular expression was looked for in vain.
	noRegexp int
	// value says that the last token ended a value, after which a slash
	// divides.
	value bool
}

// A hole is one that the lexer is in: the literal it belongs to, and how many
// brackets were opened in it.
type hole struct {
	quote  string
	raw    bool
	python bool
	open   int
}

func (x *lexer) emit(t Token) {
	if !x.done && !x.yield(t) {
		x.done = true
	}
}

func (x *lexer) has(prefix string) bool { return bytes.HasPrefix(x.src[x.at:], []byte(prefix)) }

// lineEnd is where the line ends.
func (x *lexer) lineEnd() int {
	if i := bytes.IndexByte(x.src[x.at:], '\n'); i >= 0 {
		return x.at + i
	}
	return len(x.src)
}

func (x *lexer) comment(end int) {
	x.emit(Token{Kind: Comment, Start: x.at, End: end})
	x.at = end
}

// step reads one token, or white space.
func (x *lexer) step() {
	b := x.src[x.at]
	switch {
	case b <= ' ':
		x.at++
	case x.lang == Python && b == '#', x.lang == JavaScript && (x.has("//") || x.has("<!--")):
		x.comment(x.lineEnd())
	case x.lang == JavaScript && x.has("/*"):
		x.comment(x.behind(x.at+2, "*/"))
	case x.lang == JavaScript && b == '/' && !x.value && x.regexp():
	case b == '"' || b == '\'' || b == '`' && x.lang == JavaScript:
		x.literal("")
	case isNameByte(b) && !isDigit(b) || b == '\\' && x.has(`\u`):
		x.name()
	case isDigit(b):
		x.number()
	default:
		x.operator()
	}
}

// behind is the offset behind the next end from at.
func (x *lexer) behind(at int, end string) int {
	if at > len(x.src) {
		return len(x.src)
	}
	if i := bytes.Index(x.src[at:], []byte(end)); i >= 0 {
		return at + i + len(end)
	}
	return len(x.src)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isNameByte(b byte) bool {
	return b == '_' || b == '$' || isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'z' || b >= 0x80
}

// maxName is how long a name may be that is told whole.
const maxName = 200

func (x *lexer) name() {
	start, escaped := x.at, false
	var text strings.Builder
	for x.at < len(x.src) {
		b := x.src[x.at]
		if b == '\\' && x.has(`\u`) && x.lang == JavaScript {
			var out []byte
			n := readEscape(x.src[x.at:], &out)
			text.Write(out)
			x.at, escaped = x.at+n, true
			continue
		}
		if !isNameByte(b) {
			break
		}
		if text.Len() < maxName {
			text.WriteByte(b)
		}
		x.at++
	}
	if x.at == start { // a backslash that belongs to nothing
		x.operator()
		return
	}
	if x.at < len(x.src) && x.lang == Python && isPrefix(text.String()) && (x.src[x.at] == '"' || x.src[x.at] == '\'') {
		x.literal(strings.ToLower(text.String()))
		return
	}
	x.value = x.lang == Python || !precedesValue(text.String())
	x.emit(Token{Kind: Name, Start: start, End: x.at, Text: text.String(), Escaped: escaped})
}

// isPrefix reports whether a name is the prefix of a literal of Python.
func isPrefix(name string) bool {
	return len(name) <= 2 && strings.Trim(strings.ToLower(name), "rbuft") == ""
}

// precedesValue reports whether a keyword of JavaScript stands before a value.
func precedesValue(name string) bool {
	switch name {
	case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof", "yield", "await":
		return true
	}
	return false
}

func (x *lexer) number() {
	start := x.at
	for x.at < len(x.src) && (isNameByte(x.src[x.at]) || x.src[x.at] == '.') {
		x.at++
	}
	x.value = true
	x.emit(Token{Kind: Other, Start: start, End: x.at, Text: "0"})
}

func (x *lexer) operator() {
	b := x.src[x.at]
	if n := len(x.holes); n > 0 {
		h := &x.holes[n-1]
		switch {
		case b == '{' || b == '[' && h.python || b == '(' && h.python:
			h.open++
		case h.open > 0 && (b == '}' || h.python && (b == ']' || b == ')')):
			h.open--
		case b == '}':
			x.holes = x.holes[:n-1]
			x.at++
			x.content(*h, x.at-1)
			return
		}
	}
	x.at++
	x.value = b == ')' || b == ']' || b == '}'
	x.emit(Token{Kind: Other, Start: x.at - 1, End: x.at, Text: string(rune(b))})
}

// maxRegexp is how long a regular expression may be that is read as one.
const maxRegexp = 4 << 10

// regexp reads a regular expression, and reports false when there is none.
func (x *lexer) regexp() bool {
	class, end := false, min(len(x.src), x.at+maxRegexp)
	if x.at < x.noRegexp {
		return false
	}
	for i := x.at + 1; i < end; i++ {
		switch b := x.src[i]; {
		case b == '\n':
			x.noRegexp = i
			return false
		case b == '\\':
			i++
		case b == '[':
			class = true
		case b == ']':
			class = false
		case b == '/' && !class:
			x.emit(Token{Kind: Other, Start: x.at, End: i + 1, Text: "//"})
			x.at, x.value = i+1, true
			return true
		}
	}
	x.noRegexp = end
	return false
}

// literal reads a literal that begins here, behind a prefix.
func (x *lexer) literal(prefix string) {
	start := x.at - len(prefix)
	h := hole{quote: string(x.src[x.at]), python: x.lang == Python, raw: strings.Contains(prefix, "r")}
	if triple := strings.Repeat(h.quote, 3); h.python && x.has(triple) {
		h.quote = triple
	}
	x.at += len(h.quote)
	if h.quote != "`" && !strings.ContainsAny(prefix, "ft") || len(x.holes) >= maxDepth {
		x.plain(h, start)
		return
	}
	x.content(h, start)
}

// plain reads a literal without holes.
func (x *lexer) plain(h hole, start int) {
	var text []byte
	for x.at < len(x.src) {
		switch b := x.src[x.at]; {
		case x.has(h.quote):
			x.at += len(h.quote)
			x.finish(Token{Start: start}, text)
			return
		case b == '\n' && len(h.quote) == 1 && h.quote != "`":
			x.finish(Token{Start: start}, text)
			return
		default:
			x.char(h, &text)
		}
	}
	x.finish(Token{Start: start}, text)
}

// content reads a literal up to its end or its next hole.
func (x *lexer) content(h hole, start int) {
	var text []byte
	for x.at < len(x.src) {
		switch b := x.src[x.at]; {
		case x.has(h.quote):
			x.at += len(h.quote)
			x.finish(Token{Start: start}, text)
			return
		case h.python && (x.has("{{") || x.has("}}")):
			text = append(text, b)
			x.at += 2
		case h.python && b == '{', !h.python && x.has("${"):
			x.at += len("${")
			if h.python {
				x.at--
			}
			h.open = 0
			x.holes = append(x.holes, h)
			x.finish(Token{Start: start, Hole: true}, text)
			x.value = false
			return
		case b == '\n' && len(h.quote) == 1 && h.python:
			x.finish(Token{Start: start}, text)
			return
		default:
			x.char(h, &text)
		}
	}
	x.finish(Token{Start: start}, text)
}

// char reads one character of a literal, or an escape.
func (x *lexer) char(h hole, text *[]byte) {
	switch {
	case x.src[x.at] != '\\':
		*text = append(*text, x.src[x.at])
		x.at++
	case h.raw && x.at+1 < len(x.src):
		*text = append(*text, x.src[x.at:x.at+2]...)
		x.at += 2
	default:
		x.at += readEscape(x.src[x.at:], text)
	}
}

func (x *lexer) finish(t Token, text []byte) {
	t.Kind, t.End, t.Text = Literal, x.at, string(text)
	x.value = true
	x.emit(t)
}

// simple are the escapes of one letter that both languages have.
const simple, means = `nrtbfv0'"\` + "`$/", "\n\r\t\b\f\v\x00'\"\\`$/"

// readEscape reads the escape at the beginning of src, and returns its length,
// which is at least one.
func readEscape(src []byte, out *[]byte) int {
	if len(src) < 2 {
		return len(src)
	}
	switch b := src[1]; b {
	case '\n':
		return 2
	case 'x':
		return readHex(src, 2, 2, out)
	case 'U':
		return readHex(src, 2, 8, out)
	case 'u':
		if end := bytes.IndexByte(src[:min(len(src), 12)], '}'); len(src) > 2 && src[2] == '{' && end > 3 {
			readHex(src[:end], 3, end-3, out)
			return end + 1
		}
		return readHex(src, 2, 4, out)
	default:
		if i := strings.IndexByte(simple, b); i >= 0 {
			*out = append(*out, means[i])
			return 2
		}
		*out = append(*out, '\\')
		return 1
	}
}

// readHex reads n hexadecimal digits at from, and returns where they end; when
// they are not there, it takes the backslash alone.
func readHex(src []byte, from, n int, out *[]byte) int {
	if from+n > len(src) {
		*out = append(*out, src[0])
		return 1
	}
	v, err := strconv.ParseUint(string(src[from:from+n]), 16, 32)
	if err != nil {
		*out = append(*out, src[0])
		return 1
	}
	if r := rune(v); v <= unicode.MaxRune {
		*out = utf8.AppendRune(*out, r)
	}
	return from + n
}
