package main

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// table gives the text of every code of a font with one byte per character.
// An empty string means that the code has no known text.
type table [256]string

// standardUpper is the upper part of StandardEncoding (ISO 32000-1, annex D.2)
// from code 0xA0 on; a space stands for a code without a character.
const standardUpper = " ¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß"

// symbolLower and symbolUpper are the Symbol font's own encoding (annex D.5)
// from codes 0x20 and 0xA0 on.
const (
	symbolLower = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	symbolUpper = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈… —↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑           ⟩∫⌠ ⌡"
)

// dingbats are the codes of ZapfDingbats (annex D.6) that leave the order of
// the Unicode block: from 0x2720 - 0x20 for the lower codes, 0x2740 for others.
var dingbats = map[int]string{
	0x25: "☎", 0x2a: "☛", 0x2b: "☞", 0x48: "★", 0x6c: "●", 0x6e: "■", 0x73: "▲", 0x74: "▼", 0x75: "◆", 0x77: "◗",
	0xa8: "♣", 0xa9: "♦", 0xaa: "♥", 0xab: "♠", 0xd5: "→", 0xd6: "↔", 0xd7: "↕",
}

func (t *table) run(first int, texts string) {
	code := first
	for _, r := range texts {
		if r != ' ' || code == ' ' {
			t[code] = string(r)
		}
		code++
	}
}

func standardTable() *table {
	var t table
	for c := ' '; c <= '~'; c++ {
		t[c] = string(c)
	}
	t['\''], t['`'] = "’", "‘"
	t.run(0xa0, standardUpper)
	return &t
}

func symbolTable() *table {
	var t table
	t.run(0x20, symbolLower)
	t.run(0xa0, symbolUpper)
	return &t
}

func dingbatsTable() *table {
	var t table
	t[' '] = " "
	for c := 0x21; c <= 0x7e; c++ {
		t[c] = string(rune(0x2700 + c - 0x20))
	}
	for c := 0xa1; c <= 0xfe; c++ {
		t[c] = string(rune(0x2700 + c - 0x40))
	}
	for c := 0xac; c <= 0xb5; c++ {
		t[c] = string(rune(0x2460 + c - 0xac))
	}
	for c, text := range dingbats {
		t[c] = text
	}
	return &t
}

func charmapTable(m *charmap.Charmap) *table {
	var t table
	for c := ' '; c < 256; c++ {
		if r := m.DecodeByte(byte(c)); r != '\ufffd' && r >= ' ' {
			t[c] = string(r)
		}
	}
	t[0xa0] = " "
	return &t
}

// baseTable returns the encoding of the name, nil when there is none of it.
func baseTable(name string) *table {
	switch name {
	case "WinAnsiEncoding":
		t := charmapTable(charmap.Windows1252)
		t[0xad] = "-"
		return t
	case "MacRomanEncoding":
		t := charmapTable(charmap.Macintosh)
		t[0xca] = " "
		return t
	case "StandardEncoding":
		return standardTable()
	}
	return nil
}

// charset is a predefined character map whose codes are those of an encoding
// of text (ISO 32000-1, table 118), so that text follows without a mapping.
type charset struct {
	codec encoding.Encoding
	lead  func(b byte) int // length of the code that begins with b
}

// charsets lists them by a part of the name of the map.
var charsets = []struct {
	part string
	set  charset
}{
	{"UCS2", charset{unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), twoBytes}},
	{"UTF16", charset{unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), utf16Lead}},
	{"RKSJ", charset{japanese.ShiftJIS, shiftLead}},
	{"GB", charset{simplifiedchinese.GBK, highLead}},
	{"ETen-B5", charset{traditionalchinese.Big5, highLead}},
	{"B5pc", charset{traditionalchinese.Big5, highLead}},
	{"HKscs", charset{traditionalchinese.Big5, highLead}},
	{"KSC", charset{korean.EUCKR, highLead}},
	{"EUC", charset{japanese.EUCJP, highLead}},
}

func twoBytes(byte) int { return 2 }

func utf16Lead(b byte) int {
	if b >= 0xd8 && b <= 0xdb {
		return 4
	}
	return 2
}

func shiftLead(b byte) int {
	if b < 0x81 || b >= 0xa0 && b < 0xe0 {
		return 1
	}
	return 2
}

func highLead(b byte) int {
	if b < 0x81 {
		return 1
	}
	return 2
}

// findCharset returns the character set of a predefined map.
func findCharset(name string) (charset, bool) {
	for _, c := range charsets {
		if strings.Contains(name, c.part) && !strings.Contains(name, "UTF32") && !strings.Contains(name, "UTF8") {
			return c.set, true
		}
	}
	return charset{}, false
}

// text decodes one code.
func (c charset) text(code []byte) string {
	b, err := c.codec.NewDecoder().Bytes(code)
	if err != nil || strings.ContainsRune(string(b), '\ufffd') {
		return ""
	}
	return string(b)
}

// ligatures spells out the Latin ligatures, which searching would not find.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// latinText decodes bytes of PDFDocEncoding, read as Windows 1252: the two
// differ in punctuation that titles and names do not use.
func latinText(s []byte) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(charmap.Windows1252.DecodeByte(c))
	}
	return b.String()
}
