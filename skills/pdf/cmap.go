package main

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxMappings bounds the entries of one character map; the largest honest ones
// have an entry for each of 65,536 codes.
const maxMappings = 1 << 17

// cmap is a character map: from the codes in strings to character identifiers
// (an Encoding entry) or to text (a ToUnicode entry). Its zero value reads two
// bytes per code and maps nothing.
type cmap struct {
	spaces []codeSpace
	chars  map[uint32]string
	ranges []textRange
	cids   []cidRange
}

// codeSpace is a range of codes of one length.
type codeSpace struct {
	length int
	lo, hi uint32
}

// textRange maps the codes lo to hi to text whose last character counts up.
type textRange struct {
	lo, hi uint32
	text   []uint16
}

// cidRange maps the codes lo to hi to identifiers from cid on.
type cidRange struct {
	lo, hi uint32
	cid    int
}

// parseCMap reads a character map (ISO 32000-1, 9.7.5.4 and 9.10.3). What is
// malformed is left out.
func parseCMap(data []byte, w *work) *cmap {
	m := &cmap{chars: map[uint32]string{}}
	l := lexer{data: data}
	for op, ok := l.next(); ok; op, ok = l.next() {
		if !w.spend(len(l.args)+len(l.items)) || m.size() > maxMappings {
			break
		}
		switch string(op) {
		case "endcodespacerange":
			m.addSpaces(l.args)
		case "endbfchar":
			m.addChars(l.args)
		case "endbfrange":
			m.addRanges(l.args, l.items)
		case "endcidchar":
			m.addCIDs(l.args, 2)
		case "endcidrange":
			m.addCIDs(l.args, 3)
		}
	}
	slices.SortStableFunc(m.ranges, func(a, b textRange) int { return int(int64(a.lo) - int64(b.lo)) })
	slices.SortStableFunc(m.cids, func(a, b cidRange) int { return int(int64(a.lo) - int64(b.lo)) })
	return m
}

func (m *cmap) size() int { return len(m.chars) + len(m.ranges) + len(m.cids) + len(m.spaces) }

func (m *cmap) addSpaces(args []operand) {
	for pair := range slices.Chunk(args, 2) {
		if n := len(pair[0].str); len(pair) == 2 && n >= 1 && n <= 4 && len(pair[1].str) == n {
			m.spaces = append(m.spaces, codeSpace{n, code(pair[0].str), code(pair[1].str)})
		}
	}
}

func (m *cmap) addChars(args []operand) {
	for pair := range slices.Chunk(args, 2) {
		if len(pair) == 2 && pair[0].kind == chars {
			m.chars[code(pair[0].str)] = utf16Text(pair[1].str)
		}
	}
}

func (m *cmap) addRanges(args, items []operand) {
	for row := range slices.Chunk(args, 3) {
		if len(row) < 3 || row[0].kind != chars || row[1].kind != chars {
			continue
		}
		lo, hi := code(row[0].str), code(row[1].str)
		switch row[2].kind {
		case chars:
			m.ranges = append(m.ranges, textRange{lo, hi, utf16Units(row[2].str)})
		case list:
			for i, item := range items[row[2].from:row[2].to] {
				if c := lo + uint32(i); c <= hi {
					m.chars[c] = utf16Text(item.str)
				}
			}
		}
	}
}

func (m *cmap) addCIDs(args []operand, width int) {
	for row := range slices.Chunk(args, width) {
		if len(row) < width || row[0].kind != chars || row[width-1].kind != numeral {
			continue
		}
		m.cids = append(m.cids, cidRange{code(row[0].str), code(row[width-2].str), int(row[width-1].num)})
	}
}

// text returns the text of a code, "" when the map has none.
func (m *cmap) text(c uint32) string {
	if t, ok := m.chars[c]; ok {
		return printable(t)
	}
	i, found := slices.BinarySearchFunc(m.ranges, c, func(r textRange, c uint32) int { return int(int64(r.lo) - int64(c)) })
	if !found {
		i--
	}
	if i < 0 || c > m.ranges[i].hi || len(m.ranges[i].text) == 0 {
		return ""
	}
	units := slices.Clone(m.ranges[i].text)
	units[len(units)-1] += uint16(c - m.ranges[i].lo)
	return printable(string(utf16.Decode(units)))
}

// cid returns the identifier of a code, 0 when the map has none.
func (m *cmap) cid(c uint32) int {
	i, found := slices.BinarySearchFunc(m.cids, c, func(r cidRange, c uint32) int { return int(int64(r.lo) - int64(c)) })
	if !found {
		i--
	}
	if i < 0 || c > m.cids[i].hi {
		return 0
	}
	return m.cids[i].cid + int(c-m.cids[i].lo)
}

// length returns how many bytes of s, which is not empty, make the next code.
func (m *cmap) length(s []byte) int {
	for n := 1; n <= 4 && n <= len(s); n++ {
		for _, space := range m.spaces {
			if space.length == n && space.holds(s[:n]) {
				return n
			}
		}
	}
	if len(m.spaces) == 0 {
		return min(2, len(s))
	}
	return min(m.spaces[0].length, len(s))
}

// holds reports whether every byte of a code lies in the range: a code space is
// a box, not an interval.
func (c codeSpace) holds(s []byte) bool {
	for i, b := range s {
		shift := 8 * (c.length - 1 - i)
		if b < byte(c.lo>>shift) || b > byte(c.hi>>shift) {
			return false
		}
	}
	return true
}

// code reads a big-endian number of up to four bytes.
func code(s []byte) uint32 {
	var c uint32
	for _, b := range s[:min(len(s), 4)] {
		c = c<<8 | uint32(b)
	}
	return c
}

// utf16Units reads big-endian UTF-16; a single byte counts as one unit.
func utf16Units(s []byte) []uint16 {
	if len(s) == 1 {
		return []uint16{uint16(s[0])}
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return units
}

func utf16Text(s []byte) string { return string(utf16.Decode(utf16Units(s))) }

// printable returns text, or "" when it begins with a character that stands
// for no character at all, as some producers write.
func printable(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffd' || r == '\uffff' {
		return ""
	}
	return text
}
