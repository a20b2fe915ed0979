package hostapi

import (
	"fmt"
	"strings"
)

// A text is built line by line.
type text struct{ b strings.Builder }

// line adds a formatted line.
func (t *text) line(format string, args ...any) {
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

// comment adds a comment, broken at a width, each line behind a sign.
func (t *text) comment(sign, format string, args ...any) {
	const width = 96
	line := sign
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if len(line)+1+len(word) > width && line != sign {
			t.line("%s", line)
			line = sign
		}
		line += " " + word
	}
	t.line("%s", line)
}

// bytes returns all of it.
func (t *text) bytes() []byte { return []byte(t.b.String()) }

// parts are the words of a name.
func parts(name string) []string { return strings.Split(name, "_") }

// pascal writes a name as PascalCase, words of initials by what upper has for them.
func pascal(name string, upper map[string]string) string {
	out := ""
	for _, w := range parts(name) {
		if u, ok := upper[w]; ok {
			out += u
		} else {
			out += strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return out
}

// camel writes a name as camelCase.
func camel(name string, upper map[string]string) string {
	first := parts(name)[0]
	return first + strings.TrimPrefix(pascal(name, upper), pascal(first, upper))
}

// sentence makes a sentence of a phrase.
func sentence(phrase string) string {
	return strings.ToUpper(phrase[:1]) + phrase[1:] + "."
}
