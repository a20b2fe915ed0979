package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests/semver"
)

// maxPublished is how many versions are listed where none fits.
const maxPublished = 8

// called is the name of a slot.
func (s *slot) called() string {
	head, _, _ := strings.Cut(s.closure, "@")
	switch {
	case s.closure == "":
		return s.name
	case head == s.name:
		return "isolated " + s.name
	}
	return fmt.Sprintf("%s (of %s)", s.name, strings.TrimSuffix(s.closure, "@*"))
}

// versions says in words which candidates a choice has: with the constraint
// somebody wrote, if it has the same, or else as stretches of what is published.
// It returns nothing when the choice has them all and the name has several.
func (s *slot) versions(c choice) string {
	first, n := s.only(c)
	switch text, written := s.texts[c.minus(absent(len(s.candidates))).key()]; {
	case n == 1 && s.isInterface:
		return fmt.Sprintf("%v of %s", s.candidates[first].version, s.candidates[first].provider)
	case n == 1:
		return s.candidates[first].version.String()
	case n == len(s.candidates):
		return ""
	case written && text != "" && text != "*":
		return text
	case s.isInterface:
		return s.provisions(c)
	}
	return s.stretches(c)
}

// only returns the first candidate of a choice, and how many it has.
func (s *slot) only(c choice) (first, n int) {
	first = -1
	for i := range s.candidates {
		if c.has(i) {
			if n++; first < 0 {
				first = i
			}
		}
	}
	return first, n
}

func (s *slot) provisions(c choice) string {
	var all []string
	for i, candidate := range s.candidates {
		if c.has(i) {
			all = append(all, fmt.Sprintf("%v of %s", candidate.version, candidate.provider))
		}
	}
	return strings.Join(all, " or ")
}

// stretches writes a choice as constraints on what is published. Where it has no
// prereleases, they do not interrupt it, just as in a constraint.
func (s *slot) stretches(c choice) string {
	var among []int // from old to new
	prereleases := slices.ContainsFunc(s.candidates, func(at candidate) bool { return at.version.IsPrerelease() }) && s.hasPrerelease(c)
	for i := len(s.candidates) - 1; i >= 0; i-- {
		if prereleases || !s.candidates[i].version.IsPrerelease() {
			among = append(among, i)
		}
	}
	var all []string
	for from := 0; from < len(among); from++ {
		if !c.has(among[from]) {
			continue
		}
		to := from
		for to+1 < len(among) && c.has(among[to+1]) {
			to++
		}
		all = append(all, s.stretch(among, from, to))
		from = to
	}
	return strings.Join(all, " or ")
}

func (s *slot) hasPrerelease(c choice) bool {
	for i, candidate := range s.candidates {
		if c.has(i) && candidate.version.IsPrerelease() {
			return true
		}
	}
	return false
}

func (s *slot) stretch(among []int, from, to int) string {
	oldest, newest := s.candidates[among[from]].version, s.candidates[among[to]].version
	switch {
	case from == to:
		return oldest.String()
	case from == 0:
		return "<=" + newest.String()
	case to == len(among)-1:
		return ">=" + oldest.String()
	}
	return ">=" + oldest.String() + " <=" + newest.String()
}

// published says what there is of a slot, for where nothing of it fits.
func (s *solver) published(slot int) string {
	at := s.slots[slot]
	if len(at.candidates) == 0 {
		return "no skill has that name, and none provides it"
	}
	var versions []semver.Version
	for _, c := range at.candidates {
		versions = append(versions, c.version)
	}
	versions = slices.Compact(versions)
	var all []string
	for _, v := range versions[:min(len(versions), maxPublished)] {
		all = append(all, v.String())
	}
	if more := len(versions) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d older", more))
	}
	return "none of those is published, only " + strings.Join(all, ", ")
}

// those names candidates of a slot; all stands in front of the name when they are
// all there are of several.
func (s *solver) those(slot int, c choice, all string) string {
	at := s.slots[slot]
	if versions := at.versions(c); versions != "" {
		return at.called() + " " + versions
	}
	return all + at.called()
}

const (
	everyVersion = "every version of "
	anyVersion   = "any version of "
	noVersion    = "no version of "
	youAskFor    = "you ask for "
)

// say puts an incompatibility in words.
func (s *solver) say(i *incompatibility) string {
	if i.isFact() {
		return s.sayFact(i)
	}
	var have []term
	var lack []string
	for _, t := range i.terms {
		if t.value.mayBeAbsent() {
			lack = append(lack, s.those(t.slot, s.slots[t.slot].all.minus(t.value), ""))
		} else {
			have = append(have, t)
		}
	}
	switch objects := strings.Join(lack, " or "); {
	case len(i.terms) == 0:
		return "what you ask for cannot be had"
	case len(lack) == 0:
		return s.sayExcluded(have)
	case len(have) == 0:
		return objects + " is needed"
	case len(have) == 1:
		return s.those(have[0].slot, have[0].value, everyVersion) + " needs " + objects
	default:
		return s.list(have, everyVersion) + " together need " + objects
	}
}

// sayExcluded says that candidates cannot be used, or not together.
func (s *solver) sayExcluded(have []term) string {
	switch len(have) {
	case 1:
		one := s.those(have[0].slot, have[0].value, noVersion)
		if strings.HasPrefix(one, noVersion) {
			return one + " can be used"
		}
		return one + " cannot be used"
	case 2:
		a, b := s.list(have[:1], noVersion), s.list(have[1:], anyVersion)
		if strings.HasPrefix(a, noVersion) && !strings.HasPrefix(b, anyVersion) {
			a, b = b, s.list(have[:1], anyVersion)
		}
		if strings.HasPrefix(a, noVersion) {
			return a + " can be used with " + b
		}
		return a + " cannot be used with " + b
	}
	return s.list(have, anyVersion) + " cannot be used together"
}

// list names the candidates of several slots.
func (s *solver) list(terms []term, all string) string {
	var names []string
	for _, t := range terms {
		names = append(names, s.those(t.slot, t.value, all))
	}
	return strings.Join(names, " and ")
}

// constraint is what a constraint adds to a name: nothing when it allows every
// release.
func constraint(r semver.Range) string {
	if text := r.Text(); text != "*" && text != "" {
		return " " + text
	}
	return ""
}

// sayFact puts a fact in words.
func (s *solver) sayFact(i *incompatibility) string {
	n, at := i.why.need, s.slots[i.why.need.slot]
	wanted := at.called() + constraint(n.Range)
	if n.Isolated && i.why.kind != asRoot {
		wanted = "its own " + n.Name + constraint(n.Range)
	}
	if n.allow.isEmpty() && i.why.kind != asProvision {
		wanted += " (" + s.published(n.slot) + ")"
	}
	who := ""
	if i.why.kind != asRoot {
		who = s.those(i.why.subject, i.term(i.why.subject), everyVersion)
	}
	switch i.why.kind {
	case asRoot:
		return youAskFor + wanted
	case asOptional:
		return who + " works with no other than " + wanted
	case asProvision:
		return who + " comes with " + s.those(n.slot, n.allow, "")
	}
	return who + " needs " + wanted
}
