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

// comparisons are the words for how values are compared. Longer ones come first.
var comparisons = []struct {
	words []string
	op    string
}{
	{[]string{"is", "greater", "than", "or", "equal", "to"}, "ge"}, {[]string{"is", "less", "than", "or", "equal", "to"}, "le"},
	{[]string{"is", "not", "empty"}, "filled"}, {[]string{"is", "empty"}, "empty"}, {[]string{"is", "missing"}, "empty"}, {[]string{"is", "blank"}, "empty"}, {[]string{"does", "not", "equal"}, "ne"},
	{[]string{"is", "greater", "than"}, "gt"}, {[]string{"is", "more", "than"}, "gt"}, {[]string{"is", "less", "than"}, "lt"},
	{[]string{"is", "at", "least"}, "ge"}, {[]string{"is", "at", "most"}, "le"}, {[]string{"is", "not"}, "ne"},
	{[]string{"is", "above"}, "gt"}, {[]string{"is", "over"}, "gt"}, {[]string{"is", "below"}, "lt"}, {[]string{"is", "under"}, "lt"},
	{[]string{"greater", "than"}, "gt"}, {[]string{"more", "than"}, "gt"}, {[]string{"less", "than"}, "lt"}, {[]string{"at", "least"}, "ge"},
	{[]string{"at", "most"}, "le"}, {[]string{"is", "equal", "to"}, "eq"}, {[]string{">", "="}, "ge"}, {[]string{"<", "="}, "le"},
	{[]string{"!", "="}, "ne"}, {[]string{"=", "="}, "eq"}, {[]string{"above"}, "gt"}, {[]string{"over"}, "gt"}, {[]string{"below"}, "lt"},
	{[]string{"under"}, "lt"}, {[]string{"equals"}, "eq"}, {[]string{"contains"}, "contains"}, {[]string{"containing"}, "contains"},
	{[]string{"is"}, "eq"}, {[]string{">"}, "gt"}, {[]string{"<"}, "lt"}, {[]string{"="}, "eq"},
}

// filters reads "where age is at least 30 and city=Oslo".
func (f *filling) filters(p property) {
	var all []condition
	for i := 0; i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if f.used[i] {
			continue
		}
		if t.kind == pair && !f.names(t.key) {
			all = append(all, condition{t.key, "eq", t.text})
			f.used[i] = true
			continue
		}
		c, end := f.condition(i)
		if end > 0 {
			all = append(all, c)
			for ; i < end; i++ {
				f.used[i] = true
			}
			i = end - 1
		}
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}

func (f *filling) names(key string) bool {
	return f.tool.property(func(p property) bool { return strings.EqualFold(p.name, key) }) != nil
}

// condition reads one, and where it ends; 0 when there is none.
func (f *filling) condition(i int) (condition, int) {
	t := f.clause.tokens[i]
	if t.kind != word && t.kind != quoted || f.lex.stop[strings.ToLower(t.text)] {
		return condition{}, 0
	}
	op, next := f.comparison(i + 1)
	if op == "" {
		return condition{}, 0
	}
	c := condition{Column: t.text, Op: op}
	if op == "empty" || op == "filled" {
		return c, next
	}
	if next >= len(f.clause.tokens) || f.clause.tokens[next].kind == mark || f.clause.tokens[next].kind == web {
		return condition{}, 0
	}
	c.Value = f.clause.tokens[next].text
	return c, next + 1
}

func (f *filling) comparison(from int) (op string, next int) {
	for _, c := range comparisons {
		if from+len(c.words) > len(f.clause.tokens) {
			continue
		}
		same := true
		for i, w := range c.words {
			t := f.clause.tokens[from+i]
			same = same && (t.kind == word || t.kind == mark) && strings.ToLower(t.text) == w
		}
		if same {
			return c.op, from + len(c.words)
		}
	}
	return "", 0
}

// order is a column to sort by.
type order struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
}

// sorting reads "sort by price, descending", "ordered by name and then age".
func (f *filling) sorting(p property) {
	at := slices.IndexFunc(f.clause.tokens, func(t token) bool {
		return t.kind == word && (t.mean == "sort" || strings.EqualFold(t.text, "top") || falling(t.text))
	})
	if at < 0 {
		return
	}
	by := slices.IndexFunc(f.clause.tokens[at:], func(t token) bool { return t.kind == word && strings.EqualFold(t.text, "by") })
	if by < 0 {
		return
	}
	var all []order
	end := at + by + 1
	for ; end < len(f.clause.tokens); end++ {
		t := f.clause.tokens[end]
		switch {
		case t.kind == mark || t.kind == word && slices.Contains([]string{"and", "then", "by", "the", "column", "in", "order"}, strings.ToLower(t.text)):
			continue
		case t.kind == word && falling(t.text) && len(all) > 0:
			all[len(all)-1].Descending = true
		case t.kind == word && strings.HasPrefix(strings.ToLower(t.text), "asc"):
		case t.kind == word && !f.lex.stop[strings.ToLower(t.text)], t.kind == quoted:
			all = append(all, order{Column: t.text})
		case t.kind == word && slices.Contains([]string{"from", "of", "with", "where"}, strings.ToLower(t.text)):
			end = len(f.clause.tokens)
			continue
		default:
			continue
		}
		f.used[end] = true
	}
	if i := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.kind == word && (falling(t.text) || strings.EqualFold(t.text, "top")) }); i >= 0 && len(all) == 1 {
		all[0].Descending, f.used[i] = true, true
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}

func falling(w string) bool {
	return slices.Contains([]string{"descending", "desc", "decreasing", "highest", "largest", "reverse", "descendingly", "greatest"}, strings.ToLower(w))
}

// columns reads "only the columns name and age", and "columns name, age".
func (f *filling) columns(p property) {
	at := slices.IndexFunc(f.clause.tokens, func(t token) bool { return t.kind == word && t.mean == "column" })
	if at < 0 {
		return
	}
	var all []string
	for i := at + 1; i < len(f.clause.tokens); i++ {
		t := f.clause.tokens[i]
		if t.kind == mark && t.text == "," || t.kind == word && strings.EqualFold(t.text, "and") {
			continue
		}
		if f.used[i] || t.kind != quoted && (t.kind != word || f.lex.stop[strings.ToLower(t.text)] || f.lex.isAction(t.text)) {
			break
		}
		all = append(all, t.text)
		f.used[i] = true
	}
	if len(all) > 0 {
		f.step.set(p.name, all)
	}
}
