package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// A step is one call of a plan.
type step struct {
	tool   *tool
	fields []field
	clause int
	from   *source // what it reads by itself
}

// A field is a member of an input: a value that is known, or what a step answers.
type field struct {
	name  string
	value json.RawMessage
	ref   *ref
}

// A ref stands for what a step answers: a field of it, or all of it.
type ref struct {
	step  int
	field string
	form  form
	page  string // the address of the page that it is
}

func (s *step) set(name string, v any) {
	b, err := json.Marshal(v)
	if raw, ok := v.(json.RawMessage); ok {
		b, err = raw, nil
	}
	if err == nil {
		s.fields = append(s.fields, field{name: name, value: b})
	}
}

func (s *step) has(name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return f.name == name })
}

// whole says whether all that an input needs is there, and no two alternatives are.
func (s *step) whole() bool {
	for _, p := range s.tool.props {
		if p.required && !s.has(p.name) {
			return false
		}
	}
	met := 0
	for _, choice := range s.tool.choices {
		if !slices.ContainsFunc(choice, func(n string) bool { return !s.has(n) }) {
			met++
		}
	}
	return len(s.tool.choices) == 0 || met == 1
}

// same says whether two steps are one call.
func (s *step) same(o *step) bool {
	return s.tool == o.tool && slices.EqualFunc(s.fields, o.fields, func(a, b field) bool {
		return a.name == b.name && bytes.Equal(a.value, b.value) && (a.ref == nil) == (b.ref == nil) && (a.ref == nil || *a.ref == *b.ref)
	})
}

// A builder makes the steps for one clause with one tool. Steps that are there
// already are used again.
type builder struct {
	*planner
	clause *clause
	number int
	used   []bool // tokens that became part of an input
	from   int    // where its own steps begin
}

func (p *planner) builder(c *clause, number int) *builder {
	return &builder{planner: p, clause: c, number: number, used: make([]bool, len(c.tokens)), from: len(p.steps)}
}

// add adds a step, or finds the same one.
func (b *builder) add(s step) int {
	for i := range b.steps {
		if b.steps[i].same(&s) {
			return i
		}
	}
	s.clause = b.number
	b.steps = append(b.steps, s)
	return len(b.steps) - 1
}

// A material is what a call can work on.
type material struct {
	source *source // a file or a page that is to be read
	text   *string // a text of the goal
	made   *ref    // what a step answers
	token  int     // of a text or a source of this clause; -1 for one from before
}

// materials are what a clause works on: what it names, or what was named or made
// before.
func (b *builder) materials() []material {
	var all []material
	for i, t := range b.clause.tokens {
		if b.used[i] || i == b.clause.dest {
			continue
		}
		switch t.kind {
		case pathName, web:
			all = append(all, material{source: &source{t.text, t.kind == web, formOf(t)}, token: i})
		case quoted:
			all = append(all, material{text: &b.clause.tokens[i].text, token: i})
		}
	}
	if named := slices.DeleteFunc(slices.Clone(all), func(m material) bool { return m.source == nil }); len(named) > 0 {
		return named
	}
	if len(all) > 0 {
		return all
	}
	return b.before()
}

// before is what clauses before this one worked on, or made.
func (b *builder) before() []material {
	if b.output != nil && (len(b.sources) == 0 || b.passed || b.clause.says("it", "result", "results", "output", "that", "this")) {
		return []material{{made: b.output, token: -1}}
	}
	var all []material
	for i := range b.sources {
		all = append(all, material{source: &b.sources[i], token: -1})
	}
	return all
}

// read returns what stands for the text of a source, or for its bytes.
func (b *builder) read(s source, want form) (*ref, bool) {
	if s.form == pdfForm && want != binary {
		return b.readPDF(s)
	}
	if s.form == binary && want != binary {
		return nil, false
	}
	t := b.reader(s, want)
	if t == nil {
		return nil, false
	}
	call, ok := readCall(t, s)
	if !ok {
		return nil, false
	}
	r := &ref{field: t.field, form: s.form, page: s.page()}
	if want == binary && s.web {
		p := t.property(func(p property) bool { return slices.Contains(p.Enum, "base64") })
		if p == nil {
			return nil, false
		}
		call.set(p.name, "base64")
		r.field, r.form = "base64", binary
	}
	r.step = b.add(call)
	return r, true
}

// readCall is the call of a reader for a source.
func readCall(t *tool, s source) (step, bool) {
	call := step{tool: t}
	p := t.property(func(p property) bool { return p.role == rolePath && !s.web || p.role == roleURL && s.web })
	if p == nil {
		return call, false
	}
	call.set(p.name, s.name)
	call.from = &s
	return call, call.whole()
}

// readPDF reads the text of a PDF file. One that is elsewhere is fetched first.
func (b *builder) readPDF(s source) (*ref, bool) {
	i := slices.IndexFunc(b.tools, func(t *tool) bool { return t.gives == anyText && t.reads == fromFile && t.special() == pdfForm })
	if i < 0 {
		return nil, false
	}
	t := b.tools[i]
	call, ok := readCall(t, s)
	if s.web {
		p := t.property(func(p property) bool { return p.role == roleBytes })
		bytes, fetched := b.read(source{s.name, true, pdfForm}, binary)
		if ok = p != nil && fetched; ok {
			call.fields = append(call.fields, field{name: p.name, ref: bytes})
		}
	}
	if !ok || !call.whole() {
		return nil, false
	}
	return &ref{step: b.add(call), field: t.field, form: pdfForm}, true
}

// reader is the tool that reads a source.
func (b *builder) reader(s source, want form) *tool {
	medium := map[bool]medium{false: fromFile, true: fromWeb}[s.web]
	i := slices.IndexFunc(b.tools, func(t *tool) bool {
		return t.reads == medium && t.special() == "" && (s.web || (t.gives == binary) == (want == binary))
	})
	if i < 0 {
		return nil
	}
	return b.tools[i]
}

// special is the only form of files that a tool reads; empty for any.
func (k *tool) special() form {
	for _, f := range []form{pdfForm, csvForm, jsonForm, htmlForm, markdown} {
		if slices.Contains(k.name, string(f)) {
			return f
		}
	}
	return ""
}

func (k *tool) property(fits func(property) bool) *property {
	i := slices.IndexFunc(k.props, fits)
	if i < 0 {
		return nil
	}
	return &k.props[i]
}

// content returns what stands for a material in the form that is wanted.
func (b *builder) content(m material, want form) (field, bool) {
	if m.text != nil {
		f := field{}
		f.value, _ = json.Marshal(*m.text) // a string always can
		return f, true
	}
	r := m.made
	if m.source != nil {
		var ok bool
		if r, ok = b.read(*m.source, want); !ok {
			return field{}, false
		}
	}
	r, ok := b.inForm(r, want)
	return field{ref: r}, ok
}

// inForm converts what a step answers where a tool can and the form asks for it. A text of
// which no more is known may be of any form.
func (b *builder) inForm(r *ref, want form) (*ref, bool) {
	if r.form == want || want == anyText && r.form != htmlForm && r.form != binary {
		return r, true
	}
	for _, t := range b.tools {
		p := t.property(func(p property) bool { return p.required && p.role == roleContent })
		if t.gives != want || p == nil || t.wants(*p) != r.form || r.form == anyText {
			continue
		}
		call := step{tool: t, fields: []field{{name: p.name, ref: r}}}
		call.base(r.page)
		if call.whole() {
			return &ref{step: b.add(call), field: t.field, form: want}, true
		}
	}
	return r, r.form == anyText && want != binary
}

// input is a step's input as JSON; how tells what stands for the answer of a step,
// and says whether there is something.
func (s *step) input(how func(*ref) (json.RawMessage, error)) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range s.fields {
		v := f.value
		if f.ref != nil {
			var err error
			if v, err = how(f.ref); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
