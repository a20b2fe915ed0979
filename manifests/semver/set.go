package semver

import "sort"

// A Set is an exact set of versions: of all there can be, not of those that
// exist. The zero value is empty. Two sets of the same versions are deeply
// equal, and have the same text. Build metadata does not count.
//
// A constraint may treat prereleases unlike the releases around them, so a set
// is two: one of releases, one of prereleases. Each is a list of the versions at
// which it begins and ends, among its own kind. Between the releases 1.2.3 and
// 1.2.4 there is no other, and the prerelease right after 1.2.3-a is 1.2.3-a.0:
// every bound can be written as a version that is in or out, so there is one
// way only to write a set.
type Set struct {
	releases, prereleases line
}

// A line is a set of versions of one kind: those with an odd number of bounds at
// or below them. The bounds ascend.
type line []Version

// The first version of each kind.
var (
	firstRelease    = Version{}
	firstPrerelease = Version{pre: "0"}
)

// All returns the set of all versions.
func All() Set { return Set{line{firstRelease}, line{firstPrerelease}} }

// Only returns the set of v alone.
func Only(v Version) Set { return from(v, true).Intersect(from(v, false).Complement()) }

// from returns the set of all versions from v on, v itself or not.
func from(v Version, itself bool) Set {
	v.build = ""
	if v.pre != "" {
		first := v
		if !itself {
			first.pre += ".0"
		}
		return Set{line{v.release()}, line{first}}
	}
	next, ok := v.next()
	switch {
	case ok && itself:
		return Set{line{v}, line{next.floor()}}
	case ok:
		return Set{line{next}, line{next.floor()}}
	case itself:
		return Set{line{v}, nil}
	}
	return Set{}
}

// prereleasesOf returns the set of the prereleases of v's three numbers.
func prereleasesOf(v Version) Set {
	l := line{v.floor()}
	if next, ok := v.next(); ok {
		l = append(l, next.floor())
	}
	return Set{nil, l}
}

// Has reports whether v is in s.
func (s Set) Has(v Version) bool {
	if v.IsPrerelease() {
		return s.prereleases.has(v)
	}
	return s.releases.has(v)
}

// IsEmpty reports whether no version is in s.
func (s Set) IsEmpty() bool { return len(s.releases)+len(s.prereleases) == 0 }

// Complement returns the versions that are not in s.
func (s Set) Complement() Set {
	return Set{s.releases.complement(firstRelease), s.prereleases.complement(firstPrerelease)}
}

// Union returns the versions in s, in t or in both.
func (s Set) Union(t Set) Set {
	either := func(a, b bool) bool { return a || b }
	return Set{combine(s.releases, t.releases, either), combine(s.prereleases, t.prereleases, either)}
}

// Intersect returns the versions in both s and t.
func (s Set) Intersect(t Set) Set {
	both := func(a, b bool) bool { return a && b }
	return Set{combine(s.releases, t.releases, both), combine(s.prereleases, t.prereleases, both)}
}

// Minus returns the versions in s that are not in t.
func (s Set) Minus(t Set) Set { return s.Intersect(t.Complement()) }

// IsSubset reports whether every version in s is in t.
func (s Set) IsSubset(t Set) bool { return s.Minus(t).IsEmpty() }

// Equal reports whether s and t have the same versions.
func (s Set) Equal(t Set) bool {
	return s.releases.equal(t.releases) && s.prereleases.equal(t.prereleases)
}

func (l line) has(v Version) bool {
	return sort.Search(len(l), func(i int) bool { return l[i].Compare(v) > 0 })%2 == 1
}

// complement needs the first version of the line's kind.
func (l line) complement(first Version) line {
	if len(l) > 0 && l[0] == first {
		return l[1:len(l):len(l)]
	}
	return append(line{first}, l...)
}

// combine returns the versions for which keep says yes, told whether they are in
// a and in b. It must say no to what is in neither.
func combine(a, b line, keep func(inA, inB bool) bool) line {
	var out line
	for i, j, in := 0, 0, false; i < len(a) || j < len(b); {
		at := nextBound(a, b, i, j)
		if i < len(a) && a[i] == at {
			i++
		}
		if j < len(b) && b[j] == at {
			j++
		}
		if now := keep(i%2 == 1, j%2 == 1); now != in {
			out, in = append(out, at), now
		}
	}
	return out
}

// nextBound returns the older of the next bounds of a and b.
func nextBound(a, b line, i, j int) Version {
	if j == len(b) || i < len(a) && a[i].Compare(b[j]) <= 0 {
		return a[i]
	}
	return b[j]
}

func (l line) equal(m line) bool {
	if len(l) != len(m) {
		return false
	}
	for i, v := range l {
		if v != m[i] {
			return false
		}
	}
	return true
}
