package main

import (
	"bytes"
	"errors"
	"maps"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
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
// 7.5.8). Whatever is not as it should be is errXref.
func (l *lazyObjects) readTable() error {
	at, ok := startOfXref(l.data)
	seen := map[int]bool{}
	for pending := []int{at}; len(pending) > 0; pending = pending[1:] {
		at := pending[0]
		if !ok || at <= 0 || at >= len(l.data) || len(seen) > maxSections || len(l.places) > maxObjects {
			return errXref
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		trailer, err := l.section(at)
		if err != nil {
			return err
		}
		if l.dict == nil {
			l.dict = trailer
		}
		for _, key := range []string{"XRefStm", "Prev"} {
			if next := intEntry(trailer, key); next != 0 {
				pending = append(pending, next)
			}
		}
	}
	return nil
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
	return int(lex.args[0].num), true
}

// section reads one section and returns its trailer.
func (l *lazyObjects) section(at int) (types.Dict, error) {
	lex := lexer{data: l.data, pos: at}
	if op, ok := lex.next(); !ok || string(op) != "xref" || len(lex.args) > 0 {
		return l.xrefStream(at)
	}
	number := 0
	for op, ok := lex.next(); ok && l.work.spend(4); op, ok = lex.next() {
		n := len(lex.args)
		switch string(op) {
		case "trailer":
			return l.trailerAt(lex.pos)
		case "n", "f":
			if n < 2 {
				return nil, errXref
			}
			if n >= 4 {
				number = int(lex.args[n-4].num)
			}
			l.add(number, place{offset: int64(lex.args[n-2].num)}, op[0] == 'n')
			number++
		default:
			return nil, errXref
		}
	}
	return nil, errXref
}

// add keeps where an object is, if no later section did. A place 0 stands for
// an object that was deleted.
func (l *lazyObjects) add(number int, p place, used bool) {
	if _, ok := l.places[number]; ok {
		return
	}
	if !used {
		p = place{}
	}
	l.places[number] = p
}

func (l *lazyObjects) trailerAt(at int) (types.Dict, error) {
	o, _, err := l.parseValue(at)
	dict, ok := o.(types.Dict)
	if err != nil || !ok {
		return nil, errXref
	}
	return dict, nil
}

// xrefStream reads a section that is a stream.
func (l *lazyObjects) xrefStream(at int) (types.Dict, error) {
	o, _, err := l.parseAt(int64(at), 0)
	sd, ok := o.(types.StreamDict)
	if err != nil || !ok || sd.Type() == nil || *sd.Type() != "XRef" {
		return nil, errXref
	}
	widths, ok := fieldWidths(sd.Dict["W"])
	if !ok {
		return nil, errXref
	}
	index, _ := sd.Dict["Index"].(types.Array)
	if index == nil {
		index = types.Array{types.Integer(0), types.Integer(intEntry(sd.Dict, "Size"))}
	}
	rows := l.decode(sd)
	for ; len(index) >= 2; index = index[2:] {
		first, _ := index[0].(types.Integer)
		count, _ := index[1].(types.Integer)
		rows = l.rows(rows, widths, int(first), int(count))
	}
	return sd.Dict, nil
}

func fieldWidths(o types.Object) (w [3]int, ok bool) {
	a, _ := o.(types.Array)
	if len(a) < len(w) {
		return w, false
	}
	total := 0
	for i := range w {
		n, _ := a[i].(types.Integer)
		if n < 0 || n > 8 {
			return w, false
		}
		w[i] = int(n)
		total += w[i]
	}
	return w, total > 0
}

// rows reads the entries of consecutive objects and returns what follows.
func (l *lazyObjects) rows(data []byte, widths [3]int, number, count int) []byte {
	size := widths[0] + widths[1] + widths[2]
	for ; count > 0 && len(data) >= size && len(l.places) <= maxObjects; count-- {
		kind := 1
		if widths[0] > 0 {
			kind = field(data[:widths[0]])
		}
		second := field(data[widths[0] : widths[0]+widths[1]])
		third := field(data[widths[0]+widths[1] : size])
		switch kind {
		case 0, 1:
			l.add(number, place{offset: int64(second)}, kind == 1)
		case 2:
			l.add(number, place{stream: second, index: third}, true)
		}
		number++
		data = data[size:]
	}
	return data
}

func field(b []byte) int {
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// findAll finds the objects of a file without its cross-reference table: by
// their frames "1 0 obj", and in the object streams among them. Of several with
// the same number the last one counts, as it does in a file that was saved more
// than once.
func (l *lazyObjects) findAll() error {
	l.found, l.dict = true, types.Dict{}
	l.work.spend(len(l.data) / 4)
	for at := 0; at < len(l.data); {
		i := bytes.Index(l.data[at:], []byte("obj"))
		if i < 0 {
			break
		}
		if number, offset, ok := frame(l.data[:at+i]); ok && len(l.places) <= maxObjects {
			l.places[number] = place{offset: int64(offset)}
		}
		at += i + len("obj")
	}
	for _, number := range l.numbers() {
		l.lookInside(number)
	}
	l.findTrailers()
	return nil
}

// frame reads the number and generation that data ends with, and returns the
// number and its offset.
func frame(data []byte) (number, offset int, ok bool) {
	rest, generation := lastNumber(data)
	rest, digits := lastNumber(rest)
	if len(generation) == 0 || len(digits) == 0 || len(digits) > 9 {
		return 0, 0, false
	}
	for _, c := range digits {
		number = number*10 + int(c-'0')
	}
	return number, len(rest), true
}

// lastNumber cuts the digits off the end of data, and white space behind them.
func lastNumber(data []byte) (rest, digits []byte) {
	end := len(data)
	for end > 0 && class[data[end-1]] == space {
		end--
	}
	start := end
	for start > 0 && isDigit(data[start-1]) {
		start--
	}
	return data[:start], data[start:end]
}

// lookInside finds the objects in an object stream, and the root of the
// document in the objects that name it.
func (l *lazyObjects) lookInside(number int) {
	const window = 512
	at := int(l.places[number].offset)
	head := l.data[at:min(len(l.data), at+window)]
	head, _, _ = bytes.Cut(head, []byte("endobj"))
	switch {
	case bytes.Contains(head, []byte("/ObjStm")):
		for inside := range l.objectStream(number).spans {
			l.add(inside, place{stream: number}, true)
			if bytes.Contains(l.raw(inside), []byte("/Catalog")) {
				l.dict["Root"] = *types.NewIndirectRef(inside, 0)
			}
		}
	case bytes.Contains(head, []byte("/XRef")):
		if sd, ok := l.object(number).(types.StreamDict); ok {
			maps.Copy(l.dict, sd.Dict)
		}
	case bytes.Contains(head, []byte("/Catalog")):
		l.dict["Root"] = *types.NewIndirectRef(number, 0)
	}
}

// findTrailers takes the roots from the trailers of the file; the last counts.
func (l *lazyObjects) findTrailers() {
	word := []byte("trailer")
	for at := 0; l.work.spend(1 << 10); {
		i := bytes.Index(l.data[at:], word)
		if i < 0 {
			return
		}
		at += i + len(word)
		if dict, err := l.trailerAt(at); err == nil && dict["Root"] != nil {
			maps.Copy(l.dict, dict)
		}
	}
}
