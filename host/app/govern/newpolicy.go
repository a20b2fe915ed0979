package govern

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/policies"
)

// A PolicyTemplate makes policies that many people want.
type PolicyTemplate = policies.Template

// PolicyTemplates returns the templates of [Policies.New].
func PolicyTemplates() []PolicyTemplate { return policies.Templates() }

// A NewPolicyRequest asks for policies of a template.
type NewPolicyRequest struct {
	Template string
	// ID is that of the first policy, and the name of its file; empty for the name of the
	// template.
	ID string
	// Values are what the template leaves to say, by name.
	Values map[string]string
	// DryRun writes nothing.
	DryRun bool
}

// A NewPolicy is what a template made.
type NewPolicy struct {
	ID string `json:"id"`
	// File holds Policy, and Tests the file of test cases Cases.
	File   string `json:"file"`
	Tests  string `json:"tests"`
	Policy string `json:"policy"`
	Cases  string `json:"cases"`
	// Written says that the files are there, and the policies in force.
	Written bool `json:"written"`
	// Outcomes are what became of its cases, and of those of the home, with all policies that
	// are in force then.
	Outcomes []CaseOutcome `json:"outcomes"`
}

// New writes policies of a template to the home, and test cases for them. They are in force
// from then on. Errors: [fault.KindUsage] for values that do not fit, [fault.KindConflict] when
// a policy or a file of the name is there.
func (s *Policies) New(ctx context.Context, by approval.Human, req NewPolicyRequest) (NewPolicy, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return NewPolicy{}, err
	}
	t, err := policies.TemplateNamed(req.Template)
	if err != nil {
		return NewPolicy{}, fault.Wrap(fault.KindUsage, err)
	}
	w, err := t.Write(req.ID, req.Values)
	if err != nil {
		return NewPolicy{}, fault.Wrap(fault.KindUsage, err)
	}
	dir := filepath.Join(s.p.Home, "policies")
	n := NewPolicy{
		ID: w.ID, File: filepath.Join(dir, w.ID+".cedar"), Tests: filepath.Join(dir, "tests", w.ID+".json"),
		Policy: string(w.Policy), Cases: string(w.Cases),
	}
	if err := s.freeOf(n, w); err != nil {
		return n, err
	}
	if n.Outcomes, err = s.outcomesWith(n, w); err != nil || req.DryRun {
		return n, err
	}
	return s.write(n)
}

// freeOf refuses what would take the place of something.
func (s *Policies) freeOf(n NewPolicy, w policies.Written) error {
	for _, file := range []string{n.File, n.Tests} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return fault.Errorf(fault.KindConflict, "%s is there already", file).WithHint("choose another id: %s", fault.SetField(fault.FieldID, w.ID+"-2"))
		}
	}
	return nil
}

// outcomesWith puts all cases of the home to the policies that are in force then.
func (s *Policies) outcomesWith(n NewPolicy, w policies.Written) ([]CaseOutcome, error) {
	now, err := s.p.Policies()
	if err != nil {
		return nil, err
	}
	set, err := now.With(w)
	if err != nil {
		return nil, fault.Wrap(fault.KindConflict, err).WithHint("choose another id: %s", fault.SetField(fault.FieldID, w.ID+"-2"))
	}
	var all []CaseOutcome
	for _, c := range w.Tests() {
		all = append(all, set.Try(n.Tests, c, s.p.Home))
	}
	files, err := policies.ReadCases(filepath.Dir(n.Tests))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, caseError(err)
	}
	for file, cases := range files {
		for _, c := range cases {
			all = append(all, set.Try(file, c, s.p.Home))
		}
	}
	return all, nil
}

// write writes the cases before the policies, which are in force once they are there.
func (s *Policies) write(n NewPolicy) (NewPolicy, error) {
	if err := os.MkdirAll(filepath.Dir(n.Tests), 0o700); err != nil {
		return n, fmt.Errorf("make the directory of policies: %w", err)
	}
	for _, one := range [][2]string{{n.Tests, n.Cases}, {n.File, n.Policy}} {
		if err := atomicfile.Create(one[0], []byte(one[1])); err != nil {
			return n, fmt.Errorf("write %s: %w", one[0], err)
		}
	}
	n.Written = true
	return n, nil
}

// ReadTime reads a time as people write it, such as 2026-11-28T18:30.
func ReadTime(text string) (time.Time, error) { return policies.ReadTime(text) }
