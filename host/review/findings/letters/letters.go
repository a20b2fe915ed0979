// Package letters finds what a person does not see in a text: characters that
// have no shape, that turn the direction of writing, or that look like others.
// It also folds a text to what it reads as, so that neither can hide a phrase.
//
// The tables are taken from the Unicode Character Database and from Unicode
// Technical Standard 39 (confusables), and hold only what there are honest uses
// to tell apart from. The package knows characters; what a text means, and
// whether hiding it is bad, is for others.
package letters

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Kind says in which way a character is not what it seems.
type Kind int

// The kinds.
const (
	// Plain can be seen, or is ordinary white space.
	Plain Kind = iota
	// Tag is of the block Tags, a copy of ASCII that is never shown.
	Tag
	// Turn embeds, overrides or isolates a direction of writing: what follows
	// is shown elsewhere than where it stands.
	Turn
	// Shapeless has no width and no shape, or chooses the shape of another.
	Shapeless
	// Control is a control character other than white space, such as the one
	// that begins an escape sequence of a terminal.
	Control
)

// KindOf returns the kind of a character.
func KindOf(r rune) Kind {
	switch {
	case r < 0x7f:
		return kindOfASCII(r)
	case r < 0xa0:
		return Control
	case r >= 0xe0000 && r <= 0xe007f:
		return Tag
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return Turn
	case unicode.Is(shapeless, r):
		return Shapeless
	}
	return Plain
}

func kindOfASCII(r rune) Kind {
	if r >= ' ' || r == '\n' || r == '\r' || r == '\t' || r == '\f' {
		return Plain
	}
	return Control
}

// shapeless are the characters with the property Default_Ignorable_Code_Point
// that are neither tags nor turn the direction, and the blanks that do not count as
// space: the Hangul fillers and the empty Braille pattern.
var shapeless = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, {Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x061c, Hi: 0x061c, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, {Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x200b, Hi: 0x200f, Stride: 1}, {Lo: 0x2060, Hi: 0x2065, Stride: 1}, {Lo: 0x206a, Hi: 0x206f, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, {Lo: 0xfff9, Hi: 0xfffb, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1}, {Lo: 0x1d173, Hi: 0x1d17a, Stride: 1}, {Lo: 0xe0080, Hi: 0xe0fff, Stride: 1},
	},
}

// A Run is a run of characters of one kind.
type Run struct {
	Kind       Kind
	Start, End int // in bytes
	Count      int // characters
	// Text is what the run spells: the ASCII behind tags, and the bytes behind
	// variation selectors, when that is text. Otherwise it is empty.
	Text string
	// Usual is set where honest texts have such a run: in emoji, in flags, at
	// the beginning of a file, between the letters of scripts that need it.
	Usual bool
}

// Runs returns the runs of a text that are not plain. It stops after most of
// them.
func Runs(text []byte, most int) []Run {
	var all []Run
	before := rune(0)
	for i := 0; i < len(text) && len(all) < most; {
		if b := text[i]; b >= ' ' && b < 0x7f || b == '\n' {
			before, i = rune(b), i+1
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		k := KindOf(r)
		if k == Plain {
			before, i = r, i+n
			continue
		}
		run := readRun(text, i, k)
		run.Usual = run.isUsual(text, before)
		all, i = append(all, run), run.End
	}
	return all
}

// readRun reads the run of a kind that begins at start.
func readRun(text []byte, start int, k Kind) Run {
	run := Run{Kind: k, Start: start, End: start}
	var spelled []byte
	for run.End < len(text) {
		r, n := utf8.DecodeRune(text[run.End:])
		if KindOf(r) != k {
			break
		}
		run.End += n
		run.Count++
		if b, ok := hidden(r); ok && len(spelled) < maxSpelled {
			spelled = append(spelled, b)
		}
	}
	if utf8.Valid(spelled) && strings.IndexFunc(string(spelled), unicode.IsGraphic) >= 0 {
		run.Text = string(spelled)
	}
	return run
}

// maxSpelled is how much of a hidden text is told.
const maxSpelled = 400

// hidden returns the byte that a character is used to hide: ASCII as a tag, or
// a number from 0 to 255 as one of the variation selectors.
func hidden(r rune) (byte, bool) {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return byte(r - 0xe0000), true
	case r >= 0xfe00 && r <= 0xfe0f:
		return byte(r - 0xfe00), true
	case r >= 0xe0100 && r <= 0xe01ef:
		return byte(r - 0xe0100 + 16), true
	}
	return 0, false
}

// isUsual says whether honest texts have this run behind the character before.
func (run Run) isUsual(text []byte, before rune) bool {
	first, _ := utf8.DecodeRune(text[run.Start:])
	after, _ := utf8.DecodeRune(text[run.End:])
	switch run.Kind {
	case Tag: // the flags of England, Scotland and Wales, and those like them
		return before == 0x1f3f4 && run.Count <= 7 && strings.HasSuffix(string(text[run.Start:run.End]), "\U000e007f")
	case Shapeless:
		return run.Start == 0 && first == 0xfeff && run.Count == 1 || run.Count <= 2 && isJoined(before, first, after)
	}
	return false
}

// isJoined reports whether a shapeless character belongs between two others: in
// emoji, with a character that has several shapes, and in scripts in which it
// tells words apart or letters how to join.
func isJoined(before, r, after rune) bool {
	switch {
	case r >= 0xfe00 && r <= 0xfe0f:
		return before >= 0x80 || before >= '0' && before <= '9' || before == '#' || before == '*'
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before)
	case r == 0x200c || r == 0x200d:
		return before >= 0x600 && after >= 0x600
	case r == 0x200e || r == 0x200f || r == 0x061c:
		return isRightToLeft(before) || isRightToLeft(after)
	case r == 0x200b || r == 0x2060:
		return unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, before)
	}
	return r == 0x00ad && unicode.IsLetter(before) && unicode.IsLetter(after)
}

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// A Folded text is what a text reads as: lower-case letters without marks,
// look-alikes as the Latin letters they look like, one space for any white
// space, nothing where there is nothing to see.
type Folded struct {
	Text []byte
	at   []int32 // offset in the original of each byte, and of its end
}

// Origin returns where in the original text the folded bytes [from, to) stand.
func (f Folded) Origin(from, to int) (start, end int) { return int(f.at[from]), int(f.at[to]) }

// Fold folds a text of at most 2 GiB.
func Fold(text []byte) Folded {
	f := Folded{Text: make([]byte, 0, len(text)), at: make([]int32, 0, len(text)+1)}
	for i := 0; i < len(text); {
		if b := text[i]; b < 0x7f {
			f.ascii(b, i)
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		f.other(r, i)
		i += n
	}
	f.at = append(f.at, int32(len(text)))
	return f
}

func (f *Folded) put(b byte, at int) {
	f.Text, f.at = append(f.Text, b), append(f.at, int32(at))
}

func (f *Folded) ascii(b byte, at int) {
	switch {
	case 'A' <= b && b <= 'Z':
		f.put(b|0x20, at)
	case b > ' ':
		f.put(b, at)
	case len(f.Text) > 0 && f.Text[len(f.Text)-1] != ' ' && (b == ' ' || kindOfASCII(rune(b)) == Plain):
		f.put(' ', at)
	}
}

func (f *Folded) other(r rune, at int) {
	switch {
	case unicode.IsSpace(r):
		f.ascii(' ', at)
		return
	case KindOf(r) != Plain || unicode.Is(unicode.Mn, r):
		return
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	d := norm.NFKD.Properties(buf[:n]).Decomposition()
	if d == nil {
		f.letter(r, at)
		return
	}
	for i := 0; i < len(d) && i < maxDecomposed; {
		r, n := utf8.DecodeRune(d[i:])
		f.letter(r, at)
		i += n
	}
}

// maxDecomposed is how many bytes of what a character stands for are taken;
// only whole phrases in one character have more.
const maxDecomposed = 12

// letter puts one decomposed letter.
func (f *Folded) letter(r rune, at int) {
	if r == utf8.RuneError || unicode.Is(unicode.Mn, r) {
		return
	}
	if l, ok := Latin(r); ok {
		r = l
	}
	var buf [utf8.UTFMax]byte
	for _, b := range buf[:utf8.EncodeRune(buf[:], unicode.ToLower(r))] {
		f.put(b, at)
	}
}
