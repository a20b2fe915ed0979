package main

import (
	"bytes"
	"errors"

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

// openLazily reads the cross-reference table of a file (ISO 32000-1, 7.5.4 and
// 7.5.8). Whatever is not as it should be is errXref.
func openLazily(data []byte, d *document) (*lazyObjects, error) {
	l := &lazyObjects{
		data: data, places: map[int]place{}, parsed: map[int]types.Object{},
		streams: map[int]*objectStream{}, decode: d.stream, work: d.work,
	}
	d.objects = l
	at, ok := startOfXref(data)
	seen := map[int]bool{}
	for pending := []int{at}; len(pending) > 0; pending = pending[1:] {
		at := pending[0]
		if !ok || at <= 0 || at >= len(data) || len(seen) > maxSections || len(l.places) > maxObjects {
			return nil, errXref
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		trailer, err := l.section(at)
		if err != nil {
			return nil, err
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
	return l, nil
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
