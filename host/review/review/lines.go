package review

import (
	"fmt"
	"slices"
	"strings"

	plural "github.com/skillet-run/skillet/internal/text"
)

// What [Comparison.Lines] has when it is brief.
const (
	briefFiles = 60
	briefNames = 12
)

// Lines say what is different, for a person. They are brief unless full is set: rest then
// says in each place where something is left out how to see all of it. The lines have text
// of the package's author in them.
func (c Comparison) Lines(full bool, rest string) []string {
	l := writer{full: full, rest: rest}
	files := c.Files
	if !full {
		files = slices.Clone(files)
		slices.SortStableFunc(files, func(a, b File) int { return unchanged(a) - unchanged(b) })
	}
	for i, f := range files {
		if !full && i == briefFiles {
			l.add("  ... %s: %s", plural.Count(len(files)-i, "more file"), rest)
			break
		}
		l.file(f, c.With != "")
	}
	if c.Module != nil {
		l.module(c.Module)
	}
	return l.all
}

// unchanged sorts what is the same behind what is not.
func unchanged(f File) int {
	if f.Change == Same {
		return 1
	}
	return 0
}

// A writer writes lines.
type writer struct {
	all  []string
	full bool
	rest string
}

func (l *writer) add(format string, args ...any) { l.all = append(l.all, fmt.Sprintf(format, args...)) }

func (l *writer) file(f File, compared bool) {
	was := ""
	if f.Before != nil && f.Note != "" {
		was = fmt.Sprintf(" (was %d bytes, %s)", f.Before.Size, f.Before.Digest.Short())
	}
	if f.Note != "" && f.Note != "binary" {
		was += fmt.Sprintf(" (%s to compare here: %s)", f.Note, l.rest)
	}
	l.add("  %-7s %10d  %s  %s%s", f.Change, f.Size, f.Digest.Short(), f.Path, was)
	for _, line := range f.Diff {
		l.add("    | %s", line)
	}
	switch {
	case f.More > 0 && len(f.Diff) > 0:
		l.add("    ... %s: %s", plural.Count(f.More, "more line"), l.rest)
	case f.More > 0 && compared:
		l.add("    ... %s of difference: %s", plural.Count(f.More, "line"), l.rest)
	case f.Cut:
		l.add("    ... and the ends of long lines: %s", l.rest)
	}
}

func (l *writer) module(m *Module) {
	if m.BytesBefore > 0 {
		l.add("  the module %s, %d bytes, was %d:", m.Path, m.Bytes, m.BytesBefore)
	} else {
		l.add("  the module %s, %d bytes; what its calls do is up to what it is granted:", m.Path, m.Bytes)
	}
	if m.Note != "" {
		l.add("    cannot be compared: %s", m.Note)
		return
	}
	added := "calls to"
	if m.BytesBefore > 0 {
		added = "newly calls to"
	}
	l.calls(added, m.Imports, Added)
	l.calls("no longer calls to", m.Imports, Removed)
	l.exports("offers", m.Exports, Added)
	l.exports("no longer offers", m.Exports, Removed)
	if m.Memory != "" && m.BytesBefore > 0 {
		l.add("    memory: %s", m.Memory)
	}
	if m.Start {
		l.add("    runs code before any tool is called")
	}
	if len(m.Imports)+len(m.Exports) == 0 && m.Memory == "" && !m.Start {
		l.add("    calls and offers the same; its code or data is different")
	}
}

// calls has one line for each thing that calls are good for.
func (l *writer) calls(verb string, fs []Function, change Change) {
	var words []string
	names := map[string][]string{}
	for _, f := range fs {
		if f.Change != change {
			continue
		}
		if names[f.Words] == nil {
			words = append(words, f.Words)
		}
		names[f.Words] = append(names[f.Words], f.Name)
	}
	for _, w := range words {
		l.add("    %s %s: %s", verb, w, l.names(names[w]))
	}
}

func (l *writer) exports(verb string, fs []Function, change Change) {
	var names []string
	for _, f := range fs {
		if f.Change == change {
			names = append(names, f.Name+f.Signature)
		}
	}
	if len(names) > 0 {
		l.add("    %s %s", verb, l.names(names))
	}
}

// names joins names, and says how many more there are.
func (l *writer) names(all []string) string {
	shown := all
	if !l.full {
		shown = all[:min(len(all), briefNames)]
	}
	joined := strings.Join(shown, ", ")
	if n := len(all) - len(shown); n > 0 {
		joined += fmt.Sprintf(" and %d more (%s)", n, l.rest)
	}
	return joined
}
