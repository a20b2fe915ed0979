package semver

import "fmt"

// An operator says which versions a comparator allows, seen from its version.
type operator string

const (
	exactly operator = ""
	below   operator = "<"
	atMost  operator = "<="
	above   operator = ">"
	atLeast operator = ">="
)

// A comparator is one condition of a constraint, after carets, tildes and
// x-ranges have been taken apart.
type comparator struct {
	op      operator
	version Version
	any     bool // allows every release; the rest does not count
}

// anything allows every release; with prereleases, every version.
func anything() comparator { return comparator{any: true} }

// nothing allows no version.
func nothing() comparator { return comparator{op: below, version: firstPrerelease} }

// String returns c as npm writes it.
func (c comparator) String() string {
	if c.any {
		return ""
	}
	v := c.version
	v.build = ""
	return string(c.op) + v.String()
}

func (c comparator) set() Set {
	switch {
	case c.any:
		return All()
	case c.op == atLeast:
		return from(c.version, true)
	case c.op == above:
		return from(c.version, false)
	case c.op == below:
		return from(c.version, true).Complement()
	case c.op == atMost:
		return from(c.version, false).Complement()
	}
	return Only(c.version)
}

// A desugarer takes apart what comparators are short for. Prereleases says that
// every prerelease counts, so that lower bounds begin at the first of them.
type desugarer struct {
	prereleases bool
	tooLarge    bool // a bound had a number above MaxNumber
}

// least is the lowest version a partial stands for.
func (d *desugarer) least(v Version) Version {
	if d.prereleases {
		return v.floor()
	}
	return v
}

// bump returns the first prerelease after all versions that share the numbers of
// v up to the one with index i.
func (d *desugarer) bump(v Version, i int) Version {
	numbers := [3]uint64{v.major, v.minor, v.patch}
	if numbers[i] == MaxNumber {
		d.tooLarge = true
	}
	numbers[i]++
	for j := i + 1; j < 3; j++ {
		numbers[j] = 0
	}
	return Version{major: numbers[0], minor: numbers[1], patch: numbers[2], pre: "0"}
}

func (d *desugarer) between(low Version, high Version) []comparator {
	return []comparator{{op: atLeast, version: low}, {op: below, version: high}}
}

// caret allows what does not change the first number that is not zero.
func (d *desugarer) caret(p partial) []comparator {
	v := p.version
	switch {
	case p.firstWildcard == 0:
		return []comparator{anything()}
	case v.major > 0 || p.firstWildcard == 1:
		return d.between(d.low(p), d.bump(v, 0))
	case v.minor > 0 || p.firstWildcard == 2:
		return d.between(d.low(p), d.bump(v, 1))
	}
	return d.between(v, d.bump(v, 2))
}

// tilde allows what does not change the minor number, or the major one when it
// stands alone.
func (d *desugarer) tilde(p partial) []comparator {
	if p.firstWildcard == 0 {
		return []comparator{anything()}
	}
	return d.between(d.low(p), d.bump(p.version, min(p.firstWildcard-1, 1)))
}

// low is the lower bound of a caret or tilde: a partial begins with its
// prereleases when they count, a whole version with itself.
func (d *desugarer) low(p partial) Version {
	if p.firstWildcard < 3 {
		return d.least(p.version)
	}
	return p.version
}

// compare is a comparator whose version may be a partial: >1.2 is >=1.3.0.
func (d *desugarer) compare(op operator, p partial) []comparator {
	v := p.version
	switch {
	case p.firstWildcard == 3:
		return []comparator{{op: op, version: v}}
	case p.firstWildcard == 0 && (op == above || op == below):
		return []comparator{nothing()}
	case p.firstWildcard == 0:
		return []comparator{anything()}
	}
	behind := d.bump(v, p.firstWildcard-1)
	switch op {
	case above:
		return []comparator{{op: atLeast, version: d.least(behind.release())}}
	case atLeast:
		return []comparator{{op: atLeast, version: d.least(v)}}
	case below:
		return []comparator{{op: below, version: v.floor()}}
	case atMost:
		return []comparator{{op: below, version: behind}}
	}
	return d.between(d.least(v), behind)
}

// hyphen is the range from one version to another, both of it.
func (d *desugarer) hyphen(low, high partial) []comparator {
	var out []comparator
	if low.firstWildcard > 0 {
		v := low.version
		if v.pre == "" {
			v = d.least(v)
		}
		out = append(out, comparator{op: atLeast, version: v})
	}
	switch v := high.version; {
	case high.firstWildcard == 0:
	case high.firstWildcard < 3:
		out = append(out, comparator{op: below, version: d.bump(v, high.firstWildcard-1)})
	case v.pre == "" && d.prereleases:
		if next, ok := v.next(); ok {
			out = append(out, comparator{op: below, version: next.floor()})
		}
	default:
		out = append(out, comparator{op: atMost, version: v})
	}
	if len(out) == 0 {
		out = append(out, anything())
	}
	return out
}

// problem says what went wrong on the way; empty when nothing did.
func (d *desugarer) problem() string {
	if d.tooLarge {
		return fmt.Sprintf("has a bound above %d", uint64(MaxNumber))
	}
	return ""
}
