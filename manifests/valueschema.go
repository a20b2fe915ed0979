package manifests

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on a tool's schema.
const (
	// MaxSchemaBytes is the size of one schema.
	MaxSchemaBytes = 256 << 10
	// MaxSchemaParts is how many subschemas one schema may have.
	MaxSchemaParts = 10_000
)

// A valueSchema is a compiled JSON Schema of a tool's input or output. It is
// immutable.
type valueSchema struct {
	compiled *jsonschema.Schema
}

// schemaURL is the base address of every tool's schema. Nothing is ever loaded
// from it.
const schemaURL = "skill:///schema.json"

// errRemote is why a $ref that leaves the schema is refused.
var errRemote = errors.New("a reference may only point inside the schema")

// noLoader refuses to load anything, so that no schema can make the host open
// a file or send a request.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// compileSchema compiles the schema in text. Problems have paths inside it.
func compileSchema(text []byte) (*valueSchema, Errors) {
	if len(text) > MaxSchemaBytes {
		return nil, Errors{{Message: fmt.Sprintf("is %d bytes long", len(text)), Suggestion: fmt.Sprintf("at most %d are accepted", MaxSchemaBytes)}}
	}
	doc, p := readJSON(text)
	if p != nil {
		return nil, Errors{*p}
	}
	return compileDocument(doc.plain())
}

// compileDocument compiles a schema that was read before.
func compileDocument(doc any) (s *valueSchema, errs Errors) {
	defer func() { // hostile schemas reach deep into the library
		if r := recover(); r != nil {
			s, errs = nil, Errors{{Message: fmt.Sprintf("cannot be compiled: %v", r)}}
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	res := &patterns{known: map[string]*pattern{}, left: MaxSchemaStates}
	defer res.done()
	c.UseRegexpEngine(res.compile)
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaProblems(err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaProblems(err)
	}
	if p := checkParts(compiled); p != nil {
		return nil, Errors{*p}
	}
	return &valueSchema{compiled}, nil
}

// schemaProblems explains why a schema does not compile.
func schemaProblems(err error) Errors {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	switch {
	case errors.As(err, &load):
		return Errors{{
			Message:    fmt.Sprintf("refers to %s: %s", load.URL, errRemote),
			Suggestion: "put the definition under $defs and refer to #/$defs/name",
		}}
	case errors.As(err, &invalid):
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			return explain(v, nil, nil)
		}
	}
	return Errors{{Message: "is not a JSON Schema: " + err.Error()}}
}

// A pattern is a regular expression that knows what matching it costs.
type pattern struct {
	*regexp.Regexp
	cost int // states of its automaton
}

// checkParts counts the subschemas of root and refuses the kinds of reference
// whose target is only known while a value is checked, because the meter could
// not foresee them.
func checkParts(root *jsonschema.Schema) *Problem {
	seen := map[*jsonschema.Schema]bool{root: true}
	todo := []*jsonschema.Schema{root}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return &Problem{Message: "uses $dynamicRef or $recursiveRef, which are not accepted", Suggestion: "use $ref"}
		}
		for _, part := range parts(s) {
			if !seen[part] {
				seen[part] = true
				todo = append(todo, part)
			}
		}
		if len(seen) > MaxSchemaParts {
			return &Problem{Message: fmt.Sprintf("has more than %d subschemas", MaxSchemaParts), Suggestion: "simplify it"}
		}
	}
	return nil
}

// check returns what is wrong with v; nil when it fits.
func (s *valueSchema) check(v any) (errs Errors) {
	defer func() { // hostile values reach deep into the library
		if r := recover(); r != nil {
			errs = Errors{{Message: fmt.Sprintf("cannot be checked: %v", r)}}
		}
	}()
	if p := measure(s.compiled, v); p != nil {
		return Errors{*p}
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return explain(invalid, v, nil)
	}
	return Errors{{Message: err.Error()}}
}
