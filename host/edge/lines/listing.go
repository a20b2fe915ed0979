package lines

import (
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/text"
)

// A Listing is rows in columns, which an edge lays out.
type Listing struct {
	// Header is the titles of the columns, with tabs between them.
	Header string
	Rows   [][]string
}

// Lines are all of it, however wide that is.
func (l Listing) Lines() []string { return Table(l.Header, l.Rows) }

// columnGap is what stands between two columns.
const columnGap = 2

var wholeDigest = lazyregexp.New(`^(sha256:[0-9a-f]{12})[0-9a-f]{52}$`)

// Fit is the header and the rows for a terminal of that many columns: the cells of a row are
// as wide as their columns, the widest of which are cut until a row fits; times are told from
// now, and digests are short. It is never wider than that, unless there are more columns than room.
func (l Listing) Fit(columns int, now time.Time) [][]string {
	rows := [][]string{strings.Split(l.Header, "\t")}
	for _, r := range l.Rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = brief(plain(c), now)
		}
		rows = append(rows, cells)
	}
	widths := shrunk(natural(rows), columns)
	for _, cells := range rows {
		for i := range cells {
			cells[i] = cut(cells[i], widths[i])
			if i < len(cells)-1 {
				cells[i] += strings.Repeat(" ", widths[i]-uniseg.StringWidth(cells[i])+columnGap)
			}
		}
	}
	return rows
}

// brief is a cell as a person reads it.
func brief(cell string, now time.Time) string {
	if m := wholeDigest().FindStringSubmatch(cell); m != nil {
		return m[1]
	}
	if at, ok := text.ReadWhen(cell); ok {
		return text.From(at, now)
	}
	return cell
}

// natural are the widths of columns in which nothing is cut.
func natural(rows [][]string) []int {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(c))
		}
	}
	return widths
}

// shrunk are widths that fit into so many columns of a terminal: the widest column shrinks
// first, and the first one, which says what a row is about, when the others are narrow.
func shrunk(widths []int, columns int) []int {
	room := columns - columnGap*(len(widths)-1)
	for _, to := range []struct{ least, from int }{{8, 1}, {5, 1}, {8, 0}, {3, 1}, {3, 0}, {1, 1}, {1, 0}} {
		for sum(widths) > room {
			i := widest(widths, to.from)
			if i < 0 || widths[i] <= to.least {
				break
			}
			widths[i]--
		}
	}
	return widths
}

// widest is the widest column from one on; the last of several that are as wide. It is -1
// when there is none.
func widest(widths []int, from int) int {
	found := -1
	for i := from; i < len(widths); i++ {
		if found < 0 || widths[i] >= widths[found] {
			found = i
		}
	}
	return found
}

func sum(all []int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}

// cut is the beginning of a text that takes so many cells, with a mark where it goes on.
func cut(s string, cells int) string {
	if uniseg.StringWidth(s) <= cells {
		return s
	}
	var kept strings.Builder
	for left := cells - 1; s != ""; {
		cluster, rest, w, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		if w > left {
			break
		}
		kept.WriteString(cluster)
		s, left = rest, left-w
	}
	return strings.TrimRight(kept.String(), " ") + "…"
}

// Width is how many cells of a terminal a text takes.
func Width(s string) int { return uniseg.StringWidth(s) }
