package local

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// variants are the calls for what is worked on: one for each of several files or
// pages, unless the tool takes several at once.
func (f *filling) variants() []step {
	if f.tool.writes {
		return nil // see planner.save
	}
	contents := f.contents()
	switch {
	case len(contents) > 1:
		return f.together(contents)
	case len(contents) == 1:
		return f.each(contents[0])
	}
	return f.fileCalls()
}

// contents are the properties for the text to work on that the tool needs: all that
// are required, or the one of a choice.
func (f *filling) contents() []property {
	var all []property
	for _, p := range f.tool.props {
		if p.required && p.role == roleContent {
			all = append(all, p)
		}
	}
	if len(all) > 0 || f.tool.has(rolePath) {
		return all
	}
	if i := slices.IndexFunc(f.tool.props, func(p property) bool { return p.role == roleContent && f.tool.optional(p.name) }); i >= 0 {
		all = append(all, f.tool.props[i])
	}
	return all
}

// optional says whether a property is one of a choice.
func (k *tool) optional(name string) bool {
	return slices.ContainsFunc(k.choices, func(c []string) bool { return slices.Contains(c, name) })
}

// together fills several texts with as many materials, in their order.
func (f *filling) together(contents []property) []step {
	all := f.materials()
	if len(all) == 1 && all[0].source != nil {
		for _, m := range f.before() {
			if m.source == nil || m.source.name != all[0].source.name {
				all = append([]material{m}, all...)
			}
		}
	}
	if len(all) != len(contents) {
		return nil
	}
	for i, p := range contents {
		value, ok := f.content(all[i], f.form(p, all[i]))
		if !ok {
			return nil
		}
		f.subject(p, all[i], value)
	}
	return []step{f.step}
}

// form is what a material has to be for a property. Texts that are compared are
// taken as they are.
func (f *filling) form(p property, m material) form {
	want := f.tool.wants(p)
	if want == anyText && m.source != nil && slices.Contains(f.tool.name, "compare") {
		return m.source.form
	}
	return want
}

func (f *filling) subject(p property, m material, value field) {
	value.name = p.name
	f.step.fields = append([]field{value}, f.step.fields...)
	if len(f.step.fields) > 1 && f.step.fields[1].ref != nil {
		f.step.fields[0], f.step.fields[1] = f.step.fields[1], f.step.fields[0]
	}
	if m.token >= 0 {
		f.used[m.token] = true
	}
}

// each makes a call for each material.
func (f *filling) each(p property) []step {
	if s, ok := f.inline(p); ok {
		return []step{s}
	}
	options := f.step
	var all []step
	for _, m := range f.materials() {
		value, ok := f.content(m, f.form(p, m))
		if !ok {
			return nil
		}
		f.step = step{tool: f.tool, fields: slices.Clone(options.fields)}
		f.subject(p, m, value)
		if value.ref != nil {
			f.step.base(value.ref.page)
		}
		all = append(all, f.step)
	}
	return all
}

// inline takes a JSON value of the goal where a tool takes one instead of a text.
func (f *filling) inline(content property) (step, bool) {
	p := f.tool.property(func(p property) bool { return p.role == roleDocument && f.tool.optional(p.name) })
	if p == nil || content.required {
		return step{}, false
	}
	if f.step.has(p.name) {
		return f.step, true
	}
	for i, t := range f.clause.tokens {
		if t.kind == value && !f.used[i] {
			f.take(*p, i, json.RawMessage(t.text))
			return f.step, true
		}
	}
	return step{}, false
}

// base says where a page is from, for its relative addresses.
func (s *step) base(page string) {
	p := s.tool.property(func(p property) bool { return p.role == roleBase })
	if p != nil && page != "" && !s.has(p.name) {
		s.set(p.name, page)
	}
}

// fileCalls makes a call for each file, directory or page that a tool takes itself;
// one without any when it needs none.
func (f *filling) fileCalls() []step {
	p := f.tool.property(func(p property) bool { return p.role == rolePath || p.role == roleURL })
	if p == nil {
		return []step{f.step}
	}
	var all []step
	for _, s := range f.named(*p) {
		one := step{tool: f.tool, fields: slices.Clone(f.step.fields), from: &s}
		if s.name != "." || p.required {
			one.set(p.name, s.name)
		}
		all = append(all, one)
	}
	if all == nil && f.fetched() {
		return []step{f.step}
	}
	if all == nil && !p.required && !f.tool.optional(p.name) {
		return []step{f.step}
	}
	return all
}

// fetched fills the bytes of a page in where a tool takes files only by their path
// or as bytes.
func (f *filling) fetched() bool {
	p := f.tool.property(func(p property) bool { return p.role == roleBytes && f.tool.optional(p.name) })
	if p == nil {
		return false
	}
	for _, m := range f.materials() {
		if m.source == nil || !m.source.web || f.tool.special() != "" && m.source.form != f.tool.special() {
			continue
		}
		if r, ok := f.read(*m.source, binary); ok {
			f.subject(*p, m, field{ref: r})
			return true
		}
	}
	return false
}

// named are the places of the clause, or of those before it, that a property can
// name.
func (f *filling) named(p property) []source {
	var all []source
	for _, m := range f.materials() {
		if m.source == nil || m.source.web != (p.role == roleURL) || !f.tool.takes(p, *m.source) {
			continue
		}
		if m.token >= 0 {
			f.used[m.token] = true
		}
		all = append(all, *m.source)
	}
	if all == nil && p.dirOnly {
		all = f.directory()
	}
	return all
}

// takes says whether a property can name a source.
func (k *tool) takes(p property, s source) bool {
	if only := k.special(); only != "" && p.role == rolePath && s.form != only {
		return false
	}
	if p.dirOnly && !s.isDir() && !slices.Contains(p.about, "file") {
		return false
	}
	return k.gives != anyText || k.reads != fromFile || k.special() != "" || s.form != pdfForm && s.form != binary && !strings.HasSuffix(s.name, "/")
}

// directory is a bare word behind "in": "in docs", "the src directory".
func (f *filling) directory() []source {
	for i, t := range f.clause.tokens {
		if t.kind != word || f.used[i] || !f.namesDirectory(i) {
			continue
		}
		f.used[i] = true
		return []source{{name: path.Clean(t.text)}}
	}
	return nil
}

// namesDirectory says whether a word names a directory: it stands before "directory", or
// behind "in" and at the end.
func (f *filling) namesDirectory(i int) bool {
	last := i+1 == len(f.clause.tokens)
	if f.lex.stop[strings.ToLower(f.clause.tokens[i].text)] {
		return false
	}
	if !last && f.clause.tokens[i+1].mean == "directory" && f.clause.tokens[i].mean != "list" {
		return true
	}
	before := f.clause.preposition(i)
	if last && i > 0 && f.clause.tokens[i-1].mean == "list" && f.idf[f.clause.tokens[i].mean] == 0 {
		return true
	}
	return f.clause.tokens[i].mean != "directory" && f.clause.tokens[i].mean != "file" &&
		slices.Contains([]string{"in", "under", "inside", "below", "within", "of"}, before) &&
		(last || f.clause.tokens[i+1].kind == mark || f.used[i+1])
}
