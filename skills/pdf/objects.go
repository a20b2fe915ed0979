package main

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
)

// xrefEntry says where an object is: at an offset in the file, or in an object
// stream. The zero value stands for an object that was deleted.
type xrefEntry struct {
	offset int
	stream int // number of the object stream, 0 for none
}

const (
	// maxParsed bounds the parsed objects that are kept, by the bytes they were
	// parsed from; then keeping starts over.
	maxParsed = 1 << 19
	// maxUnpacked bounds the decoded object streams that are kept, in bytes.
	maxUnpacked = 48 << 20
	// maxPending bounds objects that are parsed because another needs them: the
	// length of a stream, or the stream an object is in.
	maxPending = 16
	// parseCost is the work of parsing one byte of an object.
	parseCost = 2
)

// objects are the indirect objects of a file. Each is parsed when it is first
// asked for, and each object stream decoded once: opening a file costs no more
// than reading its cross-reference table.
type objects struct {
	data     []byte
	password string
	xref     map[int]xrefEntry
	trailer  dict
	ring     *keyring // nil for a file that is not encrypted
	filters  *filters
	work     *work

	parsed   map[int]object
	size     int // bytes that parsed was made from
	streams  map[int]*objectStream
	unpacked int // bytes in streams
	pending  int
	broken   bool // an object is not where the file says
	found    bool // places were found by search
}

func newObjects(data []byte, password string, f *filters) *objects {
	return &objects{
		data: data, password: password, filters: f, work: f.work,
		xref: map[int]xrefEntry{}, parsed: map[int]object{}, streams: map[int]*objectStream{},
	}
}

// objectStream is a decoded object stream (ISO 32000-1, 7.5.7).
type objectStream struct {
	content []byte
	spans   map[int][2]int // of each object in content
}

// damaged reports whether reading met an object that is not where the file says:
// then a search may give more.
func (l *objects) damaged() bool { return l.broken && !l.found }

// numbers returns the numbers of all objects in ascending order.
func (l *objects) numbers() []int { return slices.Sorted(maps.Keys(l.xref)) }

// forget drops what was parsed, as it was read without its key.
func (l *objects) forget() {
	clear(l.parsed)
	clear(l.streams)
	l.size, l.unpacked = 0, 0
}

// object returns an object, nil when there is none or it cannot be read.
func (l *objects) object(number int) object {
	if o, ok := l.parsed[number]; ok {
		return o
	}
	p := l.xref[number]
	if p == (xrefEntry{}) || l.pending >= maxPending || l.work.left <= 0 {
		return nil
	}
	if l.size > maxParsed {
		clear(l.parsed)
		l.size = 0
	}
	l.parsed[number] = nil // an object that needs itself finds null
	l.pending++
	o, size, err := l.parse(number, p)
	l.pending--
	l.size += size
	l.broken = l.broken || err != nil
	l.parsed[number] = o
	return o
}

// parse returns an object and the number of bytes it was parsed from.
func (l *objects) parse(number int, p xrefEntry) (object, int, error) {
	if p.stream == 0 {
		o, end, err := l.parseAt(p.offset, number)
		return o, max(0, end-p.offset), err
	}
	data := l.raw(number)
	if data == nil {
		return nil, 0, errNoObject
	}
	parser := parser{lexer: lexer{data: data}}
	o, _ := parser.value()
	l.work.spend(parseCost * parser.pos)
	return o, parser.pos, nil
}

// raw returns the bytes of an object in an object stream, nil for others.
func (l *objects) raw(number int) []byte {
	p := l.xref[number]
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
func (l *objects) objectStream(number int) *objectStream {
	if s, ok := l.streams[number]; ok {
		return s
	}
	if l.unpacked > maxUnpacked {
		clear(l.streams)
		l.unpacked = 0
	}
	s := &objectStream{}
	l.streams[number] = s
	source, ok := l.object(number).(*stream)
	if !ok || l.xref[number].stream != 0 {
		return s
	}
	s.content = l.decode(source)
	l.unpacked += len(s.content)
	s.index(whole(source.entries["First"]))
	return s
}

// index reads the pairs of number and offset in front of the objects.
func (s *objectStream) index(first int) {
	if first < 0 || first > len(s.content) {
		return
	}
	lex := lexer{data: s.content[:first]}
	lex.next()
	pairs := lex.args[:len(lex.args)&^1]
	s.spans = make(map[int][2]int, len(pairs)/2)
	end := len(s.content)
	for i := len(pairs) - 2; i >= 0; i -= 2 {
		from := first + whole(pairs[i+1].num)
		if from < first || from > end {
			continue
		}
		s.spans[whole(pairs[i].num)] = [2]int{from, end}
		end = from
	}
}

// errNoObject says that there is no object where the file says.
var errNoObject = errors.New("no object where the file says")

// parseAt parses the object at an offset and returns the offset behind it. A
// number of 0 takes any object.
func (l *objects) parseAt(offset, number int) (object, int, error) {
	if offset <= 0 || offset >= len(l.data) {
		return nil, 0, errNoObject
	}
	const frameWindow = 64
	head := lexer{data: l.data[:min(len(l.data), offset+frameWindow)], pos: offset}
	op, ok := head.next()
	if !ok || !bytes.HasPrefix(op, []byte("obj")) || len(head.args) != 2 || number != 0 && whole(head.args[0].num) != number {
		return nil, 0, errNoObject
	}
	key := objectKey{l.ring, whole(head.args[0].num), whole(head.args[1].num)}
	from := head.pos - len(op) + len("obj")
	p := parser{lexer: lexer{data: l.data, pos: from}, key: key}
	o, _ := p.value()
	l.work.spend(parseCost * (p.pos - from))
	entries, isDict := o.(dict)
	at := behindSpace(l.data, p.pos)
	if !isDict || !bytes.HasPrefix(l.data[at:], []byte("stream")) {
		return o, p.pos, nil
	}
	raw := l.streamData(entries, at+len("stream"))
	return &stream{entries, raw, key}, p.pos, nil
}

// streamData returns the data of a stream, whose keyword ends at an offset. A
// wrong Length is found out by what follows; data without an end are all that
// is left of the file.
func (l *objects) streamData(entries dict, at int) []byte {
	if at < len(l.data) && l.data[at] == '\r' {
		at++
	}
	if at < len(l.data) && l.data[at] == '\n' {
		at++
	}
	rest, word := l.data[at:], []byte("endstream")
	if n := l.length(entries); n >= 0 && n <= len(rest) && bytes.HasPrefix(rest[behindSpace(rest, n):], word) {
		return rest[:n]
	}
	if n := bytes.Index(rest, word); n >= 0 {
		rest = rest[:n]
	}
	l.work.spend(len(rest) / 16)
	return rest
}

// length returns the Length of a stream, or -1.
func (l *objects) length(entries dict) int {
	o := l.resolve(entries["Length"])
	if _, ok := o.(float64); !ok {
		return -1
	}
	return whole(o)
}

// resolve follows references to the object itself; a dangling reference and an
// object that cannot be read are nil.
func (l *objects) resolve(o object) object {
	const maxHops = 8
	for range maxHops {
		n, ok := o.(ref)
		if !ok {
			return o
		}
		o = l.object(int(n))
	}
	return nil
}

// list returns an array as it is, null as an empty one, and anything else as an
// array of one.
func (l *objects) list(o object) array {
	switch o := l.resolve(o).(type) {
	case nil:
		return nil
	case array:
		return o
	default:
		return array{o}
	}
}

// decode decrypts and decompresses the data of a stream.
func (l *objects) decode(s *stream) []byte {
	names, parameters := l.list(s.entries["Filter"]), l.list(s.entries["DecodeParms"])
	data := s.raw
	if len(names) == 0 || l.resolve(names[0]) != atom("Crypt") {
		data = s.key.stream(data, "")
	}
	for i, o := range names[:min(len(names), maxFilters)] {
		name, _ := l.resolve(o).(atom)
		var own dict
		if i < len(parameters) {
			own = l.flat(parameters[i])
		}
		if name == "Crypt" {
			data = s.key.stream(data, entry[atom](own, "Name"))
			continue
		}
		data = l.filters.decode(name, data, own)
	}
	if len(names) == 0 {
		l.work.spend(len(data))
	}
	return data
}

// flat returns a dictionary without references.
func (l *objects) flat(o object) dict {
	d, _ := l.resolve(o).(dict)
	out := make(dict, len(d))
	for key, o := range d {
		out[key] = l.resolve(o)
	}
	return out
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
