package local

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A planner matches a goal to tools. What it decides depends on the goal and the
// tools alone: the same two give the same steps, before and after the tools have
// answered, and nothing that a tool answers has a say in it.
type planner struct {
	lex   *lexicon
	tools []*tool
	idf   map[string]float64
	most  float64 // of a word that no tool has

	steps   []step
	done    []outcome
	sources []source // what the clauses so far worked on
	output  *ref     // what the last of them came to, when that is a text
	passed  bool     // the last of them only read or converted it
}

// An outcome is what became of a clause: the steps it comes to, or none.
type outcome struct {
	clause clause
	made   []int
	score  float64
	near   []string // tools that come nearest, when none fits
	missed []string // words that nothing of the steps accounts for
}

// Bounds of a plan.
const (
	maxClauses = 24
	maxSteps   = 64 // as agent.MaxSteps
)

// fits is how much of a clause has to be matched for a tool to be called.
const fits = 0.5

func (l *lexicon) plan(goal string, before []string, tools []provider.Tool) *planner {
	p := &planner{lex: l, tools: l.known(tools), idf: map[string]float64{}}
	p.weigh()
	for _, b := range before {
		for _, c := range l.clauses(b) {
			if s := c.sources(); len(s) > 0 {
				p.sources = s
			}
		}
	}
	all := l.clauses(goal)
	for _, c := range all[:min(len(all), maxClauses)] {
		if !c.onlyNamesTools() {
			p.add(c, len(p.done))
		}
	}
	return p
}

// onlyNamesTools says whether a clause asks for nothing but that a tool is used.
func (c *clause) onlyNamesTools() bool {
	return c.says("use", "using", "call") && c.says("tool", "tools", "skill", "skills") &&
		!slices.ContainsFunc(c.tokens, func(t token) bool { return t.literal() })
}

// weigh gives a word the more weight the fewer tools have it.
func (p *planner) weigh() {
	n := map[string]int{}
	for _, t := range p.tools {
		for m, w := range t.weights {
			if w >= inProperty {
				n[m]++
			}
		}
	}
	total := float64(len(p.tools))
	for m, k := range n {
		p.idf[m] = math.Log(1 + total/float64(k))
	}
	p.most = math.Log(1 + 2*total)
}

func (p *planner) weight(mean string) float64 {
	if w, ok := p.idf[mean]; ok {
		return w
	}
	return p.most
}

// add plans a clause: with the file that it writes to, or plainly.
func (p *planner) add(c clause, number int) {
	o := outcome{clause: c}
	before := len(p.steps)
	if c.dest >= 0 {
		o = p.save(c, number)
	}
	if len(o.made) == 0 {
		o = p.plain(c, number)
	}
	if len(p.steps) > maxSteps {
		p.steps, o.made = p.steps[:before], nil
	}
	p.done = append(p.done, o)
	p.remember(c, o)
}

// remember keeps what later clauses can mean by "it".
func (p *planner) remember(c clause, o outcome) {
	if s := c.sources(); len(s) > 0 {
		p.sources, p.output = s, nil
	}
	p.passed = false
	if len(o.made) == 0 {
		return
	}
	i := o.made[len(o.made)-1]
	if t := p.steps[i].tool; t.gives != facts && !t.writes {
		p.output = p.result(i)
		p.passed = len(o.made) == 1 && !slices.Contains(t.name, "summary") && !slices.Contains(t.name, "compare")
	}
}

// result is what a step answers, with the form of what it read.
func (p *planner) result(i int) *ref {
	s := p.steps[i]
	r := &ref{step: i, field: s.tool.field, form: s.tool.gives}
	switch {
	case r.form != anyText:
	case s.tool.special() == pdfForm:
		r.form = pdfForm // no markup, table or page
	case s.from != nil && s.tool.special() == "":
		r.form, r.page = s.from.form, s.from.page()
	}
	return r
}

// A candidate is what a clause would come to with one tool.
type candidate struct {
	tool   *tool
	made   []int
	steps  []step
	used   []bool
	score  float64
	missed []string
}

// plain finds the tool that matches a clause best, of those whose input can be
// filled.
func (p *planner) plain(c clause, number int) outcome {
	o := outcome{clause: c}
	var best candidate
	before := len(p.steps)
	for _, t := range p.tools {
		if t.gives == binary && !c.says("base64", "binary", "bytes") && !c.hasForm(binary) && !c.hasForm(pdfForm) {
			continue // nobody reads that
		}
		b := p.builder(&c, number)
		made := b.try(t)
		x := candidate{tool: t, made: made, steps: slices.Clone(p.steps[before:]), used: b.used}
		x.score, x.missed = p.score(b, x)
		p.steps = p.steps[:before]
		if len(made) > 0 && x.score > best.score+1e-9 {
			best = x
		}
	}
	if best.score < fits {
		o.near = p.near(c)
		return o
	}
	p.steps = append(p.steps, best.steps...)
	o.made, o.score, o.missed = best.made, best.score, best.missed
	p.merge(&o, before)
	return o
}

// Parts of a score beside the share of the words that are matched.
const (
	perHelper = 0.8  // what a word counts that only a step before matches
	perName   = 0.15 // all words of the name of a tool are in the clause
	perStep   = 0.04 // taken off for each further step
	perTarget = 0.3  // taken off when the clause asks for another form than the tool gives
	perInput  = 0.04 // added for each word that became part of the input
)

// score says how much of the words of a clause the steps account for, and for which of
// them nothing does.
func (p *planner) score(b *builder, x candidate) (score float64, missed []string) {
	if len(x.made) == 0 {
		return 0, nil
	}
	var chain []*tool
	for _, s := range p.steps[b.from:] {
		chain = append(chain, s.tool)
	}
	matched, total, inputs, first := 0.0, 0.0, 0, true
	deny, limits := false, false
	for i, t := range b.clause.tokens {
		limits = limits || b.clause.limits(p.lex, i)
		deny = deny || b.clause.is(i, "without not never")
		if place := t.kind == pathName || t.kind == web; place && !handed(p.steps, t) {
			missed = append(missed, t.written())
		} else if b.used[i] && !place {
			inputs++
			first = false
			continue
		}
		if slices.Contains([]kind{quoted, number, value, pair, glob}, t.kind) && i != b.clause.dest && !handed(p.steps[min(b.from, len(p.steps)):], t) {
			missed = append(missed, t.written())
		}
		if b.asksMore(i, x.tool) {
			missed = append(missed, t.text)
		}
		if !p.lex.tells(t) || !first && p.beside(b.clause, i) || p.repeats(b.clause, t.mean) {
			continue
		}
		if deny {
			matched -= 2 * x.tool.weights[t.mean]
			if !x.tool.without[t.mean] && t.mean != "without" && !p.lex.actions[t.mean] {
				missed = append(missed, t.text)
			}
			continue
		}
		best := min(1, x.tool.weights[t.mean]/inFirst)
		for _, k := range chain {
			best = max(best, perHelper*min(1, k.weights[t.mean]/inFirst))
		}
		if first && best < p.least(t) {
			return 0, nil
		}
		if !x.accounts(chain, t.mean, limits) && !b.boundsUsed(i) && !slices.Contains(missed, t.text) {
			missed = append(missed, t.text)
		}
		first = false
		w := p.weight(t.mean)
		if _, known := p.idf[t.mean]; !known && (b.clause.hasForm(csvForm) || b.clause.hasForm(jsonForm)) {
			w /= 2 // it may be one of the names in the file
		}
		total += w
		matched += w * best
	}
	return p.rated(b, x, matched, total, inputs), missed
}

// accounts reports whether the steps do what a word says: the name or the first sentence of
// a tool has it, or an input that was filled is for it. A word of an input that is left out
// says what the tool could do. limits is whether the word says which of the things are
// wanted: those a tool tells along with them, and nothing else that it is about.
func (x *candidate) accounts(chain []*tool, mean string, limits bool) bool {
	for _, k := range chain {
		if limits && k.along[mean] || !limits && k.weights[mean] >= inFirst {
			return true
		}
	}
	return slices.ContainsFunc(x.steps, func(s step) bool {
		return slices.ContainsFunc(s.tool.props, func(q property) bool {
			return s.has(q.name) && (slices.Contains(q.means, mean) || q.role == roleOther && slices.Contains(q.about, mean))
		})
	})
}

// limits reports whether a word begins to say which things are wanted: "the lines that
// begin with a", "the files with numbers".
func (c *clause) limits(l *lexicon, i int) bool {
	if i == 0 || !c.is(i, "that which who whose") {
		return i > 0 && c.is(i, "with containing starting ending")
	}
	before := c.tokens[i-1]
	return l.tells(before) && !l.actions[before.mean] || before.kind == pathName || before.kind == web
}

// asksMore reports whether a word asks for what the tool does not answer: some of many by
// their order ("the first" is known to tools, with a number that became part of an input), an
// answer for each of what it counts together, when or why something is, what is to be done on
// a condition or, at the beginning, whether something is, which a text leaves to the reader.
func (b *builder) asksMore(i int, t *tool) bool {
	c := b.clause
	switch {
	case c.tokens[i].kind != word:
		return false
	case c.is(i, "last starting beginning ending why"):
		return true
	case c.is(i, "first"):
		return i > 0 && !(i+1 < len(c.tokens) && b.fills(func(p *property, value string) bool { return p.bounds() && value == c.tokens[i+1].text }))
	case c.is(i, "or"):
		return i > 0 && i+1 < len(b.used) && b.used[i-1] && b.used[i+1] // all conditions have to hold
	case c.is(i, "only"):
		return !b.chosen(i + 1)
	case c.is(i, "them those these"):
		return len(c.sources()) == 0 && b.listed()
	case c.is(i, "each every"):
		return slices.Contains(t.name, "count") && !t.every && len(c.sources()) < 2
	case c.is(i, "when"):
		return t.weights["date"] < inFirst
	case i == 0 && c.is(i, "is are was were does did has have"):
		up := t.reads == fromWeb && !slices.ContainsFunc(c.tokens, b.lex.tells) // that it answers says it
		return t.gives != facts && !up
	case c.tokens[i].mean == "sort" && c.says("by"):
		return !b.fills(func(p *property, _ string) bool { return p.role == roleSorting })
	}
	return c.condition(b.lex, i)
}

// chosen reports whether one of the words up to "in", "of" and the like became part of an
// input, or is the name of a file.
func (b *builder) chosen(from int) bool {
	for i := from; i < len(b.clause.tokens) && !b.clause.is(i, "in of from under at on"); i++ {
		if b.clause.tokens[i].literal() || b.used[i] {
			return true
		}
	}
	return false
}

// fills reports whether an input of the clause's own steps has a property that fits, with
// its value as JSON.
func (b *builder) fills(fits func(p *property, value string) bool) bool {
	return slices.ContainsFunc(b.steps[min(b.from, len(b.steps)):], func(s step) bool {
		return slices.ContainsFunc(s.fields, func(f field) bool {
			p := s.tool.property(func(p property) bool { return p.name == f.name })
			return p != nil && fits(p, string(f.value))
		})
	})
}

// listed reports whether the clause before came to findings, which no tool works on.
func (b *builder) listed() bool {
	n := len(b.done)
	return n > 0 && slices.ContainsFunc(b.done[n-1].made, func(i int) bool { return b.steps[i].tool.gives == facts })
}

// condition reports whether a word begins a condition, which no tool knows. Behind a verb,
// as in "see if", it is a question.
func (c *clause) condition(l *lexicon, i int) bool {
	return c.is(i, "unless until otherwise") || c.is(i, "if") && (i == 0 || !l.isAction(c.tokens[i-1].text) && !c.is(i-1, "me us out"))
}

// boundsUsed reports whether a word says that the number behind it is the most there may
// be, and that number became part of an input.
func (b *builder) boundsUsed(i int) bool {
	return b.clause.is(i, bounds) && i+1 < len(b.used) && b.used[i+1]
}

// handed reports whether a literal of the goal is part of an input of the steps; the name
// of a file or a page is all of one.
func handed(steps []step, t token) bool {
	text, _ := json.Marshal(t.text) // a string always can be
	if t.kind != pathName && t.kind != web {
		text = text[1 : len(text)-1]
	}
	return slices.ContainsFunc(steps, func(s step) bool {
		return slices.ContainsFunc(s.fields, func(f field) bool {
			return bytes.Contains(f.value, text) || string(f.value) == t.text
		})
	})
}

// least is how much the first word of a clause has to mean for a tool: the verb is
// what it does, not just a word of its description.
func (p *planner) least(t token) float64 {
	if p.lex.actions[t.mean] {
		return perHelper
	}
	return inProperty / inFirst
}

// repeats says whether a word is in the name of a file of the clause, or in what it
// quotes: "the customers of customers.csv".
func (p *planner) repeats(c *clause, mean string) bool {
	_, known := p.idf[mean]
	return slices.ContainsFunc(c.tokens, func(t token) bool {
		if t.kind != quoted && (t.kind != pathName || known) {
			return false
		}
		return slices.Contains(p.lex.meanings(t.text), mean)
	})
}

// target is the form that a clause asks for: "into HTML".
func (c *clause) target() form {
	for i, t := range c.tokens {
		switch f := form(t.mean); f {
		case anyText, markdown, htmlForm, csvForm, jsonForm:
			if slices.Contains([]string{"to", "into", "as"}, c.preposition(i)) {
				return f
			}
		}
	}
	return facts
}

// beside says whether a word that no tool knows only says what the file or page
// behind it is: "the picture logo.png".
func (p *planner) beside(c *clause, i int) bool {
	_, known := p.idf[c.tokens[i].mean]
	return !known && i+1 < len(c.tokens) && (c.tokens[i+1].kind == pathName || c.tokens[i+1].kind == web)
}

func (p *planner) rated(b *builder, x candidate, matched, total float64, inputs int) float64 {
	score := 0.6 // a clause that says nothing but which file: to read it is meant
	switch {
	case total > 0 && matched < 0.8*total && len(p.steps[x.made[0]].fields) == 0:
		return 0 // a call without any input has to be meant by every word
	case total > 0:
		score = matched / total
	case inputs == 0 && x.tool.reads == fromNothing:
		return 0
	}
	if target := b.clause.target(); target != facts && x.tool.gives != target {
		score -= perTarget
	}
	return score + perName*b.named(x.tool) - perStep*float64(len(p.steps)-b.from-len(x.made)) + perInput*float64(inputs)
}

// named is the share of the words of a tool's name that are in the clause.
func (b *builder) named(t *tool) float64 {
	if len(t.name) == 0 {
		return 0
	}
	n := 0
	for _, m := range t.name {
		if b.clause.means(m) || b.clause.hasForm(form(m)) {
			n++
		}
	}
	return float64(n) / float64(len(t.name))
}

func (c *clause) hasForm(f form) bool {
	return slices.ContainsFunc(c.sources(), func(s source) bool { return s.form == f })
}

// merge makes one call of two of the same tool on the same text that ask for
// different things: "filter ... and sort ...".
func (p *planner) merge(o *outcome, before int) {
	if len(p.done) == 0 || len(o.made) != 1 || len(p.steps) != before+1 {
		return
	}
	last := p.done[len(p.done)-1]
	if len(last.made) != 1 {
		return
	}
	s, t := &p.steps[last.made[0]], &p.steps[before]
	if s.tool != t.tool || s.tool.gives != facts || len(s.fields) == 0 || len(t.fields) == 0 ||
		!s.same(&step{tool: s.tool, fields: append(t.fields[:1:1], s.fields[1:]...)}) ||
		slices.ContainsFunc(t.fields[1:], func(f field) bool { return s.has(f.name) }) {
		return
	}
	s.fields = append(slices.Clone(s.fields), t.fields[1:]...)
	p.steps = p.steps[:before]
	o.made = last.made
}

// save plans a clause that says where its result is to be written: what is left of
// it without that is planned by itself.
func (p *planner) save(c clause, number int) outcome {
	o := outcome{clause: c}
	before := len(p.steps)
	if i, ok := p.write(c, number); ok {
		o.made, o.score = []int{i}, 1
	} else {
		p.steps = p.steps[:before]
	}
	return o
}

func (p *planner) write(c clause, number int) (made int, ok bool) {
	writer := p.writer(c)
	if writer == nil || p.conditional() {
		return 0, false
	}
	f := &filling{builder: p.builder(&c, number), tool: writer, step: step{tool: writer}}
	value, missed, ok := p.toSave(f, c, number)
	if !ok || len(missed) > 0 || !p.holds(formOf(c.tokens[c.dest]), value) {
		return 0, false
	}
	f.step.set(writer.property(func(q property) bool { return q.role == rolePath }).name, c.tokens[c.dest].text)
	value.name = writer.property(func(q property) bool { return q.role == roleContent }).name
	f.step.fields = append(f.step.fields, value)
	f.options()
	if !f.step.whole() {
		return 0, false
	}
	return f.add(f.step), true
}

// holds reports whether what is to be written is of the form that the name of the file
// says: what a tool found is JSON, and neither a table nor a page.
func (p *planner) holds(file form, value field) bool {
	switch {
	case file == pdfForm || file == binary:
		return false
	case value.ref == nil || value.ref.form == file:
		return true
	}
	asRead := value.ref.form == anyText && p.steps[value.ref.step].tool.reads != fromNothing
	switch file {
	case csvForm, htmlForm, xmlForm:
		return asRead
	case jsonForm:
		return asRead || value.ref.form == facts
	}
	return true
}

// writer is the tool that writes files.
func (p *planner) writer(c clause) *tool {
	var best *tool
	for _, t := range p.tools {
		if t.writes && (best == nil || c.means("append") && t.weights["append"] > best.weights["append"]) {
			best = t
		}
	}
	return best
}

// toSave is what a clause wants written: a text it quotes, what the rest of it comes
// to, or what was made before. Words of it that nothing accounts for are missed.
func (p *planner) toSave(f *filling, c clause, number int) (made field, missed []string, ok bool) {
	given := slices.IndexFunc(c.tokens, func(t token) bool { return t.kind == quoted || t.kind == value })
	switch {
	case c.kinds(quoted)+c.kinds(value) > 1:
		return field{}, nil, false // which of them is not said
	case given >= 0 && len(c.sources()) == 0:
		f.used[given] = true
		made, ok = f.content(material{text: &c.tokens[given].text}, anyText)
		return made, f.unwritten(), ok
	}
	if rest := p.rest(c); len(rest.tokens) > 0 {
		if o := p.plain(rest, number); len(o.made) == 1 {
			return field{ref: p.result(o.made[0])}, o.missed, true
		}
	}
	n := len(p.done)
	switch {
	case len(c.sources()) > 0:
	case p.output != nil:
		return field{ref: p.output}, nil, true
	case n > 0 && len(p.done[n-1].made) == 1:
		return field{ref: &ref{step: p.done[n-1].made[0]}}, p.done[n-1].missed, true
	}
	return field{}, nil, false
}

// unwritten are the words of a clause that want something else than that a text is written
// as it is: how often, where in the file, or only on a condition.
func (f *filling) unwritten() []string {
	var all []string
	for i, t := range f.clause.tokens {
		behind := i > f.clause.dest && f.lex.tells(t) && !slices.Contains([]string{"read", "text", "file", "word", "sentence", "row"}, t.mean)
		if !f.used[i] && (t.kind == number || behind || f.asksMore(i, f.tool)) {
			all = append(all, t.text)
		}
	}
	return all
}

// conditional reports whether a clause so far was a condition for those behind it.
func (p *planner) conditional() bool {
	return slices.ContainsFunc(p.done, func(o outcome) bool { return o.clause.condition(p.lex, 0) })
}

// rest is a clause without the file it writes to and the words that say so. The
// file itself tells what a conversion is to.
func (p *planner) rest(c clause) clause {
	r := clause{dest: -1}
	for i, t := range c.tokens {
		switch f := formOf(t); {
		case i == c.dest && f != anyText && c.means("convert"):
			r.tokens = append(r.tokens, token{kind: word, text: string(f), mean: string(f)})
		case i != c.dest && t.mean != "save" && t.mean != "append":
			r.tokens = append(r.tokens, t)
		}
	}
	if !slices.ContainsFunc(r.tokens, func(t token) bool { return t.literal() || p.lex.tells(t) }) {
		r.tokens = nil
	}
	return r
}

// near are the tools whose words match a clause best, whether they can be called
// or not.
func (p *planner) near(c clause) []string {
	score := map[string]float64{}
	var names []string
	for _, t := range p.tools {
		for _, x := range c.tokens {
			if p.lex.tells(x) {
				score[t.Name] += p.weight(x.mean) * t.weights[x.mean]
			}
		}
		if score[t.Name] > 0 {
			names = append(names, t.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	return names[:min(3, len(names))]
}
