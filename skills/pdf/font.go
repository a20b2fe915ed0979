package main

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// glyph is what one code of a font shows.
type glyph struct {
	text    string
	advance float64 // in text space units for font size 1
	mapped  bool    // false when nothing says which text this is
	blank   bool    // a single-byte code 32, to which word spacing applies
	rtl     bool    // of a right-to-left script
	plain   bool    // one visible ASCII character, like most
}

// newGlyph makes a glyph of the text of a code. White space becomes a space, a
// soft hyphen one that shows, and a ligature the letters it is made of: in
// visual order when they are written from right to left, as the whole line will
// be turned around.
func newGlyph(text string, advance float64, blank bool) glyph {
	g := glyph{text: text, advance: advance, mapped: text != "", blank: blank}
	if len(text) == 1 && text[0] > ' ' {
		g.plain = true
		return g
	}
	g.text = strings.Map(plainRune, ligatures.Replace(text))
	if strings.TrimSpace(g.text) == "" && g.text != "" {
		g.text = " "
	}
	if first, _ := utf8.DecodeRuneInString(g.text); rightToLeft(first) {
		runes := []rune(g.text)
		slices.Reverse(runes)
		g.text, g.rtl = string(runes), true
	}
	return g
}

func plainRune(r rune) rune {
	switch {
	case r <= ' ' || r == '\u00a0':
		return ' '
	case r == '\u00ad':
		return '-'
	}
	return r
}

// font turns the bytes of shown strings into glyphs. It is built once per
// document and remembers every glyph it made.
type font struct {
	simple    bool
	vertical  bool
	codes     [256]*glyph // of a simple font, filled as codes occur
	table     *table      // of a simple font: the text of codes without ToUnicode
	composite *codeTable  // of a composite font, filled as codes occur
	encoding  *cmap       // of a composite font; nil means the identity
	charset   *charset    // of a composite font with a predefined map
	toUnicode *cmap
	widths    map[int]float64
	width     float64 // where widths has none
	scale     float64 // from glyph space to text space
	em        float64 // the height of a line of type for font size 1
}

// missingFont stands in for a font that is not there.
func missingFont() *font {
	return &font{simple: true, width: 500, scale: 0.001, em: 1, table: standardTable()}
}

// font returns the font a resource entry names.
func (d *document) font(o object) *font {
	number := objectNumber(o)
	if f, ok := d.fonts[number]; ok && number != 0 {
		return f
	}
	f := d.missing
	if entries := d.dict(o); entries != nil {
		f = d.loadFont(entries)
	}
	if len(d.fonts) >= maxFonts {
		clear(d.fonts)
	}
	if number != 0 {
		d.fonts[number] = f
	}
	return f
}

// maxFonts bounds the fonts that are kept; then keeping starts over. Some
// programs embed each font anew for every page.
const maxFonts = 256

func (d *document) loadFont(entries dict) *font {
	d.work.spend(1 << 12)
	f := &font{scale: 0.001, em: 1}
	if data := d.stream(entries["ToUnicode"]); data != nil {
		f.toUnicode = parseCMap(data, d.work)
	}
	switch d.name(entries["Subtype"]) {
	case "Type0":
		d.loadComposite(f, entries)
	case "Type3":
		d.loadSimple(f, entries)
		f.scaleBitmaps(d.matrix(entries["FontMatrix"]))
		f.table = d.simpleTable(entries, true)
	default:
		d.loadSimple(f, entries)
		f.table = d.simpleTable(entries, false)
	}
	return f
}

// loadSimple reads the widths of a font with one byte per code.
func (d *document) loadSimple(f *font, entries dict) {
	f.simple = true
	f.widths = map[int]float64{}
	first := d.integer(entries["FirstChar"], 0)
	widths := d.array(entries["Widths"])
	for i, w := range widths[:min(len(widths), 256)] {
		if n, ok := d.number(w); ok {
			f.widths[first+i] = n
		}
	}
	f.width, _ = d.number(d.dict(entries["FontDescriptor"])["MissingWidth"])
	if len(widths) == 0 {
		f.widths, f.width = coreWidths(d.name(entries["BaseFont"])), coreWidth
	}
}

// scaleBitmaps sets the scale of a Type 3 font, which has a glyph space of its
// own. Its size need not be a multiple of anything, so the height of its type
// is taken from the widths of its glyphs, on average half of it.
func (f *font) scaleBitmaps(m matrix) {
	if m[0] != 0 {
		f.scale = m[0]
	}
	sum, n := 0.0, 0
	for _, w := range f.widths {
		if w != 0 {
			sum, n = sum+math.Abs(w), n+1
		}
	}
	if n > 0 {
		f.em = 2 * math.Abs(f.scale) * sum / float64(n)
	}
}

// simpleTable works out the text of the codes of a simple font without
// ToUnicode (ISO 32000-1, 9.6.6): a base encoding, then the differences.
func (d *document) simpleTable(entries dict, bitmap bool) *table {
	base, differences := d.baseEncoding(entries)
	t := *base
	code := 0
	for _, o := range differences {
		if n, ok := d.number(o); ok {
			code = int(n)
			continue
		}
		if code >= 0 && code < len(t) {
			t[code] = d.glyphText(d.name(o), bitmap)
		}
		code++
	}
	return &t
}

// glyphText returns the text of a glyph name. In a bitmap font, names that only
// number the glyphs count too.
func (d *document) glyphText(name string, bitmap bool) string {
	if text := d.names.text(name); text != "" || !bitmap {
		return text
	}
	return numbered(name)
}

// baseEncoding returns the encoding that the Differences of a font start from.
func (d *document) baseEncoding(entries dict) (*table, array) {
	encoding := d.resolve(entries["Encoding"])
	if t := baseTable(d.name(encoding)); t != nil {
		return t, nil
	}
	entry := d.dict(encoding)
	differences := d.array(entry["Differences"])
	if t := baseTable(d.name(entry["BaseEncoding"])); t != nil {
		return t, differences
	}
	if t := d.programTable(d.dict(entries["FontDescriptor"])); t != nil {
		return t, differences
	}
	return implicitTable(d.name(entries["BaseFont"]), d.name(entries["Subtype"])), differences
}

// implicitTable is the encoding of a font that says nothing about it.
func implicitTable(base, subtype string) *table {
	switch {
	case strings.Contains(base, "Symbol") && subtype != "TrueType":
		return symbolTable()
	case strings.Contains(base, "Dingbats"):
		return dingbatsTable()
	case subtype == "TrueType":
		return baseTable("WinAnsiEncoding")
	}
	return standardTable()
}

// simpleGlyph makes the glyph of a code of a simple font.
func (f *font) simpleGlyph(c byte) *glyph {
	text := ""
	if f.toUnicode != nil {
		text = f.toUnicode.text(uint32(c))
	}
	if text == "" {
		text = f.table[c]
	}
	w, ok := f.widths[int(c)]
	if !ok {
		w = f.width
	}
	g := newGlyph(text, w*f.scale, c == ' ')
	f.codes[c] = &g
	return &g
}

// loadComposite reads a Type 0 font: its character map, and the widths of its
// one descendant.
func (d *document) loadComposite(f *font, entries dict) {
	f.composite = &codeTable{}
	d.loadEncoding(f, entries["Encoding"])
	descendants := d.array(entries["DescendantFonts"])
	if len(descendants) == 0 {
		f.width = 1000
		return
	}
	descendant := d.dict(descendants[0])
	f.width = 1000
	if w, ok := d.number(descendant["DW"]); ok {
		f.width = w
	}
	f.widths = d.cidWidths(d.array(descendant["W"]))
}

func (d *document) loadEncoding(f *font, o object) {
	name := d.name(o)
	f.vertical = strings.HasSuffix(name, "-V") || name == "V"
	if set, ok := findCharset(name); ok {
		f.charset = &set
		return
	}
	if data := d.stream(o); data != nil {
		f.encoding = parseCMap(data, d.work)
		f.vertical = d.integer(d.dict(o)["WMode"], 0) == 1
	}
}

// cidWidths reads a W array (ISO 32000-1, 9.7.4.3): "c [w1 w2 ...]" for
// consecutive identifiers and "first last w" for a range.
func (d *document) cidWidths(w array) map[int]float64 {
	widths := map[int]float64{}
	for i := 0; i+1 < len(w) && len(widths) < maxMappings; {
		first := d.integer(w[i], 0)
		if list := d.array(w[i+1]); list != nil {
			for j, o := range list {
				widths[first+j], _ = d.number(o)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			break
		}
		last := min(d.integer(w[i+1], 0), first+maxMappings)
		width, _ := d.number(w[i+2])
		for c := first; c <= last; c++ {
			widths[c] = width
		}
		d.work.spend(max(0, last-first))
		i += 3
	}
	return widths
}

// next returns the glyph of the first code in s, which is not empty, and the
// number of bytes of that code.
func (f *font) next(s []byte) (*glyph, int) {
	if f.simple {
		if g := f.codes[s[0]]; g != nil {
			return g, 1
		}
		return f.simpleGlyph(s[0]), 1
	}
	n := f.codeLength(s)
	c := code(s[:n])
	g := f.composite.at(c)
	if *g == nil {
		made := f.compositeGlyph(c, s[:n])
		*g = &made
	}
	return *g, n
}

// codeTable maps codes to glyphs: codes of up to two bytes by their bytes,
// which a map would take ten times as long for, others by a map.
type codeTable struct {
	short [256]*[256]*glyph
	long  map[uint32]**glyph
}

// at returns the place for the glyph of a code.
func (t *codeTable) at(c uint32) **glyph {
	if c <= 0xffff {
		row := t.short[c>>8]
		if row == nil {
			row = new([256]*glyph)
			t.short[c>>8] = row
		}
		return &row[c&0xff]
	}
	if t.long == nil {
		t.long = map[uint32]**glyph{}
	}
	if t.long[c] == nil {
		t.long[c] = new(*glyph)
	}
	return t.long[c]
}

func (f *font) codeLength(s []byte) int {
	switch {
	case f.charset != nil:
		return min(f.charset.lead(s[0]), len(s))
	case f.encoding != nil:
		return f.encoding.length(s)
	}
	return min(2, len(s))
}

func (f *font) compositeGlyph(c uint32, bytes []byte) glyph {
	text, cid := "", int(c)
	if f.toUnicode != nil {
		text = f.toUnicode.text(c)
	}
	if text == "" && f.charset != nil {
		text = printable(f.charset.text(bytes))
	}
	if f.encoding != nil && len(f.encoding.cids) > 0 {
		cid = f.encoding.cid(c)
	}
	w, ok := f.widths[cid]
	if !ok {
		w = f.width
	}
	if f.charset != nil && len(text) == 1 {
		w = min(w, 500)
	}
	return newGlyph(text, w*f.scale, len(bytes) == 1 && bytes[0] == ' ')
}
