package local

import (
	"slices"
	"strings"
)

// A condition is one on a column.
type condition struct {
	Column string `json:"column"`
	Op     string `json:"op"`
	Value  string `json:"value,omitempty"`
}

// comparisons are the words for how values are compared, with "is" before them or without.
// Longer ones come first.
var comparisons = []struct{ op, words string }{
	{"ge", "greater than or equal to"}, {"le", "less than or equal to"}, {"ne", "does not equal"}, {"filled", "not empty"},
	{"gt", "greater than"}, {"gt", "more than"}, {"lt", "less than"}, {"ge", "at least"}, {"le", "at most"}, {"eq", "equal to"},
	{"ge", "> ="}, {"le", "< ="}, {"ne", "! ="}, {"eq", "= ="}, {"gt", ">"}, {"lt", "<"}, {"eq", "="},
	{"gt", "above"}, {"gt", "over"}, {"lt", "below"}, {"lt", "under"}, {"eq", "equals"}, {"contains", "contains"}, {"contains", "containing"},
	{"empty", "empty"}, {"empty", "missing"}, {"empty", "blank"}, {"ne", "not"},
}

// filters reads "where age is at least 30 and city=Oslo".
func (f *filling) filters(p property) {
	var all []condition
	for i := 0; i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if t.kind == pair && f.tool.property(func(p property) bool { return strings.EqualFold(p.name, t.key) }) == nil {
			all = append(all, condition{t.key, "eq", t.text})
			f.used[i] = true
		} else if c, end := f.condition(i); end > 0 {
			all = append(all, c)
			for ; i < end; i++ {
				f.used[i] = true
			}
			i--
		}
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}

// condition reads one, and where it ends; 0 when none begins at a token.
func (f *filling) condition(i int) (condition, int) {
	t := f.clause.tokens[i]
	if t.kind != word && t.kind != quoted || f.lex.stop[strings.ToLower(t.text)] {
		return condition{}, 0
	}
	op, next := f.comparison(i + 1)
	c := condition{Column: t.text, Op: op}
	if op == "empty" || op == "filled" {
		return c, next
	}
	if op == "" || next >= len(f.clause.tokens) || f.clause.tokens[next].kind == mark {
		return condition{}, 0
	}
	c.Value = f.clause.tokens[next].text
	return c, next + 1
}

func (f *filling) comparison(from int) (op string, next int) {
	is := f.clause.is(from, "is")
	if is {
		from++
	}
	for _, c := range comparisons {
		words := strings.Fields(c.words)
		if from+len(words) > len(f.clause.tokens) || !is && (c.op == "empty" || c.words == "not") {
			continue
		}
		if slices.EqualFunc(words, f.clause.tokens[from:from+len(words)], func(w string, t token) bool { return t.kind <= mark && strings.EqualFold(t.text, w) }) {
			return c.op, from + len(words)
		}
	}
	if is {
		return "eq", from
	}
	return "", 0
}

// order is a column to sort by.
type order struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
}

// falling are words for the largest first.
const falling = "descending desc decreasing highest largest reverse descendingly greatest"

// sorting reads "sort by price, descending", "ordered by name and then age".
func (f *filling) sorting(p property) {
	at := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.mean == "sort" || t.isAny(strings.Fields("top "+falling)) })
	by := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.isAny([]string{"by"}) })
	if at < 0 || by < at {
		return
	}
	var all []order
	for i := by + 1; i < len(f.clause.tokens) && !f.clause.is(i, "from of with where"); i++ {
		switch t := f.clause.tokens[i]; {
		case len(all) > 0 && f.clause.is(i, falling):
			all[len(all)-1].Descending = true
		case f.clause.is(i, "asc ascending"):
		case t.kind == quoted, t.kind == word && !f.lex.stop[strings.ToLower(t.text)] && !f.clause.is(i, "column order"):
			all = append(all, order{Column: t.text})
		default:
			continue
		}
		f.used[i] = true
	}
	if i := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.isAny(strings.Fields("top " + falling)) }); i >= 0 && len(all) == 1 {
		all[0].Descending, f.used[i] = true, true
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}

// columns reads "only the columns name and age", and "columns name, age".
func (f *filling) columns(p property) {
	at := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.mean == "column" })
	var all []string
	for i := at + 1; at >= 0 && i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if t.kind == mark && t.text == "," || f.clause.is(i, "and") {
			continue
		}
		if t.kind != quoted && (t.kind != word || f.lex.stop[strings.ToLower(t.text)] || f.lex.isAction(t.text)) {
			break
		}
		all = append(all, t.text)
		f.used[i] = true
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}
