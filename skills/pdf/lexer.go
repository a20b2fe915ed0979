package main

import (
	"math"
	"slices"
)

// kind tells the operands of a content stream apart.
type kind uint8

const (
	numeral    kind = iota
	chars           // a string, literal or hexadecimal
	symbol          // a name, or one of true, false and null
	list            // an array; its elements are in lexer.items
	dictionary      // keys and values in turn, in lexer.items
)

// operand is one operand of an operator. For a list or dictionary from and to
// bound its elements in lexer.items; those of nested lists are flattened.
type operand struct {
	kind     kind
	from, to int32
	num      float64
	str      []byte
}

// maxOperands bounds what a broken stream without operators can pile up. A
// character map may pass some thousand operands to one operator.
const maxOperands = 1 << 17

// lexer splits a content stream (ISO 32000-1, 7.8.2) or a character map into
// operators with their operands. It never fails: what is malformed is skipped.
type lexer struct {
	data  []byte
	pos   int
	args  []operand
	items []operand
	arena []byte
	lists []int // beginnings of open lists
}

// next returns the next operator, and false at the end. The operands are in
// args and items until the following call.
func (l *lexer) next() (operator []byte, ok bool) {
	l.args, l.items, l.arena, l.lists = l.args[:0], l.items[:0], l.arena[:0], l.lists[:0]
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		switch class[c] {
		case space:
			l.pos++
		case digit:
			if l.number() {
				continue
			}
			fallthrough
		case regular:
			if word := l.word(); !l.value(word) {
				return word, true
			}
		default:
			l.delimited(c)
		}
	}
	return nil, false
}

// number reads a plain number, the bulk of every content stream, in one go. It
// reports false, and reads nothing, when what follows is anything else.
func (l *lexer) number() bool {
	data, at := l.data, l.pos
	negative := data[at] == '-'
	if negative {
		at++
	}
	begun, value := at, 0.0
	for at < len(data) && isDigit(data[at]) {
		value = value*10 + float64(data[at]-'0')
		at++
	}
	if at < len(data) && data[at] == '.' {
		at++
		begun++
		for scale := 0.1; at < len(data) && isDigit(data[at]); at++ {
			value += float64(data[at]-'0') * scale
			scale /= 10
		}
	}
	if at <= begun || at < len(data) && class[data[at]] <= digit {
		return false
	}
	if negative {
		value = -value
	}
	l.pos = at
	l.push(operand{kind: numeral, num: value})
	return true
}

// delimited reads what begins with a delimiter.
func (l *lexer) delimited(c byte) {
	l.pos++
	switch c {
	case '/':
		l.push(operand{kind: symbol, str: l.nameBytes()})
	case '(':
		l.push(operand{kind: chars, str: l.literal()})
	case '<':
		if l.peek() == '<' {
			l.pos++
			l.openList()
			return
		}
		l.push(operand{kind: chars, str: l.hex()})
	case '>':
		if l.peek() == '>' {
			l.pos++
			l.closeList(dictionary)
		}
	case '[':
		l.openList()
	case ']':
		l.closeList(list)
	case '%':
		l.skipComment()
	}
}

func (l *lexer) peek() byte {
	if l.pos < len(l.data) {
		return l.data[l.pos]
	}
	return 0
}

func (l *lexer) push(o operand) {
	to := &l.args
	if len(l.lists) > 0 {
		to = &l.items
	}
	if len(*to) < maxOperands {
		*to = append(*to, o)
	}
}

func (l *lexer) openList() {
	if len(l.lists) < 64 {
		l.lists = append(l.lists, len(l.items))
	}
}

func (l *lexer) closeList(k kind) {
	if len(l.lists) == 0 {
		return
	}
	from := l.lists[len(l.lists)-1]
	l.lists = l.lists[:len(l.lists)-1]
	if len(l.lists) == 0 {
		l.push(operand{kind: k, from: int32(from), to: int32(len(l.items))})
	}
}

// skipComment moves to the end of the line.
func (l *lexer) skipComment() {
	for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
		l.pos++
	}
}

// word reads a run of regular characters.
func (l *lexer) word() []byte {
	start := l.pos
	for l.pos < len(l.data) && class[l.data[l.pos]] <= digit {
		l.pos++
	}
	return l.data[start:l.pos]
}

// value pushes the number or constant a word stands for; it reports false for
// an operator. An operator ends the lists that are still open: they were
// never closed.
func (l *lexer) value(word []byte) bool {
	if n, ok := parseNumber(word); ok {
		l.push(operand{kind: numeral, num: n})
		return true
	}
	switch string(word) {
	case "true", "false", "null":
		l.push(operand{kind: symbol})
		return true
	}
	for len(l.lists) > 0 {
		l.closeList(list)
	}
	return false
}

// parseNumber reads an integer or real the way common readers do: "--5" and
// "1.2.3" occur in real files and stand for -5 and 1.2.
func parseNumber(s []byte) (float64, bool) {
	i, sign := 0, 1.0
	for ; i < len(s) && (s[i] == '-' || s[i] == '+'); i++ {
		if s[i] == '-' {
			sign = -1
		}
	}
	digits, value := 0, 0.0
	for ; i < len(s) && isDigit(s[i]); i++ {
		value = value*10 + float64(s[i]-'0')
		digits++
	}
	if i < len(s) && s[i] == '.' {
		scale := 0.1
		for i++; i < len(s) && isDigit(s[i]); i++ {
			value += float64(s[i]-'0') * scale
			scale /= 10
			digits++
		}
		digits++
	}
	if digits == 0 || i < len(s) && s[i] != '.' && s[i] != '-' || math.IsInf(value, 0) {
		return 0, false
	}
	return sign * value, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// nameBytes reads a name behind its slash, with #xx escapes resolved.
func (l *lexer) nameBytes() []byte {
	raw := l.word()
	if !slices.Contains(raw, '#') {
		return raw
	}
	from := len(l.arena)
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) && unhex(raw[i+1]) < 16 && unhex(raw[i+2]) < 16 {
			l.arena = append(l.arena, unhex(raw[i+1])<<4|unhex(raw[i+2]))
			i += 2
			continue
		}
		l.arena = append(l.arena, raw[i])
	}
	return l.arena[from:len(l.arena):len(l.arena)]
}

// hex reads a hexadecimal string behind its bracket.
func (l *lexer) hex() []byte {
	from, data, at := len(l.arena), l.data, l.pos
	for at+1 < len(data) && unhex(data[at]) < 16 && unhex(data[at+1]) < 16 {
		l.arena = append(l.arena, unhex(data[at])<<4|unhex(data[at+1]))
		at += 2
	}
	half, odd := byte(0), false
	for ; at < len(data) && data[at] != '>'; at++ {
		digit := unhex(data[at])
		if digit > 15 {
			continue
		}
		if odd {
			l.arena = append(l.arena, half|digit)
		}
		half, odd = digit<<4, !odd
	}
	if odd {
		l.arena = append(l.arena, half)
	}
	l.pos = at + 1
	return l.arena[from:len(l.arena):len(l.arena)]
}

// literal reads a literal string behind its parenthesis. A string without
// escapes is a slice of the stream.
func (l *lexer) literal() []byte {
	start, depth := l.pos, 1
	for at := start; at < len(l.data); at++ {
		c := l.data[at]
		if !inString[c] {
			continue
		}
		switch l.pos = at; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				l.pos++
				return l.data[start:at]
			}
		default:
			return l.escaped(start, depth)
		}
	}
	l.pos = len(l.data)
	return l.data[start:]
}

// inString are the characters that mean more than themselves in a string.
var inString = [256]bool{'(': true, ')': true, '\\': true, '\r': true}

// escaped reads on in a literal string from its first escape.
func (l *lexer) escaped(start, depth int) []byte {
	from := len(l.arena)
	l.arena = append(l.arena, l.data[start:l.pos]...)
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return l.arena[from:len(l.arena):len(l.arena)]
			}
		case '\r':
			l.skip('\n')
			c = '\n'
		case '\\':
			l.escape()
			continue
		}
		l.arena = append(l.arena, c)
	}
	return l.arena[from:len(l.arena):len(l.arena)]
}

// skip moves over c if it is next.
func (l *lexer) skip(c byte) {
	if l.peek() == c {
		l.pos++
	}
}

// escape reads what follows a backslash in a literal string (table 3).
func (l *lexer) escape() {
	if l.pos >= len(l.data) {
		return
	}
	c := l.data[l.pos]
	l.pos++
	switch {
	case c == '\r':
		l.skip('\n')
	case c == '\n':
	case c >= '0' && c <= '7':
		code := int(c - '0')
		for n := 0; n < 2 && l.peek() >= '0' && l.peek() <= '7'; n++ {
			code = code<<3 | int(l.peek()-'0')
			l.pos++
		}
		l.arena = append(l.arena, byte(code))
	default:
		l.arena = append(l.arena, control(c))
	}
}

// control returns the character an escape letter stands for, or the letter.
func control(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// skipImage moves behind the data of an inline image: to the first EI that
// stands alone and is followed by something that looks like a content stream.
func (l *lexer) skipImage() {
	for ; l.pos+2 < len(l.data); l.pos++ {
		if class[l.data[l.pos]] == space && l.data[l.pos+1] == 'E' && l.data[l.pos+2] == 'I' && plain(l.data[l.pos+3:]) {
			l.pos += 3
			return
		}
	}
	l.pos = len(l.data)
}

// plain reports whether data begins with white space and then ASCII.
func plain(data []byte) bool {
	if len(data) > 0 && class[data[0]] != space {
		return false
	}
	for _, c := range data[:min(len(data), 16)] {
		if c > '~' || c < ' ' && class[c] != space {
			return false
		}
	}
	return true
}

// hexDigits has the value of each hexadecimal digit plus 1, 0 for any other byte.
var hexDigits = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
	'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
}

// unhex returns the value of a hexadecimal digit, or 255.
func unhex(c byte) byte { return hexDigits[c] - 1 }

// The classes of characters (ISO 32000-1, 7.2.2).
const (
	regular = iota
	digit   // a regular character that may begin a number
	space
	delimiter
)

var class = [256]uint8{
	0: space, '\t': space, '\n': space, '\f': space, '\r': space, ' ': space,
	'(': delimiter, ')': delimiter, '<': delimiter, '>': delimiter, '[': delimiter,
	']': delimiter, '{': delimiter, '}': delimiter, '/': delimiter, '%': delimiter,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit,
	'7': digit, '8': digit, '9': digit, '-': digit, '+': digit, '.': digit,
}
