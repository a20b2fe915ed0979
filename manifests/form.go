package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Form is a kind of document that a JSON Schema describes, and that is read as
// strictly as a manifest: other packages use it for documents that travel with a
// skill. The texts "x-want" of the schema say what would be right, as in
// [Schema]. It is immutable.
type Form struct{ schema manifestSchema }

// NewForm compiles the schema of a form (draft 2020-12). It panics when text is
// none: it is for schemas that are part of the program.
func NewForm(text string) *Form { return &Form{compileForm(schemaURL, text, nil)} }

// A Document is one document of a form.
type Document struct {
	doc   *node
	path  string // of the document in its file, such as "[2]"
	lines map[string]int
}

// ReadEach reads a file that holds one document of the form, or a list of them.
// name tells the format as in [Parse]. Problems name the line and the field, and
// are those of all documents.
func (f *Form) ReadEach(data []byte, name string) ([]Document, Errors) {
	if p := checkSize(data); p != nil {
		return nil, Errors{*p}
	}
	doc, p := readDocument(data, name)
	if p != nil {
		return nil, Errors{*p}
	}
	all := []Document{{doc: doc, lines: doc.lineIndex()}}
	if doc.kind == listNode {
		all = all[:0]
		for i, item := range doc.items {
			all = append(all, Document{doc: item, path: indexStep(i), lines: item.lineIndex()})
		}
	}
	var errs Errors
	for _, d := range all {
		errs = append(errs, d.located(f.schema.check(d.doc))...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return all, nil
}

// located gives problems of a document their lines, and their paths in the file.
func (d Document) located(errs Errors) Errors {
	errs = errs.locate(d.lines)
	for i := range errs {
		errs[i].Path = join(d.path, errs[i].Path)
	}
	return errs
}

// JSON returns the document as JSON, members in the order of the file.
func (d Document) JSON() []byte {
	var b bytes.Buffer
	d.doc.appendJSON(&b)
	return b.Bytes()
}

// Line is the line the document begins on.
func (d Document) Line() int { return d.doc.line }

// Problem returns a problem of the field at path, with its line.
func (d Document) Problem(path, suggestion, format string, args ...any) Problem {
	return d.located(Errors{{Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion}})[0]
}

// DecodeProblem returns the problem that an error of encoding/json is, for a
// document that fits its schema.
func (d Document) DecodeProblem(err error) Problem {
	return d.located(Errors{unmarshalProblem(err)})[0]
}

// A ValueSchema is a JSON Schema that values are checked against, within the
// bounds of the schemas of tools: [MaxSchemaBytes], [MaxSchemaParts], [MaxSteps],
// and no reference that leaves it. It is immutable.
type ValueSchema struct{ schema *valueSchema }

// CompileSchema compiles a JSON Schema. The error wraps [Errors].
func CompileSchema(text json.RawMessage) (*ValueSchema, error) {
	s, errs := compileSchema(text)
	if len(errs) > 0 {
		return nil, errs
	}
	return &ValueSchema{s}, nil
}

// Check says what is wrong with a value; nil when it fits. The error wraps
// [Errors], whose paths are inside the value.
func (s *ValueSchema) Check(value json.RawMessage) error {
	doc, p := readJSON(value)
	if p != nil {
		return Errors{*p}
	}
	if errs := s.schema.check(doc.plain()); len(errs) > 0 {
		return errs
	}
	return nil
}

// KeyPath returns the path of the member called name of the value at path, as
// problems write it, and IndexPath that of an item of a list.
func KeyPath(path, name string) string { return join(path, keyStep(name)) }

// IndexPath returns the path of an item of the list at path.
func IndexPath(path string, i int) string { return join(path, indexStep(i)) }
