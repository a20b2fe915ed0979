package install

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/casetest"
)

// Tests say what is made of the test cases that a package brings.
type Tests int

// What can be made of them.
const (
	// TestsPass: a package whose cases fail is refused.
	TestsPass Tests = iota
	// TestsMayFail: they are run, and the decision says that some failed.
	TestsMayFail
	// TestsLeftOut: they are not run.
	TestsLeftOut
)

// tested runs the test cases of the package, with nothing real behind what they are
// granted. What is installed already was tested then, what is in development is tested
// by who works on it, and what a model wrote waits for a person, who is shown what its
// cases come to.
func (i *Installer) tested(ctx context.Context, p *Plan) error {
	elsewhere := p.Installed || p.Origin == registry.OriginDevelopment || p.Origin == registry.OriginGenerated
	if i.tester == nil || elsewhere || p.request.Tests == TestsLeftOut {
		return nil
	}
	r, err := i.tester.Run(ctx, p.request.Package, p.request.counted(casetest.Strangers()))
	if err != nil {
		return fmt.Errorf("%s@%s: %w", p.Skill, p.Version, err)
	}
	if r = r.Brief(); r.Found == 0 && len(r.Problems) == 0 {
		return nil
	}
	p.Tests = &r
	if r.OK() {
		return nil
	}
	if p.request.Tests == TestsMayFail {
		p.Warnings = append(p.Warnings, despiteTests(r))
		return nil
	}
	return fault.Errorf(fault.KindVerification, "%s@%s: %s: %s", p.Skill, p.Version, failing(r), firstFailure(r)).
		WithHint("%s on its directory or file shows all of it; to install it all the same: %s", fault.Test().With(fault.FieldNoBuild), fault.SetField(fault.FieldAllowFailingTests))
}

// counted are options with which it is told how many cases are over.
func (r Request) counted(o casetest.Options) casetest.Options {
	cases, _ := casetest.Cases(r.Package)
	d := Doing{Stage: StageTest, Of: len(cases)}
	if d.Of == 0 {
		return o
	}
	r.tell(d)
	o.Done = func(casetest.Result) {
		d.Done++
		r.tell(d)
	}
	return o
}

// failing says how many cases fail, or that they cannot be read.
func failing(r casetest.Report) string {
	if r.Failed == 0 {
		return "its test cases cannot be read"
	}
	return fmt.Sprintf("%d of its %d test cases failed", r.Failed, len(r.Results))
}

// firstFailure is the first thing that is wrong.
func firstFailure(r casetest.Report) string {
	for _, x := range r.Results {
		if x.Outcome == casetest.Failed {
			return fmt.Sprintf("%s: %s: %s", x.File, x.Name, x.Detail)
		}
	}
	return r.Problems[0]
}

// despiteTests is what is kept of failures that a person let pass.
func despiteTests(r casetest.Report) string { return "allowed although " + failing(r) }

// note is what is kept with the decision: the digest, and what was let pass.
func (p Plan) note() string {
	if p.Tests != nil && !p.Tests.OK() {
		return string(p.Digest) + " " + despiteTests(*p.Tests)
	}
	return string(p.Digest)
}
