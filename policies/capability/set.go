package capability

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Set is an immutable set of capabilities in the order of their texts, without
// members that another member covers; but one that [Capability.NamesDomain] stays
// beside one that does not. The zero value is the empty set. Two sets that hold
// the same members are Equal; sets cannot be compared with ==.
type Set struct {
	members []Capability
}

// NewSet returns the set of the given capabilities. Zero capabilities and
// those that another one makes superfluous are left out.
func NewSet(cs ...Capability) Set {
	sorted := make([]Capability, 0, len(cs))
	for _, c := range cs {
		if c.action != "" {
			sorted = append(sorted, c)
		}
	}
	if len(sorted) < 2 {
		return Set{members: slices.Clip(sorted)}
	}
	slices.SortFunc(sorted, compare)
	return Set{members: reduce(slices.Compact(sorted))}
}

func compare(a, b Capability) int { return strings.Compare(a.String(), b.String()) }

// reduce drops every capability that a kept one, or a later one, absorbs. Of
// several that cover each other the first stays.
func reduce(sorted []Capability) []Capability {
	kept := make([]Capability, 0, len(sorted))
	for i, c := range sorted {
		if !anyAbsorbs(kept, c) && !anyStrictlyAbsorbs(sorted[i+1:], c) {
			kept = append(kept, c)
		}
	}
	return slices.Clip(kept)
}

func anyCovers(cs []Capability, d Capability) bool {
	return slices.ContainsFunc(cs, func(c Capability) bool { return c.Covers(d) })
}

func anyAbsorbs(cs []Capability, d Capability) bool {
	return slices.ContainsFunc(cs, func(c Capability) bool { return c.absorbs(d) })
}

func anyStrictlyAbsorbs(cs []Capability, d Capability) bool {
	return slices.ContainsFunc(cs, func(c Capability) bool { return c.absorbs(d) && !d.Covers(c) })
}

// ParseSet parses each text and returns the set of them. The error is the
// *ParseError of the first text that is not a capability.
func ParseSet(texts ...string) (Set, error) {
	cs := make([]Capability, len(texts))
	for i, text := range texts {
		c, err := Parse(text)
		if err != nil {
			return Set{}, err
		}
		cs[i] = c
	}
	return NewSet(cs...), nil
}

// All returns the members in the order of their texts. The slice is the
// caller's to keep.
func (s Set) All() []Capability { return slices.Clone(s.members) }

// Len returns the number of members.
func (s Set) Len() int { return len(s.members) }

// IsEmpty reports whether the set allows nothing.
func (s Set) IsEmpty() bool { return len(s.members) == 0 }

// Strings returns the members' canonical texts, sorted; never nil.
func (s Set) Strings() []string {
	texts := make([]string, len(s.members))
	for i, c := range s.members {
		texts[i] = c.String()
	}
	return texts
}

// String returns the members' texts, one a line, without a newline at the end.
func (s Set) String() string { return strings.Join(s.Strings(), "\n") }

// Covers reports whether the set allows every request that c allows. Members
// may share the methods of an http capability between them; nothing else is put
// together from several members.
func (s Set) Covers(c Capability) bool {
	if c.action == "" || anyCovers(s.members, c) {
		return true
	}
	if c.action != HTTP || c.methods == "*" {
		return false
	}
	for method := range strings.SplitSeq(c.methods, ",") {
		single := c
		single.methods = method
		if !anyCovers(s.members, single) {
			return false
		}
	}
	return true
}

// CoversSet reports whether s covers every member of t.
func (s Set) CoversSet(t Set) bool { return t.Minus(s).IsEmpty() }

// Allows reports whether a member allows r, and which: the first in order.
func (s Set) Allows(r Request) (by Capability, ok bool) {
	t, f := r.target()
	if f != nil {
		return Capability{}, false
	}
	for _, c := range s.members {
		if c.allows(t) {
			return c, true
		}
	}
	return Capability{}, false
}

// Union returns the set of what either allows.
func (s Set) Union(t Set) Set { return NewSet(slices.Concat(s.members, t.members)...) }

// Minus returns the members of s that t does not cover. A member that t covers
// in part stays whole.
func (s Set) Minus(t Set) Set {
	var left []Capability
	for _, c := range s.members {
		if !t.Covers(c) {
			left = append(left, c)
		}
	}
	return Set{members: left}
}

// Intersect returns a set that allows only what both allow. It allows all of
// that, except for pairs of file patterns with so many wildcards that listing
// what they share would take too long; of those it allows a part.
func (s Set) Intersect(t Set) Set {
	var both []Capability
	for _, c := range s.members {
		for _, d := range t.members {
			both = append(both, meet(c, d)...)
		}
	}
	return NewSet(both...)
}

// Equal reports whether both sets have the same members.
func (s Set) Equal(t Set) bool { return slices.Equal(s.members, t.members) }

// Digest returns "sha256:" and the hexadecimal hash of the members' texts, each
// followed by a newline. It identifies what was approved.
func (s Set) Digest() string {
	h := sha256.New()
	for _, c := range s.members {
		fmt.Fprintln(h, c.String())
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// MarshalJSON returns an array of the members' texts, [] for the empty set.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Strings()) }

// UnmarshalJSON reads an array of texts; null is the empty set. The error wraps
// a *ParseError when a text is not a capability.
func (s *Set) UnmarshalJSON(data []byte) error {
	var texts []string
	if err := json.Unmarshal(data, &texts); err != nil {
		return fmt.Errorf("parse capability set: %w", err)
	}
	parsed, err := ParseSet(texts...)
	if err != nil {
		return fmt.Errorf("parse capability set: %w", err)
	}
	*s = parsed
	return nil
}
