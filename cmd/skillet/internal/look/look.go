// Package look gives text colour and weight on a terminal. The colours are the sixteen that
// every terminal has, so that they follow its theme, light or dark.
package look

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// A Style paints, or leaves text as it is, as the zero value does.
type Style struct{ on bool }

// For is the style of a stream: colours on a terminal, unless NO_COLOR is set or TERM is
// dumb; CLICOLOR_FORCE has them anywhere.
func For(terminal bool, getenv func(string) string) Style {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "":
		return Style{}
	case force != "" && force != "0":
		return Style{on: true}
	}
	return Style{on: terminal && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"}
}

// On reports whether it paints.
func (s Style) On() bool { return s.on }

// The codes of weights and colours.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	blue    = "34"
	magenta = "35"
	cyan    = "36"
)

func (s Style) paint(code, text string) string {
	if !s.on || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is text of more weight.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Dim is text of less weight.
func (s Style) Dim(text string) string { return s.paint(dim, text) }

// Bad is text about what is wrong.
func (s Style) Bad(text string) string { return s.paint(red, text) }

// Good is text about what is well.
func (s Style) Good(text string) string { return s.paint(green, text) }

// Unsure is text about what a person should look at.
func (s Style) Unsure(text string) string { return s.paint(yellow, text) }

// meanings are words that stand alone, and what they say.
var meanings = map[string]func(Style, string) string{
	"ok": Style.Good, "yes": Style.Good, "active": Style.Good, "completed": Style.Good, "applied": Style.Good, "approved": Style.Good, "passed": Style.Good, "healthy": Style.Good,
	"FAIL": Style.Bad, "NO": Style.Bad, "failed": Style.Bad, "denied": Style.Bad, "deny": Style.Bad, "forbid": Style.Bad, "block": Style.Bad,
	"quarantined": Style.Bad, "revoked": Style.Bad, "rejected": Style.Bad, "dead": Style.Bad, "critical": Style.Bad, "high": Style.Bad,
	"warn": Style.Unsure, "ask": Style.Unsure, "pending": Style.Unsure, "waiting_approval": Style.Unsure, "disabled": Style.Unsure, "paused": Style.Unsure,
	"expired": Style.Unsure, "pinned": Style.Unsure, "medium": Style.Unsure,
}

// Word paints a word that says how something stands.
func (s Style) Word(word string) string {
	if paint := meanings[word]; paint != nil {
		return paint(s, word)
	}
	return word
}

// leads are what lines begin with that say how something stands.
var leads = []struct {
	pattern func() *regexp.Regexp
	paint   func(Style, string) string
}{
	{lazyregexp.New(`^ *(\+|ok) `), Style.Good},
	{lazyregexp.New(`^ *(-|FAIL|block) `), Style.Bad},
	{lazyregexp.New(`^ *(~|!|warn) `), Style.Unsure},
	{lazyregexp.New(`^ *(hint:) `), Style.Bold},
}

// Line paints what a line begins with, where that says how something stands.
func (s Style) Line(line string) string {
	if !s.on {
		return line
	}
	for _, l := range leads {
		if at := l.pattern().FindStringSubmatchIndex(line); at != nil {
			return line[:at[2]] + l.paint(s, line[at[2]:at[3]]) + line[at[3]:]
		}
	}
	return line
}

// token is a part of JSON: a name or a text, or a word or number.
var token = lazyregexp.New(`"(?:[^"\\]|\\.)*"(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*`)

// JSON paints the names, texts and values of a document.
func (s Style) JSON(doc []byte) []byte {
	if !s.on {
		return doc
	}
	return token().ReplaceAllFunc(doc, func(t []byte) []byte {
		switch {
		case t[0] != '"' && (t[0] == 't' || t[0] == 'f' || t[0] == 'n'):
			return []byte(s.paint(magenta, string(t)))
		case t[0] != '"':
			return []byte(s.paint(cyan, string(t)))
		case t[len(t)-1] == ':':
			name := bytes.TrimRight(t, ": \t\n")
			return append([]byte(s.paint(blue, string(name))), t[len(name):]...)
		}
		return []byte(s.paint(green, string(t)))
	})
}
