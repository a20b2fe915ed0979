package main

import (
	"math"
	"unicode/utf16"
)

const (
	// maxStates bounds the saved graphics states of one page.
	maxStates = 512
	// maxForms bounds forms inside of forms.
	maxForms = 16
)

// state is the part of the graphics state that text depends on (ISO 32000-1,
// 9.3).
type state struct {
	ctm                  matrix
	font                 *font
	size                 float64
	charSpace, wordSpace float64
	stretch              float64
	leading, rise        float64
}

// resources are the named resources of a page or form. What a form leaves out
// it finds in those of its page.
type resources struct {
	entries dict
	fonts   map[string]*font
	outer   *resources
}

// interpreter runs the content streams of one page and gives the glyphs they
// show to a layout.
type interpreter struct {
	doc       *document
	out       *layout
	state     state
	saved     []state
	text      matrix // text matrix
	lineStart matrix // text line matrix
	resources *resources
	forms     int
	marks     []bool // open marked content; true where it has replacement text
	replacing bool
	replace   string
}

func newInterpreter(d *document, out *layout) *interpreter {
	return &interpreter{
		doc: d, out: out, text: identity, lineStart: identity,
		state: state{ctm: identity, font: d.missing, stretch: 1},
	}
}

// operator is what an operator of a content stream does.
type operator struct {
	operands int // how many it needs; it is skipped when there are fewer
	run      func(i *interpreter, args []operand, l *lexer)
}

// newOperators lists those that text depends on (ISO 32000-1, annex A).
func newOperators() map[string]operator {
	return map[string]operator{
		"q":   {0, func(i *interpreter, _ []operand, _ *lexer) { i.save() }},
		"Q":   {0, func(i *interpreter, _ []operand, _ *lexer) { i.restore() }},
		"cm":  {6, func(i *interpreter, a []operand, _ *lexer) { i.state.ctm = matrixOf(a).mul(i.state.ctm) }},
		"BT":  {0, func(i *interpreter, _ []operand, _ *lexer) { i.setMatrix(identity) }},
		"Tc":  {1, func(i *interpreter, a []operand, _ *lexer) { i.state.charSpace = a[0].num }},
		"Tw":  {1, func(i *interpreter, a []operand, _ *lexer) { i.state.wordSpace = a[0].num }},
		"Tz":  {1, func(i *interpreter, a []operand, _ *lexer) { i.state.stretch = a[0].num / 100 }},
		"TL":  {1, func(i *interpreter, a []operand, _ *lexer) { i.state.leading = a[0].num }},
		"Ts":  {1, func(i *interpreter, a []operand, _ *lexer) { i.state.rise = a[0].num }},
		"Tf":  {2, func(i *interpreter, a []operand, _ *lexer) { i.setFont(string(a[0].str), a[1].num) }},
		"gs":  {1, func(i *interpreter, a []operand, _ *lexer) { i.extendedState(string(a[0].str)) }},
		"Td":  {2, func(i *interpreter, a []operand, _ *lexer) { i.move(a[0].num, a[1].num) }},
		"TD":  {2, func(i *interpreter, a []operand, _ *lexer) { i.moveLeading(a[0].num, a[1].num) }},
		"Tm":  {6, func(i *interpreter, a []operand, _ *lexer) { i.setMatrix(matrixOf(a)) }},
		"T*":  {0, func(i *interpreter, _ []operand, _ *lexer) { i.move(0, -i.state.leading) }},
		"Tj":  {1, func(i *interpreter, a []operand, _ *lexer) { i.show(a[0].str) }},
		"TJ":  {1, func(i *interpreter, a []operand, l *lexer) { i.showList(l.items[a[0].from:a[0].to]) }},
		"'":   {1, func(i *interpreter, a []operand, _ *lexer) { i.showLine(a[0].str) }},
		"\"":  {3, func(i *interpreter, a []operand, _ *lexer) { i.showSpaced(a) }},
		"Do":  {1, func(i *interpreter, a []operand, _ *lexer) { i.drawNamed(string(a[0].str)) }},
		"BMC": {0, func(i *interpreter, _ []operand, _ *lexer) { i.beginMark("", false) }},
		"BDC": {2, func(i *interpreter, a []operand, l *lexer) { i.beginMarked(a[1], l) }},
		"EMC": {0, func(i *interpreter, _ []operand, _ *lexer) { i.endMark() }},
		"ID":  {0, func(_ *interpreter, _ []operand, l *lexer) { l.skipImage() }},
	}
}

// run interprets a content stream with the given resources, until it ends or
// the budget does.
func (i *interpreter) run(data []byte, r *resources) {
	outer := i.resources
	i.resources = r
	defer func() { i.resources = outer }()
	l := lexer{data: data}
	for word, ok := l.next(); ok && i.doc.work.spend(8+len(l.args)); word, ok = l.next() {
		op, known := i.doc.operators[string(word)]
		if !known || len(l.args) < op.operands {
			continue
		}
		op.run(i, l.args[len(l.args)-op.operands:], &l)
	}
}

func (i *interpreter) save() {
	if len(i.saved) < maxStates {
		i.saved = append(i.saved, i.state)
	}
}

func (i *interpreter) restore() {
	if n := len(i.saved); n > 0 {
		i.state, i.saved = i.saved[n-1], i.saved[:n-1]
	}
}

func matrixOf(a []operand) matrix {
	return matrix{a[0].num, a[1].num, a[2].num, a[3].num, a[4].num, a[5].num}
}

func (i *interpreter) setMatrix(m matrix) { i.text, i.lineStart = m, m }

func (i *interpreter) move(x, y float64) { i.setMatrix(i.lineStart.shift(x, y)) }

func (i *interpreter) moveLeading(x, y float64) {
	i.state.leading = -y
	i.move(x, y)
}

func (i *interpreter) setFont(name string, size float64) {
	i.state.font, i.state.size = i.resources.font(i.doc, name), size
}

// font returns the font of a name, looked up once per resource dictionary.
func (r *resources) font(d *document, name string) *font {
	if f, ok := r.fonts[name]; ok {
		return f
	}
	f := d.font(r.entry(d, "Font", name))
	if r.fonts == nil {
		r.fonts = map[string]*font{}
	}
	r.fonts[name] = f
	return f
}

// entry returns a named resource of a category, nil when there is none.
func (r *resources) entry(d *document, category, name string) object {
	for ; r != nil; r = r.outer {
		if o, ok := d.dict(r.entries[category])[name]; ok {
			return o
		}
	}
	return nil
}

// extendedState sets the font of a graphics state dictionary.
func (i *interpreter) extendedState(name string) {
	entry := i.doc.dict(i.resources.entry(i.doc, "ExtGState", name))
	if f := i.doc.array(entry["Font"]); len(f) == 2 {
		i.state.font = i.doc.font(f[0])
		i.state.size, _ = i.doc.number(f[1])
	}
}

func (i *interpreter) showLine(s []byte) {
	i.move(0, -i.state.leading)
	i.show(s)
}

func (i *interpreter) showSpaced(a []operand) {
	i.state.wordSpace, i.state.charSpace = a[0].num, a[1].num
	i.showLine(a[2].str)
}

func (i *interpreter) showList(items []operand) {
	for _, o := range items {
		if o.kind == numeral {
			i.advance(-o.num / 1000 * i.state.size)
			continue
		}
		i.show(o.str)
	}
}

// advance moves the pen along the line of text.
func (i *interpreter) advance(by float64) {
	if i.state.font.vertical {
		i.text = i.text.shift(0, by)
		return
	}
	i.text = i.text.shift(by*i.state.stretch, 0)
}

// show gives the glyphs of a string to the layout.
func (i *interpreter) show(s []byte) {
	st := &i.state
	i.doc.work.spend(16 * len(s))
	page := i.text.mul(st.ctm)
	along, unit := page.across().times(st.stretch), st.size
	if st.font.vertical {
		along, unit = page.up(), -st.size
	}
	on := line{true, along.times(math.Copysign(1, unit)).unit(), math.Abs(st.size) * st.font.em * page.up().length()}
	from := page.shift(0, st.rise).origin()
	hidden := i.out.repeated(s, from, on.size) || !from.finite()
	total := 0.0
	for len(s) > 0 {
		g, n := st.font.next(s)
		s = s[n:]
		step := st.step(g)
		to := from.plus(along.times(step))
		switch {
		case hidden:
		case !on.fresh && g.plain && !i.replacing:
			i.out.addPlain(g, from, to)
		default:
			i.glyph(&on, g, from, to)
		}
		total += step
		from = to
	}
	i.advance(total)
}

// step returns how far a glyph moves the pen.
func (st *state) step(g *glyph) float64 {
	step := g.advance*st.size + st.charSpace
	if st.font.vertical {
		step = -st.size + st.charSpace
	}
	if g.blank {
		step += st.wordSpace
	}
	return step
}

// glyph gives one glyph to the layout, or the text that replaces it.
func (i *interpreter) glyph(on *line, g *glyph, from, to vector) {
	i.out.glyphs++
	if !g.mapped {
		i.out.unmapped++
	}
	if i.replacing {
		replacement := newGlyph(i.replace, 0, false)
		g, i.replace = &replacement, ""
	}
	if g.text == "" || on.fresh && i.out.begin(on, g, from, to) {
		return
	}
	i.out.add(g, from, to)
}

// drawNamed runs a form; images have no text.
func (i *interpreter) drawNamed(name string) {
	i.draw(i.resources.entry(i.doc, "XObject", name), identity)
}

// draw runs a form after moving it by m.
func (i *interpreter) draw(form object, m matrix) {
	number := objectNumber(form)
	if i.doc.silent[number] {
		return
	}
	entries := i.doc.dict(form)
	if i.doc.name(entries["Subtype"]) != "Form" || i.forms >= maxForms || !i.doc.work.spend(1<<10) {
		return
	}
	r := &resources{entries: i.doc.dict(entries["Resources"]), outer: i.resources}
	kept, saved, text, line := i.state, i.saved, i.text, i.lineStart
	i.saved = nil
	i.forms++
	i.state.ctm = i.doc.matrix(entries["Matrix"]).mul(m).mul(i.state.ctm)
	before := i.out.strings
	i.run(i.doc.stream(form), r)
	if i.out.strings == before && number != 0 {
		i.doc.silent[number] = true
	}
	i.forms--
	i.state, i.saved, i.text, i.lineStart = kept, saved, text, line
}

// matrix reads an array of six numbers, the identity when it is none.
func (d *document) matrix(o object) matrix {
	a := d.array(o)
	if len(a) != 6 {
		return identity
	}
	var m matrix
	for n := range m {
		m[n], _ = d.number(a[n])
	}
	return m
}

// beginMarked opens marked content whose properties are written out in the
// stream or named among the resources.
func (i *interpreter) beginMarked(properties operand, l *lexer) {
	if properties.kind == symbol {
		entries := i.doc.dict(i.resources.entry(i.doc, "Properties", string(properties.str)))
		text := i.doc.str(entries["ActualText"])
		i.beginMark(textString(text), text != nil)
		return
	}
	items := l.items[properties.from:properties.to]
	for n := 0; n+1 < len(items); n++ {
		if items[n].kind == symbol && string(items[n].str) == "ActualText" && items[n+1].kind == chars {
			i.beginMark(textString(items[n+1].str), true)
			return
		}
	}
	i.beginMark("", false)
}

// beginMark opens marked content; with replacement text, that stands for all
// glyphs up to its end (ISO 32000-1, 14.9.4).
func (i *interpreter) beginMark(text string, replaces bool) {
	replaces = replaces && !i.replacing
	if replaces {
		i.replacing, i.replace = true, text
	}
	if len(i.marks) < maxStates {
		i.marks = append(i.marks, replaces)
	}
}

func (i *interpreter) endMark() {
	n := len(i.marks)
	if n == 0 {
		return
	}
	if i.marks[n-1] {
		i.replacing, i.replace = false, ""
	}
	i.marks = i.marks[:n-1]
}

// textString decodes a text string (ISO 32000-1, 7.9.2.2): UTF-16 or UTF-8 with
// a byte order mark, else PDFDocEncoding, read as Windows 1252, from which it
// differs in rare characters only.
func textString(s []byte) string {
	switch {
	case len(s) >= 2 && s[0] == 0xfe && s[1] == 0xff:
		return utf16Text(s[2:])
	case len(s) >= 2 && s[0] == 0xff && s[1] == 0xfe:
		units := make([]uint16, 0, len(s)/2)
		for n := 2; n+1 < len(s); n += 2 {
			units = append(units, uint16(s[n])|uint16(s[n+1])<<8)
		}
		return string(utf16.Decode(units))
	case len(s) >= 3 && s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf:
		return string(s[3:])
	}
	return latinText(s)
}
