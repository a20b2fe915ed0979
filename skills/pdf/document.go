package main

import (
	"bytes"
	"errors"
	"fmt"
)

// The ways opening a file fails. Every error of open wraps one of them, or
// errWork; errPassword is a case of errEncrypted.
var (
	errNotPDF    = errors.New("not a PDF file")
	errEncrypted = errors.New("the file is encrypted")
	errPassword  = fmt.Errorf("%w and the password does not open it", errEncrypted)
	errDamaged   = errors.New("the file is damaged beyond repair")
)

// headerWindow is where readers look for the header (ISO 32000-1, annex H.3).
const headerWindow = 1024

// document is an open file: its objects, and what was made of them so far.
// Fonts are decoded once per document and not once per glyph, which is what
// makes extraction fast.
type document struct {
	objects   *objects
	filters   *filters
	version   string
	fonts     map[int]*font
	missing   *font
	silent    map[int]bool // forms that turned out to show no text
	names     glyphNames
	operators map[string]operator
	leaves    []page
	mended    bool // the table of objects was damaged
	work      *work
}

// open finds the objects of a file, which are parsed as they are needed: by its
// cross-reference table, or when that is damaged by looking for them. Errors
// wrap errNotPDF, errEncrypted, errDamaged or errWork.
func open(data []byte, password string, w *work) (*document, error) {
	if !hasHeader(data) {
		return nil, fmt.Errorf("%w: no %%PDF- header in its first %d bytes", errNotPDF, headerWindow)
	}
	d, err := openBy((*objects).readTable, data, password, w)
	if err == nil || errors.Is(err, errPassword) {
		return d, err
	}
	return repair(data, password, w)
}

// repair opens a file without its cross-reference table.
func repair(data []byte, password string, w *work) (*document, error) {
	d, err := openBy((*objects).findAll, data, password, w)
	if err != nil {
		return nil, err
	}
	if d.objects.ring == nil && mentionsEncryption(data) {
		return nil, fmt.Errorf("%w in a way that is not supported", errEncrypted)
	}
	d.mended = true
	return d, nil
}

// openBy opens a file with the objects that locate finds.
func openBy(locate func(*objects) error, data []byte, password string, w *work) (doc *document, err error) {
	defer damage(&err)
	d := newDocument(data, password, w)
	switch err := locate(d.objects); {
	case w.left <= 0:
		return nil, errWork
	case err != nil:
		return nil, err
	case len(d.pages()) == 0:
		return nil, fmt.Errorf("%w: it has no pages", errDamaged)
	case d.objects.damaged():
		return nil, fmt.Errorf("%w: %w", errDamaged, errNoObject)
	}
	return d, nil
}

// mentionsEncryption reports whether a damaged file may be encrypted: text that
// was not decrypted must not pass for the text of the file.
func mentionsEncryption(data []byte) bool { return bytes.Contains(data, []byte("/Encrypt")) }

func newDocument(data []byte, password string, w *work) *document {
	f := &filters{work: w}
	return &document{
		objects: newObjects(data, password, f), filters: f, version: headerVersion(data),
		fonts: map[int]*font{}, missing: missingFont(), silent: map[int]bool{},
		names: newGlyphNames(), operators: newOperators(), work: w,
	}
}

func hasHeader(data []byte) bool {
	return bytes.Contains(data[:min(len(data), headerWindow)], []byte("%PDF-"))
}

// damage turns a panic into errDamaged: bytes of a stranger must not end the
// module.
func damage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

// catalog returns the root of the objects.
func (d *document) catalog() dict { return d.dict(d.objects.trailer["Root"]) }

func (d *document) resolve(o object) object { return d.objects.resolve(o) }

// dict returns a dictionary, or that of a stream, or nil.
func (d *document) dict(o object) dict {
	switch o := d.resolve(o).(type) {
	case dict:
		return o
	case *stream:
		return o.entries
	}
	return nil
}

func (d *document) array(o object) array {
	a, _ := d.resolve(o).(array)
	return a
}

func (d *document) name(o object) string {
	n, _ := d.resolve(o).(atom)
	return string(n)
}

func (d *document) number(o object) (float64, bool) {
	n, ok := d.resolve(o).(float64)
	return n, ok
}

func (d *document) integer(o object, otherwise int) int {
	if n, ok := d.number(o); ok {
		return whole(n)
	}
	return otherwise
}

// str returns the bytes of a string object, nil for anything else.
func (d *document) str(o object) []byte {
	s, _ := d.resolve(o).(text)
	return s
}

// stream returns the decoded content of a stream, as much of it as can be
// decoded, nil when o is none. The bytes are not kept.
func (d *document) stream(o object) []byte {
	s, ok := d.resolve(o).(*stream)
	if !ok {
		return nil
	}
	return d.objects.decode(s)
}
