package manifests

import (
	_ "embed" // for the schema
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed schema/skill.schema.json
var schemaText string

// Schema returns the JSON Schema (draft 2020-12) of the manifest. It describes
// every field, and is what [Parse] checks with.
func Schema() []byte { return []byte(schemaText) }

// A manifestSchema is the manifest's own schema: compiled, and as a document
// in which the texts for people are looked up.
type manifestSchema struct {
	compiled *jsonschema.Schema
	doc      func() *node
	foreign  map[string]string // what other formats' fields are called here
}

// ownSchema is compiled once, on first use: by nearly every command.
var ownSchema = sync.OnceValue(func() manifestSchema { return compileForm(ownURL, schemaText, foreignFields()) })

// Expect says that a manifest will be read soon: it returns when what that takes the first
// time is there, and may go on beside whatever comes before.
func Expect() { ownSchema() }

// ownURL is the base address of the manifest's own schema. What begins like this is not
// checked against the schema of schemas: a test does that, and each run is spared as much
// work as all else that the compiler does.
const ownURL = "https://json-schema.org/skillet/skill.schema.json"

// compileForm compiles a schema that is part of the program.
func compileForm(address, text string, foreign map[string]string) manifestSchema {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = c.AddResource(address, doc)
	}
	if err != nil {
		panic("manifests: own schema: " + err.Error())
	}
	return manifestSchema{c.MustCompile(address), sync.OnceValue(func() *node { return formDocument(text) }), foreign}
}

// formDocument is a schema that is part of the program, as a document.
func formDocument(text string) *node {
	doc, p := readJSON([]byte(text))
	if p != nil {
		panic("manifests: own schema: " + p.String())
	}
	return doc
}

// check returns what is wrong with the document n, in the schema's view.
func (s manifestSchema) check(n *node) Errors {
	v := n.plain()
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return explain(invalid, v, s.hint)
	}
	return Errors{{Message: err.Error()}}
}

// hint says what would be right, from the texts of the schema.
func (s manifestSchema) hint(leaf *jsonschema.ValidationError, name string, p *Problem) {
	at := s.at(leaf.SchemaURL)
	switch k := leaf.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		if at.get("patternProperties") != nil {
			p.Message, p.Suggestion = "the name is not accepted", s.text(at, "x-want")
			return
		}
		p.Suggestion = s.belongsIn(at, name)
	case *kind.Required:
		raw := at.get("properties").get(name)
		what, _, _ := strings.Cut(s.either("description", raw, s.resolve(raw)), ". ")
		p.Suggestion = "add it: " + strings.TrimSuffix(what, ".")
	case *kind.Pattern:
		p.Message = fmt.Sprintf("%s is not accepted", show(k.Got))
		p.Suggestion = s.text(at, "x-want")
	case *kind.Type:
		p.Suggestion = s.text(at, "x-want")
		if k.Got == "number" && len(k.Want) == 1 && k.Want[0] == "string" {
			p.Suggestion = "put it in quotes"
		}
	case *kind.Maximum:
		p.Suggestion = figure(k.Want) + " is the ceiling"
		if why := s.text(at, "x-ceiling"); why != "" {
			p.Suggestion += ": " + why
		}
	case *kind.Minimum, *kind.ExclusiveMinimum:
		p.Suggestion = "leave it out for the default"
	}
}

// belongsIn says where the unknown field called name belongs, seen from the object
// that the schema at describes.
func (s manifestSchema) belongsIn(at *node, name string) string {
	var here []string
	for _, f := range at.get("properties").members() {
		here = append(here, f.name)
	}
	if text, ok := s.foreign[name]; ok {
		return text
	}
	if path := s.find(name); path != "" {
		return "it belongs in " + path
	}
	if text := didYouMean(name, here); text != "" {
		return text
	}
	return "the fields here are " + strings.Join(here, ", ")
}

// foreignFields says what other formats' fields are called here.
func foreignFields() map[string]string {
	const always = "every skill runs in the sandbox, so leave it out"
	const ofHost = "that is a setting of the host, so leave it out"
	const concurrent = "write performance.execution.max_concurrent_calls; 1 has one call at a time"
	const noEnv = "no environment variable reaches a skill: use args or the tool's input"
	return map[string]string{
		"retry_attempts":        "write resilience.retry_config.max_attempts",
		"allow_network":         "list the addresses in security.permissions.network",
		"allowed_hosts":         "list the addresses in security.permissions.network",
		"allow_file_write":      "list the paths in security.permissions.file_write",
		"allowed_paths":         "list the paths in security.permissions.file_read and file_write",
		"default_permissions":   "write security.permissions",
		"sandbox":               always,
		"sandbox_enabled":       always,
		"metadata_cache_ttl":    ofHost,
		"observability":         ofHost,
		"parallel_execution":    concurrent,
		"max_concurrent_skills": concurrent,
		"environment":           noEnv,
		"env":                   noEnv,
		"wasm":                  "command names the module",
		"module":                "command names the module",
		"main":                  "command names the module",
		"entrypoint":            "command names the module",
		"inputSchema":           "did you mean input_schema?",
		"outputSchema":          "did you mean output_schema?",
	}
}

// find returns the path of the only field called name; empty when there is
// none or more than one.
func (s manifestSchema) find(name string) string {
	found := ""
	for _, path := range s.paths() {
		if path != name && !strings.HasSuffix(path, "."+name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = path
	}
	return found
}

// paths returns the path of every field the schema describes, sections before
// what is in them; [] stands for any item of a list.
func (s manifestSchema) paths() []string {
	var all []string
	s.each(s.doc(), "", func(path string, _, _ *node) { all = append(all, path) })
	return all
}

// each calls f for every field below the schema n, with its schema as it stands
// there and as it is when its $ref is followed. A tool's schemas are values
// there: their contents are not described.
func (s manifestSchema) each(n *node, path string, f func(path string, raw, n *node)) {
	for _, m := range n.get("properties").members() {
		at, sub := join(path, m.name), s.resolve(m.value)
		f(at, m.value, sub)
		s.each(sub, at, f)
		if items := s.resolve(sub.get("items")); items != nil {
			s.each(items, at+"[]", f)
		}
	}
}

// at returns the schema object at the address url, whose fragment is a JSON
// Pointer (RFC 6901).
func (s manifestSchema) at(address string) *node {
	_, pointer, _ := strings.Cut(address, "#")
	n := s.doc()
	for _, step := range strings.Split(pointer, "/")[1:] {
		plain, err := url.PathUnescape(step)
		if err != nil {
			return nil
		}
		n = n.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(plain))
	}
	return n
}

// resolve follows the $ref of n, if it has one.
func (s manifestSchema) resolve(n *node) *node {
	for n.get("$ref") != nil {
		n = s.at(n.get("$ref").scalar.(string))
	}
	return n
}

// text returns the text member of n called name; empty when there is none.
func (s manifestSchema) text(n *node, name string) string {
	if t := n.get(name); t != nil {
		text, _ := t.scalar.(string)
		return text
	}
	return ""
}

// members returns the members of an object; none for nil.
func (n *node) members() []field {
	if n == nil {
		return nil
	}
	return n.fields
}
