package main

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Where words and lines end, as parts of the font size.
const (
	wordGap      = 0.15 // a wider gap between glyphs separates words
	lineShift    = 0.6  // a greater step across the line begins a new one; less is a super- or subscript
	backStep     = 0.6  // so does a greater step back
	paragraphGap = 1.9  // and a step this great leaves an empty line
	overprint    = 0.15 // a string shown again this near imitates bold type
)

// box is one glyph on the page.
type box struct {
	text     string
	from, to vector // its beginning and end on the base line
	size     float64
}

func (b box) direction() vector { return b.to.minus(b.from) }

// layout puts glyphs together to words and lines. It follows the order in which
// the page shows them, which keeps columns apart, and looks at positions only
// to find where words and lines end. The zero value is an empty page.
type layout struct {
	out      strings.Builder
	line     []byte
	last     box    // the latest glyph of the line
	start    int    // where its text begins in line
	heading  vector // direction of the line, of length 1
	begun    bool
	rtl      bool
	recent   [32]shown
	count    int
	glyphs   int
	unmapped int
}

// shown is a string that was shown, to find it shown again in the same place.
type shown struct {
	at   vector
	hash uint64
}

// repeated reports whether the same string was just shown in the same place,
// and remembers it.
func (l *layout) repeated(s []byte, at vector, size float64) bool {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, c := range s {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	for _, old := range l.recent[:min(l.count, len(l.recent))] {
		if old.hash == hash && old.at.near(at, overprint*size) {
			return true
		}
	}
	l.recent[l.count%len(l.recent)] = shown{at, hash}
	l.count++
	return false
}

// add puts one glyph behind those before.
func (l *layout) add(b box) {
	if b.text == "" || math.IsNaN(b.from.x+b.from.y) {
		return
	}
	if l.begun {
		if l.combine(b) {
			return
		}
		l.separate(b)
	}
	if !l.begun {
		l.begun, l.heading = true, b.direction().unit()
	}
	l.append(b)
}

func (l *layout) append(b box) {
	if b.text == " " || b.text == "\u00a0" {
		l.space()
		l.last = box{text: " ", from: b.from, to: b.to, size: b.size}
		l.start = len(l.line)
		return
	}
	l.start = len(l.line)
	for _, r := range b.text {
		if r < ' ' || r == '\u00a0' {
			l.space()
			continue
		}
		if r == '\u00ad' {
			r = '-'
		}
		l.rtl = l.rtl || rightToLeft(r)
		l.line = utf8.AppendRune(l.line, r)
	}
	l.last = b
}

// space ends a word.
func (l *layout) space() {
	if n := len(l.line); n > 0 && l.line[n-1] != ' ' {
		l.line = append(l.line, ' ')
	}
}

// separate ends the word or line before b when its position says so.
func (l *layout) separate(b box) {
	step := b.from.minus(l.last.to)
	along, across := step.dot(l.heading), math.Abs(step.cross(l.heading))
	size := max(b.size, l.last.size)
	switch {
	case across > lineShift*size || along < -backStep*size || l.turned(b):
		l.endLine()
		if across > paragraphGap*size {
			l.blankLine()
		}
	case along > wordGap*size:
		l.space()
	}
}

// turned reports whether b is written in another direction than the line.
func (l *layout) turned(b box) bool {
	return b.from != b.to && b.direction().unit().dot(l.heading) < 0.7
}

// endLine moves the line to the text of the page.
func (l *layout) endLine() {
	line := strings.TrimSpace(string(l.line))
	if l.rtl {
		line = logical(line)
	}
	if line != "" {
		l.out.WriteString(line)
		l.out.WriteByte('\n')
	}
	l.line, l.begun, l.rtl, l.start = l.line[:0], false, false, 0
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

// accents are the characters that fonts draw over a letter as a glyph of its
// own, with the combining character that makes one letter of both.
var accents = map[string]string{
	"`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
	"¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328", "^": "\u0302", "~": "\u0303",
}

// combine joins b with the glyph before it when one of the two is an accent and
// they are printed over each other.
func (l *layout) combine(b box) bool {
	if len(l.line) <= l.start || !overlaps(l.last, b, l.heading) {
		return false
	}
	letter, mark := b.text, accents[l.last.text]
	if mark == "" {
		letter, mark = l.last.text, accents[b.text]
	}
	if mark == "" || utf8.RuneCountInString(letter) != 1 {
		return false
	}
	if letter == "ı" {
		letter = "i"
	}
	both := norm.NFC.String(letter + mark)
	l.line = append(l.line[:l.start], both...)
	if end := b.to.minus(l.last.to).dot(l.heading); end > 0 {
		l.last.to = l.last.to.plus(l.heading.times(end))
	}
	l.last.text = both
	return true
}

// overlaps reports whether the middle of one glyph lies on the other.
func overlaps(a, b box, heading vector) bool {
	if math.Abs(b.from.minus(a.from).cross(heading)) > 0.5*max(a.size, b.size) {
		return false
	}
	af, at := a.from.dot(heading), a.to.dot(heading)
	bf, bt := b.from.dot(heading), b.to.dot(heading)
	am, bm := (af+at)/2, (bf+bt)/2
	return bf < am && am < bt && af < bm && bm < at
}

func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// logical puts a line with right-to-left script, which pages show in visual
// order, in the order of reading: the whole line turned around, but for runs of
// numbers and of left-to-right letters.
func logical(line string) string {
	runes := []rune(norm.NFKC.String(line))
	slices.Reverse(runes)
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && leftToRight(runes[j]) {
			j++
		}
		slices.Reverse(runes[i:j])
		i = max(j, i+1)
	}
	return string(runes)
}

func leftToRight(r rune) bool {
	return !rightToLeft(r) && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r >= 0x660 && r <= 0x669
}
