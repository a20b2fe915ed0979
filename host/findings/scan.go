package findings

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A check looks for what some rules are about.
type check func(*scan)

// checks are all checks, in an order that does not matter.
func checks() []check {
	return []check{(*scan).module}
}

// A scan is the work on one package.
type scan struct {
	ctx      context.Context
	pkg      *bundle.Package
	manifest *manifests.Manifest
	files    []*file
	found    map[string]map[Finding]bool // by rule, at most MaxPerRule each
	more     map[string]int              // how many more, by rule
}

func newScan(ctx context.Context, p *bundle.Package) *scan {
	s := &scan{ctx: ctx, pkg: p, manifest: p.Manifest(), found: map[string]map[Finding]bool{}, more: map[string]int{}}
	for _, f := range p.Files() {
		data, err := p.Read(f.Path)
		if err != nil { // every file of the index is there
			continue
		}
		s.files = append(s.files, newFile(f.Path, data))
	}
	return s
}

// file returns the file at path; nil when there is none.
func (s *scan) file(path string) *file {
	i := slices.IndexFunc(s.files, func(f *file) bool { return f.path == path })
	if i < 0 {
		return nil
	}
	return s.files[i]
}

// manifestFile returns the file the manifest was read from.
func (s *scan) manifestFile() *file {
	for _, name := range append(manifests.FileNames(), manifests.FileSkillMD) {
		if f := s.file(name); f != nil {
			return f
		}
	}
	return newFile(manifests.FileJSON, nil)
}

// add keeps a finding of a rule at [at, at+n) of a file.
func (s *scan) add(rule string, f *file, at, n int, message string) {
	s.keep(rule, f, at, message, excerpt(f.data, at, n))
}

// about keeps a finding about a file as a whole.
func (s *scan) about(rule string, f *file, message string) {
	s.record(Finding{Rule: rule, File: f.path, Message: message})
}

func (s *scan) keep(rule string, f *file, at int, message, excerpt string) {
	line, column := f.position(at)
	s.record(Finding{Rule: rule, File: f.path, Line: line, Column: column, Offset: at, Message: message, Excerpt: excerpt})
}

func (s *scan) record(f Finding) {
	rule, _ := Lookup(f.Rule)
	f.Severity, f.Message = rule.Severity, cut(printable(f.Message), MaxMessage)
	of := s.found[f.Rule]
	switch {
	case of == nil:
		s.found[f.Rule] = map[Finding]bool{f: true}
	case of[f]:
	case len(of) < MaxPerRule:
		of[f] = true
	default:
		s.more[f.Rule]++
	}
}

// report is what was found so far.
func (s *scan) report() Report {
	r := Report{Findings: []Finding{}}
	for _, of := range s.found {
		for f := range of {
			r.Findings = append(r.Findings, f)
		}
	}
	sortFindings(r.Findings)
	for _, rule := range Rules() {
		if n := s.more[rule.ID]; n > 0 {
			r.More = append(r.More, More{rule.ID, n})
		}
	}
	return r
}

// A file is one file of the package.
type file struct {
	path  string
	data  []byte
	text  bool  // UTF-8 without NUL
	lines []int // where each line begins; of a text only
}

func newFile(path string, data []byte) *file {
	f := &file{path: path, data: data, text: utf8.Valid(data) && bytes.IndexByte(data, 0) < 0}
	if !f.text {
		return f
	}
	f.lines = []int{0}
	for i, b := range data {
		if b == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// maxColumn is how far into a line characters are counted; beyond it a column
// is that number.
const maxColumn = 1 << 20

// position returns line and column of an offset; 0 and 0 when the file has no
// lines.
func (f *file) position(at int) (line, column int) {
	if !f.text {
		return 0, 0
	}
	line, exact := slices.BinarySearch(f.lines, at)
	if exact {
		line++
	}
	begin := f.lines[line-1]
	return line, utf8.RuneCount(f.data[begin:min(at, begin+maxColumn)]) + 1
}

// has reports whether the path of f ends in one of the extensions.
func (f *file) has(extensions ...string) bool {
	return slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(strings.ToLower(f.path), e) })
}
