package main

import (
	"strings"
	"unicode"
)

// layout writes text in lines: it collapses white space, keeps the wanted
// distance between blocks, and puts prefixes before lines. The zero value is an
// empty page.
type layout struct {
	b        strings.Builder
	prefixes []prefix
	breaks   int  // line breaks owed before the next word
	space    bool // a space is owed before the next word
	started  bool // the current line has a word
	verbatim int  // depth of elements that keep white space
	tight    int  // depth of lists, whose blocks keep no blank lines
}

// prefix stands before the lines of a block: first before its first line, rest
// before the others.
type prefix struct {
	first, rest string
	begun       bool // the first line is written
}

// text writes words, with one space for any white space between them.
func (l *layout) text(s string) {
	if l.verbatim > 0 {
		l.keep(s)
		return
	}
	for s != "" {
		i := strings.IndexFunc(s, isSpace)
		if i == 0 {
			l.space = true
			s = strings.TrimLeftFunc(s, isSpace)
			continue
		}
		if i < 0 {
			i = len(s)
		}
		l.word(s[:i])
		s = s[i:]
	}
}

// isSpace is the white space that HTML collapses. A no-break space is none: it
// is written as a space, but one that always stays.
func isSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f'
}

// keep writes preformatted text with its spaces and lines.
func (l *layout) keep(s string) {
	for i, line := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		if i > 0 {
			l.breaks++
			l.started = false
		}
		if line != "" {
			l.word(line)
		}
	}
}

// word writes s behind what is owed before it.
func (l *layout) word(s string) {
	switch {
	case l.b.Len() == 0 || l.breaks > 0:
		l.newLines()
	case l.space && l.started:
		l.b.WriteByte(' ')
	}
	l.b.WriteString(strings.ReplaceAll(s, "\u00a0", " "))
	l.space, l.breaks, l.started = false, 0, true
}

// newLines writes the breaks that are owed and the prefix of the new line.
func (l *layout) newLines() {
	if l.b.Len() > 0 {
		for range l.breaks - 1 {
			l.b.WriteString("\n" + strings.TrimRightFunc(l.continued(), unicode.IsSpace))
		}
		l.b.WriteByte('\n')
	}
	for i := range l.prefixes {
		p := &l.prefixes[i]
		if p.begun {
			l.b.WriteString(p.rest)
		} else {
			l.b.WriteString(p.first)
		}
		p.begun = true
	}
}

// continued returns the prefix of a blank line: that of the blocks it is in,
// not that of a block which begins after it.
func (l *layout) continued() string {
	var b strings.Builder
	for _, p := range l.prefixes {
		if p.begun {
			b.WriteString(p.rest)
		}
	}
	return b.String()
}

// block makes sure that the next word comes after n line breaks.
func (l *layout) block(n int) {
	if l.tight > 0 {
		n = 1
	}
	l.breaks = max(l.breaks, n)
	l.space, l.started = false, false
}

// lineBreak ends a line; two of them leave a blank line.
func (l *layout) lineBreak() {
	l.breaks = min(l.breaks+1, 2)
	l.space, l.started = false, false
}

// cell separates a table cell from those before it in the row that began at
// mark. Cells that hold blocks stand below each other, without a bar.
func (l *layout) cell(mark int) {
	switch {
	case l.started:
		l.b.WriteString(" |")
		l.space = true
	case l.mark() == mark:
		l.word("|")
		l.space = true
	}
}

// push adds a prefix for the lines that follow, pop takes it away.
func (l *layout) push(first, rest string) {
	l.prefixes = append(l.prefixes, prefix{first: first, rest: rest})
}
func (l *layout) pop() { l.prefixes = l.prefixes[:len(l.prefixes)-1] }

// mark returns a place in the text, since what was written after it.
func (l *layout) mark() int             { return l.b.Len() }
func (l *layout) since(mark int) string { return strings.TrimSpace(l.b.String()[mark:]) }

// finish returns the text, with a line break at its end if there is any.
func (l *layout) finish() string {
	if l.b.Len() == 0 {
		return ""
	}
	return l.b.String() + "\n"
}

func spaces(n int) string { return strings.Repeat(" ", n) }
