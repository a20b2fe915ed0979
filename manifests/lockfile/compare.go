package lockfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Changes are what differs between two locks. The zero value means nothing does.
type Changes struct {
	// Added and Removed are packages that only the one or the other has, by
	// closure and name.
	Added, Removed []Package
	// Changed are packages that both have, and that are not the same.
	Changed []Change
	// Asked and Dropped are what a person asks for in the one or the other only.
	Asked, Dropped []Requirement
}

// A Change is a package before and after.
type Change struct {
	Before, After Package
	// What are the names of the fields that differ, such as "version".
	What []string
}

// Compare says what became of before in after.
func Compare(before, after *Lock) Changes {
	var c Changes
	for p := range merged(before.Packages, after.Packages) {
		switch {
		case p[0] == nil:
			c.Added = append(c.Added, *p[1])
		case p[1] == nil:
			c.Removed = append(c.Removed, *p[0])
		default:
			if what := p[0].differences(*p[1]); len(what) > 0 {
				c.Changed = append(c.Changed, Change{*p[0], *p[1], what})
			}
		}
	}
	c.Asked = missing(asked(after.Roots), asked(before.Roots))
	c.Dropped = missing(asked(before.Roots), asked(after.Roots))
	return c
}

// merged yields the packages of two lists by closure and name, in order; nil for
// what is in one of them only.
func merged(before, after []Package) func(yield func([2]*Package) bool) {
	pairs := map[[2]string][2]*Package{}
	var keys [][2]string
	for side, list := range [][]Package{before, after} {
		for i, p := range list {
			key := [2]string{p.Closure, p.Name}
			pair, ok := pairs[key]
			if !ok {
				keys = append(keys, key)
			}
			pair[side] = &list[i]
			pairs[key] = pair
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return func(yield func([2]*Package) bool) {
		for _, key := range keys {
			if !yield(pairs[key]) {
				return
			}
		}
	}
}

// differences names the fields in which two packages of one name differ.
func (p Package) differences(q Package) []string {
	var what []string
	mine, theirs := needed(p.Dependencies), needed(q.Dependencies)
	for _, f := range []struct {
		name string
		same bool
	}{
		{"version", p.Version == q.Version},
		{"digest", p.Digest == q.Digest},
		{"artifact", p.Artifact.Artifact == q.Artifact.Artifact},
		{"source", p.Source == q.Source},
		{"signer", p.Signer == q.Signer},
		{"dependencies", len(missing(mine, theirs))+len(missing(theirs, mine)) == 0},
	} {
		if !f.same {
			what = append(what, f.name)
		}
	}
	return what
}

// missing returns what is in all and not in from.
func missing(all, from []Requirement) []Requirement {
	var out []Requirement
	for _, r := range all {
		if !slices.Contains(from, r) {
			out = append(out, r)
		}
	}
	return out
}

// asked returns requirements without what they were resolved to: that shows in
// the packages.
func asked(all []Requirement) []Requirement {
	out := slices.Clone(all)
	for i := range out {
		out[i].Version, out[i].Provider = "", ""
	}
	return out
}

// needed returns requirements without the versions they were resolved to, which
// show in the packages. Being left out is a difference.
func needed(all []Requirement) []Requirement {
	out := slices.Clone(all)
	for i, r := range out {
		if r.Version != "" {
			out[i].Version = "some"
		}
	}
	return out
}

// IsEmpty reports whether nothing differs.
func (c Changes) IsEmpty() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.Asked)+len(c.Dropped) == 0
}

// String returns one line for each difference: + for what came, - for what went,
// ~ for what changed; empty when nothing did.
func (c Changes) String() string {
	var b strings.Builder
	for _, r := range c.Asked {
		fmt.Fprintf(&b, "+ asked for %s %s\n", r.Name, r.Constraint)
	}
	for _, r := range c.Dropped {
		fmt.Fprintf(&b, "- asked for %s %s\n", r.Name, r.Constraint)
	}
	for _, p := range c.Added {
		fmt.Fprintf(&b, "+ %s\n", p.ID())
	}
	for _, p := range c.Removed {
		fmt.Fprintf(&b, "- %s\n", p.ID())
	}
	for _, p := range c.Changed {
		to := ""
		if p.Before.Version != p.After.Version {
			to = " to " + p.After.Version
		}
		fmt.Fprintf(&b, "~ %s%s (%s)\n", p.Before.ID(), to, strings.Join(p.What, ", "))
	}
	return b.String()
}
