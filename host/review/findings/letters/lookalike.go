package letters

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookalikes pairs letters of other scripts with the Latin letters that they
// cannot be told from in most fonts.
var lookalikes = func() map[rune]rune {
	m := map[rune]rune{}
	for _, pair := range []string{
		// Cyrillic
		"аa", "еe", "оo", "рp", "сc", "уy", "хx", "іi", "јj", "ѕs", "һh", "ԁd", "ԛq", "ԝw", "ѵv", "ӏl", "ɡg", "ү" + "y",
		"АA", "ВB", "ЕE", "КK", "МM", "НH", "ОO", "РP", "СC", "ТT", "УY", "ХX", "ІI", "ЈJ", "ЅS", "ԌG", "ԚQ", "ԜW", "Ү" + "Y", "Ӏl",
		// Greek
		"οo", "νv", "ρp", "ιi", "κk", "υu", "αa", "ϲc", "ϳj",
		"ΑA", "ΒB", "ΕE", "ΖZ", "ΗH", "ΙI", "ΚK", "ΜM", "ΝN", "ΟO", "ΡP", "ΤT", "ΥY", "ΧX", "ϹC",
		// Armenian
		"օo", "ոn", "սu", "հh", "ցg", "քp", "ՍU", "ՏS", "ՕO",
		// Cherokee
		"ᎪA", "ᏴB", "ᏟC", "ᎠD", "ᎬE", "ᎻH", "ᎫJ", "ᏦK", "ᏞL", "ᎷM", "ᏢP", "ᏒR", "ᏚS", "ᎢT", "ᏙV", "ᎳW", "ᏃZ",
	} {
		r, n := utf8.DecodeRuneInString(pair)
		m[r] = rune(pair[n])
	}
	return m
}()

// Latin returns the Latin letter that a letter of another script looks like,
// and whether there is one.
func Latin(r rune) (rune, bool) {
	if r < 0x250 || r > 0x13ff { // there are none
		return r, false
	}
	l, ok := lookalikes[r]
	return l, ok
}

// A Word is a word that does not read as it is written.
type Word struct {
	Start, End int    // in bytes
	Plain      string // what it reads as
	// Whole says that no letter of it is Latin, so that it may well be a word
	// of its own language.
	Whole bool
}

// Disguised returns the words of a text that read as Latin ones and are not:
// all their letters are Latin or look-alikes, with at least one of the latter,
// and with at least two letters. It stops after most of them.
func Disguised(text []byte, most int) []Word {
	var all []Word
	for i := 0; i < len(text) && len(all) < most; {
		if text[i] < 0x80 && !isWordByte(text[i]) {
			i++
			continue
		}
		end, foreign := wordAt(text, i)
		if foreign {
			if w, ok := disguised(text, i, end); ok {
				all = append(all, w)
			}
		}
		i = max(end, i+1)
	}
	return all
}

func isWordByte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_'
}

// wordAt returns where the word at i ends, and whether it is more than ASCII.
func wordAt(text []byte, i int) (end int, foreign bool) {
	for i < len(text) {
		if text[i] < 0x80 {
			if !isWordByte(text[i]) {
				return i, foreign
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return i, foreign
		}
		i, foreign = i+n, true
	}
	return i, foreign
}

func disguised(text []byte, start, end int) (Word, bool) {
	var plain strings.Builder
	alike, latin := 0, 0
	for _, r := range string(text[start:end]) {
		l, ok := Latin(r)
		switch {
		case ok:
			alike++
		case r < 0x80 || unicode.Is(unicode.Latin, r):
			if unicode.IsLetter(r) {
				latin++
			}
		default:
			return Word{}, false // a letter that is plainly of another script
		}
		plain.WriteRune(l)
	}
	w := Word{Start: start, End: end, Plain: plain.String(), Whole: latin == 0}
	return w, alike > 0 && alike+latin > 1
}
