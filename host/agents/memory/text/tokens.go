package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	cut "github.com/skillet-run/skillet/internal/text"
)

// MaxTerm is how many bytes of a word count; what is longer is cut.
const MaxTerm = 64

// Tokens yields the terms of a text in order, folded: without case, accents, points
// and width. A term is a run of letters, digits and marks. Scripts that put no
// space between words give each pair of neighbouring characters instead. An
// apostrophe within a word is left out, as are characters that cannot be seen.
// Bytes that are not UTF-8 end a word. No language is assumed, so nothing is stemmed.
func Tokens(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := tokeniser{rest: fold(s), yield: yield}
		for t.rest != "" && t.next() {
		}
	}
}

// dropped are marks that people leave out when they type: accents, Hebrew points,
// Arabic vowels and the tatweel, and variation selectors.
var dropped = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0300, Hi: 0x036f, Stride: 1}, {Lo: 0x0591, Hi: 0x05bd, Stride: 1}, {Lo: 0x05bf, Hi: 0x05bf, Stride: 1},
		{Lo: 0x05c1, Hi: 0x05c2, Stride: 1}, {Lo: 0x05c4, Hi: 0x05c5, Stride: 1}, {Lo: 0x05c7, Hi: 0x05c7, Stride: 1},
		{Lo: 0x0610, Hi: 0x061a, Stride: 1}, {Lo: 0x0640, Hi: 0x0640, Stride: 1}, {Lo: 0x064b, Hi: 0x065f, Stride: 1},
		{Lo: 0x0670, Hi: 0x0670, Stride: 1}, {Lo: 0x06d6, Hi: 0x06dc, Stride: 1}, {Lo: 0x06df, Hi: 0x06e4, Stride: 1},
		{Lo: 0x1ab0, Hi: 0x1aff, Stride: 1}, {Lo: 0x1dc0, Hi: 0x1dff, Stride: 1}, {Lo: 0x20d0, Hi: 0x20ff, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xfe20, Hi: 0xfe2f, Stride: 1},
	},
}

// fold makes texts equal that people take for equal: compatibility decomposition
// (Unicode Standard Annex 15, form KD), without what is dropped, in lower case,
// composed again.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(dropped, r) || unicode.Is(unicode.Cf, r):
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		default:
			// By way of upper case, so that ς and σ, ı and i are the same.
			b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// kind is what a character is to the tokeniser.
type kind uint8

const (
	between kind = iota
	letter       // or digit
	mark         // belongs to what is before it
	dense        // of a script without spaces
	apostrophe
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return kindOfASCII(r)
	case r == '’' || r == 'ʼ':
		return apostrophe
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r):
		return dense
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return letter
	case unicode.IsMark(r):
		return mark
	}
	return between
}

func kindOfASCII(r rune) kind {
	switch {
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		return letter
	case r == '\'':
		return apostrophe
	}
	return between
}

// tokeniser takes terms off the front of a folded text.
type tokeniser struct {
	rest  string
	yield func(string) bool
}

// next takes the next term or run of terms, and reports whether to go on.
func (t *tokeniser) next() bool {
	r, size := utf8.DecodeRuneInString(t.rest)
	switch kindOf(r) {
	case letter, mark:
		return t.word()
	case dense:
		return t.pairs()
	}
	t.rest = t.rest[size:]
	return true
}

func (t *tokeniser) word() bool {
	word, ended := t.part()
	if ended {
		return t.yield(cut.Head(word, MaxTerm))
	}
	parts := []string{word}
	for !ended {
		word, ended = t.part()
		parts = append(parts, word)
	}
	return t.yield(cut.Head(strings.Join(parts, ""), MaxTerm))
}

// part takes what there is of a word up to an apostrophe, and reports whether there is
// none.
func (t *tokeniser) part() (part string, ended bool) {
	n := t.run(letter)
	part, t.rest = t.rest[:n], t.rest[n:]
	r, size := utf8.DecodeRuneInString(t.rest)
	if n == 0 || kindOf(r) != apostrophe {
		return part, true
	}
	t.rest = t.rest[size:]
	return part, false
}

// run is how many bytes of a kind, and of marks, come next.
func (t *tokeniser) run(k kind) int {
	for i, r := range t.rest {
		if has := kindOf(r); has != k && has != mark {
			return i
		}
	}
	return len(t.rest)
}

// pairs yields each two neighbours of a run, or the one there is.
func (t *tokeniser) pairs() bool {
	n := t.run(dense)
	run := t.rest[:n]
	t.rest = t.rest[n:]
	ends := clusters(run)
	if len(ends) == 1 {
		return t.yield(cut.Head(run, MaxTerm))
	}
	from := 0
	for i, end := range ends[1:] {
		if !t.yield(cut.Head(run[from:end], MaxTerm)) {
			return false
		}
		from = ends[i]
	}
	return true
}

// clusters are the ends of the characters of a run, each with its marks.
func clusters(run string) (ends []int) {
	for i, r := range run {
		if i > 0 && kindOf(r) != mark {
			ends = append(ends, i)
		}
	}
	return append(ends, len(run))
}
