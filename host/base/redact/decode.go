package redact

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoding is a text and where each of its bytes comes from.
type decoding struct {
	text     []byte
	from, to []int32 // nil when nothing was decoded yet
}

func (d *decoding) start(i int) int {
	if d.from == nil {
		return i
	}
	return int(d.from[i])
}

func (d *decoding) end(i int) int {
	if d.to == nil {
		return i + 1
	}
	return int(d.to[i])
}

// undo returns the text without white space and NUL bytes, and with one round of
// escapes undone. escapes tells whether there were any.
func (d *decoding) undo(mail bool) (out *decoding, escapes bool) {
	n := len(d.text)
	out = &decoding{text: make([]byte, 0, n), from: make([]int32, 0, n), to: make([]int32, 0, n)}
	for i := 0; i < n; {
		var buffer [utf8.UTFMax]byte
		size, b := unescape(d.text[i:], mail, buffer[:0])
		if size == 0 {
			size, b = 1, append(buffer[:0], d.text[i])
		} else {
			escapes = true
		}
		for _, c := range b {
			if !isBlank(c) {
				out.text = append(out.text, c)
				out.from = append(out.from, int32(d.start(i)))
				out.to = append(out.to, int32(d.end(i+size-1)))
			}
		}
		i += size
	}
	return out, escapes
}

// undo returns a text without blanks and without one round of escapes.
func undo(text []byte) []byte {
	out, _ := (&decoding{text: text}).undo(false)
	return out.text
}

// dense returns a text without blanks.
func dense(s string) string {
	return string(slices.DeleteFunc([]byte(s), isBlank))
}

// isBlank reports whether a byte is left out before anything is looked for: the
// ends of lines that somebody folded, and half of a text in UTF-16.
func isBlank(c byte) bool { return c == 0 || c == ' ' || c >= '\t' && c <= '\r' }

// unescape appends to b what the escape at the beginning of text stands for, and
// returns its length; 0 when there is none.
func unescape(text []byte, mail bool, b []byte) (size int, out []byte) {
	switch text[0] {
	case '\\':
		return backslash(text, b)
	case '%':
		return percent(text, b)
	case '&':
		return entity(text, b)
	case '=':
		if mail {
			return quotedPrintable(text, b)
		}
	}
	return 0, b
}

// backslash undoes the escapes of JSON, JavaScript and C.
func backslash(text, b []byte) (int, []byte) {
	if len(text) < 2 {
		return 0, b
	}
	switch c := text[1]; c {
	case 'u', 'U', 'x':
		return numbered(text, b)
	case 'b', 'f', 'n', 'r', 't', 'v', '\n', '\r':
		return 2, b
	default:
		if isPunct := c > ' ' && c < 0x7f && !isAlphanumeric(c); isPunct {
			return 2, append(b, c)
		}
	}
	return octal(text, b)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// numbered undoes \u002B, \u{2b}, \U0000002B and \x2B. Two surrogates are one
// character.
func numbered(text, b []byte) (int, []byte) {
	digits := map[byte]int{'u': 4, 'U': 8, 'x': 2}[text[1]]
	if text[1] != 'U' && len(text) > 2 && text[2] == '{' {
		for end := 3; end < len(text) && end < 3+8; end++ {
			if text[end] == '}' {
				return inHex(text[3:end], end+1, b, false)
			}
		}
		return 0, b
	}
	if len(text) < 2+digits {
		return 0, b
	}
	size := 2 + digits
	high, ok := number(text[2:size])
	if text[1] == 'u' && ok && utf16.IsSurrogate(high) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if low, ok := number(text[8:12]); ok {
			return 12, utf8.AppendRune(b, utf16.DecodeRune(high, low))
		}
	}
	return inHex(text[2:size], size, b, text[1] == 'x')
}

// inHex appends the character, or the byte, with a number in hexadecimal.
func inHex(digits []byte, size int, b []byte, isByte bool) (int, []byte) {
	n, ok := number(digits)
	switch {
	case !ok:
		return 0, b
	case isByte:
		return size, append(b, byte(n))
	}
	return size, utf8.AppendRune(b, n)
}

func number(digits []byte) (rune, bool) {
	n, err := strconv.ParseUint(string(digits), 16, 31)
	return rune(n), err == nil
}

// octal undoes \053.
func octal(text, b []byte) (int, []byte) {
	if len(text) < 4 {
		return 0, b
	}
	n, err := strconv.ParseUint(string(text[1:4]), 8, 8)
	if err != nil {
		return 0, b
	}
	return 4, append(b, byte(n))
}

// percent undoes %2B and %u002B.
func percent(text, b []byte) (int, []byte) {
	if len(text) >= 6 && (text[1] == 'u' || text[1] == 'U') {
		return inHex(text[2:6], 6, b, false)
	}
	if len(text) < 3 {
		return 0, b
	}
	return inHex(text[1:3], 3, b, true)
}

// longestEntity is longer than the longest named one.
const longestEntity = 40

// entity undoes &#43; &#x2b; and &plus;.
func entity(text, b []byte) (int, []byte) {
	end := bytes.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 2 {
		return 0, b
	}
	s := html.UnescapeString(string(text[:end+1]))
	if s == string(text[:end+1]) || strings.HasSuffix(s, ";") && s != ";" {
		return 0, b
	}
	return end + 1, append(b, s...)
}

// quotedPrintable undoes =2B, and takes the ends of folded lines away.
func quotedPrintable(text, b []byte) (int, []byte) {
	switch {
	case len(text) >= 3 && text[1] == '\r' && text[2] == '\n':
		return 3, b
	case len(text) >= 2 && text[1] == '\n':
		return 2, b
	case len(text) >= 3:
		return inHex(text[1:3], 3, b, true)
	}
	return 0, b
}
