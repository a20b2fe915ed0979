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
	all := f.variants()
	var made []int
	for _, s := range all {
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
			f.code(p)
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

// pattern is what stands in quotes, or behind "for" up to where it says where.
func (f *filling) pattern(p property) {
	if f.literal(p, quoted) || !p.required || !f.clause.means("search") && !f.clause.says("find", "where", "which") {
		return
	}
	for i, t := range f.clause.tokens {
		if t.kind != word || i+1 == len(f.clause.tokens) || i > 0 && strings.EqualFold(f.clause.tokens[i-1].text, "which") || !slices.Contains([]string{"for", "of", "about", "word", "string", "mentions", "mentioning"}, strings.ToLower(t.text)) {
			continue
		}
		if words, end := f.phrase(i+1, "in", "under", "within", "inside", "across", "below", "from"); words != "" {
			f.step.set(p.name, words)
			f.use(i+1, end)
			return
		}
	}
	f.behindVerb(p)
}

// behindVerb is the pattern of "grep TODO in docs".
func (f *filling) behindVerb(p property) {
	if len(f.clause.tokens) < 2 || f.clause.tokens[0].mean != "search" && !strings.EqualFold(f.clause.tokens[0].text, "find") {
		return
	}
	if words, end := f.phrase(1, "in", "under", "within", "inside", "across", "below", "from"); words != "" && !strings.Contains(words, " ") && f.idf[f.lex.meaning(words)] == 0 {
		f.step.set(p.name, words)
		f.use(1, end)
	}
}

// phrase are the words from a token up to one of some others, to a file, or to the
// end, and where they end.
func (f *filling) phrase(from int, until ...string) (string, int) {
	var words []string
	i := from
	for ; i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if t.kind == pathName || t.kind == web || t.kind == glob || t.kind == mark || f.used[i] || strings.EqualFold(t.text, "or") || slices.Contains(until, strings.ToLower(t.text)) {
			break
		}
		if w := strings.ToLower(t.text); len(words) > 0 || w != "the" && w != "word" && w != "string" && w != "text" && w != "all" {
			words = append(words, t.text)
		}
	}
	return strings.Join(words, " "), i
}

func (f *filling) use(from, to int) {
	for i := from; i < to; i++ {
		f.used[i] = true
	}
}

// code is what stands in backticks or quotes, or behind a colon.
func (f *filling) code(p property) {
	for i, t := range f.clause.tokens {
		if t.kind == quoted && t.code && !f.used[i] {
			f.take(p, i, t.text)
			return
		}
	}
	f.literal(p, quoted)
}

// other fills in a property by its name, by its values, or by what stands beside
// its words.
func (f *filling) other(p property) {
	if f.byName(p) {
		return
	}
	switch {
	case p.role == roleDocument:
		f.document(p)
	case len(p.Enum) > 0:
		f.choice(p)
	case p.Type.is("boolean") && len(p.Type) > 0:
		f.flag(p)
	case p.Type.is("integer") && len(p.Type) > 0, p.Type.is("number") && len(p.Type) > 0:
		f.amount(p)
	case p.Type.is("string"):
		f.beside(p)
		if p.required && !f.step.has(p.name) {
			f.thing(p)
		}
	}
}

// thing is a name that a tool needs: what stands in quotes, or a word with a capital
// behind "in", "for" and the like.
func (f *filling) thing(p property) {
	if f.literal(p, quoted) {
		return
	}
	for i := 1; i < len(f.clause.tokens); i++ {
		end := i
		for end < len(f.clause.tokens) && f.clause.tokens[end].kind == word && !f.used[end] && capital(f.clause.tokens[end].text) {
			end++
		}
		if before := f.clause.preposition(i); end > i && slices.Contains([]string{"in", "for", "of", "at", "from", "to", "about", "near", "is"}, before) {
			var words []string
			for _, t := range f.clause.tokens[i:end] {
				words = append(words, t.text)
			}
			f.step.set(p.name, strings.Join(words, " "))
			f.use(i, end)
			return
		}
	}
}

func capital(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// byName takes "limit=3".
func (f *filling) byName(p property) bool {
	for i, t := range f.clause.tokens {
		if t.kind != pair || !strings.EqualFold(t.key, p.name) || f.used[i] {
			continue
		}
		if v, ok := p.parse(t.text); ok {
			f.take(p, i, v)
			return true
		}
	}
	return false
}

// parse reads a value of a property out of a text.
func (p *property) parse(text string) (json.RawMessage, bool) {
	var v any = text
	switch {
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
		return nil, false
	case p.Type.is("string"):
	case json.Valid([]byte(text)):
		v = json.RawMessage(text)
	default:
		return nil, false
	}
	b, err := json.Marshal(v)
	return b, err == nil
}

// choice takes a value whose word the clause has, unless that is the default.
func (f *filling) choice(p property) {
	for i, t := range f.clause.tokens {
		if t.kind != word || f.used[i] || t.mean == "" || slices.Contains(f.tool.name, t.mean) {
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
		if t.kind != word || f.used[i] || !p.named(t.mean) || slices.Contains(f.tool.name, t.mean) {
			continue
		}
		denied := i > 0 && slices.Contains([]string{"no", "without", "not"}, strings.ToLower(f.clause.tokens[i-1].text))
		if string(p.Default) == strconv.FormatBool(denied) {
			f.step.set(p.name, !denied)
			f.used[i] = true
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
		if t.kind != number || f.used[i] || !p.allows(t.text) {
			continue
		}
		if s := f.near(p, i); s > bestScore && s >= f.nearest(i) {
			best, bestScore = i, s
		}
	}
	if best >= 0 {
		f.take(p, best, json.RawMessage(f.clause.tokens[best].text))
	}
}

// nearest is how near the property is that a number is nearest to.
func (f *filling) nearest(i int) float64 {
	best := 0.0
	for _, p := range f.tool.props {
		if (p.Type.is("integer") || p.Type.is("number")) && len(p.Type) > 0 {
			best = max(best, f.near(p, i))
		}
	}
	return best
}

// near says how like the words of a property those beside a number are.
func (f *filling) near(p property, i int) float64 {
	score := 0.0
	for d := -2; d <= 3; d++ {
		if d == 0 || i+d < 0 || i+d >= len(f.clause.tokens) {
			continue
		}
		t := f.clause.tokens[i+d]
		if t.kind == word && slices.Contains(bounds, strings.ToLower(t.text)) && d < 0 && p.bounds() {
			score += 0.3
			if d == -1 && !strings.HasPrefix(p.name, "max_") {
				score += 0.4
			}
		}
		if t.kind != word || t.mean == "" || slices.Contains(f.tool.name, t.mean) {
			continue
		}
		if slices.Contains(p.means, t.mean) {
			score += 2 / float64(len(p.means))
		}
		if slices.Contains(p.about, t.mean) {
			score += 0.7
		}
	}
	if score < 0.6 {
		return 0
	}
	return score
}

// bounds are the words before a number that is the most there may be.
var bounds = []string{"first", "top", "most", "atmost", "maximum", "max", "limit"}

// bounds says whether a property is the most there may be of something.
func (p *property) bounds() bool {
	return slices.Contains([]string{"limit", "top", "max", "count", "n"}, p.name) || strings.HasPrefix(p.name, "max_")
}

// allows says whether a number is one that a property may be.
func (p *property) allows(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !p.Type.is("number") && v != float64(int64(v)) {
		return false
	}
	return (p.Minimum == nil || v >= *p.Minimum) && (p.Maximum == nil || v <= *p.Maximum)
}

// document takes a JSON value of the goal that has the type of a property. One that
// is not needed has to be named before it.
func (f *filling) document(p property) {
	fits := func(i int) bool {
		t, is := f.clause.tokens[i], map[byte]string{'{': "object", '[': "array"}
		return t.kind == value && !f.used[i] && p.Type.is(is[t.text[0]])
	}
	for i := 1; i < len(f.clause.tokens); i++ {
		if fits(i) && p.named(f.clause.tokens[i-1].mean) {
			f.take(p, i, json.RawMessage(f.clause.tokens[i].text))
			return
		}
	}
	for i := len(f.clause.tokens) - 1; i >= 0 && p.required; i-- { // "validate VALUE against SCHEMA"
		if fits(i) {
			f.take(p, i, json.RawMessage(f.clause.tokens[i].text))
			return
		}
	}
}

// beside takes a quotation or a range behind the name of a property: password
// "secret", pages 2-5.
func (f *filling) beside(p property) {
	for i := 0; i+1 < len(f.clause.tokens); i++ {
		t, next := f.clause.tokens[i], f.clause.tokens[i+1]
		if t.kind != word || !p.named(t.mean) && !strings.EqualFold(t.text, p.name) || f.used[i+1] {
			continue
		}
		if next.kind == quoted || next.kind == number && slices.Contains(p.means, t.mean) {
			f.used[i] = true
			f.take(p, i+1, next.text)
			return
		}
	}
}
