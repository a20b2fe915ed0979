package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// A TestRequest says which test cases are run.
type TestRequest struct {
	// Skill is a directory, a .skill file or an installed SKILL[@VERSION].
	Skill string
	// Build builds a directory first, by compilers with the rights of the person.
	Build bool
	// Timeout bounds the compiler; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Match is a regular expression in RE2 syntax: only the cases whose "file: name"
	// it matches are run; empty for all.
	Match string
	// Jobs is how many cases run at once; 0 means one a processor.
	Jobs int
	// Update writes the golden files of cases that fail anew, before all are run.
	Update bool
	// Built is told what building came to, and Done each result, as cases end; nil for
	// nobody.
	Built    func(Built)
	Done     func(CaseResult)
	Progress Progress
}

// A CaseResult is what came of one test case, and a CaseReport what came of those of a
// package.
type (
	CaseResult = casetest.Result
	CaseReport = casetest.Report
)

// The outcomes of a test case.
const (
	CasePassed  = casetest.Passed
	CaseFailed  = casetest.Failed
	CaseSkipped = casetest.Skipped
)

// Tested is what came of test cases.
type Tested struct {
	// OK is true when none failed.
	OK bool `json:"ok"`
	casetest.Report
	// Updated are the golden files that were written, and Recorded the case that was
	// recorded before, as the edge has it from [Service.Record]; empty for none.
	Updated  []string `json:"updated,omitempty"`
	Recorded string   `json:"recorded,omitempty"`
}

// WriteJUnit writes what came of them to a file, in the format of JUnit.
func (t Tested) WriteJUnit(file string) error {
	var b bytes.Buffer
	err := casetest.WriteJUnit(&b, t.Report)
	if err == nil {
		err = atomicfile.Write(file, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

// Test runs the test cases of a skill, each in a workspace of its own, with what it grants
// and nothing real behind that. That cases fail is not an error. Errors are
// [fault.Error]s: of [fault.KindNotFound] when there are no cases, of
// [fault.KindVerification] for what was revoked, those of [Service.Build]; and of
// [fault.KindDenied] when Build or Update is asked for by who is not a person.
func (s *Service) Test(ctx context.Context, by approval.Principal, r TestRequest) (Tested, error) {
	o, err := r.options(by)
	if err != nil {
		return Tested{}, err
	}
	h, err := s.state(ctx)
	if err != nil {
		return Tested{}, err
	}
	sub, err := s.subject(ctx, h, by, r)
	if err != nil {
		return Tested{}, err
	}
	out := Tested{}
	if r.Update {
		if out.Updated, err = updateGoldens(ctx, h, &sub, o); err != nil {
			return out, err
		}
	}
	o.Done = r.Done
	if out.Report, err = h.Tester.Run(ctx, sub.pkg, o); err != nil {
		return out, err
	}
	if out.OK = out.Report.OK(); len(out.Results) == 0 && len(out.Problems) == 0 {
		return out, noCases(sub, r.Match, out.Report)
	}
	return out, nil
}

// options are how the cases are run, for who may ask for that.
func (r TestRequest) options(by approval.Principal) (casetest.Options, error) {
	o := casetest.Options{Jobs: r.Jobs}
	err := approval.CheckPrincipal(by)
	if r.Build || r.Update {
		_, err = person(by, "building a skill, and writing its files,")
	}
	if err != nil || r.Match == "" {
		return o, err
	}
	if o.Match, err = regexp.Compile(r.Match); err != nil {
		return o, fault.Errorf(fault.KindUsage, "which cases to run: %w", err).WithHint("write a regular expression in RE2 syntax, such as 'empty|long'")
	}
	return o, nil
}

// A subject is what is tested.
type subject struct {
	pkg *bundle.Package
	// dir is where its sources are; empty for what is packed or installed.
	dir string
	// name is what it was called.
	name string
}

// subject finds what is to be tested, and builds it if it is a directory with sources.
func (s *Service) subject(ctx context.Context, h Home, by approval.Principal, r TestRequest) (subject, error) {
	sub := subject{name: r.Skill}
	if st, err := os.Stat(r.Skill); err == nil && st.IsDir() {
		if r.Build {
			built, err := s.build(ctx, BuildRequest{Path: r.Skill, Timeout: r.Timeout, Progress: r.Progress})
			if r.Built != nil {
				r.Built(built)
			}
			if err != nil {
				return sub, err
			}
		}
		sub.dir = r.Skill
	} else if !strings.ContainsAny(r.Skill, `/\`) && filepath.Ext(r.Skill) != bundle.Extension && filepath.Ext(r.Skill) != ".wasm" {
		ref, err := manifests.ParseRef(r.Skill)
		if err != nil {
			return sub, fault.Wrap(fault.KindUsage, err).WithHint("name a directory, a .skill file or an installed skill")
		}
		t, err := h.Invoke.Find(ctx, by, invoke.Address{Ref: ref}, nil)
		sub.pkg = t.Package()
		return sub, err
	}
	return sub, sub.read(ctx, h, by)
}

// read reads the package at a path. What was revoked is refused, as when it is run.
func (s *subject) read(ctx context.Context, h Home, by approval.Principal) (err error) {
	if _, err := person(by, "testing what is at a path"); err != nil {
		return err
	}
	if s.pkg, err = source.Open(s.name); err != nil {
		return err
	}
	_, err = h.Invoke.Local(ctx, by, s.name, "", s.pkg)
	return err
}

// noCases says how to write a case.
func noCases(s subject, match string, r casetest.Report) error {
	m := s.pkg.Manifest()
	if r.Found > 0 && !m.Type.IsPlugin() {
		return fault.Errorf(fault.KindNotFound, "none of the %d test cases of %s matches %s", r.Found, m.Name, match).
			WithHint("%s looks at \"file: name\", such as \"tests/a.json: empty\"", fault.SetField(fault.FieldMatch))
	}
	switch {
	case m.Type.IsPlugin():
		return fault.Errorf(fault.KindNotFound, "%s is a plugin: test cases are for tools, and it has none", m.Name).
			WithHint("%s asks a provider", fault.TestProvider(m.Name))
	case m.Type.IsPrompt():
		return fault.Errorf(fault.KindNotFound, "%s has no test cases", m.Name).
			WithHint("write tests/first.json: [{\"name\": \"what it shows\", \"input\": {}, \"expect_text\": {\"$contains\": \"what the prompt says\"}}]; %s shows the prompt", fault.Run(s.name).With(fault.FieldRender))
	}
	tool := ""
	if len(m.Tools) > 0 {
		tool = m.Tools[0].Name
	}
	return fault.Errorf(fault.KindNotFound, "%s has no test cases", m.Name).
		WithHint("write tests/first.json: [{\"name\": \"what it shows\", \"tool\": %q, \"input\": {}, \"expect\": {}}], or make one of a real call: %s", tool, fault.Test().With(fault.FieldRecord, "first").With(fault.FieldTool, tool).With(fault.FieldInput, "{}"))
}

// updateGoldens writes the golden files of cases that fail, and reads the package anew.
func updateGoldens(ctx context.Context, h Home, s *subject, o casetest.Options) ([]string, error) {
	if s.dir == "" {
		return nil, fault.Errorf(fault.KindUsage, "golden files are written into a directory, and %s is not one", s.name).WithHint("name the directory of the skill")
	}
	r, err := h.Tester.Run(ctx, s.pkg, o)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("update golden files: %w", err)
	}
	defer root.Close()
	var updated []string
	for _, x := range r.Results {
		if x.Outcome != casetest.Failed || x.Golden == "" || x.Failure != nil {
			continue
		}
		if err := writeGolden(root, x); err != nil {
			return updated, fmt.Errorf("update %s: %w", x.Golden, err)
		}
		updated = append(updated, x.Golden)
	}
	s.pkg, err = bundle.ReadDir(s.dir)
	return updated, err
}

// writeGolden writes what a case came to into its golden file.
func writeGolden(root *os.Root, r casetest.Result) error {
	name := filepath.FromSlash(r.Golden)
	if r.Section == "" {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return root.WriteFile(name, testcase.GoldenFile(r.Golden, r.Output), 0o644)
	}
	if !bytes.HasSuffix(r.Output, []byte("\n")) && filepath.Ext(r.Section) == ".txt" {
		return errors.New("a section ends with a line feed, and the output does not: use expect_file instead")
	}
	old, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	text, ok := testcase.WithSection(old, r.Section, string(testcase.GoldenFile(r.Section, r.Output)))
	if !ok {
		return errors.New("the section " + r.Section + " is not there any more")
	}
	return root.WriteFile(name, text, 0o644)
}
