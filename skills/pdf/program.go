package main

import (
	"bytes"
)

// programTable returns the encoding built into an embedded font program, nil
// when there is none or it cannot be read. TeX's fonts often have no other.
func (d *document) programTable(descriptor dict) *table {
	if descriptor == nil {
		return nil
	}
	if data := d.stream(descriptor["FontFile"]); data != nil {
		return d.type1Table(data)
	}
	file := descriptor["FontFile3"]
	if d.name(d.dict(file)["Subtype"]) == "Type1C" {
		return d.cffTable(d.stream(file))
	}
	return nil
}

// type1Table reads the clear-text part of a Type 1 font program: either
// "/Encoding StandardEncoding def" or entries "dup 65 /A put".
func (d *document) type1Table(data []byte) *table {
	data, _, _ = bytes.Cut(data, []byte("eexec"))
	_, data, found := bytes.Cut(data, []byte("/Encoding"))
	if !found {
		return nil
	}
	t := &table{}
	l := lexer{data: data}
	for op, ok := l.next(); ok && d.work.spend(1); op, ok = l.next() {
		switch n := len(l.args); string(op) {
		case "StandardEncoding":
			return standardTable()
		case "put":
			if n >= 2 && l.args[n-2].kind == numeral && l.args[n-1].kind == symbol {
				t.set(int(l.args[n-2].num), d.glyphText(string(l.args[n-1].str), false))
			}
		case "readonly", "def":
			return t
		}
	}
	return t
}

func (t *table) set(code int, text string) {
	if code >= 0 && code < len(t) {
		t[code] = text
	}
}

// cff reads a Compact Font Format program (Adobe technical note 5176). Reads
// behind the end give zeros and set bad.
type cff struct {
	data []byte
	pos  int
	bad  bool
}

func (c *cff) uint(n int) int {
	if c.pos < 0 || c.pos+n > len(c.data) {
		c.bad = true
		return 0
	}
	v := 0
	for _, b := range c.data[c.pos : c.pos+n] {
		v = v<<8 | int(b)
	}
	c.pos += n
	return v
}

// index reads an INDEX: a list of byte strings.
func (c *cff) index() [][]byte {
	count := c.uint(2)
	if count == 0 {
		return nil
	}
	size := c.uint(1)
	if size < 1 || size > 4 {
		c.bad = true
		return nil
	}
	start := c.pos + size*(count+1) - 1
	entries := make([][]byte, 0, min(count, len(c.data)))
	from := c.uint(size)
	for range count {
		to := c.uint(size)
		if c.bad || from > to || start+to > len(c.data) {
			c.bad = true
			return entries
		}
		entries = append(entries, c.data[start+from:start+to])
		from = to
	}
	c.pos = start + from
	return entries
}

// cffTable reads the encoding of a CFF font: code to glyph, glyph to name.
func (d *document) cffTable(data []byte) *table {
	c := &cff{data: data}
	if len(data) < 4 {
		return nil
	}
	c.pos = int(data[2])
	c.index() // names
	tops := c.index()
	names := c.index()
	if len(tops) == 0 || c.bad {
		return nil
	}
	top := cffDict(tops[0])
	if top[16] == 0 {
		return standardTable()
	}
	if top[16] == 1 {
		return nil // the expert encoding holds no letters
	}
	standard := cffStandard()
	c.pos = top[17]
	glyphs := c.uint(2)
	charset := c.charset(top[15], glyphs)
	t := &table{}
	for code, glyph := range c.encoding(top[16]) {
		if glyph > 0 && glyph < len(charset) {
			t[code] = d.cffName(charset[glyph], standard, names)
		}
	}
	return t
}

// charset reads the string identifiers of the glyphs.
func (c *cff) charset(offset, glyphs int) []int {
	ids := []int{0}
	if offset <= 2 {
		for i := 1; i < glyphs; i++ {
			ids = append(ids, i)
		}
		return ids
	}
	c.pos = offset
	format := c.uint(1)
	for len(ids) < glyphs && !c.bad {
		first, more := c.uint(2), 0
		if format > 0 {
			more = c.uint(format)
		}
		for i := 0; i <= more && len(ids) < glyphs; i++ {
			ids = append(ids, first+i)
		}
	}
	return ids
}

// encoding reads the glyph of each code.
func (c *cff) encoding(offset int) [256]int {
	var codes [256]int
	c.pos = offset
	format := c.uint(1)
	count := c.uint(1)
	glyph := 1
	for i := 0; i < count && !c.bad; i++ {
		first, more := c.uint(1), 0
		if format&0x7f == 1 {
			more = c.uint(1)
		}
		for code := first; code <= first+more && code < 256; code++ {
			codes[code] = glyph
			glyph++
		}
	}
	return codes
}

// cffName returns the text of a string identifier.
func (d *document) cffName(id int, standard []string, names [][]byte) string {
	const standardStrings = 391
	if id < len(standard) {
		return standard[id]
	}
	if id >= standardStrings && id-standardStrings < len(names) {
		return d.glyphText(string(names[id-standardStrings]), false)
	}
	return ""
}

// cffLatin are the standard strings 150 to 228 of CFF (appendix A); those up to
// 149 are StandardEncoding in order, those from 229 on are for expert sets.
const cffLatin = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©" +
	"ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž"

// cffStandard returns the text of the standard strings from 0 to 228.
func cffStandard() []string {
	texts := []string{""}
	for _, text := range standardTable() {
		if text != "" {
			texts = append(texts, text)
		}
	}
	for _, r := range cffLatin {
		texts = append(texts, string(r))
	}
	return texts
}

// cffDict reads the operators of a top dictionary that are integers; a missing
// one is 0, which is its default.
func cffDict(data []byte) map[int]int {
	c := &cff{data: data}
	dict, last := map[int]int{}, 0
	for c.pos < len(data) && !c.bad {
		switch b := c.uint(1); {
		case b == 12:
			c.uint(1)
		case b <= 21:
			dict[b] = last
		case b == 28:
			last = int(int16(c.uint(2)))
		case b == 29:
			last = int(int32(c.uint(4)))
		case b == 30:
			c.real()
		case b >= 32 && b <= 246:
			last = b - 139
		case b >= 247 && b <= 250:
			last = (b-247)*256 + c.uint(1) + 108
		case b >= 251 && b <= 254:
			last = -(b-251)*256 - c.uint(1) - 108
		}
	}
	return dict
}

// real skips a real number: nibbles up to one that is 15.
func (c *cff) real() {
	for !c.bad {
		if b := c.uint(1); b&0x0f == 0x0f || b>>4 == 0x0f {
			return
		}
	}
}
