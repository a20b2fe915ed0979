package manifests

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean suggests the name nearest to what was written; empty when none is
// near.
func didYouMean(written string, names []string) string {
	best, found := "", nearEnough(written)+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := distance(strings.ToLower(written), strings.ToLower(name)); d < found {
			best, found = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
}

// nearEnough is how many slips of the hand a name of that length may hold.
func nearEnough(name string) int { return min(3, (len(name)+1)/3) }

// distance is the number of single-character insertions, deletions,
// replacements and swaps of neighbours that turn a into b (optimal string
// alignment). Names longer than 64 bytes are too far from any other.
func distance(a, b string) int {
	const far = 64
	if len(a) > far || len(b) > far {
		return far
	}
	var rows [3][far + 1]int
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

// Nearest returns the one of names that was most likely meant by what was written;
// empty when none is near.
func Nearest(written string, names []string) string {
	return strings.TrimSuffix(strings.TrimPrefix(didYouMean(written, names), "did you mean "), "?")
}
