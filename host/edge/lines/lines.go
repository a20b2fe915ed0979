// Package lines says what services answered in lines of plain text: for a terminal, and for
// the text of an answer over MCP.
//
// What skills, models and packages wrote is made safe to show, so that none of it can pass for
// a line of ours. The lines spell no commands: what helps is a [fault.Hint], which an edge says
// in its own words.
package lines

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/text"
)

// A Detail is how much is shown.
type Detail int

// Brief leaves to the summary of a page that is decided on what that says, Usual cuts long lists
// short, and Full leaves nothing out. Of what has no summary Brief shows what Usual does.
const (
	Brief Detail = iota
	Usual
	Full
)

// A Style is how an edge shows things. The zero value is brief, and leaves hints out.
type Style struct {
	Detail Detail
	// All is how the edge names what shows the same with nothing left out: a command, or a
	// parameter. Empty for nothing.
	All string
	// Columns is how wide tables are at most; 0 for any width.
	Columns int
	// Way puts a hint into the words of an edge.
	Way func(fault.Hint) string
}

// A block is lines that are written one after the other.
type block struct {
	Style
	all []string
}

// written is what do writes.
func written(s Style, do func(*block)) []string {
	b := block{Style: s}
	do(&b)
	return b.all
}

func (b *block) full() bool { return b.Detail == Full }

// say writes a line, in which text of others is made safe to show.
func (b *block) say(format string, args ...any) {
	b.all = append(b.all, plain(fmt.Sprintf(format, args...)))
}

// sayAll writes lines that have text of others in them, behind an indent.
func (b *block) sayAll(indent string, lines []string) {
	for _, line := range lines {
		b.say("%s%s", indent, visible(line))
	}
}

// fact writes what a thing is beside its label; nothing when it is empty.
func (b *block) fact(label, text string) {
	if text != "" {
		b.say("%-10s %s", label+":", text)
	}
}

// way is a hint in the words of the edge; empty when it has none.
func (b *block) way(format string, args ...any) string {
	if b.Way == nil {
		return ""
	}
	return b.Way(fault.Hintf(format, args...))
}

// behind is a hint as the end of a line, behind sep; empty when the edge says no hints.
func (b *block) behind(sep, format string, args ...any) string {
	if hint := b.way(format, args...); hint != "" {
		return sep + hint
	}
	return ""
}

// more writes how many things are left out, behind an indent, and what shows them.
func (b *block) more(indent string, n int, what string) {
	if b.All == "" {
		b.say("%s... and %s", indent, count(n, "more "+what))
		return
	}
	b.say("%s... and %s: %s shows them", indent, count(n, "more "+what), b.All)
}

// cut writes that a list is cut short, behind an indent, and what shows the whole of it.
func (b *block) cut(indent string) {
	if b.All == "" {
		b.say("%s...", indent)
		return
	}
	b.say("%s... %s shows all of them", indent, b.All)
}

// compared writes what is different from another version.
func (b *block) compared(c review) { b.sayAll("", c.Lines(b.full(), b.All+" shows them")) }

// A review says what is different, with rest where something is left out.
type review interface {
	Lines(full bool, rest string) []string
}

// table writes rows in columns.
func (b *block) table(header string, rows [][]string) {
	if b.Columns == 0 {
		b.all = append(b.all, Table(header, rows)...)
		return
	}
	for _, cells := range (Listing{header, rows}).Fit(b.Columns, time.Now()) {
		b.all = append(b.all, strings.TrimRight(strings.Join(cells, ""), " "))
	}
}

// Table is rows in columns, which tabs divide in the header.
func Table(header string, rows [][]string) []string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = plain(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a Builder takes everything
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// Small texts: see package text.
var (
	plain   = text.Plain
	visible = text.Visible
	short   = text.Short
	when    = text.When
	size    = text.Size
	count   = text.Count
	millis  = text.Millis
)

// none says so where there is nothing behind a colon.
func none(n int) string {
	if n == 0 {
		return " nothing"
	}
	return ""
}

// because is a reason, and the policies that decided, behind a sentence.
func because(reason string, ids []string) string {
	if reason == "" && len(ids) == 0 {
		return ""
	}
	s := " (" + reason
	if len(ids) > 0 {
		s += ": " + strings.Join(ids, ", ")
	}
	return s + ")"
}

// first are the first names of a list, and how many more there are.
func first(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
