package skills_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies"
)

// newTester runs cases as `skillet test` does, in this process.
func newTester(t testing.TB, sb *sandbox.Runtime) *casetest.Tester {
	t.Helper()
	defaults, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	log := hclog.NewNullLogger()
	return casetest.New(runner.New(log, s.KV(), sb, defaults, nil, nil, j, runner.Settings{Home: "/nowhere"}))
}

// cases reads all cases of the package, as it would be installed.
func (b built) cases(t testing.TB) []testcase.Case {
	t.Helper()
	all, problems := casetest.Cases(b.pkg)
	for _, err := range problems {
		t.Errorf("%s: %v", b.dir, err)
	}
	return all
}

// runCases runs them.
func (b built) runCases(t *testing.T, tester *casetest.Tester) {
	r, err := tester.Run(t.Context(), b.pkg, casetest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) == 0 || r.Skipped > 0 {
		t.Errorf("%d cases, %d skipped", len(r.Results), r.Skipped)
	}
	for _, x := range r.Results {
		if x.Outcome == casetest.Failed {
			t.Errorf("%s:%d: %s: %s\n%s", x.File, x.Line, x.Tool, x.Name, strings.Join(x.Lines(), "\n"))
		}
	}
}

// firstAnswered returns the first case that needs no grant and answers.
func (b built) firstAnswered(t testing.TB) testcase.Case {
	t.Helper()
	for _, c := range b.cases(t) {
		if c.ErrorKind == "" && c.Grants == nil && c.Input != nil {
			return c
		}
	}
	t.Skipf("%s has no case without grants that answers", b.dir)
	return testcase.Case{}
}
