package resolve

import (
	"fmt"
	"strings"
)

// A Conflict says why nothing fits. It wraps [ErrConflict].
type Conflict struct {
	// Lines are the derivation, each a sentence that follows from facts and from
	// what was said before; the last is the conclusion.
	Lines []Line
}

// A Line is one step of a derivation.
type Line struct {
	Number int // by which later lines refer to it; 0 when none does
	Text   string
}

// maxLines is how much of a derivation is written: the end of it.
const maxLines = 60

// Error returns the derivation, one line for each step, and for one that is
// referred to its number in front.
func (c *Conflict) Error() string {
	return ErrConflict.Error() + ":\n" + c.derivation()
}

// Unwrap returns [ErrConflict].
func (c *Conflict) Unwrap() error { return ErrConflict }

func (c *Conflict) derivation() string {
	var b strings.Builder
	numbered := false
	for _, l := range c.Lines {
		numbered = numbered || l.Number > 0
	}
	lines := c.Lines
	if left := len(lines) - maxLines; left > 0 {
		fmt.Fprintf(&b, "(the first %d steps are left out)\n", left)
		lines = lines[left:]
	}
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch {
		case l.Number > 0:
			fmt.Fprintf(&b, "%4s ", fmt.Sprintf("(%d)", l.Number))
		case numbered:
			b.WriteString("     ")
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// conflict tells why what a person asked for is impossible.
func (s *solver) conflict(final *incompatibility) *Conflict {
	return &Conflict{Lines: s.derive(final)}
}

// explain tells why an incompatibility holds, and what of it was chosen.
func (s *solver) explain(i *incompatibility) string {
	text := (&Conflict{Lines: s.derive(i)}).derivation()
	for _, t := range i.terms {
		if picked := s.picked[t.slot]; picked >= 0 {
			text += fmt.Sprintf(" %s is chosen.", s.those(t.slot, one(len(s.slots[t.slot].candidates), picked), ""))
		}
	}
	return text
}

// A deriver writes the derivation of an incompatibility: what it was concluded
// from before it, each only once, and as little as possible referred to by number
// (PubGrub, "Error reporting").
type deriver struct {
	*solver
	uses    map[*incompatibility]int // how many conclusions rest on it
	numbers map[*incompatibility]int // 0 when it was written without one
	highest int
	lines   []Line
}

func (s *solver) derive(i *incompatibility) []Line {
	d := &deriver{solver: s, uses: map[*incompatibility]int{}, numbers: map[*incompatibility]int{}}
	if i.isFact() {
		return []Line{{Text: s.say(i) + "."}}
	}
	d.count(i)
	d.write(i)
	return d.lines
}

func (d *deriver) count(i *incompatibility) {
	if d.uses[i]++; d.uses[i] > 1 || i.isFact() {
		return
	}
	d.count(i.left)
	d.count(i.right)
}

// write writes the line of a conclusion after all that it needs.
func (d *deriver) write(i *incompatibility) {
	if _, written := d.numbers[i]; written {
		return
	}
	a, b := i.left, i.right
	if a.isFact() && !b.isFact() {
		a, b = b, a
	}
	switch {
	case a.isFact():
		d.line(i, "Because ", a, b)
	case b.isFact():
		d.writeWithFact(i, a, b)
	default:
		d.writeOfTwo(i, a, b)
	}
}

// writeWithFact writes what follows from a conclusion and a fact. Where that
// conclusion in turn follows from a fact and is needed only here, both facts go
// into one line.
func (d *deriver) writeWithFact(i, a, fact *incompatibility) {
	if number, written := d.numbers[a]; written && number > 0 {
		d.line(i, "Because ", a, fact)
		return
	}
	inner, other := a.left, a.right
	if inner.isFact() {
		inner, other = other, inner
	}
	if d.uses[a] == 1 && !inner.isFact() && other.isFact() && d.numbers[inner] == 0 {
		d.write(inner)
		d.line(i, "And because ", other, fact)
		return
	}
	d.write(a)
	d.line(i, "And because ", fact)
}

// writeOfTwo writes what follows from two conclusions.
func (d *deriver) writeOfTwo(i, a, b *incompatibility) {
	if isShort(a) && !isShort(b) {
		a, b = b, a
	}
	d.write(a)
	d.number(a)
	d.write(b)
	if d.numbers[b] > 0 {
		d.line(i, "Because ", a, b)
		return
	}
	d.line(i, "And because ", a)
}

// isShort reports whether a conclusion follows from two facts.
func isShort(i *incompatibility) bool { return i.left.isFact() && i.right.isFact() }

// line writes the conclusion i and what is needed for it but for the line before.
func (d *deriver) line(i *incompatibility, lead string, because ...*incompatibility) {
	d.lines = append(d.lines, Line{Text: lead + d.reasons(because) + ", " + d.say(i) + "."})
	d.numbers[i] = 0
	if d.uses[i] > 1 {
		d.number(i)
	}
}

func (d *deriver) reasons(because []*incompatibility) string {
	all := make([]string, len(because))
	for n, b := range because {
		all[n] = d.say(b)
		if number := d.numbers[b]; number > 0 {
			all[n] += fmt.Sprintf(" (%d)", number)
		}
		if n > 0 && b.why.kind == asRoot && because[n-1].why.kind == asRoot {
			all[n] = strings.TrimPrefix(all[n], youAskFor)
		}
	}
	return strings.Join(all, " and ")
}

// number gives a number to the line of a conclusion, which is the last one
// written when it has none yet.
func (d *deriver) number(i *incompatibility) {
	if d.numbers[i] > 0 {
		return
	}
	d.highest++
	d.lines[len(d.lines)-1].Number = d.highest
	d.numbers[i] = d.highest
}
