// Package hostapi holds the one description of the functions that guests import from
// skillet:host/v1 (interface.json), and writes from it the low-level part of each
// language's SDK and the reference page.
//
// It is for whoever builds the tree: neither the host nor any guest imports it; what the host has to know of the
// functions is written to package guestapi. It
// refuses to know how a function works; tests of package hostfn keep the
// description equal to what the host really decodes, answers and refuses.
package hostapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

//go:embed interface.json
var source []byte

// Interface is everything that a guest can import.
type Interface struct {
	// Module is the name of the imported module.
	Module string `json:"module"`
	// Kinds are the kinds of errors.
	Kinds []Value `json:"kinds"`
	// Limits are the sizes and counts that no setting changes.
	Limits []Limit `json:"limits"`
	// Transfer are the functions that move the input, the output and the responses.
	Transfer []Transfer `json:"transfer"`
	// Enums are the sets of words that fields are taken from.
	Enums []Enum `json:"enums"`
	// Records are the objects that fields are made of.
	Records []Record `json:"records"`
	// Functions are those that reach beyond the guest, all of one shape.
	Functions []Function `json:"functions"`
}

// Value is a word with a meaning.
type Value struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Limit is a number that both sides have to know.
type Limit struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Unit  string `json:"unit"`
	Doc   string `json:"doc"`
}

// Transfer is a function with a shape of its own.
type Transfer struct {
	Name   string  `json:"name"`
	Params []Param `json:"params"`
	// Result is "i32", "i64" or empty for none.
	Result string `json:"result"`
	Doc    string `json:"doc"`
}

// Param is a parameter of a Transfer.
type Param struct {
	Name string `json:"name"`
	// Type is "pointer" or "length", which are i32 in WebAssembly, or "i64".
	Type string `json:"type"`
}

// Enum is a set of words.
type Enum struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Values []Value `json:"values"`
}

// Record is a JSON object.
type Record struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Fields []Field `json:"fields"`
}

// Field is a member of a JSON object.
type Field struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Unit is of a number; empty for those without.
	Unit string `json:"unit"`
	// Optional says that the member may be missing, which means the same as the type's zero value
	// unless the field is Nullable.
	Optional bool `json:"optional"`
	// Nullable says that a missing member differs from a zero value.
	Nullable bool `json:"nullable"`
	// Default is what an SDK sends for an empty string, so that what an error says does not depend on the language.
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// Function takes a JSON object and raw bytes, and returns a JSON object and raw bytes.
type Function struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Words say what the function is good for, as the end of a sentence that begins "may", for the person who
	// looks at what a module imports.
	Words string `json:"words"`
	// Subject is what errors of the SDKs begin with: the operation and, in braces, request fields.
	Subject string `json:"subject"`
	// Grant is the capability it takes, with request fields in braces. It is empty for a function that is Free.
	Grant string `json:"grant"`
	// Free says why the function needs no grant.
	Free string `json:"free"`
	// Request and Response are the members of the JSON objects.
	Request  []Field `json:"request"`
	Response []Field `json:"response"`
	// RequestBody and ResponseBody say what the raw bytes are; empty when there are none.
	RequestBody  string    `json:"request_body"`
	ResponseBody string    `json:"response_body"`
	Errors       []Failure `json:"errors"`
	Example      Example   `json:"example"`
}

// Failure is a kind of error that a function answers, and when.
type Failure struct {
	Kind string `json:"kind"`
	When string `json:"when"`
}

// Example is a request and its response.
type Example struct {
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// Base is what a Type is made of.
type Base string

// The bases beside the names of enums and records.
const (
	String Base = "string"
	Bool   Base = "bool"
	Int    Base = "int"   // whole number from -2^63 to 2^63-1
	Uint   Base = "uint"  // whole number from 0 to 2^64-1
	Float  Base = "float" // IEEE 754 double
	Time   Base = "time"  // string as RFC 3339 has it, in UTC
)

// Type is the type of a field: a base, a list of them ("string[]"), an object with values of one base
// ("string{}"), or an object with lists ("string[]{}").
type Type struct {
	Base Base
	List bool
	Map  bool
}

// UnmarshalText reads a type as interface.json has it.
func (t *Type) UnmarshalText(text []byte) error {
	s, isMap := strings.CutSuffix(string(text), "{}")
	s, list := strings.CutSuffix(s, "[]")
	*t = Type{Base: Base(s), List: list, Map: isMap}
	if s == "" || strings.ContainsAny(s, "[]{}") {
		return fmt.Errorf("type %q", text)
	}
	return nil
}

// String returns the type as interface.json has it.
func (t Type) String() string {
	s := string(t.Base)
	if t.List {
		s += "[]"
	}
	if t.Map {
		s += "{}"
	}
	return s
}

// Load returns the description. It fails when interface.json contradicts itself.
func Load() (*Interface, error) { return parse(source) }

// parse reads a description; unknown members are errors.
func parse(text []byte) (*Interface, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var api Interface
	if err := d.Decode(&api); err != nil {
		return nil, fmt.Errorf("host interface: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("host interface: more than one value")
	}
	if err := api.check(); err != nil {
		return nil, fmt.Errorf("host interface: %w", err)
	}
	return &api, nil
}

// Enum returns the enum that a base names.
func (a *Interface) Enum(b Base) (Enum, bool) {
	for _, e := range a.Enums {
		if e.Name == string(b) {
			return e, true
		}
	}
	return Enum{}, false
}

// Record returns the record that a base names.
func (a *Interface) Record(b Base) (Record, bool) {
	for _, r := range a.Records {
		if r.Name == string(b) {
			return r, true
		}
	}
	return Record{}, false
}

// piece is a part of a template: text, and then the name of a field; either may be empty.
type piece struct{ text, field string }

// subject splits what errors begin with.
func (f Function) subject() []piece {
	var all []piece
	for rest := f.Subject; rest != ""; {
		text, after, _ := strings.Cut(rest, "{")
		field, after, _ := strings.Cut(after, "}")
		all = append(all, piece{text, field})
		rest = after
	}
	return all
}
