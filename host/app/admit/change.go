package admit

import (
	"context"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
)

// A Change is what somebody wants changed of what is installed: [Install], [Update],
// [Removal], [Rollback], [Sync] or [Import].
type Change interface {
	// plan says in p what would happen.
	plan(ctx context.Context, s *Service, p *Plan) error
}

// A Flag is something that a package lacks and a person accepts.
type Flag = trust.Flag

// What can be accepted.
const (
	TrustSigner   = trust.TrustSigner
	AcceptSource  = trust.AcceptSource
	AllowUnsigned = trust.AllowUnsigned
)

// Tests say what is made of the test cases of packages.
type Tests = install.Tests

// What can be made of them. The zero value is TestsPass: a package whose cases fail is
// refused.
const (
	TestsPass    = install.TestsPass
	TestsMayFail = install.TestsMayFail
	TestsLeftOut = install.TestsLeftOut
)

// Look says for whom evidence is gathered: what a person looks at before deciding.
type Look int

// For whom it can be gathered.
const (
	// LookIfAsked gathers it where a person has to be asked.
	LookIfAsked Look = iota
	// LookAlways gathers it for every plan.
	LookAlways
	// LookNever leaves it out: nobody will look.
	LookNever
)

// Terms are what holds for every package of a change. The zero value accepts nothing
// that a package lacks.
type Terms struct {
	// Workspace is the absolute directory that relative paths in manifests mean.
	Workspace string
	// Accepted is what a person accepts although packages lack it, and Despite names
	// proposals of the same bytes that were rejected or reverted.
	Accepted []Flag
	Despite  []string
	Tests    Tests
	Look     Look
	// Whole has the evidence leave nothing out, however long it is.
	Whole bool
	// Progress is told what is being done; nil for nobody.
	Progress func(Doing)
}

// Doing is what the planning of a change is busy with.
type Doing struct {
	// Stage is empty when it is done.
	Stage Stage
	// Skill is what it is about.
	Skill string
	// Done of so many test cases are over.
	Done, Of int
}

// A Stage is one part of planning.
type Stage string

// The stages.
const (
	StageNewer   Stage = "newer"   // looking for a newer version
	StageResolve Stage = "resolve" // looking for what a skill needs
	StageCheck   Stage = "check"   // checking a package
	StageReplay  Stage = "replay"  // trying it on recorded calls
	StageFetch   Stage = "fetch"   // fetching a package
	StageCompile Stage = "compile" // compiling a module
	StageTest    Stage = "test"    // running the test cases of a package
)

// tell says what is being done until the function that it returns is called.
func (t Terms) tell(stage Stage, skill string) (done func()) {
	if t.Progress == nil {
		return func() {}
	}
	t.Progress(Doing{Stage: stage, Skill: skill})
	return func() { t.Progress(Doing{}) }
}

// tellOf passes on what the installer says of a package.
func (t Terms) tellOf(skill string) func(install.Doing) {
	if t.Progress == nil {
		return nil
	}
	return func(d install.Doing) { t.Progress(Doing{Stage(d.Stage), skill, d.Done, d.Of}) }
}

// request is what is asked of the installer for a package.
func (p *Plan) request(got *source.Fetched, needed bool) install.Request {
	req := install.Request{
		Package: got.Package, Source: got.Source, SourceKind: string(got.Kind), Artifact: got.Artifact,
		Origin: registry.OriginUser, ProposedBy: p.by.Actor(), Rationale: p.rationale, Notes: got.Notes,
		Workspace: p.terms.Workspace, Directory: got.MadeHere(), Listed: got.Listed, Archive: got.Archive, Signatures: got.Signatures,
		Accepted: p.terms.Accepted, Despite: p.terms.Despite, Tests: p.terms.Tests, Since: p.since,
		Progress: p.terms.tellOf(got.Package.Manifest().Name),
	}
	req.Person, _ = p.by.(approval.Human)
	if p.model != "" {
		req.ProposedBy = "model:" + p.model
	}
	if (p.model != "" || p.made) && !needed { // what is needed was not written by the model
		req.Origin = registry.OriginGenerated
	}
	return req
}
