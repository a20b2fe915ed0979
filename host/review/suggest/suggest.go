// Package suggest finds the smallest grants that cover what a skill was seen
// to do.
//
// It is pure: uses and grants come in, advice comes out, the same for the same.
// It refuses to know where uses are recorded, who granted, and who decides. Two
// things always hold: what it proposes covers every use that the grants it was
// given cover, and each capability it proposes is covered by one of them.
//
// # How uses become capabilities
//
// Each use counts for the narrowest grant that allows it. Of the uses of one
// grant
//
//   - files and URLs are named one by one;
//   - three or more files of one directory become DIR/*, and three or more URLs
//     of one method and one host below one path become PATH/*;
//   - three or more such directories, or paths, of one parent become PARENT/**,
//     or PARENT/*;
//   - methods that go to the same URLs are put together;
//   - names (secrets, skills, models) stay as they are, and nothing is ever put
//     together across hosts, schemes, ports or actions.
//
// Of each result only that counts which the grant covers too. A grant stays as it
// is when its uses are not known one by one, or would take more than
// [MaxCapabilities].
package suggest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/policies/capability"
)

const (
	// Many is how many files of a directory stand for all of it.
	Many = 3
	// MaxCapabilities is the largest number of capabilities that take the place
	// of one grant.
	MaxCapabilities = 32
)

// A Use is something a skill was recorded to have done.
type Use struct {
	// Request is what was done, as it is recorded: "fs.read:/data/a.csv"; empty
	// when only the grant is known by which it was.
	Request string
	// Capability is the grant that allowed it then; empty when not even that is
	// known.
	Capability string
	// Count is how often, and Last when the last time.
	Count int
	Last  time.Time
}

// A Grant is something a skill may do now.
type Grant struct {
	ID         string
	Capability capability.Capability
	// Given is when it was granted.
	Given time.Time
	// Passing grants end by themselves, or hold for some calls alone: they stay
	// as they are, and no other is thought needless because of them.
	Passing bool
}

// A Verdict is what is advised about a grant.
type Verdict string

// The verdicts.
const (
	Keep   Verdict = "keep"   // all of it is used, or it cannot be told
	Narrow Verdict = "narrow" // less would do
	Revoke Verdict = "revoke" // nothing of it was used, though there was time
	Wait   Verdict = "wait"   // nothing of it was used yet, and it is new
)

// An Advice is what is advised about one grant.
type Advice struct {
	Grant   Grant
	Verdict Verdict
	// To are the capabilities that would do; for [Narrow] only.
	To []capability.Capability
	// Uses is how often it was used, and Last when the last time; zero for never.
	Uses int
	Last time.Time
	// Why is the reason in words.
	Why string
}

// Suggest advises about each grant, in their order. uses are those since the
// given time: a grant that was given before it and not used since has had its
// time.
func Suggest(grants []Grant, uses []Use, since time.Time) []Advice {
	s := sorter{grants: grants, taken: make([]taken, len(grants))}
	for _, u := range uses {
		s.take(u)
	}
	all := make([]Advice, len(grants))
	for i, g := range grants {
		all[i] = s.taken[i].advise(g, since)
	}
	return all
}

// Proposed is the set of what the skill could do if the advice were followed.
func Proposed(all []Advice) capability.Set {
	var cs []capability.Capability
	for _, a := range all {
		switch a.Verdict {
		case Keep, Wait:
			cs = append(cs, a.Grant.Capability)
		case Narrow:
			cs = append(cs, a.To...)
		}
	}
	return capability.NewSet(cs...)
}

// taken are the uses that count for one grant.
type taken struct {
	requests []capability.Request
	unknown  bool // there were uses of which the request is not known
	uses     int
	last     time.Time
}

func (t *taken) count(u Use) {
	t.uses += u.Count
	if u.Last.After(t.last) {
		t.last = u.Last
	}
}

// A sorter finds the grant for each use.
type sorter struct {
	grants []Grant
	taken  []taken
}

func (s *sorter) take(u Use) {
	r, ok := Request(u.Request)
	if !ok {
		s.takeUnknown(u)
		return
	}
	if i := s.narrowest(r); i >= 0 {
		s.taken[i].count(u)
		s.taken[i].requests = append(s.taken[i].requests, r)
	}
}

// narrowest is the grant that allows r and covers no other one that does; the
// first of several, -1 for none.
func (s *sorter) narrowest(r capability.Request) int {
	best := -1
	for i, g := range s.grants {
		if g.Passing || !g.Capability.Allows(r) {
			continue
		}
		if best < 0 || s.grants[best].Capability.Covers(g.Capability) && !g.Capability.Covers(s.grants[best].Capability) {
			best = i
		}
	}
	return best
}

// takeUnknown counts a use whose request is not known for every grant that it
// may have been by.
func (s *sorter) takeUnknown(u Use) {
	by, err := capability.Parse(u.Capability)
	for i, g := range s.grants {
		if g.Passing || err == nil && capability.NewSet(by).Intersect(capability.NewSet(g.Capability)).IsEmpty() {
			continue
		}
		s.taken[i].count(u)
		s.taken[i].unknown = true
	}
}

// Request reads a request as uses record it. It is false for a text that is
// none, or was cut.
func Request(text string) (capability.Request, bool) {
	word, resource, _ := strings.Cut(text, ":")
	r := capability.Request{Action: capability.Action(word), Resource: resource}
	if r.Action == capability.HTTP {
		r.Method, r.Resource, _ = strings.Cut(resource, " ")
	}
	canonical, err := r.Canonical()
	return canonical, err == nil && r.String() == text
}

func (t *taken) advise(g Grant, since time.Time) Advice {
	a := Advice{Grant: g, Verdict: Keep, Uses: t.uses, Last: t.last}
	switch {
	case g.Passing:
		a.Why = "it ends by itself, or holds for some calls alone"
	case t.uses == 0 && g.Given.After(since):
		a.Verdict, a.Why = Wait, "it is too new to tell"
	case t.uses == 0:
		a.Verdict, a.Why = Revoke, "it was not used since "+since.UTC().Format(time.DateOnly)
	case t.unknown:
		a.Why = "not everything that was done with it is known"
	default:
		a.narrow(t.requests)
	}
	return a
}

// narrow finds what would do for the requests.
func (a *Advice) narrow(rs []capability.Request) {
	g := capability.NewSet(a.Grant.Capability)
	to := capability.NewSet(generalise(rs)...).Intersect(g)
	switch {
	case !allowAll(to, rs):
		a.Why = "what was done with it cannot be named more narrowly"
	case to.Covers(a.Grant.Capability):
		a.Why = "all of it is used"
	case to.Len() > MaxCapabilities:
		a.Why = "it is used in too many places to name them"
	default:
		a.Verdict, a.To, a.Why = Narrow, to.All(), "only a part of it is used"
	}
}

func allowAll(s capability.Set, rs []capability.Request) bool {
	return !slices.ContainsFunc(rs, func(r capability.Request) bool {
		_, ok := s.Allows(r)
		return !ok
	})
}

// Merge adds up uses that are alike, in the order of their requests.
func Merge(uses []Use) []Use {
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.Request, b.Request), strings.Compare(a.Capability, b.Capability))
	})
	var all []Use
	for _, u := range uses {
		if n := len(all) - 1; n >= 0 && all[n].Request == u.Request && all[n].Capability == u.Capability {
			all[n].Count += u.Count
			if u.Last.After(all[n].Last) {
				all[n].Last = u.Last
			}
			continue
		}
		all = append(all, u)
	}
	return all
}
