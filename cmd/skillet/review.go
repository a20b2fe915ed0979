package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/internal/text"
)

func fullFlag() cli.Flag {
	return &cli.BoolFlag{Name: "full", Usage: "show all of what is different, however long it is"}
}

// What is shown of a difference without --full.
const (
	maxShownFiles = 60
	maxShownNames = 12
)

// A comparison is a package beside the active version of the same skill.
type comparison struct {
	review.Comparison
	// full is set when nothing is left out, and all is the command that shows
	// what was.
	full bool
	all  string
}

// A printer prints one line, of an answer or for people.
type printer func(format string, args ...any)

// show prints a difference.
func (c comparison) show(print printer) {
	files := c.Files
	if !c.full {
		slices.SortStableFunc(files, func(a, b review.File) int { return unchanged(a) - unchanged(b) })
	}
	for i, f := range files {
		if !c.full && i == maxShownFiles {
			print("  ... %s: %s", count(len(files)-i, "more file"), c.all)
			break
		}
		c.showFile(print, f)
	}
	if c.Module != nil {
		c.showModule(print, c.Module)
	}
}

// unchanged sorts what is the same behind what is not.
func unchanged(f review.File) int {
	if f.Change == review.Same {
		return 1
	}
	return 0
}

func (c comparison) showFile(print printer, f review.File) {
	was := ""
	if f.Before != nil && f.Note != "" {
		was = fmt.Sprintf(" (was %d bytes, %s)", f.Before.Size, f.Before.Digest.Short())
	}
	if f.Note != "" && f.Note != "binary" {
		was += fmt.Sprintf(" (%s to compare here: %s)", f.Note, c.all)
	}
	print("  %-7s %10d  %s  %s%s", f.Change, f.Size, f.Digest.Short(), visible(f.Path), was)
	for _, line := range f.Diff {
		print("    | %s", visible(line))
	}
	switch {
	case f.More > 0 && len(f.Diff) > 0:
		print("    ... %s: %s", count(f.More, "more line"), c.all)
	case f.More > 0 && c.With != "":
		print("    ... %s of difference: %s", count(f.More, "line"), c.all)
	case f.Cut:
		print("    ... and the ends of long lines: %s", c.all)
	}
}

func (c comparison) showModule(print printer, m *review.Module) {
	if m.BytesBefore > 0 {
		print("  the module %s, %d bytes, was %d:", visible(m.Path), m.Bytes, m.BytesBefore)
	} else {
		print("  the module %s, %d bytes; what its calls do is up to what it is granted:", visible(m.Path), m.Bytes)
	}
	if m.Note != "" {
		print("    cannot be compared: %s", plain(m.Note))
		return
	}
	added, removed := "calls to", "no longer calls to"
	if m.BytesBefore > 0 {
		added = "newly calls to"
	}
	c.showCalls(print, added, m.Imports, review.Added)
	c.showCalls(print, removed, m.Imports, review.Removed)
	c.showExports(print, "offers", m.Exports, review.Added)
	c.showExports(print, "no longer offers", m.Exports, review.Removed)
	if m.Memory != "" && m.BytesBefore > 0 {
		print("    memory: %s", m.Memory)
	}
	if m.Start {
		print("    runs code before any tool is called")
	}
	if len(m.Imports)+len(m.Exports) == 0 && m.Memory == "" && !m.Start {
		print("    calls and offers the same; its code or data is different")
	}
}

// showCalls prints one line for each thing that calls are good for.
func (c comparison) showCalls(print printer, verb string, fs []review.Function, change review.Change) {
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
		print("    %s %s: %s", verb, w, c.names(names[w]))
	}
}

func (c comparison) showExports(print printer, verb string, fs []review.Function, change review.Change) {
	var names []string
	for _, f := range fs {
		if f.Change == change {
			names = append(names, f.Name+f.Signature)
		}
	}
	if len(names) > 0 {
		print("    %s %s", verb, c.names(names))
	}
}

// names joins names, and says how many more there are.
func (c comparison) names(all []string) string {
	shown := all
	if !c.full {
		shown = all[:min(len(all), maxShownNames)]
	}
	text := visible(strings.Join(shown, ", "))
	if n := len(all) - len(shown); n > 0 {
		text += fmt.Sprintf(" and %d more (%s)", n, c.all)
	}
	return text
}

// count is "1 file", "2 files".
func count(n int, what string) string { return text.Count(n, what) }
