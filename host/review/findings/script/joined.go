package script

import "iter"

// Joined yields the tokens of a source without comments, and with literals that
// are only put together by + or by standing side by side as one literal: what
// they say at run time. It does not follow variables.
func Joined(l Language, src []byte) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		j := joiner{yield: yield, adjacent: l == Python}
		for t := range Tokens(l, src) {
			if t.Kind == Comment {
				continue
			}
			if !j.take(t) {
				return
			}
		}
		j.flush()
	}
}

// A joiner holds back what may be the beginning of a longer literal.
type joiner struct {
	yield    func(Token) bool
	adjacent bool // literals side by side are one
	open     bool // a literal is held back
	literal  Token
	text     []byte
	plus     *Token // behind it
}

// take reports false when no more is wanted.
func (j *joiner) take(t Token) bool {
	switch {
	case t.Kind == Literal && j.open && (j.plus != nil || j.adjacent) && !j.literal.Hole:
		j.text = append(j.text, t.Text...)
		j.literal.End, j.literal.Hole, j.plus = t.End, t.Hole, nil
		return true
	case t.Kind == Literal:
		ok := j.flush()
		j.open, j.literal, j.text = true, t, append(j.text[:0], t.Text...)
		return ok
	case j.open && t.Text == "+" && t.Kind == Other && j.plus == nil && !j.literal.Hole:
		j.plus = &t
		return true
	}
	return j.flush() && j.yield(t)
}

// flush yields what was held back.
func (j *joiner) flush() bool {
	if !j.open {
		return true
	}
	plus := j.plus
	j.open, j.plus, j.literal.Text = false, nil, string(j.text)
	return j.yield(j.literal) && (plus == nil || j.yield(*plus))
}
