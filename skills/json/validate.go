package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultErrors = 100
	maxErrors     = 10_000
	// schemaURL stands for the given schema, so that it can refer to itself.
	// The domain is reserved never to exist (RFC 2606).
	schemaURL = "https://schema.invalid/schema.json"
)

type validateInput struct {
	Data         json.RawMessage `json:"data"`
	Text         *string         `json:"text"`
	Schema       json.RawMessage `json:"schema"`
	CheckFormats bool            `json:"check_formats"`
	MaxErrors    *int            `json:"max_errors"`
}

type validateOutput struct {
	Valid      bool      `json:"valid"`
	Errors     []problem `json:"errors"`
	ErrorCount int       `json:"error_count"`
	Truncated  bool      `json:"truncated"`
}

// problem is one place where a document does not fit its schema. Both paths are
// JSON Pointers (RFC 6901).
type problem struct {
	Path       string `json:"path"`
	SchemaPath string `json:"schema_path"`
	Message    string `json:"message"`
}

// validate checks a document against a schema. Schemas elsewhere are never
// loaded: a reference may name a part of the schema itself or a draft of JSON
// Schema.
func validate(in validateInput) (validateOutput, error) {
	limit, err := within("max_errors", in.MaxErrors, defaultErrors, 1, maxErrors)
	if err != nil {
		return validateOutput{}, err
	}
	doc, err := source{in.Data, in.Text}.document()
	if err != nil {
		return validateOutput{}, err
	}
	if err := checkNumbers("data", doc); err != nil {
		return validateOutput{}, err
	}
	schema, err := compileSchema(in.Schema, in.CheckFormats)
	if err != nil {
		return validateOutput{}, err
	}
	return report(schema.Validate(doc), limit)
}

func compileSchema(text json.RawMessage, formats bool) (*jsonschema.Schema, error) {
	if text == nil {
		return nil, skill.Errorf(skill.Invalid, "schema: must be given")
	}
	doc, err := decodeOne("schema", text)
	if err != nil {
		return nil, err
	}
	if err := checkNumbers("schema", doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(offline{})
	if formats {
		c.AssertFormat()
	}
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, skill.Errorf(skill.Invalid, "schema: %w", err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, skill.Errorf(skill.Invalid, "schema: %s", schemaError(err))
	}
	return schema, nil
}

// offline refuses to load schemas.
type offline struct{}

var errOffline = errors.New("schemas elsewhere are not loaded: put it in $defs and refer to it as #/$defs/NAME")

// Load returns errOffline.
func (offline) Load(string) (any, error) { return nil, errOffline }

// schemaError says what is wrong with a schema, on one line and without the
// stand-in for its address.
func schemaError(err error) string {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return load.URL + ": " + load.Err.Error()
	}
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		if found := collect(detail, nil); len(found) > 0 {
			return "at " + strings.TrimSuffix(found[0].Path, "/") + ": " + found[0].Message
		}
	}
	return strings.ReplaceAll(err.Error(), schemaURL, "")
}

// report turns the answer of the library into the output.
func report(err error, limit int) (validateOutput, error) {
	if err == nil {
		return validateOutput{Valid: true, Errors: []problem{}}, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return validateOutput{}, skill.Errorf(skill.Failed, "validate: %w", err)
	}
	found := collect(invalid, nil)
	shown := found[:min(limit, len(found))]
	return validateOutput{Errors: shown, ErrorCount: len(found), Truncated: len(shown) < len(found)}, nil
}

// collect flattens the tree of errors: what failed in itself, and a choice
// (anyOf, oneOf, ...) before the reasons of its branches.
func collect(e *jsonschema.ValidationError, found []problem) []problem {
	if len(e.Causes) == 0 || isChoice(e.ErrorKind) {
		_, place, _ := strings.Cut(e.SchemaURL, "#")
		found = append(found, problem{
			Path:       pointer(e.InstanceLocation),
			SchemaPath: place + pointer(e.ErrorKind.KeywordPath()),
			Message:    e.ErrorKind.LocalizedString(message.NewPrinter(language.English)),
		})
	}
	for _, cause := range e.Causes {
		found = collect(cause, found)
	}
	return found
}

func isChoice(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return false
	default:
		return true
	}
}

// pointer joins the steps of a path to a JSON Pointer.
func pointer(steps []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + escape.Replace(step))
	}
	return b.String()
}
