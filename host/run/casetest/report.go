package casetest

import (
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// A Report is what the test cases of a package came to. Its texts may be the
// package's own: make them safe before showing them.
type Report struct {
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	// Results are those of the cases that were run, in the order of the files.
	Results []Result `json:"results"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	// Found is how many cases there are, also those that were not chosen.
	Found int `json:"found"`
	// Fuel and PeakMemoryBytes are the most that one of them used.
	Fuel            uint64  `json:"fuel"`
	PeakMemoryBytes uint64  `json:"peak_memory_bytes"`
	DurationMS      float64 `json:"duration_ms"`
	// Problems say which files of cases cannot be read, and why.
	Problems []string `json:"problems"`
	// Note says what was left out; empty for nothing.
	Note string `json:"note,omitempty"`
}

// An Outcome says how a test case ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// A Result is what one test case came to.
type Result struct {
	// File is the path of its file in the package, and Line where it begins there.
	File    string  `json:"file"`
	Line    int     `json:"line,omitempty"`
	Name    string  `json:"name"`
	Tool    string  `json:"tool"`
	Outcome Outcome `json:"outcome"`
	// Detail says in a line why it did not pass; empty for one that did.
	Detail string `json:"detail,omitempty"`
	// Differences are all ways in which it did not come to what was expected.
	Differences     []testcase.Difference `json:"differences,omitempty"`
	Fuel            uint64                `json:"fuel,omitempty"`
	PeakMemoryBytes uint64                `json:"peak_memory_bytes,omitempty"`
	DurationMS      float64               `json:"duration_ms,omitempty"`
	HostCalls       int                   `json:"host_calls,omitempty"`
	// Logs and Denials are what was logged and refused.
	Logs    []task.LogLine `json:"logs,omitempty"`
	Denials []task.Denial  `json:"denials,omitempty"`
	// Golden is the golden file of the case, and Section the section of it when that is
	// the file of the case itself; empty for none.
	Golden  string `json:"golden,omitempty"`
	Section string `json:"-"`
	// Output is what the tool answered, with the placeholders put back; nil when it
	// did not. Failure is the error it ended with; nil when it answered.
	Output  []byte       `json:"-"`
	Failure *fault.Error `json:"error,omitempty"`
}

func newReport(p *bundle.Package) Report {
	m := p.Manifest()
	return Report{Skill: m.Name, Version: m.Version, Digest: p.Digest(), Results: []Result{}, Problems: []string{}}
}

// OK reports whether no case failed, and all files of cases could be read.
func (r Report) OK() bool { return r.Failed == 0 && len(r.Problems) == 0 }

// count adds a result.
func (r *Report) count(x Result) {
	r.Results = append(r.Results, x)
	r.Fuel, r.PeakMemoryBytes = max(r.Fuel, x.Fuel), max(r.PeakMemoryBytes, x.PeakMemoryBytes)
	switch x.Outcome {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	default:
		r.Skipped++
	}
}

// note says that something was left out.
func (r *Report) note(text string) {
	if r.Note != "" {
		text = r.Note + "; " + text
	}
	r.Note = text
}

// Strangers are the bounds for the cases of a package that nobody has looked at.
func Strangers() Options {
	return Options{MaxCases: 64, MaxTime: 20 * time.Second, MaxCaseTime: 5 * time.Second}
}

// Bounds on what [Report.Brief] leaves of texts, in characters, and of problems.
const (
	maxName     = 100
	maxDetail   = 300
	maxProblems = 10
)

// Brief is the report with what it says of each case in a line, however long that was.
func (r Report) Brief() Report {
	all := make([]Result, len(r.Results))
	for i, x := range r.Results {
		all[i] = Result{
			File: x.File, Line: x.Line, Name: text.Short(x.Name, maxName), Tool: text.Short(x.Tool, maxName), Outcome: x.Outcome, Detail: text.Short(x.Detail, maxDetail),
			Fuel: x.Fuel, PeakMemoryBytes: x.PeakMemoryBytes, DurationMS: x.DurationMS, HostCalls: x.HostCalls,
		}
	}
	r.Results = all
	problems := []string{}
	for i, p := range r.Problems {
		if i == maxProblems {
			r.note(fmt.Sprintf("%d more files cannot be read", len(r.Problems)-i))
			break
		}
		problems = append(problems, text.Short(p, maxDetail))
	}
	r.Problems = problems
	return r
}
