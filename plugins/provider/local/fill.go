package local

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filling is an input in the making.
type filling struct {
	*builder
	tool *tool
	step step
}

// try makes the calls of a tool for the clause: one, or one for each of the files
// or pages that the clause names. The steps it returns are what the clause comes
// to; none means that an input cannot be filled.
func (b *builder) try(t *tool) []int {
	f := &filling{builder: b, tool: t, step: step{tool: t}}
	f.options()
	var made []int
	for _, s := range f.variants() {
		if !s.whole() {
			return nil
		}
		made = append(made, b.add(s))
	}
	return made
}

// options fills in what the clause itself says: everything but what is worked on.
func (f *filling) options() {
	for _, p := range f.tool.props {
		switch p.role {
		case rolePattern:
			f.pattern(p)
		case roleCode:
			f.literal(p, quoted)
		case roleGlob:
			f.literal(p, glob)
		case roleFilters:
			f.filters(p)
		case roleSorting:
			f.sorting(p)
		case roleColumns:
			f.columns(p)
		}
	}
	for _, p := range f.tool.props {
		chosen := p.role == roleDocument && f.tool.optional(p.name) // what is worked on, see inline
		if !f.step.has(p.name) && (p.role == roleOther || p.role == roleDocument) && !chosen {
			f.other(p)
		}
	}
}

// literal takes the first unused token of a kind.
func (f *filling) literal(p property, k kind) bool {
	for i, t := range f.clause.tokens {
		if t.kind == k && !f.used[i] && i != f.clause.dest {
			f.take(p, i, t.text)
			return true
		}
	}
	return false
}

func (f *filling) take(p property, i int, v any) {
	f.step.set(p.name, v)
	f.used[i] = true
}

// takeWords takes the words of some tokens.
func (f *filling) takeWords(p property, words string, from, to int) {
	f.step.set(p.name, words)
	for i := from; i < to; i++ {
		f.used[i] = true
	}
}

// pattern is what stands in quotes, or behind "for" up to where it says where, or, of
// "grep TODO in docs", the word behind the verb.
func (f *filling) pattern(p property) {
	if f.literal(p, quoted) || !p.required || !f.clause.means("search") && !f.clause.says("find", "where", "which") {
		return
	}
	for i := range f.clause.tokens {
		words, end := f.phrase(i + 1)
		behindVerb := i == 0 && !strings.Contains(words, " ") && f.idf[f.lex.meaning(words)] == 0
		named := f.clause.is(i, "for of about word string mentions mentioning") && !f.clause.is(i-1, "which")
		if words != "" && (behindVerb || named) {
			f.takeWords(p, words, i+1, end)
			return
		}
	}
}

// phrase are the words from a token up to one that says where, to a file, or to the
// end, and where they end.
func (f *filling) phrase(from int) (string, int) {
	var words []string
	i := from
	for ; i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if t.literal() || t.kind == mark || f.used[i] || f.clause.is(i, "or in under within inside across below from") {
			break
		}
		if len(words) > 0 || !f.clause.is(i, "the word string text all") {
			words = append(words, t.text)
		}
	}
	return strings.Join(words, " "), i
}

// other fills in a property by its name, by its values, or by what stands beside
// its words.
func (f *filling) other(p property) {
	switch {
	case f.byName(p):
	case p.role == roleDocument:
		f.document(p)
	case len(p.Enum) > 0:
		f.choice(p)
	case len(p.Type) == 0:
		f.beside(p)
	case p.Type.is("boolean"):
		f.flag(p)
	case p.isNumber():
		f.amount(p)
	case p.Type.is("string"):
		f.beside(p)
		if p.required && !f.step.has(p.name) {
			f.thing(p)
		}
	}
}

// thing is a name that a tool needs: what stands in quotes, or words with capitals
// behind "in", "for" and the like.
func (f *filling) thing(p property) {
	if f.literal(p, quoted) {
		return
	}
	for i := range f.clause.tokens {
		var words []string
		for end := i; end < len(f.clause.tokens) && f.clause.tokens[end].kind == word && !f.used[end]; end++ {
			if first, _ := utf8.DecodeRuneInString(f.clause.tokens[end].text); !unicode.IsUpper(first) {
				break
			}
			words = append(words, f.clause.tokens[end].text)
		}
		if before := f.clause.preposition(i); words != nil && slices.Contains(strings.Fields("in for of at from to about near is"), before) {
			f.takeWords(p, strings.Join(words, " "), i, i+len(words))
			return
		}
	}
}

// byName takes "limit=3".
func (f *filling) byName(p property) bool {
	for i, t := range f.clause.tokens {
		if t.kind != pair || !strings.EqualFold(t.key, p.name) || f.used[i] {
			continue
		}
		for _, v := range readings(t.text) {
			if p.fits(v) {
				f.take(p, i, v)
				return true
			}
		}
	}
	return false
}

// choice takes a value whose word the clause has, unless that is the default.
func (f *filling) choice(p property) {
	for i, t := range f.clause.tokens {
		if f.used[i] || t.mean == "" || slices.Contains(f.tool.name, t.mean) {
			continue
		}
		for _, v := range p.Enum {
			if f.lex.meaning(v) == t.mean && `"`+v+`"` != string(p.Default) {
				f.step.set(p.name, v)
				return
			}
		}
	}
}

// flag is true when the clause has the words of the name of a property that is false
// by itself, and the other way round behind "no" and "without".
func (f *filling) flag(p property) {
	if slices.ContainsFunc(p.means, func(m string) bool { return !f.clause.means(m) }) {
		return
	}
	for i, t := range f.clause.tokens {
		if !p.named(t.mean) || slices.Contains(f.tool.name, t.mean) {
			continue
		}
		if denied := f.clause.is(i-1, "no without not"); string(p.Default) == strconv.FormatBool(denied) {
			f.take(p, i, !denied)
		}
		return
	}
}

// named says whether a word is enough to mean a property: it is the last of its
// name, or all of it.
func (p *property) named(mean string) bool {
	return mean != "" && len(p.means) > 0 && (p.means[0] == mean || p.means[len(p.means)-1] == mean)
}

// amount takes the number whose neighbours are most like the words of a property,
// if none of the tool's other numbers is more like them.
func (f *filling) amount(p property) {
	if slices.Contains(p.about, "frequent") && !f.clause.means("frequent") && !f.clause.means("word") {
		return // what is most frequent is not the first of anything
	}
	best, bestScore := -1, 0.0
	for i, t := range f.clause.tokens {
		if t.kind != number || f.used[i] || !p.fits(json.RawMessage(t.text)) {
			continue
		}
		s := f.near(p, i)
		nearer := slices.ContainsFunc(f.tool.props, func(q property) bool { return q.isNumber() && f.near(q, i) > s })
		if s > bestScore && !nearer {
			best, bestScore = i, s
		}
	}
	if best >= 0 {
		f.take(p, best, json.RawMessage(f.clause.tokens[best].text))
	}
}

// near says how like the words of a property those beside a number are.
func (f *filling) near(p property, i int) float64 {
	score := 0.0
	for d := max(-2, -i); d <= 3 && i+d < len(f.clause.tokens); d++ {
		mean := f.clause.tokens[i+d].mean
		if d < 0 && p.bounds() && f.clause.is(i+d, bounds) {
			score += 0.3
			if d == -1 && !strings.HasPrefix(p.name, "max_") {
				score += 0.4
			}
		}
		if mean == "" || slices.Contains(f.tool.name, mean) {
			continue
		}
		if slices.Contains(p.means, mean) {
			score += 2 / float64(len(p.means))
		}
		if slices.Contains(p.about, mean) {
			score += 0.7
		}
	}
	if score < 0.6 {
		return 0
	}
	return score
}

// bounds are the words before a number that is the most there may be.
const bounds = "first top most atmost maximum max limit"

// bounds says whether a property is the most there may be of something.
func (p *property) bounds() bool {
	return slices.Contains([]string{"limit", "top", "max", "count", "n"}, p.name) || strings.HasPrefix(p.name, "max_")
}

// document takes a JSON value of the goal that fits a property, the last one. For a property
// that is not needed, its name has to stand before it.
func (f *filling) document(p property) {
	for i := len(f.clause.tokens) - 1; i >= 0; i-- {
		t := f.clause.tokens[i]
		if t.kind == value && !f.used[i] && p.fits(json.RawMessage(t.text)) && (p.required || i > 0 && p.named(f.clause.tokens[i-1].mean)) {
			f.take(p, i, json.RawMessage(t.text))
			return
		}
	}
}

// beside takes a quotation or a range behind the name of a property: password
// "secret", pages 2-5.
func (f *filling) beside(p property) {
	for i := 0; i+1 < len(f.clause.tokens); i++ {
		t, next := f.clause.tokens[i], f.clause.tokens[i+1]
		if !p.named(t.mean) && !f.clause.is(i, p.name) || f.used[i+1] {
			continue
		}
		if next.kind == quoted || next.kind == number && slices.Contains(p.means, t.mean) {
			f.used[i] = true
			f.take(p, i+1, next.text)
			return
		}
	}
}
