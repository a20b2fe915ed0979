package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// caseName is a name that a file of a recorded case can have.
var caseName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// maxRecorded is how long a recorded case may be: as long as a file of cases may be.
const maxRecorded = 1 << 20

// A RecordRequest is a call of which a test case is made.
type RecordRequest struct {
	// Skill is the directory of the skill, which is built first when Build is set, within
	// Timeout; 0 means [DefaultTimeout].
	Skill   string
	Build   bool
	Timeout time.Duration
	// Name is that of the case, with which its file is called.
	Name string
	// Replace replaces a case that is there.
	Replace bool
	// Tool is the tool to call; empty for the only one.
	Tool  string
	Input []byte
	// Allow is what the call may do.
	Allow approval.EphemeralGrant
	// Workspace is the absolute directory against which relative paths resolve.
	Workspace string
	// Built is told what building came to; nil for nobody.
	Built    func(Built)
	Progress Progress
}

// A RecordedCase is a test case that was written.
type RecordedCase struct {
	// File is its path in the package.
	File string
	// Match is what has [Service.Test] run it alone.
	Match string
	// TooShort names secrets that are too short to be struck out of it.
	TooShort []string
}

// Record makes a real call, and of it a test case in a file of its own, with the values of
// secrets struck out. Errors are [fault.Error]s: of [fault.KindConflict] for a case that is
// there, and those of [Service.Test].
func (s *Service) Record(ctx context.Context, by approval.Human, r RecordRequest) (RecordedCase, error) {
	if err := by.Check(); err != nil {
		return RecordedCase{}, err
	}
	h, err := s.state(ctx)
	if err != nil {
		return RecordedCase{}, err
	}
	sub, err := s.subject(ctx, h, by, TestRequest{Skill: r.Skill, Build: r.Build, Timeout: r.Timeout, Built: r.Built, Progress: r.Progress})
	if err != nil {
		return RecordedCase{}, err
	}
	file, err := r.file(sub)
	if err != nil {
		return RecordedCase{}, err
	}
	a, err := recordCall(ctx, h, by, sub, r)
	if err != nil {
		return RecordedCase{}, err
	}
	made, err := casetest.Recorded(r.Name, a.Recording, os.ReadFile)
	if err != nil {
		return RecordedCase{}, fault.Wrap(fault.KindUsage, err)
	}
	return RecordedCase{file, "^" + regexp.QuoteMeta(file+": "), a.TooShort}, writeCase(sub.dir, file, made)
}

// file is the file of the case, if one can be recorded.
func (r RecordRequest) file(s subject) (string, error) {
	switch {
	case s.dir == "":
		return "", fault.Errorf(fault.KindUsage, "a case is recorded into a directory, and %s is not one", s.name).WithHint("name the directory of the skill")
	case !s.pkg.Manifest().Type.IsCode() && !s.pkg.Manifest().Type.IsMCP():
		return "", fault.Errorf(fault.KindUsage, "only the call of a tool can be recorded, and %s is a %s", s.name, s.pkg.Manifest().Type).
			WithHint("a case of a prompt is its parameters and its text, which %s shows", fault.Run(s.name).With(fault.FieldRender))
	case !caseName().MatchString(r.Name):
		return "", fault.Errorf(fault.KindUsage, "record %q: a case has a name of letters, digits and . _ -, with which its file is called", r.Name)
	}
	file := testcase.Dir + "/" + r.Name + ".json"
	if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(file))); err == nil && !r.Replace {
		return "", fault.Errorf(fault.KindConflict, "%s exists already", file).WithHint("give the case another name, or replace it with %s", fault.SetField(fault.FieldUpdate))
	}
	return file, nil
}

// recordCall makes the call.
func recordCall(ctx context.Context, h Home, by approval.Human, s subject, r RecordRequest) (invoke.Answer, error) {
	t, err := h.Invoke.Local(ctx, by, s.name, r.Tool, s.pkg)
	if err != nil {
		return invoke.Answer{}, err
	}
	defer r.Progress.step("recording " + s.name)()
	a, err := h.Invoke.Invoke(ctx, invoke.Invocation{
		Target: t, By: by, Input: r.Input, Allow: r.Allow, Workspace: r.Workspace, NoCache: true, Record: true,
	})
	if err == nil && a.Recording == nil {
		err = fmt.Errorf("record the case %s: %w", r.Name, a.Error)
	}
	return a, err
}

// writeCase writes a case into its file.
func writeCase(dir, file string, made testcase.Case) error {
	b, err := testcase.Encode(made)
	if err != nil {
		return err
	}
	if len(b) > maxRecorded {
		return fault.Errorf(fault.KindLimit, "the case is %d bytes long, and at most %d are read", len(b), maxRecorded).
			WithHint("record a call that reads less, or write the case by hand, with long texts in files of tests/data")
	}
	if _, err := testcase.Parse(b, file); err != nil { // nobody could run it
		return fmt.Errorf("write the recorded case: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	defer root.Close()
	if err := root.Mkdir(testcase.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	if err := root.WriteFile(filepath.FromSlash(file), b, 0o644); err != nil {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	return nil
}
