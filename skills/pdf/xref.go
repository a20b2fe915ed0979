package main

import (
	"bytes"
	"errors"
)

const (
	// maxSections bounds the chain of cross-reference sections: one for each
	// time the file was saved.
	maxSections = 4096
	// maxObjects bounds the entries of all sections together.
	maxObjects = 1_000_000
	// tailWindow is how far from the end of the file "startxref" is searched.
	tailWindow = 2048
)

// errXref says that the cross-reference table is not as it should be.
var errXref = errors.New("the cross-reference table is damaged")

// readTable reads the cross-reference table of a file (ISO 32000-1, 7.5.4 and
// 7.5.8) and unlocks it. Whatever is not as it should be is errXref, or wraps
// errEncrypted.
func (l *objects) readTable() error {
	at, ok := startOfXref(l.data)
	if !ok {
		return errXref
	}
	seen := map[int]bool{}
	for !seen[at] {
		if at <= 0 || at >= len(l.data) || len(seen) > maxSections || len(l.xref) > maxObjects {
			return errXref
		}
		seen[at] = true
		trailer, err := l.section(at)
		if err != nil {
			return err
		}
		if l.trailer == nil {
			l.trailer = trailer
		}
		if at = whole(trailer["Prev"]); at == 0 {
			break
		}
	}
	return l.unlock()
}

// startOfXref returns the offset that the end of the file gives. A header that
// does not begin the file moves all offsets, which is left to the repair.
func startOfXref(data []byte) (offset int, ok bool) {
	tail := data[max(0, len(data)-tailWindow):]
	i := bytes.LastIndex(tail, []byte("startxref"))
	if i < 0 || !bytes.HasPrefix(data, []byte("%PDF-")) {
		return 0, false
	}
	lex := lexer{data: tail[i+len("startxref"):]}
	lex.next()
	if len(lex.args) == 0 {
		return 0, false
	}
	return whole(lex.args[0].num), true
}

// section reads one section and returns its trailer. In a file for old and new
// readers, objects that the stream beside the table has are free in the table,
// so that old readers pass them over: the stream counts first.
func (l *objects) section(at int) (dict, error) {
	lex := lexer{data: l.data, pos: at}
	if op, ok := lex.next(); !ok || string(op) != "xref" || len(lex.args) > 0 {
		return l.xrefStream(at)
	}
	free, err := l.table(&lex)
	if err != nil {
		return nil, err
	}
	trailer, err := l.trailerAt(lex.pos)
	if err != nil {
		return nil, err
	}
	if beside := whole(trailer["XRefStm"]); beside != 0 {
		if _, err := l.xrefStream(beside); err != nil {
			return nil, err
		}
	}
	for _, n := range free {
		l.add(n, xrefEntry{})
	}
	return trailer, nil
}

// table reads the entries up to the trailer and returns the numbers of objects
// that are free.
func (l *objects) table(lex *lexer) (free []int, err error) {
	number := 0
	for op, ok := lex.next(); ok && l.work.spend(4); op, ok = lex.next() {
		n := len(lex.args)
		if string(op) == "trailer" {
			return free, nil
		}
		if n < 2 || string(op) != "n" && string(op) != "f" {
			return nil, errXref
		}
		if n >= 4 {
			number = whole(lex.args[n-4].num)
		}
		if op[0] == 'n' {
			l.add(number, xrefEntry{offset: whole(lex.args[n-2].num)})
		} else {
			free = append(free, number)
		}
		number++
	}
	return nil, errXref
}

// add keeps where an object is, if no later section did.
func (l *objects) add(number int, p xrefEntry) {
	if _, ok := l.xref[number]; !ok {
		l.xref[number] = p
	}
}

// trailerAt reads the dictionary behind the word at an offset.
func (l *objects) trailerAt(at int) (dict, error) {
	p := parser{lexer: lexer{data: l.data, pos: at}}
	o, _ := p.value()
	l.work.spend(parseCost * (p.pos - at))
	d, ok := o.(dict)
	if !ok {
		return nil, errXref
	}
	return d, nil
}

// xrefStream reads a section that is a stream.
func (l *objects) xrefStream(at int) (dict, error) {
	o, _, err := l.parseAt(at, 0)
	s, ok := o.(*stream)
	if err != nil || !ok || entry[atom](s.entries, "Type") != "XRef" {
		return nil, errXref
	}
	widths, ok := fieldWidths(entry[array](s.entries, "W"))
	if !ok {
		return nil, errXref
	}
	index := entry[array](s.entries, "Index")
	if index == nil {
		index = array{0.0, s.entries["Size"]}
	}
	rows := l.decode(s)
	for ; len(index) >= 2; index = index[2:] {
		rows, ok = l.rows(rows, widths, whole(index[0]), whole(index[1]))
		if !ok {
			return nil, errXref
		}
	}
	return s.entries, nil
}

func fieldWidths(a array) (w [3]int, ok bool) {
	if len(a) < len(w) {
		return w, false
	}
	total := 0
	for i := range w {
		w[i] = whole(a[i])
		if w[i] < 0 || w[i] > 8 {
			return w, false
		}
		total += w[i]
	}
	return w, total > 0
}

// rows reads the entries of consecutive objects and returns what follows, and
// whether there were as many as announced.
func (l *objects) rows(data []byte, widths [3]int, number, count int) (rest []byte, ok bool) {
	size := widths[0] + widths[1] + widths[2]
	for ; count > 0; count-- {
		if len(data) < size || len(l.xref) > maxObjects {
			return nil, false
		}
		kind := 1
		if widths[0] > 0 {
			kind = field(data[:widths[0]])
		}
		second := field(data[widths[0] : widths[0]+widths[1]])
		switch kind {
		case 0:
			l.add(number, xrefEntry{})
		case 1:
			l.add(number, xrefEntry{offset: second})
		case 2:
			l.add(number, xrefEntry{stream: second})
		}
		number++
		data = data[size:]
	}
	return data, true
}

func field(b []byte) int {
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}
