// Package testcase reads the test cases of a skill: files in the directory tests
// beside its manifest that say what a tool is given, what it may do, what stands
// behind what it may do, and what has to come of it.
//
// [Parse] reads tests/*.json, *.yaml, *.yml and *.txtar strictly: what is unknown
// or cannot be meant is an error that names the file, the line, the field and what
// would be right. [Schema] is the documentation of every field.
//
// The package knows documents and values only. It opens no file, calls no tool and
// answers no request: package casetest runs what is read here.
package testcase

import (
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

// Dir is the directory of a package that holds its test cases. Files directly in
// it with an extension of [IsFile] are cases; what is deeper is data of theirs.
const Dir = "tests"

//go:embed schema/testcase.schema.json
var schemaText string

// Schema returns the JSON Schema (draft 2020-12) of a test case. It describes
// every field, and is what [Parse] checks with. A file holds one case, or a list
// of them.
func Schema() []byte { return []byte(schemaText) }

var form = sync.OnceValue(func() *manifests.Form { return manifests.NewForm(schemaText) })

// Placeholders of texts of a case. [Case.Fill] replaces them.
const (
	// Workspace stands for the directory of the case.
	Workspace = "${workspace}"
	// Server stands for the address of the web server of the case, see
	// [Case.Serve].
	Server = "${server}"
)

// A Case is one test case. It comes from [Parse], or is filled in and written with
// [Encode]. Every field is described in [Schema].
type Case struct {
	// SchemaRef is where an editor finds the schema; it is not read.
	SchemaRef string `json:"$schema,omitempty"`

	Name string `json:"name"`
	// Tool is the tool that is called; empty means the only one.
	Tool string `json:"tool,omitempty"`
	// Skip is why the case is not run; empty for one that is.
	Skip string `json:"skip,omitempty"`

	// At most one of these is the input; without any it is empty.
	Input       json.RawMessage `json:"input,omitempty"`
	InputText   *string         `json:"input_text,omitempty"`
	InputBase64 *[]byte         `json:"input_base64,omitempty"`
	InputFile   string          `json:"input_file,omitempty"` // path in the package

	// Grants are the capabilities that hold for the case alone.
	Grants  []string           `json:"grants,omitempty"`
	Files   map[string]Content `json:"files,omitempty"`
	KV      map[string]Content `json:"kv,omitempty"`
	Secrets map[string]string  `json:"secrets,omitempty"`
	Config  map[string]string  `json:"config,omitempty"`
	Mocks   []Mock             `json:"mocks,omitempty"`
	// MockOrder is [OrderAny] or [OrderSequence]; empty means the first.
	MockOrder string           `json:"mock_order,omitempty"`
	Serve     map[string]Reply `json:"serve,omitempty"`
	// KVSchema is the schema version of what KV holds; 0 means the manifest's.
	KVSchema int `json:"kv_schema_version,omitempty"`
	// Clock is when the time of a tool with the clock begins; the zero value means
	// 2022-01-01 00:00 UTC, as for a tool without.
	Clock time.Time `json:"clock,omitzero"`
	// Seed decides the random numbers.
	Seed uint64 `json:"seed,omitempty"`

	// At most one of these is expected of the output, and none together with
	// ErrorKind and ErrorMessage.
	Expect       json.RawMessage `json:"expect,omitempty"`
	ExpectExact  json.RawMessage `json:"expect_exact,omitempty"`
	ExpectText   json.RawMessage `json:"expect_text,omitempty"`
	ExpectBase64 *[]byte         `json:"expect_base64,omitempty"`
	ExpectFile   string          `json:"expect_file,omitempty"` // path in the package
	ExpectSchema json.RawMessage `json:"expect_schema,omitempty"`

	ErrorKind    string          `json:"error_kind,omitempty"`
	ErrorMessage json.RawMessage `json:"error_message,omitempty"`

	// Denials are all that is refused, when it is not nil.
	Denials []string `json:"denials,omitzero"`
	// Logs are lines that are logged, in this order, perhaps among others.
	Logs []Line `json:"logs,omitempty"`
	// Notifications are all that are sent, when it is not nil.
	Notifications []Notification             `json:"notifications,omitzero"`
	FilesAfter    map[string]json.RawMessage `json:"files_after,omitempty"`
	KVAfter       map[string]json.RawMessage `json:"kv_after,omitempty"`

	// MaxFuel and MaxMemoryMB are what the call may use for the case to pass; 0
	// means as much as the manifest says.
	MaxFuel     uint64  `json:"max_fuel,omitempty"`
	MaxMemoryMB float64 `json:"max_memory_mb,omitempty"`
	// Timeout is how long it may take, in seconds; 0 means as long as the manifest
	// says.
	Timeout float64 `json:"timeout,omitempty"`

	file    string
	line    int
	section string // of a txtar file, with what is expected
	states  int
}

// The orders in which mocks are asked.
const (
	// OrderAny takes the first mock that fits and has answers left.
	OrderAny = "any"
	// OrderSequence takes the mocks one after the other.
	OrderSequence = "sequence"
)

// A Line is a line that a tool logs. Message and Fields are patterns; an empty one
// fits everything.
type Line struct {
	Level   string                     `json:"level,omitempty"`
	Message json.RawMessage            `json:"message,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
}

// UnmarshalJSON takes a text for the message alone.
func (l *Line) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*l = Line{Message: bytes.Clone(b)}
		return nil
	}
	type plain Line
	return json.Unmarshal(b, (*plain)(l))
}

// A Notification is one that a tool sends. Title and Text are patterns; an empty
// one fits everything.
type Notification struct {
	Severity string          `json:"severity,omitempty"`
	Title    json.RawMessage `json:"title,omitempty"`
	Text     json.RawMessage `json:"text,omitempty"`
}

// File is the file the case was read from, as it was named, and Line where it
// begins there.
func (c *Case) File() string { return c.file }

// Line is the line of its file on which the case begins.
func (c *Case) Line() int { return c.line }

// PatternStates is how many states the automata of the regular expressions in the
// case have together, which is what it costs to compile them.
func (c *Case) PatternStates() int { return c.states }

// Golden names the file of the package that holds the expected output, and the section
// of it when that is the file of the case itself; empty for a case without.
func (c *Case) Golden() (file, section string) {
	if c.section != "" {
		return c.file, c.section
	}
	return c.ExpectFile, ""
}

// recordings is the end of the names of recorded calls, which lie beside test cases
// and are none; see package recording.
const recordings = ".recording.json"

// IsFile reports whether the path of a file in a package is one of test cases.
func IsFile(name string) bool {
	if path.Dir(name) != Dir || strings.HasSuffix(name, recordings) {
		return false
	}
	switch path.Ext(name) {
	case ".json", ".yaml", ".yml", ".txtar":
		return !strings.HasPrefix(path.Base(name), ".")
	}
	return false
}

// Parse reads a file of test cases. name is its name, which tells the format. The
// error wraps [manifests.Errors], with all problems of the file.
func Parse(data []byte, name string) ([]Case, error) {
	read := parseDocuments
	if path.Ext(name) == ".txtar" {
		read = parseArchive
	}
	cases, errs := read(data, name)
	if len(errs) > 0 {
		return nil, fileError(name, errs)
	}
	for i := range cases {
		cases[i].file = name
	}
	return cases, nil
}

// fileError puts the operation and its subject before errs.
func fileError(name string, errs manifests.Errors) error {
	if len(errs) == 1 {
		return fmt.Errorf("parse test cases %s: %w", name, errs)
	}
	return fmt.Errorf("parse test cases %s: %d problems:\n%w", name, len(errs), errs)
}

func parseDocuments(data []byte, name string) ([]Case, manifests.Errors) {
	docs, errs := form().ReadEach(data, name)
	if len(errs) > 0 {
		return nil, errs
	}
	cases := make([]Case, len(docs))
	left := maxFileStates
	for i, d := range docs {
		errs = append(errs, cases[i].decode(d, nil, &left)...)
	}
	return cases, errs
}

// decode reads a document that fits the schema, and checks what that cannot say.
// sections are those of a txtar file, and left is how many states the regular
// expressions of the file may still have.
func (c *Case) decode(d manifests.Document, sections []section, left *int) manifests.Errors {
	if err := json.Unmarshal(d.JSON(), c); err != nil {
		return manifests.Errors{d.DecodeProblem(err)}
	}
	c.line = d.Line()
	k := checker{doc: d, c: c, left: left}
	for _, s := range sections {
		k.section(s)
	}
	k.check()
	return k.errs
}

// Fill returns the case with its placeholders replaced: [Workspace] by the path of
// the workspace and [Server] by the address of the server.
func (c Case) Fill(workspace, server string) (Case, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return c, fmt.Errorf("fill in case %q: %w", c.Name, err)
	}
	text := strings.NewReplacer(Workspace, inJSON(workspace), Server, inJSON(server)).Replace(string(b))
	filled := Case{file: c.file, line: c.line, section: c.section}
	if err := json.Unmarshal([]byte(text), &filled); err != nil {
		return c, fmt.Errorf("fill in case %q: %w", c.Name, err)
	}
	return filled, nil
}

// inJSON is a text as it stands inside of a JSON string.
func inJSON(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // a string cannot fail
		return text
	}
	return string(b[1 : len(b)-1])
}

// Bytes returns the input, reading it from the package with read if it is a file
// there.
func (c *Case) Bytes(read func(path string) ([]byte, error)) ([]byte, error) {
	switch {
	case c.InputFile != "":
		return read(c.InputFile)
	case c.InputText != nil:
		return []byte(*c.InputText), nil
	case c.InputBase64 != nil:
		return *c.InputBase64, nil
	}
	return c.Input, nil
}

// Encode returns a case as a file of its own, which [Parse] reads.
func Encode(c Case) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("encode test case %q: %w", c.Name, err)
	}
	return b.Bytes(), nil
}
