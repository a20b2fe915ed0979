package text

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// piece is how much of JSON is written at once, in bytes.
const piece = 64 << 10

// WriteEscaped writes JSON piece by piece, so that no second copy is made.
func WriteEscaped(w io.Writer, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), piece)
		for n < len(b) && !utf8.RuneStart(b[n]) {
			n++
		}
		if _, err := io.WriteString(w, Escaped(string(b[:n]))); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// Escaped is JSON in which characters that do something to a terminal are
// written as escapes: the encoder leaves DEL, the C1 controls and those that
// turn text around as they are. They can only be inside of strings.
func Escaped(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if r == '\n' || Harmless(r) == r {
			b.WriteRune(r)
		} else {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// Plain makes text of others' safe to show as part of one line: it could
// otherwise move the cursor, or make lines that look like ours, and change
// what a person believes they approve.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return Harmless(r)
	}, s)
}

// PlainLines is [Plain] for text that has lines of its own.
func PlainLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return Harmless(r)
	}, s)
}

// Visible is text of others' as part of one line, with every character that
// would not be seen written out: for whoever has to judge the text itself.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// Harmless is r, or U+FFFD for a character that does something to a terminal
// rather than appear on it.
func Harmless(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
		return unicode.ReplacementChar
	}
	return r
}

// Head is the beginning of a text of at most n bytes, without half a character.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Short cuts text to n characters.
func Short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimRight(string(r[:n-1]), " ") + "…"
	}
	return s
}
