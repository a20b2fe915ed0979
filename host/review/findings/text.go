package findings

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerpt shows what stands at [at, at+n) of data, and a little of its line
// before and after.
func excerpt(data []byte, at, n int) string {
	const before, after = 20, 4 * MaxExcerpt
	from := max(0, at-before)
	for from < at && !utf8.RuneStart(data[from]) {
		from++
	}
	to := min(len(data), max(at+n, at)+after)
	text := string(data[from:to])
	if i := strings.LastIndexByte(text[:at-from], '\n'); i >= 0 {
		text = text[i+1:]
		from += i + 1
	}
	if i := strings.IndexByte(text[min(len(text), at-from+n):], '\n'); i >= 0 {
		text = text[:min(len(text), at-from+n)+i]
	}
	return cut(strings.TrimSpace(printable(text)), MaxExcerpt)
}

// printable writes text on one line: white space as one space, an invisible character
// as \u{200b}, and a byte that is not part of a character as \x{ff}.
func printable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02x}`, text[i])
		case r == '\n' || r == '\r' || r == '\t' || r == ' ':
			if s := b.String(); s == "" || s[len(s)-1] != ' ' {
				b.WriteByte(' ')
			}
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
	}
	return b.String()
}

// cut shortens text to n characters, and says that it did.
func cut(text string, n int) string {
	if short := cutPlain(text, n); short != text {
		return cutPlain(short, n-1) + "…"
	}
	return text
}

// cutPlain is the first n characters of text.
func cutPlain(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
