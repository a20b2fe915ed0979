package findings

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

var scanRules = []Rule{
	{
		ID: "SK001", Title: "not all was looked at", Severity: Warn,
		What: "The package has so much of something that looks like the beginning of a secret, an address or an instruction that the search ended before the package did.",
		Why:  "The search is bounded, so that nobody can make it last. A package can be filled with such things to hide one of them, or simply be full of them.",
		Do:   "Look at the files by other means, or leave out what the skill does not need.",
	},
}

// A check looks for what some rules are about.
type check func(*scan)

// checks are all checks, in an order that does not matter.
func checks() []check {
	return []check{
		(*scan).secrets, (*scan).scripts, (*scan).modules, (*scan).packed,
		(*scan).unseen, (*scan).phrases, (*scan).licence,
	}
}

// A scan is the work on one package.
type scan struct {
	ctx      context.Context
	pkg      *bundle.Package
	manifest *manifests.Manifest
	values   []byte // what the manifest says, as JSON
	files    []*file
	reach    reach
	looked   int                         // places that may be addresses
	found    map[string]map[Finding]bool // by rule, at most MaxPerRule each
	more     map[string]int              // how many more, by rule
}

func newScan(ctx context.Context, p *bundle.Package) *scan {
	s := &scan{
		ctx: ctx, pkg: p, manifest: p.Manifest(), reach: newReach(p.Manifest()),
		found: map[string]map[Finding]bool{}, more: map[string]int{},
	}
	for _, f := range p.Files() {
		data, err := p.Read(f.Path)
		if err != nil { // every file of the index is there
			continue
		}
		s.files = append(s.files, newFile(f.Path, data))
	}
	s.values, _ = json.Marshal(s.manifest) // it was made of a document
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
	for _, r := range []role{roleManifest, roleSkillMD} {
		if i := slices.IndexFunc(s.files, func(f *file) bool { return f.role == r }); i >= 0 {
			return s.files[i]
		}
	}
	return newFile(manifests.FileJSON, nil)
}

// over reports whether the scan is to end early.
func (s *scan) over() bool { return s.ctx.Err() != nil }

// add keeps a finding of a rule at [at, at+n) of a file.
func (s *scan) add(rule string, f *file, at, n int, message string) {
	if s.full(rule) { // what is only counted needs no excerpt and no position
		s.more[rule]++
		return
	}
	s.keep(rule, f, at, message, excerpt(f.data, at, n))
}

// about keeps a finding about a file as a whole.
func (s *scan) about(rule string, f *file, message string) {
	s.record(Finding{Rule: rule, File: f.path, Message: message})
}

func (s *scan) keep(rule string, f *file, at int, message, excerpt string) {
	if s.full(rule) {
		s.more[rule]++
		return
	}
	line, column := f.position(at)
	s.record(Finding{Rule: rule, File: f.path, Line: line, Column: column, Offset: at, Message: message, Excerpt: excerpt})
}

// full reports whether a rule has found as much as a report holds.
func (s *scan) full(rule string) bool { return len(s.found[rule]) >= MaxPerRule }

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
