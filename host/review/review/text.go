package review

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"
)

// context is how many unchanged lines stand around a change.
const context = 3

// compare fills in the difference of the texts of f.
func (f *File) compare(before, after []byte, l Limits) {
	switch {
	case !isText(before) || !isText(after):
		f.Note = "binary"
		return
	case l.FileBytes > 0 && int64(max(len(before), len(after))) > l.FileBytes:
		f.Note = "too long"
		return
	}
	f.Diff = lines(string(before), string(after))
	if l.Lines != 0 {
		f.cut(l.Lines)
	}
	for i, line := range f.Diff {
		if l.LineBytes > 0 && len(line) > l.LineBytes {
			f.Diff[i], f.Cut = clip(line, l.LineBytes), true
		}
	}
}

// cut leaves out all but the first n lines.
func (f *File) cut(n int) {
	if n = max(n, 0); n < len(f.Diff) {
		f.More += len(f.Diff) - n
		f.Diff = f.Diff[:n]
	}
}

// isText reports whether b can be shown line by line.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// clip cuts a line to n bytes, at a character.
func clip(line string, n int) string {
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes more)", line[:n], len(line)-n)
}

// lines are the lines of a unified diff, without line feeds at their ends.
func lines(before, after string) []string {
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), context)
	if err != nil { // the edits were made of the same text
		panic("review: " + err.Error())
	}
	var all []string
	for _, h := range u.Hunks {
		all = append(all, header(h))
		for _, line := range h.Lines {
			all = append(all, marked(line)...)
		}
	}
	return all
}

// header is the line that says which lines a hunk is about.
func header(h *udiff.Hunk) string {
	from, to := 0, 0
	for _, line := range h.Lines {
		if line.Kind != udiff.Insert {
			from++
		}
		if line.Kind != udiff.Delete {
			to++
		}
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", first(h.FromLine, from), from, first(h.ToLine, to), to)
}

// first is the number of the first of n lines: of none, the one before.
func first(line, n int) int {
	if n == 0 {
		return line - 1
	}
	return line
}

func marked(line udiff.Line) []string {
	mark := map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+", udiff.Equal: " "}[line.Kind]
	text, whole := strings.CutSuffix(line.Content, "\n")
	if whole {
		return []string{mark + text}
	}
	return []string{mark + text, `\ No newline at end of file`}
}

// Text compares two texts outside of a package. A nil one does not exist.
func Text(before, after []byte, l Limits) File {
	f := File{Change: Changed}
	switch {
	case before == nil:
		f.Change = Added
	case after == nil:
		f.Change = Removed
	case bytes.Equal(before, after):
		f.Change = Same
		return f
	}
	f.compare(before, after, l)
	return f
}
