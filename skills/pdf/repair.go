package main

import (
	"bytes"
	"maps"
	"slices"
)

// findAll finds the objects of a file without its cross-reference table: by
// their frames "1 0 obj", and in the object streams among them. Of several with
// the same number the last one counts, as it does in a file that was saved more
// than once.
func (l *objects) findAll() error {
	l.found, l.trailer = true, dict{}
	l.work.spend(len(l.data) / 4)
	for at := 0; at < len(l.data); {
		i := bytes.Index(l.data[at:], []byte("obj"))
		if i < 0 {
			break
		}
		if number, offset, ok := frame(l.data[:at+i]); ok && len(l.xref) <= maxObjects {
			l.xref[number] = xrefEntry{offset: offset}
		}
		at += i + len("obj")
	}
	numbers := l.numbers()
	for _, n := range numbers {
		l.findRoot(n)
	}
	l.findTrailers()
	if err := l.unlock(); err != nil {
		return err
	}
	for _, n := range numbers {
		l.lookInside(n)
	}
	return nil
}

// frame reads the number and generation that data ends with, and returns the
// number and its offset.
func frame(data []byte) (number, offset int, ok bool) {
	rest, generation := lastNumber(data)
	rest, digits := lastNumber(rest)
	if len(generation) == 0 {
		return 0, 0, false
	}
	number, ok = natural(digits)
	return number, len(rest), ok
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

// head returns the beginning of an object in the file, which says what it is.
func (l *objects) head(number int) []byte {
	const window = 512
	at := l.xref[number].offset
	head, _, _ := bytes.Cut(l.data[at:min(len(l.data), at+window)], []byte("endobj"))
	l.work.spend(len(head) / 8)
	return head
}

// findRoot looks whether an object is the catalog, or a cross-reference stream,
// which names the roots as a trailer does.
func (l *objects) findRoot(number int) {
	switch head := l.head(number); {
	case bytes.Contains(head, []byte("/ObjStm")):
	case bytes.Contains(head, []byte("/XRef")):
		if s, ok := l.object(number).(*stream); ok {
			maps.Copy(l.trailer, s.entries)
		}
	case bytes.Contains(head, []byte("/Catalog")):
		l.trailer["Root"] = ref(number)
	}
}

// findTrailers takes the roots from the trailers of the file; the last counts.
func (l *objects) findTrailers() {
	word := []byte("trailer")
	for at := 0; l.work.spend(1 << 10); {
		i := bytes.Index(l.data[at:], word)
		if i < 0 {
			return
		}
		at += i + len(word)
		if d, err := l.trailerAt(at); err == nil && d["Root"] != nil {
			maps.Copy(l.trailer, d)
		}
	}
}

// lookInside finds the objects in an object stream, and a catalog among them
// when there is none elsewhere.
func (l *objects) lookInside(number int) {
	if !bytes.Contains(l.head(number), []byte("/ObjStm")) {
		return
	}
	for _, inside := range slices.Sorted(maps.Keys(l.objectStream(number).spans)) {
		l.add(inside, xrefEntry{stream: number})
		if bytes.Contains(l.raw(inside), []byte("/Catalog")) && l.trailer["Root"] == nil {
			l.trailer["Root"] = ref(inside)
		}
	}
}
