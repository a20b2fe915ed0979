package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"
)

// Parse reads a lock file. The error wraps [manifests.Errors], which name the
// line of what is wrong.
func Parse(data []byte) (*Lock, error) {
	l, errs := parse(data)
	switch len(errs) {
	case 0:
		return l, nil
	case 1:
		return nil, fmt.Errorf("parse lock file: %w", errs)
	}
	return nil, fmt.Errorf("parse lock file: %d problems:\n%w", len(errs), errs)
}

func parse(data []byte) (*Lock, manifests.Errors) {
	r := &reader{data: data, tokens: json.NewDecoder(bytes.NewReader(data)), lines: map[string]int{}, line: 1}
	if p := r.document(); p != nil {
		return nil, manifests.Errors{*p}
	}
	l := &Lock{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, manifests.Errors{r.typeProblem(err)}
	}
	errs := l.check()
	for i, p := range errs {
		errs[i].Line = r.lineOf(p.Path)
	}
	return l, errs
}

// fields are the members that objects have, by their path without indexes.
func fields() map[string][]string {
	requirement := []string{"name", "constraint", "prereleases", "optional", "closure", "version", "provider"}
	return map[string][]string{
		"":                          {"lockfile_version", "roots", "packages"},
		"roots[]":                   requirement,
		"packages[]":                {"closure", "name", "version", "digest", "artifact", "source", "signer", "dependencies"},
		"packages[].dependencies[]": requirement,
	}
}

// A reader goes through the document once, for what encoding/json lets pass:
// unknown and repeated members, and lines.
type reader struct {
	data   []byte
	tokens *json.Decoder
	offset int64 // up to which lines are counted
	line   int
	lines  map[string]int // of each value, by path
}

// document checks the form of the whole.
func (r *reader) document() *manifests.Problem {
	switch i := conflictMarker(r.data); {
	case len(r.data) > MaxBytes:
		return &manifests.Problem{Message: fmt.Sprintf("is larger than %d bytes", MaxBytes)}
	case !utf8.Valid(r.data):
		return &manifests.Problem{Message: "is not UTF-8"}
	case i >= 0:
		return &manifests.Problem{
			Line: 1 + bytes.Count(r.data[:i], []byte("\n")), Message: "has the marks of a merge with conflicts",
			Suggestion: "take either side whole, and lock again",
		}
	}
	if p := r.value("", ""); p != nil {
		return p
	}
	if _, err := r.tokens.Token(); !errors.Is(err, io.EOF) {
		return r.problem("", "has something behind its end", "remove it")
	}
	return nil
}

// conflictMarker returns where a version control system marked a conflict, or -1.
func conflictMarker(data []byte) int {
	for _, mark := range []string{"<<<<<<< ", ">>>>>>> "} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return 0
		}
		if i := bytes.Index(data, []byte("\n"+mark)); i >= 0 {
			return i + 1
		}
	}
	return -1
}

func (r *reader) problem(path, message, suggestion string) *manifests.Problem {
	return &manifests.Problem{Path: path, Line: r.line, Message: message, Suggestion: suggestion}
}

// next returns the next token.
func (r *reader) next() (json.Token, *manifests.Problem) {
	t, err := r.tokens.Token()
	end := min(r.tokens.InputOffset(), int64(len(r.data)))
	r.line += bytes.Count(r.data[r.offset:end], []byte("\n"))
	r.offset = end
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		r.line = 1 + bytes.Count(r.data[:min(max(0, syntax.Offset-1), int64(len(r.data)))], []byte("\n"))
		return nil, r.problem("", "is not JSON: "+strings.TrimPrefix(err.Error(), "json: "), "")
	case err != nil:
		r.line = 1 + bytes.Count(bytes.TrimRight(r.data, "\n"), []byte("\n"))
		return nil, r.problem("", "ends in the middle", "lock again")
	}
	return t, nil
}

// value goes through a value. Shape is its path without indexes.
func (r *reader) value(path, shape string) *manifests.Problem {
	t, p := r.next()
	if p != nil {
		return p
	}
	r.lines[path] = r.line
	switch t {
	case json.Delim('{'):
		return r.object(path, shape)
	case json.Delim('['):
		return r.list(path, shape)
	case nil:
		return r.problem(path, "is null", "leave it out")
	}
	return nil
}

func (r *reader) object(path, shape string) *manifests.Problem {
	known, ok := fields()[shape]
	if !ok {
		return r.problem(path, "is an object", "")
	}
	seen := map[string]bool{}
	for r.tokens.More() {
		t, p := r.next()
		if p != nil {
			return p
		}
		name, _ := t.(string)
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case !slices.Contains(known, name):
			return r.problem(path, fmt.Sprintf("has an unknown field %q", name), "a newer skillet may know it")
		case seen[name]:
			return r.problem(at, "is given twice", "remove one of the two")
		}
		seen[name] = true
		if p := r.value(at, strings.TrimPrefix(shape+"."+name, ".")); p != nil {
			return p
		}
	}
	_, p := r.next()
	return p
}

func (r *reader) list(path, shape string) *manifests.Problem {
	if strings.HasSuffix(shape, "[]") {
		return r.problem(path, "is a list", "")
	}
	for i := 0; r.tokens.More(); i++ {
		if p := r.value(fmt.Sprintf("%s[%d]", path, i), shape+"[]"); p != nil {
			return p
		}
	}
	_, p := r.next()
	return p
}

// typeProblem tells an error of encoding/json about a document that is JSON.
func (r *reader) typeProblem(err error) manifests.Problem {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return manifests.Problem{Message: err.Error()}
	}
	before := r.data[:min(max(0, wrong.Offset), int64(len(r.data)))]
	kind, _, _ := strings.Cut(wrong.Value, " ")
	words := map[string]string{"array": "a list", "object": "an object", "string": "text", "number": "a number that large or with a fraction", "bool": "true or false"}
	if wrong.Type.Kind() == reflect.String {
		words["number"] = "a number"
	}
	return manifests.Problem{Path: wrong.Field, Line: 1 + bytes.Count(before, []byte("\n")), Message: "cannot be " + words[kind]}
}

// lineOf returns the line of the value at a path, or of what it would be in.
func (r *reader) lineOf(path string) int {
	for {
		if line, ok := r.lines[path]; ok {
			return line
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return r.lines[""]
		}
		path = path[:i]
	}
}
