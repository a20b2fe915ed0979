package main

import "bytes"

const (
	// maxNesting bounds arrays and dictionaries inside of each other.
	maxNesting = 64
	// maxElements bounds what is kept of one object, all its parts together;
	// the list of the pages of a long book is one of the longest.
	maxElements = 1 << 20
)

// parser reads objects. Like the lexer, whose tokens it is made of, it never
// fails: what is malformed is skipped, and what is missing is null.
type parser struct {
	lexer
	key   objectKey // deciphers strings
	depth int
	kept  int
}

// endings are the words that no object holds: where one stands, the object is
// over, closed or not.
var endings = [][]byte{
	[]byte("endobj"), []byte("endstream"), []byte("stream"), []byte("obj"),
	[]byte("xref"), []byte("trailer"), []byte("startxref"),
}

// value reads the next object. It reports false, and does not move past it,
// when a closing bracket, an ending or the end of the data is next.
func (p *parser) value() (o object, ok bool) {
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; class[c] {
		case space:
			p.pos++
		case digit:
			return p.numeral(), true
		case regular:
			return p.constant()
		default:
			if c != '%' {
				return p.bracketed(c)
			}
			p.skipComment()
		}
	}
	return nil, false
}

// constant reads a word: true, false, or what counts as null, such as a stream
// in the midst of an object, where none may be.
func (p *parser) constant() (o object, ok bool) {
	start := p.pos
	word := p.word()
	if p.depth > 1 && string(word) == "stream" {
		return nil, p.skipData()
	}
	for _, ending := range endings {
		if bytes.HasPrefix(word, ending) {
			p.pos = start
			return nil, false
		}
	}
	switch string(word) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return nil, true
}

// skipData moves behind the data of a stream.
func (p *parser) skipData() bool {
	word := []byte("endstream")
	n := bytes.Index(p.data[p.pos:], word)
	if n < 0 {
		p.pos = len(p.data)
		return false
	}
	p.pos += n + len(word)
	return true
}

// bracketed reads an object that begins with a delimiter.
func (p *parser) bracketed(c byte) (o object, ok bool) {
	switch c {
	case '/':
		p.pos++
		return atom(p.nameBytes()), true
	case '(':
		p.pos++
		return p.key.text(p.literal()), true
	case '[':
		p.pos++
		return p.array(), true
	case '<':
		p.pos++
		if p.peek() != '<' {
			return p.key.text(p.hex()), true
		}
		p.pos++
		return p.dict(), true
	}
	return nil, false
}

// numeral reads a number, or the reference that it begins.
func (p *parser) numeral() object {
	word := p.word()
	if n, ok := natural(word); ok && p.reference() {
		return ref(n)
	}
	if n, ok := parseNumber(word); ok {
		return n
	}
	return nil
}

// natural reads the digits of an object number.
func natural(word []byte) (n int, ok bool) {
	for _, c := range word {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(word) > 0 && len(word) < 10
}

// reference reads what makes a reference of the number before, a generation and
// R, or nothing.
func (p *parser) reference() bool {
	data, at := p.data, p.pos
	at = behindSpace(data, at)
	digits := at
	for at < len(data) && isDigit(data[at]) {
		at++
	}
	if at == digits || at-digits > 5 {
		return false
	}
	at = behindSpace(data, at)
	if at >= len(data) || data[at] != 'R' || at+1 < len(data) && class[data[at+1]] <= digit {
		return false
	}
	p.pos = at + 1
	return true
}

func behindSpace(data []byte, at int) int {
	for at < len(data) && class[data[at]] == space {
		at++
	}
	return at
}

// keep reports whether one more part of the object may be kept.
func (p *parser) keep() bool {
	p.kept++
	return p.kept <= maxElements
}

// array reads an array behind its bracket. Brackets that are nested too deep
// are read as if they were not there.
func (p *parser) array() object {
	if p.depth >= maxNesting {
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	a := array{}
	for {
		o, ok := p.value()
		switch {
		case ok && p.keep():
			a = append(a, o)
		case !ok && p.peek() == ']':
			p.pos++
			return a
		case !ok && !p.skipStray():
			return a
		}
	}
}

// skipStray moves over a bracket that closes nothing, unless it may close the
// dictionary around.
func (p *parser) skipStray() bool {
	c := p.peek()
	if c != ')' && c != '{' && c != '}' {
		return false
	}
	p.pos++
	return true
}

// dict reads a dictionary behind its brackets. What stands where a key should
// is skipped.
func (p *parser) dict() object {
	if p.depth >= maxNesting {
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	d := dict{}
	for {
		o, ok := p.value()
		key, isKey := o.(atom)
		switch {
		case isKey:
			if v, _ := p.value(); v != nil && p.keep() {
				d[string(key)] = v
			}
		case !ok && p.closeDict():
			return d
		}
	}
}

// closeDict moves over a bracket and reports whether the dictionary is over.
func (p *parser) closeDict() bool {
	switch p.peek() {
	case '>':
		p.pos++
		if p.peek() == '>' {
			p.pos++
			return true
		}
		return false
	case ']', ')', '{', '}':
		p.pos++
		return false
	}
	return true
}
