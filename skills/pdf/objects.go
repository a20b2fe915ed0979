package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// objects are the indirect objects of a file.
type objects interface {
	// object returns an object, nil when there is none or it cannot be read.
	object(number int) types.Object
	// raw returns the bytes of an object that can be had without parsing it.
	raw(number int) []byte
	// numbers returns the numbers of all objects in ascending order.
	numbers() []int
	// trailer returns the dictionary that names the roots of the file.
	trailer() types.Dict
	// damaged reports whether reading met an object that is not where the
	// file says: then repair may give more.
	damaged() bool
}

// place says where an object is: at an offset in the file, or as the index-th
// in an object stream.
type place struct {
	offset int64
	stream int // number of the object stream, 0 for none
	index  int
}

// maxParsed bounds the objects that are kept; then keeping starts over.
const maxParsed = 1 << 12

// lazyObjects parses each object when it is first asked for, and decodes each
// object stream once: opening a file costs no more than reading its
// cross-reference table. It does not decrypt; parsedObjects does.
type lazyObjects struct {
	data    []byte
	places  map[int]place
	dict    types.Dict
	parsed  map[int]types.Object
	streams map[int]*objectStream
	decode  func(types.Object) []byte
	work    *work
	broken  bool
	found   bool // places were found by search
}

func newLazyObjects(data []byte, d *document) *lazyObjects {
	return &lazyObjects{
		data: data, places: map[int]place{}, parsed: map[int]types.Object{},
		streams: map[int]*objectStream{}, decode: d.stream, work: d.work,
	}
}

// parseCost is the work of parsing one byte of an object: the parser is not made
// for speed.
const parseCost = 4

// objectStream is a decoded object stream (ISO 32000-1, 7.5.7).
type objectStream struct {
	content []byte
	spans   map[int][2]int // of each object in content
}

func (l *lazyObjects) trailer() types.Dict { return l.dict }
func (l *lazyObjects) damaged() bool       { return l.broken && !l.found }
func (l *lazyObjects) numbers() []int      { return slices.Sorted(maps.Keys(l.places)) }

func (l *lazyObjects) object(number int) types.Object {
	if o, ok := l.parsed[number]; ok {
		return o
	}
	p := l.places[number]
	if p == (place{}) {
		return nil
	}
	if len(l.parsed) >= maxParsed {
		clear(l.parsed)
	}
	l.parsed[number] = nil // an object that needs itself finds null
	o, err := l.parse(number, p)
	if err != nil {
		l.broken = true
		return nil
	}
	l.parsed[number] = o
	return o
}

func (l *lazyObjects) parse(number int, p place) (types.Object, error) {
	if p.stream == 0 {
		o, _, err := l.parseAt(p.offset, number)
		return o, err
	}
	data := l.raw(number)
	if data == nil {
		return nil, fmt.Errorf("object %d is not in stream %d", number, p.stream)
	}
	l.work.spend(parseCost * len(data))
	text := string(data)
	return model.ParseObjectContext(context.Background(), &text, 0)
}

func (l *lazyObjects) raw(number int) []byte {
	p := l.places[number]
	if p.stream == 0 {
		return nil
	}
	s := l.objectStream(p.stream)
	span, ok := s.spans[number]
	if !ok {
		return nil
	}
	return s.content[span[0]:span[1]]
}

// objectStream decodes an object stream; one that cannot be read is empty.
func (l *lazyObjects) objectStream(number int) *objectStream {
	if s, ok := l.streams[number]; ok {
		return s
	}
	s := &objectStream{}
	l.streams[number] = s
	sd, ok := l.object(number).(types.StreamDict)
	if !ok || l.places[number].stream != 0 {
		return s
	}
	s.content = l.decode(sd)
	s.index(intEntry(sd.Dict, "N"), intEntry(sd.Dict, "First"))
	return s
}

// index reads the pairs of number and offset in front of the objects.
func (s *objectStream) index(count, first int) {
	if first < 0 || first > len(s.content) || count < 0 {
		return
	}
	lex := lexer{data: s.content[:first]}
	lex.next()
	pairs := lex.args[:min(len(lex.args), 2*count)]
	s.spans = make(map[int][2]int, len(pairs)/2)
	end := len(s.content)
	for i := len(pairs) - 2; i >= 0; i -= 2 {
		from := first + int(pairs[i+1].num)
		if from < first || from > end {
			continue
		}
		s.spans[int(pairs[i].num)] = [2]int{from, end}
		end = from
	}
}

// Errors of reading objects from the file.
var (
	errNoObject = errors.New("no object where the file says")
	errNoStream = errors.New("a stream without an end")
)

// parseAt parses the object at an offset and returns the offset behind it. A
// number of 0 takes any object.
func (l *lazyObjects) parseAt(offset int64, number int) (types.Object, int, error) {
	if offset <= 0 || offset >= int64(len(l.data)) {
		return nil, 0, errNoObject
	}
	head := lexer{data: l.data[:min(len(l.data), int(offset)+64)], pos: int(offset)}
	op, ok := head.next()
	if !ok || string(op) != "obj" || len(head.args) != 2 || number != 0 && int(head.args[0].num) != number {
		return nil, 0, errNoObject
	}
	o, rest, err := l.parseValue(head.pos)
	if err != nil {
		return nil, 0, err
	}
	dict, isDict := o.(types.Dict)
	body := l.data[rest:]
	body = bytes.TrimLeft(body, " \t\r\n\f\x00")
	if !isDict || !bytes.HasPrefix(body, []byte("stream")) {
		return o, rest, nil
	}
	return l.streamAt(dict, len(l.data)-len(body)+len("stream"))
}

// parseValue parses one object without its frame. The parser takes text, so the
// file is given to it in pieces that end where an object or its dictionary can.
func (l *lazyObjects) parseValue(at int) (o types.Object, rest int, err error) {
	err = errNoObject
	end := at
	for range 8 {
		if end = l.nextEnd(end); end < 0 {
			break
		}
		l.work.spend(parseCost * (end - at))
		text := string(l.data[at:end])
		if o, err = model.ParseObjectContext(context.Background(), &text, 0); err == nil {
			return o, end - len(text), nil
		}
		end++
	}
	return nil, 0, err
}

// nextEnd returns where the next word stands that can end an object, -1 when
// there is none.
func (l *lazyObjects) nextEnd(from int) int {
	const window = 1 << 16
	near := l.data[from:min(len(l.data), from+window)]
	end := -1
	for _, word := range []string{"endobj", "stream", "trailer", "startxref"} {
		if i := bytes.Index(near, []byte(word)); i >= 0 {
			end, near = from+i, near[:i]
		}
	}
	if end < 0 && from+window < len(l.data) {
		return l.nextEnd(from + window - len("startxref"))
	}
	return end
}

// streamAt makes a stream of a dictionary and the bytes behind "stream".
func (l *lazyObjects) streamAt(dict types.Dict, at int) (types.Object, int, error) {
	if at < len(l.data) && l.data[at] == '\r' {
		at++
	}
	if at < len(l.data) && l.data[at] == '\n' {
		at++
	}
	length := l.streamLength(dict, at)
	if length < 0 {
		return nil, 0, errNoStream
	}
	n := int64(length)
	sd := types.NewStreamDict(dict, int64(at), &n, nil, l.filters(dict))
	sd.Raw = l.data[at : at+length]
	return sd, at + length, nil
}

// streamLength returns the length of the stream at an offset, or -1. A wrong
// Length is found out by what follows.
func (l *lazyObjects) streamLength(dict types.Dict, at int) int {
	if n := l.integer(dict["Length"]); n >= 0 && at+n <= len(l.data) {
		after := bytes.TrimLeft(l.data[at+n:min(len(l.data), at+n+32)], "\r\n \t")
		if bytes.HasPrefix(after, []byte("endstream")) {
			return n
		}
	}
	n := bytes.Index(l.data[at:], []byte("endstream"))
	l.work.spend(max(n, 0) / 16)
	return n
}

// filters reads the Filter and DecodeParms of a stream.
func (l *lazyObjects) filters(dict types.Dict) []types.PDFFilter {
	names, parms := l.list(dict["Filter"]), l.list(dict["DecodeParms"])
	var pipeline []types.PDFFilter
	for i, o := range names {
		name, _ := l.deref(o).(types.Name)
		filter := types.PDFFilter{Name: string(name)}
		if i < len(parms) {
			if d, ok := l.deref(parms[i]).(types.Dict); ok {
				filter.DecodeParms = l.flat(d)
			}
		}
		pipeline = append(pipeline, filter)
	}
	return pipeline
}

// flat returns a dictionary without references.
func (l *lazyObjects) flat(d types.Dict) types.Dict {
	out := make(types.Dict, len(d))
	for key, o := range d {
		out[key] = l.deref(o)
	}
	return out
}

// list returns an array as it is, and anything else as an array of one.
func (l *lazyObjects) list(o types.Object) types.Array {
	switch o := l.deref(o).(type) {
	case nil:
		return nil
	case types.Array:
		return o
	default:
		return types.Array{o}
	}
}

func (l *lazyObjects) deref(o types.Object) types.Object {
	if n := objectNumber(o); n != 0 {
		return l.object(n)
	}
	return o
}

// integer returns an integer object, or -1.
func (l *lazyObjects) integer(o types.Object) int {
	if n, ok := l.deref(o).(types.Integer); ok {
		return n.Value()
	}
	return -1
}

func intEntry(d types.Dict, key string) int {
	if n, ok := d[key].(types.Integer); ok {
		return n.Value()
	}
	return 0
}

// parsedObjects are the objects of a file that the parser has read, and
// decrypted, as a whole.
type parsedObjects struct {
	context *model.Context
}

func (r *parsedObjects) object(number int) types.Object {
	o, err := r.context.Dereference(*types.NewIndirectRef(number, 0))
	if err != nil {
		return nil
	}
	return o
}

func (r *parsedObjects) raw(int) []byte { return nil }
func (r *parsedObjects) damaged() bool  { return false }
func (r *parsedObjects) numbers() []int { return slices.Sorted(maps.Keys(r.context.Table)) }

func (r *parsedObjects) trailer() types.Dict {
	d := types.Dict{}
	for key, ref := range map[string]*types.IndirectRef{"Root": r.context.Root, "Info": r.context.Info, "Encrypt": r.context.Encrypt} {
		if ref != nil {
			d[key] = *ref
		}
	}
	return d
}

// headerVersion returns the version in the first line of a file, such as "1.7".
func headerVersion(data []byte) string {
	_, after, _ := bytes.Cut(data[:min(len(data), headerWindow)], []byte("%PDF-"))
	n := 0
	for n < len(after) && n < 8 && (isDigit(after[n]) || after[n] == '.') {
		n++
	}
	return strings.Clone(string(after[:n]))
}
