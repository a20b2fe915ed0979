package capability

// Change is one difference between two sets. Old or New is empty when the
// change adds or removes a capability.
type Change struct {
	Old []Capability
	New []Capability
}

// Words says the change in plain English, as the end of a sentence that begins
// "the skill".
func (c Change) Words() string {
	was, now := allWords(c.Old), allWords(c.New)
	switch {
	case was == "":
		return "may now " + now
	case now == "":
		return "may no longer " + was
	default:
		return "may now " + now + " (before: " + was + ")"
	}
}

func allWords(cs []Capability) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Words()
	}
	return series(words)
}

// Difference is what changed from one set to another. Every change is in one
// list only, and the lists are in the order of the capabilities' texts. The
// zero value says that nothing changed.
type Difference struct {
	Added    []Change // New: one capability that takes the place of none
	Removed  []Change // Old: one capability that nothing takes the place of
	Widened  []Change // New: one capability that covers those in Old and more
	Narrowed []Change // Old: one capability that covers those in New and more
}

// IsEmpty reports whether nothing changed.
func (d Difference) IsEmpty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Widened)+len(d.Narrowed) == 0
}

// Grows reports whether something is allowed after the change that was not
// allowed before it.
func (d Difference) Grows() bool { return len(d.Added)+len(d.Widened) > 0 }

// Words returns one line for each change: added, widened, narrowed, removed.
func (d Difference) Words() []string {
	var lines []string
	for _, list := range [][]Change{d.Added, d.Widened, d.Narrowed, d.Removed} {
		for _, c := range list {
			lines = append(lines, c.Words())
		}
	}
	return lines
}

// Diff compares two sets.
func Diff(old, new Set) Difference {
	var d Difference
	for _, c := range new.Minus(old).members {
		if was := coveredBy(c, old); len(was) > 0 {
			d.Widened = append(d.Widened, Change{Old: was, New: []Capability{c}})
		} else {
			d.Added = append(d.Added, Change{New: []Capability{c}})
		}
	}
	for _, c := range old.Minus(new).members {
		if now := coveredBy(c, new); len(now) > 0 {
			d.Narrowed = append(d.Narrowed, Change{Old: []Capability{c}, New: now})
		} else {
			d.Removed = append(d.Removed, Change{Old: []Capability{c}})
		}
	}
	return d
}

// coveredBy returns the members of s that c covers.
func coveredBy(c Capability, s Set) []Capability {
	var found []Capability
	for _, d := range s.members {
		if c.Covers(d) {
			found = append(found, d)
		}
	}
	return found
}
