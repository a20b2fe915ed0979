// Package review says what is different between two packages, for a person who
// decides whether the second may take the place of the first: text line by
// line, other files by size and digest, and of modules what they call and offer.
//
// It compares and bounds, and makes nothing safe to print: what it returns
// holds the packages' own text. It knows neither grants nor policies.
package review

import (
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Change says what became of a file, or of an import or export.
type Change string

// The changes.
const (
	Added   Change = "added"
	Changed Change = "changed"
	Removed Change = "removed"
	Same    Change = "same"
)

// Limits bound what a comparison returns. A zero field means no bound.
type Limits struct {
	Lines     int   // lines of the differences of one file; below zero none are shown, only counted
	Total     int   // lines of the differences of all files together
	LineBytes int   // bytes of one line; the rest is cut off
	FileBytes int64 // size of a text that is compared line by line
}

// Brief is what fits a screen or two.
func Brief() Limits { return Limits{Lines: 40, Total: 160, LineBytes: 400, FileBytes: 1 << 20} }

// A Difference is what is different between two packages.
type Difference struct {
	// Files are the files of both, by path.
	Files []File `json:"files"`
	// Module is nil when neither package has a module, or both have the same.
	Module *Module `json:"module,omitempty"`
}

// A Comparison is a package beside the active version of the same skill.
type Comparison struct {
	// With is the version that is active; empty when none is.
	With string `json:"compared_with,omitempty"`
	Difference
}

// A File is one file of the later package, or one that only the earlier has.
type File struct {
	bundle.File
	Change Change `json:"change"`
	// Before is the earlier package's file; nil when it has none of that path,
	// and of a removed file, which is described by File itself.
	Before *bundle.File `json:"before,omitempty"`
	// Diff has the lines of a unified diff, without the header that names the
	// files; nil for a file that is not compared line by line.
	Diff []string `json:"diff,omitempty"`
	// More counts the lines of the diff that the limits left out.
	More int `json:"more_lines,omitempty"`
	// Cut is true when the end of a line was left out.
	Cut bool `json:"cut_lines,omitempty"`
	// Note says why a file is not compared line by line: "binary", or "too long".
	Note string `json:"note,omitempty"`
}

// Compare compares two packages. before may be nil: then everything is added.
func Compare(before, after *bundle.Package, l Limits) Difference {
	d := Difference{Files: files(before, after), Module: compareModules(before, after)}
	left := l.Total
	for i := range d.Files {
		f := &d.Files[i]
		if f.Change == Same {
			continue
		}
		f.compare(content(before, f.Path), content(after, f.Path), l)
		if l.Total > 0 {
			f.cut(left)
			left -= len(f.Diff)
		}
	}
	return d
}

// files pairs the files of two packages.
func files(before, after *bundle.Package) []File {
	old := map[string]bundle.File{}
	if before != nil {
		for _, f := range before.Files() {
			old[f.Path] = f
		}
	}
	var all []File
	for _, f := range after.Files() {
		was, ok := old[f.Path]
		delete(old, f.Path)
		switch {
		case !ok:
			all = append(all, File{File: f, Change: Added})
		case was.Digest == f.Digest:
			all = append(all, File{File: f, Change: Same})
		default:
			all = append(all, File{File: f, Change: Changed, Before: &was})
		}
	}
	for _, f := range old {
		all = append(all, File{File: f, Change: Removed})
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// content is a file of a package; nil when there is none.
func content(p *bundle.Package, path string) []byte {
	if p == nil {
		return nil
	}
	b, err := p.Read(path)
	if err != nil { // the other package has it
		return nil
	}
	return b
}

// moduleOf is the module that a package runs; nil when it runs none.
func moduleOf(p *bundle.Package) (path string, wasm []byte) {
	if p == nil {
		return "", nil
	}
	path, wasm, err := p.Module()
	if err != nil {
		return "", nil
	}
	return path, wasm
}
