package local

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A role says what a property of an input is for, as far as its name and
// description tell.
type role int

const (
	roleOther    role = iota
	rolePath          // names a file or a directory
	roleURL           // names a page
	roleBase          // what relative addresses are relative to
	roleContent       // the text to work on
	roleBytes         // the bytes to work on, in base64
	rolePattern       // what to look for
	roleCode          // an expression or a program
	roleGlob          // a pattern of names of files
	roleFilters       // conditions on columns
	roleSorting       // columns to sort by
	roleColumns       // names of columns
	roleDocument      // a JSON value
)

// A property is one of an input.
type property struct {
	Type        schemaType      `json:"type"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Encoding    string          `json:"contentEncoding"`
	Enum        []string        `json:"enum"`
	Default     json.RawMessage `json:"default"`
	Items       *struct {
		Type       schemaType                 `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"items"`

	name     string
	schema   json.RawMessage
	role     role
	required bool
	means    []string // concepts of its name
	about    []string // and of its description
	dirOnly  bool     // of a path: a directory is meant
}

// schemaType is the "type" of a schema, which may be several.
type schemaType []string

// UnmarshalJSON takes one name or a list of them; anything else is not a type.
func (t *schemaType) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = schemaType{one}
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) == nil {
		*t = many
	}
	return nil
}

// is says whether values of a type fit; no type at all fits everything.
func (t schemaType) is(name string) bool { return len(t) == 0 || slices.Contains(t, name) }

// fits reports whether a value is one that the schema of a property accepts.
func (p *property) fits(v json.RawMessage) bool {
	s, err := manifests.CompileSchema(p.schema)
	return err == nil && s.Check(v) == nil
}

func (p *property) isNumber() bool {
	return len(p.Type) > 0 && (p.Type.is("integer") || p.Type.is("number"))
}

// A tool is one that may be called, and what its words tell.
type tool struct {
	provider.Tool
	props   []property
	choices [][]string // sets of which one is required, beside what always is
	name    []string   // concepts of its name
	weights map[string]float64
	along   map[string]bool // what it tells along with what it is about
	every   bool            // it tells of each of several things
	without map[string]bool // what its description says it does not do
	reads   medium          // what it reads by itself, from a file or a page
	gives   form            // what its answer is
	field   string          // where in its answer that is; empty for the whole answer
	writes  bool            // it changes what its path names
}

// A medium is where a tool reads from.
type medium int

const (
	fromNothing medium = iota
	fromFile
	fromWeb
)

// A form is what a text is written in.
type form string

// The forms that files and answers have. anyText is one of which no more is known.
const (
	anyText  form = "text"
	markdown form = "markdown"
	htmlForm form = "html"
	csvForm  form = "csv"
	jsonForm form = "json"
	xmlForm  form = "xml"
	pdfForm  form = "pdf"
	binary   form = "binary"
	facts    form = "" // no text to work on, but findings
)

// weights of the words of a tool, by where they stand.
const (
	inName        = 1.0
	inFirst       = 0.8 // the first sentence of the description
	inDescription = 0.5
	inProperty    = 0.45 // the name of a property
	inMeaning     = 0.3  // its description
)

// maxKnown is how many tools are kept taken apart, and maxKept how many bytes one may
// have to be kept.
const (
	maxKnown = 1024
	maxKept  = 64 << 10
)

// A catalog keeps tools taken apart, for each turn of a conversation has the same. It
// is safe for concurrent use; a tool in it is never changed.
type catalog struct {
	mu    sync.Mutex
	tools map[string]*tool
}

// known takes the tools of a request apart. One whose schema cannot be read has no
// properties, and is called with none or not at all.
func (l *lexicon) known(tools []provider.Tool) []*tool {
	all := make([]*tool, len(tools))
	for i, t := range tools {
		all[i] = l.catalog.get(t, l.tool)
	}
	return all
}

func (c *catalog) get(t provider.Tool, take func(provider.Tool) *tool) *tool {
	key := t.Name + "\x00" + t.Description + "\x00" + string(t.InputSchema)
	if len(key) > maxKept {
		return take(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.tools[key]
	if !ok {
		if k = take(t); c.tools == nil || len(c.tools) >= maxKnown {
			c.tools = map[string]*tool{}
		}
		c.tools[key] = k
	}
	return k
}

func (l *lexicon) tool(t provider.Tool) *tool {
	k := &tool{Tool: t, weights: map[string]float64{}, along: map[string]bool{}, without: map[string]bool{}}
	k.name = l.meanings(t.Name)
	for _, m := range k.name {
		k.weigh(m, inName)
	}
	l.describe(k)
	k.every = slices.ContainsFunc(wordsOf(t.Description), func(w string) bool { return w == "each" || w == "every" })
	l.properties(k)
	k.media()
	return k
}

func (k *tool) weigh(mean string, weight float64) { k.weights[mean] = max(k.weights[mean], weight) }

// describe weighs the words of the description. What stands behind "with" comes along
// with what the tool is about; what stands behind "without" or "never" is not what it does.
func (l *lexicon) describe(k *tool) {
	for i, sentence := range sentencesOf(k.Description) {
		weight := inDescription
		if i == 0 {
			weight = inFirst
		}
		does, not := negated(sentence)
		does, along, _ := strings.Cut(does, " with ")
		for _, m := range l.meanings(does) {
			k.weigh(m, weight)
		}
		for _, m := range l.meanings(along) {
			k.weigh(m, inDescription)
			k.along[m] = true
		}
		for _, m := range l.meanings(not) {
			k.without[m] = true
		}
	}
}

// negated cuts a sentence where it begins to say what is not.
func negated(sentence string) (does, not string) {
	lower := strings.ToLower(sentence)
	for _, w := range []string{"without ", "never ", "not ", "rather than ", "no "} {
		if i := strings.Index(" "+lower, " "+w); i >= 0 && i < len(sentence) {
			return sentence[:i], sentence[i+len(w)-1:]
		}
	}
	return sentence, ""
}

func sentencesOf(text string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(text, ". ", ".\n"), func(r rune) bool { return r == '\n' })
}

// properties reads the schema of the input: what is required comes first, in the
// order in which it is required, then the rest as it stands there.
func (l *lexicon) properties(k *tool) {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
		OneOf      []struct {
			Required []string `json:"required"`
		} `json:"oneOf"`
		AnyOf []struct {
			Required []string `json:"required"`
		} `json:"anyOf"`
	}
	if json.Unmarshal(k.InputSchema, &schema) != nil {
		return
	}
	for _, choice := range append(schema.OneOf, schema.AnyOf...) {
		if len(choice.Required) > 0 {
			k.choices = append(k.choices, choice.Required)
		}
	}
	var rest []property
	required := make([]property, len(schema.Required))
	for _, m := range membersOf(schema.Properties) {
		p := property{name: m.name, schema: m.value}
		if json.Unmarshal(m.value, &p) != nil {
			p = property{name: m.name, schema: m.value}
		}
		l.property(k, &p)
		if i := slices.Index(schema.Required, m.name); i >= 0 {
			p.required = true
			required[i] = p
			continue
		}
		rest = append(rest, p)
	}
	required = slices.DeleteFunc(required, func(p property) bool { return p.name == "" })
	k.props = append(required, rest...)
}

func (l *lexicon) property(k *tool, p *property) {
	p.means, p.about = l.meanings(p.name), l.meanings(p.Description)
	p.role = p.roleOf()
	first := strings.ToLower(p.Description)
	p.dirOnly = p.role == rolePath && (slices.Contains(p.means, "directory") || p.name == "root" || strings.HasPrefix(first, "the directory"))
	for _, m := range p.means {
		k.weigh(m, inProperty)
	}
	for _, m := range p.about {
		k.weigh(m, inMeaning)
	}
	for _, e := range p.Enum {
		k.weigh(l.meaning(e), inProperty)
	}
	delete(k.weights, "")
}

// roles are the names that properties usually have.
var roles = map[string]role{
	"path": rolePath, "file": rolePath, "filename": rolePath, "file_path": rolePath, "root": rolePath, "dir": rolePath, "directory": rolePath,
	"folder": rolePath, "url": roleURL, "uri": roleURL, "href": roleURL, "address": roleURL, "base_url": roleBase, "base": roleBase,
	"pattern": rolePattern, "query": rolePattern, "needle": rolePattern, "term": rolePattern, "regexp": rolePattern,
	"code": roleCode, "expression": roleCode, "script": roleCode, "program": roleCode, "sql": roleCode, "glob": roleGlob,
	"text": roleContent, "content": roleContent, "contents": roleContent, "markdown": roleContent, "html": roleContent, "csv": roleContent,
	"json": roleContent, "data": roleContent, "input": roleContent, "body": roleContent, "document": roleContent, "old": roleContent,
	"new": roleContent, "left": roleContent, "right": roleContent, "a": roleContent, "b": roleContent, "source": roleContent, "diff": roleContent,
	"message": roleContent, "xml": roleContent, "yaml": roleContent, "columns": roleColumns,
}

func (p *property) roleOf() role {
	if p.Items != nil && p.Type.is("array") {
		return p.listRole()
	}
	switch {
	case p.Encoding == "base64" || strings.Contains(p.name, "base64"):
		return roleBytes
	case slices.Contains(p.Type, "object") || slices.Contains(p.Type, "array"):
		return roleDocument
	case len(p.Type) == 0 && roles[p.name] == roleContent:
		return roleDocument
	case !p.Type.is("string") || len(p.Enum) > 0:
		return roleOther
	case p.Format == "uri" && roles[p.name] != roleBase:
		return roleURL
	}
	return roles[p.name]
}

func (p *property) listRole() role {
	_, column := p.Items.Properties["column"]
	_, op := p.Items.Properties["op"]
	_, descending := p.Items.Properties["descending"]
	switch {
	case column && op:
		return roleFilters
	case column && descending:
		return roleSorting
	case roles[p.name] == roleColumns && p.Items.Type.is("string"):
		return roleColumns
	}
	return roleDocument
}

// media finds out what a tool reads by itself, and what it answers.
func (k *tool) media() {
	k.gives, k.field = k.answers()
	k.writes = k.has(rolePath) && k.has(roleContent) && (k.weights["save"] >= inFirst || k.weights["append"] >= inFirst)
	content := slices.ContainsFunc(k.props, func(p property) bool { return p.required && p.role != rolePath && p.role != roleURL })
	switch {
	case content || k.writes || k.gives == facts:
	case k.has(roleURL) && k.weights["fetch"] >= inFirst:
		k.reads = fromWeb
		k.weigh("read", inFirst)
	case k.has(rolePath) && k.weights["read"] >= inFirst:
		k.reads = fromFile
	}
}

func (k *tool) has(r role) bool {
	return slices.ContainsFunc(k.props, func(p property) bool { return p.role == r })
}

// answers says what a tool answers: "html_to_text" a text, in the field "text".
func (k *tool) answers() (form, string) {
	if _, target, ok := strings.Cut(strings.ToLower(k.Name), "_to_"); ok {
		switch f := form(target); f {
		case anyText, markdown, htmlForm, csvForm:
			return f, target
		case jsonForm:
			return jsonForm, ""
		}
	}
	reads := slices.Contains(k.name, "read") && k.has(rolePath)
	switch {
	case slices.Contains(k.name, "summary"):
		return anyText, "summary"
	case slices.Contains(k.name, "compare"):
		return anyText, "diff"
	case reads && k.weights["text"] < inFirst:
		return binary, "base64"
	case reads, k.weights["fetch"] >= inFirst && k.has(roleURL):
		return anyText, "text"
	}
	return facts, ""
}

// wants is the form of the text that a property takes.
func (k *tool) wants(p property) form {
	switch f := form(p.name); f {
	case markdown, htmlForm, csvForm, jsonForm:
		return f
	}
	for _, f := range []form{csvForm, jsonForm} {
		if slices.Contains(p.about, string(f)) || slices.Contains(k.name, string(f)) && !strings.HasSuffix(k.Name, "to_"+string(f)) {
			return f
		}
	}
	return anyText
}

type member struct {
	name  string
	value json.RawMessage
}

// membersOf are the members of a JSON object in their order; none of anything
// else.
func membersOf(object json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil {
			return all
		}
		all = append(all, member{name, v})
	}
	return all
}
