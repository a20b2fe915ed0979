package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/casetest"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// A casesRun is what came of the test cases.
type casesRun struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Left is how many were not run, because the change did not concern them.
	Left int `json:"left"`
	// Failures are the results of those that failed.
	Failures []casetest.Result `json:"failures"`
}

func (r casesRun) words() string {
	text := fmt.Sprintf("%d of %s passed", r.Passed, count(r.Passed+r.Failed+r.Skipped, "case"))
	if r.Left > 0 {
		text += fmt.Sprintf(", %d not run again", r.Left)
	}
	return text
}

// cases runs the test cases: of the files that changed, or all of them when that
// is nil; without mocks, only those that answer for nobody else.
func (d *developer) cases(ctx context.Context, p *bundle.Package, files []string, mocks bool, r *reload) error {
	o := casetest.Options{Match: chosen(p, files, mocks)}
	if !d.t.json {
		o.Done = d.t.showCase
	}
	report, err := d.h.Tester.Run(ctx, p, o)
	if err != nil {
		return err
	}
	r.Cases = &casesRun{
		report.Passed, report.Failed, report.Skipped, report.Found - len(report.Results),
		slices.DeleteFunc(report.Results, func(c casetest.Result) bool { return c.Outcome != casetest.Failed }),
	}
	switch {
	case len(report.Problems) > 0:
		return fault.Errorf(fault.KindUsage, "%s", strings.Join(report.Problems, "\n")).WithHint("correct the test cases")
	case report.Failed > 0:
		return fault.Errorf(fault.KindSkill, "%s of %d failed", count(report.Failed, "test case"), len(report.Results)).
			WithHint("correct the skill, or the case")
	}
	return nil
}

// chosen selects the cases to run; nil selects all.
func chosen(p *bundle.Package, files []string, mocks bool) *regexp.Regexp {
	if files == nil && mocks {
		return nil
	}
	all, _ := casetest.Cases(p) // what cannot be read is in the report
	// Golden and data files belong to cases of any file.
	if !slices.ContainsFunc(files, testcase.IsFile) || slices.ContainsFunc(files, func(f string) bool { return !testcase.IsFile(f) }) {
		files = nil
	}
	var names []string
	for _, c := range all {
		if (files == nil || slices.Contains(files, c.File())) && (mocks || len(c.Mocks) == 0 && len(c.Serve) == 0) {
			names = append(names, regexp.QuoteMeta(c.File()+": "+c.Name))
		}
	}
	if len(names) == 0 {
		return regexp.MustCompile(`^\z.`) // none
	}
	return regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
}

// showCase shows a case that failed, and what any of them logged.
func (t *terminal) showCase(c casetest.Result) {
	for _, l := range c.Logs {
		t.note("[%s] %s%s", plain(l.Level), plain(l.Message), fields(l))
	}
	if c.Outcome != casetest.Failed {
		return
	}
	if len(c.Differences) == 0 { // whose detail is the first of them
		t.note("  failed: %s: %s", plain(c.Name), plain(c.Detail))
		return
	}
	t.note("  failed: %s", plain(c.Name))
	for _, x := range c.Differences {
		t.note("    %s", plain(x.String()))
	}
}
