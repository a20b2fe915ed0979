package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Where words and lines end, as parts of the font size.
const (
	wordGap      = 0.10 // a wider gap between glyphs separates words
	lineShift    = 0.6  // a greater step across the line begins a new one; less is a super- or subscript
	backStep     = 0.6  // so does a greater step back
	paragraphGap = 1.9  // and a step this great leaves an empty line
	overprint    = 0.15 // a string shown again this near imitates bold type
)

// line is where a string is shown: all glyphs of a string lie on one line.
type line struct {
	fresh   bool   // no glyph of it was put in its place yet
	heading vector // its direction, of length 1
	size    float64
}

// layout puts glyphs together to words and lines. It follows the order in which
// the page shows them, which keeps columns apart, and looks at positions only
// to find where words and lines end. The zero value is an empty page.
type layout struct {
	out      strings.Builder
	row      []byte // the text of the line
	begun    bool
	rtl      bool
	line     line   // of the latest glyph
	heading  vector // of the first glyph of the line
	from, to vector // where the latest glyph begins and ends on the base line
	start    int    // where its text begins in row
	recent   [64]shown
	strings  int // shown, also those that repeat another
	glyphs   int
	unmapped int
}

// shown is a string that was shown, to find it shown again in the same place.
type shown struct {
	at   vector
	hash uint32
}

// repeated reports whether the same string was just shown in the same place,
// and remembers it.
func (l *layout) repeated(s []byte, at vector, size float64) bool {
	l.strings++
	hash := uint32(2166136261) // FNV-1a
	for _, c := range s {
		hash = (hash ^ uint32(c)) * 16777619
	}
	old := &l.recent[hash%uint32(len(l.recent))]
	if old.hash == hash && old.at.near(at, overprint*size) {
		return true
	}
	*old = shown{at, hash}
	return false
}

// begin prepares for a string whose first glyph is g, from one point to the
// other. It reports whether that glyph is done with.
func (l *layout) begin(on *line, g *glyph, from, to vector) (done bool) {
	on.fresh = false
	if l.begun {
		if l.combine(on, g.text, from, to) {
			return true
		}
		l.separate(on, from)
	}
	if !l.begun {
		l.begun, l.heading = true, on.heading
	}
	l.line = *on
	return false
}

// add puts a glyph behind the one before it.
func (l *layout) add(g *glyph, from, to vector) {
	l.from, l.to, l.start = from, to, len(l.row)
	if g.text == " " {
		l.space()
		return
	}
	l.rtl = l.rtl || g.rtl
	l.row = append(l.row, g.text...)
}

// addPlain is add for a plain glyph.
func (l *layout) addPlain(g *glyph, from, to vector) {
	l.glyphs++
	l.from, l.to, l.start = from, to, len(l.row)
	l.row = append(l.row, g.text...)
}

// space ends a word.
func (l *layout) space() {
	if n := len(l.row); n > 0 && l.row[n-1] != ' ' {
		l.row = append(l.row, ' ')
	}
}

// separate ends the word or line before a string when its position says so.
func (l *layout) separate(on *line, from vector) {
	step := from.minus(l.to)
	along, across := step.dot(l.heading), math.Abs(step.cross(l.heading))
	size := max(on.size, l.line.size)
	switch {
	case across > lineShift*size || along < -backStep*size || on.heading.dot(l.heading) < 0.7:
		l.endLine()
		if across > paragraphGap*size {
			l.blankLine()
		}
	case along > wordGap*size:
		l.space()
	}
}

// endLine moves the line to the text of the page.
func (l *layout) endLine() {
	row := string(bytes.TrimSpace(l.row))
	if l.rtl {
		row = logical(row)
	}
	if row != "" {
		l.out.WriteString(row)
		l.out.WriteByte('\n')
	}
	l.row, l.begun, l.rtl, l.start = l.row[:0], false, false, 0
}

func (l *layout) blankLine() {
	if l.out.Len() > 0 && !strings.HasSuffix(l.out.String(), "\n\n") {
		l.out.WriteByte('\n')
	}
}

// text returns what was put together, lines ended by newlines.
func (l *layout) text() string {
	l.endLine()
	return strings.TrimSpace(l.out.String())
}

// accent returns the combining character for one that fonts draw over a letter
// as a glyph of its own, "" for any other text.
func accent(text string) string {
	switch text {
	case "`":
		return "\u0300"
	case "´":
		return "\u0301"
	case "ˆ", "^":
		return "\u0302"
	case "˜", "~":
		return "\u0303"
	case "¯":
		return "\u0304"
	case "˘":
		return "\u0306"
	case "˙":
		return "\u0307"
	case "¨":
		return "\u0308"
	case "˚":
		return "\u030a"
	case "˝":
		return "\u030b"
	case "ˇ":
		return "\u030c"
	case "¸":
		return "\u0327"
	case "˛":
		return "\u0328"
	}
	return ""
}

// combine joins a glyph with the one before it when one of the two is an accent
// and they are printed over each other.
func (l *layout) combine(on *line, text string, from, to vector) bool {
	before := l.row[l.start:]
	if len(before) == 0 || len(before) > utf8.UTFMax || !l.overlaps(on, from, to) {
		return false
	}
	letter, mark := text, accent(string(before))
	if mark == "" {
		letter, mark = string(before), accent(text)
	}
	if mark == "" || utf8.RuneCountInString(letter) != 1 {
		return false
	}
	if letter == "ı" {
		letter = "i"
	}
	l.row = append(l.row[:l.start], norm.NFC.String(letter+mark)...)
	if past := to.minus(l.to).dot(l.heading); past > 0 {
		l.to = l.to.plus(l.heading.times(past))
	}
	return true
}

// overlaps reports whether the middles of the latest glyph and of the next one
// lie on each other.
func (l *layout) overlaps(on *line, from, to vector) bool {
	if math.Abs(from.minus(l.from).cross(l.heading)) > 0.5*max(on.size, l.line.size) {
		return false
	}
	a, b := l.from.dot(l.heading), l.to.dot(l.heading)
	c, d := from.dot(l.heading), to.dot(l.heading)
	before, next := (a+b)/2, (c+d)/2
	return c < before && before < d && a < next && next < b
}

func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// mirrored are the brackets that face the other way in right-to-left text.
var mirrored = strings.NewReplacer("(", ")", ")", "(", "[", "]", "]", "[", "{", "}", "}", "{", "«", "»", "»", "«", "<", ">", ">", "<")

// logical puts a line with right-to-left script, which pages show in visual
// order, in the order of reading: the whole line turned around, but for runs of
// numbers and of left-to-right letters.
func logical(line string) string {
	runes := []rune(mirrored.Replace(line))
	slices.Reverse(runes)
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && leftToRight(runes[j]) {
			j++
		}
		slices.Reverse(runes[i:j])
		i = max(j, i+1)
	}
	return norm.NFKC.String(string(runes))
}

func leftToRight(r rune) bool {
	return unicode.IsDigit(r) || !rightToLeft(r) && unicode.IsLetter(r)
}
