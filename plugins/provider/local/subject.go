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
	all := slices.DeleteFunc(slices.Clone(f.tool.props), func(p property) bool { return p.role != roleContent || !p.required })
	if len(all) == 0 && !f.tool.has(rolePath) {
		if p := f.tool.property(func(p property) bool { return p.role == roleContent && f.tool.optional(p.name) }); p != nil {
			all = append(all, *p)
		}
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
	if len(all) != len(contents) {
		return nil
	}
	for i, p := range contents {
		value, ok := f.content(all[i], f.tool.wants(p))
		if !ok {
			return nil
		}
		f.subject(p, all[i], value)
	}
	return []step{f.step}
}

func (f *filling) subject(p property, m material, value field) {
	value.name = p.name
	f.step.fields = append([]field{value}, f.step.fields...)
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
		value, ok := f.content(m, f.tool.wants(p))
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
	if all == nil && !p.required && !f.tool.optional(p.name) {
		return []step{f.step}
	}
	return all
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
	only := k.special()
	switch {
	case only != "":
		return s.form == only
	case p.dirOnly:
		return s.isDir() || slices.Contains(p.about, "file")
	}
	return k.gives != anyText || k.reads != fromFile || s.form != pdfForm && s.form != binary && !strings.HasSuffix(s.name, "/")
}

// directory is a bare word behind "in" or a verb: "in docs", "the src directory", "ls src".
func (f *filling) directory() []source {
	for i, t := range f.clause.tokens {
		if t.kind == word && !f.used[i] && f.namesDirectory(i) {
			f.used[i] = true
			return []source{{name: path.Clean(t.text)}}
		}
	}
	return nil
}

func (f *filling) namesDirectory(i int) bool {
	all := f.clause.tokens
	if mean := all[i].mean; mean == "directory" || mean == "file" || f.lex.stop[strings.ToLower(all[i].text)] {
		return false
	}
	last := i+1 == len(all)
	switch {
	case !last && all[i+1].mean == "directory" && all[i].mean != "list", last && i > 0 && all[i-1].mean == "list":
		return true
	}
	return (last || all[i+1].kind == mark || f.used[i+1]) && slices.Contains(strings.Fields("in under inside below within of"), f.clause.preposition(i))
}
