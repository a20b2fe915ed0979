// Package nearest guesses which of some names was meant by one that is none of them.
package nearest

import (
	"slices"
	"strings"
)

// Name returns the one of names that was most likely meant by what was written, for a
// "did you mean"; ok is false when none is near enough. Of the longer of the two a third
// may differ, and three letters at most; or one begins with the other. Case does not
// count. Of several that are as near, the first in alphabetical order is returned.
func Name(written string, names []string) (best string, ok bool) {
	least := tooFar
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := unlikeness(strings.ToLower(written), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best, least < tooFar
}

// tooFar is the distance of names that have nothing to do with each other.
const tooFar = 4

// unlikeness is the distance of two names, at most 2 when one of them begins with the
// other.
func unlikeness(a, b string) int {
	d := Distance(a, b)
	if 3*d > max(len(a), len(b))+1 {
		d = tooFar
	}
	if n := min(len(a), len(b)); n >= 3 && a[:n] == b[:n] {
		d = min(d, 2)
	}
	return min(d, tooFar)
}

// longest is how long names are that are compared letter by letter.
const longest = 64

// Distance is the number of insertions, deletions, replacements and swaps of neighbours,
// in bytes, that make b of a (Damerau, 1964; the restricted form). Where one of them has
// more than 64 bytes it is the length of the longer.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	var rows [3][longest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
