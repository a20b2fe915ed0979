package lines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
)

// Record is everything about a memory.
func Record(r work.Record) []string { return written(Style{}, func(b *block) { b.record(r) }) }

// MemoryStats are figures of the memory.
func MemoryStats(f work.MemoryStats) []string {
	return written(Style{}, func(b *block) { b.memoryStats(f) })
}

// ShortID is enough of the ID of a task to name it.
func ShortID(id string) string { return id[:min(len(id), 12)] }

// Memory is a record in one line.
func Memory(r work.Record) string {
	line := fmt.Sprintf("%s  %s  %-9s %s", r.ID[:8], when(r.Updated), r.Area, short(plain(work.Shown(r.Text)), 100))
	if o := r.Origin(); o != "" {
		line += "  by " + plain(o)
		if r.Task != "" {
			line += " in " + plain(ShortID(r.Task))
		}
	}
	if len(r.Tags) > 0 {
		line += "  #" + plain(strings.Join(r.Tags, " #"))
	}
	for _, mark := range []struct {
		is   bool
		word string
	}{{r.Failed, "failed"}, {r.Pinned, "pinned"}} {
		if mark.is {
			line += "  [" + mark.word + "]"
		}
	}
	return line
}

func (b *block) record(r work.Record) {
	b.say("%s  %s in %s", r.ID, r.Type, r.Area)
	b.say("  written %s, changed %s, found %s", when(r.Created), when(r.Updated), count(int(r.Retrievals), "time"))
	for _, fact := range []struct {
		is   bool
		text string
	}{
		{r.Failed, "tells of a failure"},
		{r.Pinned, "pinned: it is never merged or forgotten"},
		{len(r.Tags) > 0, "tags: " + strings.Join(r.Tags, ", ")},
		{r.Task != "", "of task " + r.Task},
		{len(r.Sources) > 0, "made of " + count(len(r.Sources), "memory record")},
	} {
		if fact.is {
			b.say("  %s", fact.text)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		b.say("  %s = %s", k, work.Shown(r.Metadata[k]))
	}
	for line := range strings.Lines(work.Shown(r.Text)) {
		b.say("  | %s", strings.TrimSuffix(line, "\n"))
	}
}

// maxTags is how many tags the figures name.
const maxTags = 10

func (b *block) memoryStats(f work.MemoryStats) {
	b.say("%s, %s of text", count(f.Records, "record"), size(f.TextBytes))
	b.say("  areas     %s", counted(f.Areas, 0))
	b.say("  types     %s", counted(f.Types, 0))
	b.say("  tags      %s", counted(f.Tags, maxTags))
	b.say("  failed    %d, pinned %d, merged %d", f.Failed, f.Pinned, f.Merged)
	b.say("  found     %s", count(int(f.Retrievals), "time"))
	if f.Records > 0 {
		b.say("  changed   from %s to %s", when(f.Oldest), when(f.Newest))
	}
	b.say("  vectors   %s, %d dimensions, %d waiting, %s", f.Embedder, f.Vectors.Dimensions, f.Waiting, size(f.Vectors.Bytes))
	if f.Consolidated.IsZero() {
		b.say("  never consolidated")
	} else {
		b.say("  consolidated %s", when(f.Consolidated))
	}
	if f.Due != "" {
		b.say("  a consolidation is due: %s", f.Due)
	}
}

// counted are names with their counts, the largest first; at most so many, or all
// when max is 0.
func counted[K ~string](counts map[K]int, most int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var all []string
	for i, n := range names {
		if most > 0 && i == most {
			all = append(all, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		all = append(all, fmt.Sprintf("%s %d", plain(string(n)), counts[n]))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}
