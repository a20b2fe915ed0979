package author

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// cases runs the test cases: of the files that changed, or all of them when that
// is nil; without mocks, only those that answer for nobody else.
func (d *developer) cases(ctx context.Context, p *bundle.Package, files []string, mocks bool, t *Turn) error {
	report, err := d.home.Tester.Run(ctx, p, casetest.Options{Match: chosen(p, files, mocks), Done: d.request.Case})
	if err != nil {
		return err
	}
	t.Cases = &CasesRun{
		report.Passed, report.Failed, report.Skipped, report.Found - len(report.Results),
		slices.DeleteFunc(report.Results, func(c casetest.Result) bool { return c.Outcome != casetest.Failed }),
	}
	switch {
	case len(report.Problems) > 0:
		return fault.Errorf(fault.KindUsage, "%s", strings.Join(report.Problems, "\n")).WithHint("correct the test cases")
	case report.Failed > 0:
		cases := "test cases"
		if report.Failed == 1 {
			cases = "test case"
		}
		return fault.Errorf(fault.KindSkill, "%d %s of %d failed", report.Failed, cases, len(report.Results)).
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
