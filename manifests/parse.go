package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Parse reads and checks a manifest. name is the name of its file, such as
// "skill.json" or a path: .json is read as JSON, .yaml and .yml as YAML,
// SKILL.md as [ParseSkillMD] does, and any other name by what the content looks
// like. A document that is not a valid manifest gives an error that wraps
// [Errors]; see [Manifest.Unsupported] for what is valid and yet cannot be
// installed.
func Parse(data []byte, name string) (*Manifest, error) {
	if path.Base(name) == FileSkillMD {
		return ParseSkillMD(data, name)
	}
	m, errs := parse(data, name)
	if len(errs) > 0 {
		return nil, documentError(name, errs)
	}
	return m, nil
}

// documentError puts the operation and its subject before errs.
func documentError(name string, errs Errors) error {
	if len(errs) == 1 {
		return fmt.Errorf("parse manifest %s: %w", name, errs)
	}
	return fmt.Errorf("parse manifest %s: %d problems:\n%w", name, len(errs), errs)
}

func parse(data []byte, name string) (*Manifest, Errors) {
	if p := checkSize(data); p != nil {
		return nil, Errors{*p}
	}
	doc, p := readDocument(data, name)
	if p != nil {
		return nil, Errors{*p}
	}
	return fromDocument(doc)
}

func checkSize(data []byte) *Problem {
	if len(data) <= MaxBytes {
		return nil
	}
	return &Problem{Message: fmt.Sprintf("is %d bytes long", len(data)), Suggestion: fmt.Sprintf("at most %d are accepted", MaxBytes)}
}

// readDocument reads data in the format its name or its content tells.
func readDocument(data []byte, name string) (*node, *Problem) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return readJSON(data)
	case ".yaml", ".yml":
		return readYAML(data)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return readJSON(data)
	}
	return readYAML(data)
}

// fromDocument checks a document against the schema, reads it into a Manifest,
// and checks what the schema cannot say.
func fromDocument(doc *node) (*Manifest, Errors) {
	lines := doc.lineIndex()
	errs := append(ownSchema().check(doc), checkText(doc)...)
	if len(errs) > 0 {
		return nil, errs.locate(lines)
	}
	var b bytes.Buffer
	doc.appendJSON(&b)
	m := &Manifest{lines: lines}
	if err := json.Unmarshal(b.Bytes(), m); err != nil {
		return nil, Errors{unmarshalProblem(err)}.locate(lines)
	}
	c := checker{m: m, doc: doc}
	c.check()
	if len(c.errs) > 0 {
		return nil, c.errs.locate(lines)
	}
	m.complete()
	m.compiled = c.compiled
	return m, nil
}

// unmarshalProblem tells an error of encoding/json. The schema has been
// satisfied, so what is left is a whole number written as 1.0 or 1e3.
func unmarshalProblem(err error) Problem {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return Problem{Path: wrong.Field, Message: "has the " + wrong.Value, Suggestion: "write a whole number with digits only"}
	}
	return Problem{Message: err.Error()}
}

// complete fills in what a document may leave out because it follows from
// other fields.
func (m *Manifest) complete() {
	for i, t := range m.Tools {
		m.Tools[i].Export = cmp.Or(t.Export, t.Name)
	}
	p := &m.Security.Permissions
	p.NetworkAccess = len(p.Network) > 0
}

// Validate checks a manifest that was filled in rather than parsed, by the same
// rules as [Parse]. The error wraps [Errors], whose lines are not known.
func (m *Manifest) Validate() error {
	doc, p := m.document()
	if p != nil {
		return documentError(m.Name, Errors{*p})
	}
	_, errs := fromDocument(doc)
	if len(errs) == 0 {
		return nil
	}
	for i := range errs {
		errs[i].Line = 0
	}
	return documentError(m.Name, errs)
}

// document returns m as a document.
func (m *Manifest) document() (*node, *Problem) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, &Problem{Message: err.Error()}
	}
	return readJSON(b)
}

// locate gives each problem the line of its field, or of the nearest one around
// it, and sorts them by line.
func (e Errors) locate(lines map[string]int) Errors {
	for i := range e {
		if e[i].Line == 0 {
			e[i].Line = lineOf(lines, e[i].Path)
		}
	}
	slices.SortStableFunc(e, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return e
}

func lineOf(lines map[string]int, at string) int {
	for {
		if line, ok := lines[at]; ok {
			return line
		}
		i := strings.LastIndexAny(at, ".[")
		if i < 0 {
			return lines[""]
		}
		at = at[:i]
	}
}
