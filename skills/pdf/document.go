package main

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
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

// maxHops bounds a chain of references to references.
const maxHops = 8

// document is an open file: its objects, and what was made of them so far.
// Fonts are decoded once per document and not once per glyph, which is what
// makes extraction fast.
type document struct {
	objects   objects
	version   string
	fonts     map[int]*font
	missing   *font
	silent    map[int]bool // forms that turned out to show no text
	inflater  io.ReadCloser
	names     glyphNames
	operators map[string]operator
	leaves    []page
	clipped   bool // a stream was longer than maxStream
	mended    bool // the table of objects was damaged
	work      *work
}

// open finds the objects of a file and parses them as they are needed: by its
// cross-reference table, or when that is damaged by looking for them. Encrypted
// files it leaves to decrypt. Errors wrap errNotPDF, errEncrypted, errDamaged
// or errWork.
func open(data []byte, password string, w *work) (doc *document, err error) {
	if !hasHeader(data) {
		return nil, fmt.Errorf("%w: no %%PDF- header in its first %d bytes", errNotPDF, headerWindow)
	}
	if doc := openLazily(data, w, (*lazyObjects).readTable); doc != nil {
		return doc, nil
	}
	return repair(data, password, w)
}

// repair opens a file without its cross-reference table.
func repair(data []byte, password string, w *work) (doc *document, err error) {
	if doc := openLazily(data, w, (*lazyObjects).findAll); doc != nil {
		return doc, nil
	}
	return decrypt(data, password, w)
}

// openLazily opens a file with the objects that locate finds. It returns nil
// when they make no document, or an encrypted one.
func openLazily(data []byte, w *work, locate func(*lazyObjects) error) (doc *document) {
	defer func() {
		if recover() != nil {
			doc = nil
		}
	}()
	d := newDocument(data, w)
	l := newLazyObjects(data, d)
	d.objects = l
	if err := locate(l); err != nil || l.dict["Encrypt"] != nil || len(d.pages()) == 0 {
		return nil
	}
	if l.damaged() || l.found && mentionsEncryption(data) {
		return nil
	}
	d.mended = l.found
	return d
}

// decrypt has all objects of a file parsed at once, which takes long, but
// decrypts them too and knows more ways to mend a file.
func decrypt(data []byte, password string, w *work) (doc *document, err error) {
	defer damage(&err)
	limit := readFactor*int64(len(data)) + readBase
	reader := &metered{ReadSeeker: bytes.NewReader(data), left: limit}
	ctx, err := pdfcpu.ReadWithContext(&counted{context.Background(), maxReads}, reader, configuration(password))
	if err != nil {
		return nil, openError(err)
	}
	if ctx.Encrypt == nil && mentionsEncryption(data) {
		return nil, fmt.Errorf("%w in a way that is not supported", errEncrypted)
	}
	shed(ctx)
	d := newDocument(data, w)
	d.objects = &parsedObjects{ctx}
	d.mended = ctx.Encrypt == nil
	if len(d.pages()) == 0 {
		return nil, fmt.Errorf("%w: it has no pages", errDamaged)
	}
	return d, nil
}

// mentionsEncryption reports whether a damaged file may be encrypted: text that
// was not decrypted must not pass for the text of the file.
func mentionsEncryption(data []byte) bool { return bytes.Contains(data, []byte("/Encrypt")) }

func newDocument(data []byte, w *work) *document {
	return &document{
		version: headerVersion(data), fonts: map[int]*font{}, missing: missingFont(), silent: map[int]bool{},
		names: newGlyphNames(), operators: newOperators(), work: w,
	}
}

// shed lets go of what is not needed for text, most of a file: its bytes, which
// the parser has copied by now, and the images.
func shed(ctx *model.Context) {
	ctx.Read.RS = nil
	for _, entry := range ctx.Table {
		sd, ok := entry.Object.(types.StreamDict)
		if subtype := sd.Subtype(); ok && subtype != nil && *subtype == "Image" {
			sd.Raw = nil
			entry.Object = sd
		}
	}
}

func hasHeader(data []byte) bool {
	return bytes.Contains(data[:min(len(data), headerWindow)], []byte("%PDF-"))
}

// configuration is the parser's, without its configuration directory: relaxed,
// so that it rebuilds a broken cross-reference table, and bounded.
func configuration(password string) *model.Configuration {
	limits := model.DefaultResourceLimits()
	limits.MaxStreamBytes = maxStream
	limits.MaxDecodeBytes = maxStream
	limits.MaxObjectCount = maxObjects
	limits.MaxXRefEntries = maxObjects
	return &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Eol:            types.EolLF,
		Offline:        true,
		UserPW:         password,
		OwnerPW:        password,
		Limits:         limits,
	}
}

func openError(err error) error {
	switch {
	case errors.Is(err, errWork):
		return errWork
	case errors.Is(err, pdfcpu.ErrWrongPassword), errors.Is(err, pdfcpu.ErrPermissionDenied):
		return errPassword
	case errors.Is(err, pdfcpu.ErrUnsupportedEncryptionFeature):
		return fmt.Errorf("%w in a way that is not supported: %w", errEncrypted, err)
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// damage turns a panic of the parser into errDamaged: bytes of a stranger must
// not end the module.
func damage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

// resolve follows references to the object itself; a dangling reference and an
// object that cannot be read are nil, which is PDF's null.
func (d *document) resolve(o types.Object) types.Object {
	for range maxHops {
		ref, ok := o.(types.IndirectRef)
		if !ok {
			return o
		}
		o = d.objects.object(ref.ObjectNumber.Value())
	}
	return nil
}

// catalog returns the root of the objects.
func (d *document) catalog() types.Dict { return d.dict(d.objects.trailer()["Root"]) }

// dict returns a dictionary, or that of a stream, or nil.
func (d *document) dict(o types.Object) types.Dict {
	switch o := d.resolve(o).(type) {
	case types.Dict:
		return o
	case types.StreamDict:
		return o.Dict
	}
	return nil
}

func (d *document) array(o types.Object) types.Array {
	a, _ := d.resolve(o).(types.Array)
	return a
}

func (d *document) name(o types.Object) string {
	n, _ := d.resolve(o).(types.Name)
	return string(n)
}

func (d *document) number(o types.Object) (float64, bool) {
	switch o := d.resolve(o).(type) {
	case types.Integer:
		return float64(o.Value()), true
	case types.Float:
		return o.Value(), true
	}
	return 0, false
}

func (d *document) integer(o types.Object, otherwise int) int {
	if f, ok := d.number(o); ok {
		return int(f)
	}
	return otherwise
}

// str returns the bytes of a string object, nil for anything else.
func (d *document) str(o types.Object) []byte {
	switch o := d.resolve(o).(type) {
	case types.StringLiteral:
		b, _ := types.Unescape(o.Value())
		return b
	case types.HexLiteral:
		b, _ := o.Bytes()
		return b
	}
	return nil
}

// stream returns the decoded content of a stream, as much of it as can be
// decoded, nil when o is none. The bytes are not kept.
func (d *document) stream(o types.Object) []byte {
	sd, ok := d.resolve(o).(types.StreamDict)
	if !ok {
		return nil
	}
	if sd.HasSoleFilterNamed("FlateDecode") && sd.FilterPipeline[0].DecodeParms == nil {
		return d.inflate(sd.Raw)
	}
	if err := sd.DecodeWithLimit(maxStream); err != nil {
		sd.Content = nil
	}
	d.work.spend(len(sd.Content))
	return sd.Content
}

// inflate decompresses a stream up to its end or the first error, past its
// header and without its checksum: half a page is better than none. One
// decompressor serves all streams of a document.
func (d *document) inflate(raw []byte) []byte {
	const zlibHeader = 2
	if len(raw) < zlibHeader {
		return nil
	}
	source := bytes.NewReader(raw[zlibHeader:])
	if d.inflater == nil {
		d.inflater = flate.NewReader(source)
	} else if d.inflater.(flate.Resetter).Reset(source, nil) != nil {
		return nil
	}
	out := bytes.NewBuffer(make([]byte, 0, 4*len(raw)))
	n, _ := io.Copy(out, io.LimitReader(d.inflater, maxStream))
	d.clipped = d.clipped || n == maxStream
	d.work.spend(int(n))
	return out.Bytes()
}

// objectNumber returns the number of the object a reference points to, 0 for a
// direct object.
func objectNumber(o types.Object) int {
	if ref, ok := o.(types.IndirectRef); ok {
		return ref.ObjectNumber.Value()
	}
	return 0
}
