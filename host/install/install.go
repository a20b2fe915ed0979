// Package install is the one way in: whatever a package's origin, it is read
// and verified, its module is checked against its manifest, what it asks for
// is put to the policies, and it becomes active only when nobody else has to
// be asked, or when a person said yes.
//
// It does not compile or run anything by itself; the [Engine] it is given does.
package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/limit"
)

// An Engine knows the code of packages.
type Engine interface {
	// Check proves that a package's module can be loaded and has the exports
	// its tools name. It runs none of the package's code.
	Check(ctx context.Context, p *bundle.Package) error
	// Forget deletes what the skill of that name kept between its runs.
	Forget(ctx context.Context, skill string) error
	// Keeps reports whether the skill of that name keeps anything.
	Keeps(ctx context.Context, skill string) (bool, error)
	// FitsState proves that a version of an installed skill can work with what the
	// skill keeps, and TakeBack takes that back, where it has to be, to what it was
	// before a later version changed it.
	FitsState(ctx context.Context, m *manifests.Manifest) error
	TakeBack(ctx context.Context, m *manifests.Manifest) error
}

// An Installer brings packages in and takes them out.
type Installer struct {
	ledger    *ledger.Ledger
	registry  *registry.Registry
	approvals *approval.Store
	trust     *trust.Store
	policies  func() (*policies.Set, error)
	engine    Engine
	tester    *casetest.Tester
	home      string
}

// New makes an Installer for the home directory, which policies may speak of. p returns
// the policies in force: the same set until they change. If t is nil, the test cases of
// packages are skipped.
func New(l *ledger.Ledger, r *registry.Registry, d *approval.Store, b *trust.Store, p func() (*policies.Set, error), e Engine, t *casetest.Tester, home string) *Installer {
	return &Installer{ledger: l, registry: r, approvals: d, trust: b, policies: p, engine: e, tester: t, home: home}
}

// A Request is a package that somebody wants installed.
type Request struct {
	Package *bundle.Package
	// Source is where the package came from, as it was named, and SourceKind what
	// sort of place that is; empty for a path.
	Source     string
	SourceKind string
	Origin     registry.Origin
	// Artifact is the digest of what was fetched, if that was not a directory.
	Artifact manifests.Digest
	// Directory is whether it was read from a directory of whoever installs it, where
	// nothing is signed. Archive is the artifact, for signatures that its digest is
	// not enough for, and Signatures are those that came with it, not verified.
	Directory bool
	Archive   []byte
	// Listed is true when the catalog of this program lists the artifact: it need not be
	// signed.
	Listed     bool
	Signatures [][]byte
	// Accepted are the flags by which a person accepts what it lacks, and Despite
	// names proposals of the same bytes that were rejected or reverted.
	Accepted []trust.Flag
	Despite  []string
	// Person says that nobody has to be asked about the installation. With the zero
	// value everything waits for a person.
	Person approval.Human
	// Dependencies are the skills it needs, as they were resolved. Needed and Asked
	// are as in [registry.Provenance]. With Beside another version stays active.
	Dependencies []registry.Dependency
	Needed       bool
	Asked        *registry.Asked
	Beside       bool
	// ProposedBy is who brings it: "human:ada", "model:NAME".
	ProposedBy string
	// Rationale is the proposer's reason; may be empty.
	Rationale string
	// Notes are what the person should know beside what is found out here.
	Notes []string
	// Workspace is the absolute directory that relative paths in the manifest
	// resolve against.
	Workspace string
	// Tests say what is made of the package's test cases.
	Tests Tests
	// Since is what the plan is made from: when that has changed as far as it is about
	// this skill, nothing is done, see [ErrMoved]. nil means how everything stands when
	// the plan is made; a caller that looked at something before took it before that.
	Since *State
	// Progress is told what takes a while; nil for nobody.
	Progress func(Doing)
}

// Doing is what the planning of an installation is busy with.
type Doing struct {
	Stage Stage
	// Done of so many test cases are over.
	Done, Of int
}

// A Stage is a part of planning that takes a while.
type Stage string

// The stages.
const (
	StageCompile Stage = "compile" // compiling the module, in a worker
	StageTest    Stage = "test"    // running the test cases of the package
)

func (r Request) tell(d Doing) {
	if r.Progress != nil {
		r.Progress(d)
	}
}

// A Plan says what an installation would do.
type Plan struct {
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Kind    manifests.Kind   `json:"kind"`
	Type    approval.Type    `json:"type"`
	Origin  registry.Origin  `json:"origin"`
	Source  string           `json:"source"`
	// Signer is who signed it, in the text form of a signer; empty for nobody.
	Signer string `json:"signer,omitempty"`
	// Replaces is the version that is active now; empty for a new skill.
	Replaces string `json:"replaces,omitempty"`
	// Refused says that a person turned these bytes down; nil when nobody did.
	Refused *approval.Refused `json:"refused,omitempty"`
	// Trust is how it stands: see [trust.Assess].
	Trust trust.Verdict `json:"-"`
	// Installed is true when exactly these bytes are installed and active.
	Installed bool `json:"installed"`
	// Asks is what the package asks for.
	Asks []approval.Ask `json:"asks"`
	// Effect is what the policies say about the whole: the strictest of all
	// asks: "allow", "ask" or "deny".
	Effect string `json:"effect"`
	// Reason and Policies explain Effect.
	Reason   string   `json:"reason,omitempty"`
	Policies []string `json:"policies,omitempty"`
	// Limits bound each call of the skill.
	Limits limit.Set `json:"limits"`
	// Upgrade is what is different from the version it replaces; nil when it
	// replaces none.
	Upgrade *review.Upgrade `json:"upgrade,omitempty"`
	// Tests are what the package's test cases came to, in brief; nil when there are
	// none, or they were not run.
	Tests *casetest.Report `json:"tests,omitempty"`
	// Warnings are what a person should know and nothing is refused for: what the
	// manifest asks for and the module has no use for.
	Warnings []string `json:"warnings"`
	// Carried is true when everything the package asks for was granted to the
	// version it replaces, which has the same trusted signer: nobody is asked again.
	Carried bool `json:"carried"`
	// Forgets is set when another skill of this name left data behind, which is
	// deleted: it says whose.
	Forgets *registry.Leftover `json:"forgets,omitempty"`

	request Request
	// accepted is what is remembered of who signed it and where it came from.
	accepted trust.Acceptance
	former   former
	// whole is what the policies say about the package apart from what it asks for.
	whole policies.Effect
	// named is true when the person knows of Refused.
	named bool
	// keepsActive means that the active version stays active.
	keepsActive bool
	// links are installed versions that are resolved otherwise with it.
	links []registry.Link
}

// New are the asks that no earlier version was granted.
func (p Plan) New() []approval.Ask {
	return slices.DeleteFunc(slices.Clone(p.Asks), func(a approval.Ask) bool { return !a.New })
}

// Plan checks a package and says what installing it would do. It changes
// nothing. Errors are [fault.Error]s: of [fault.KindVerification] for a module
// that cannot be accepted, of [fault.KindDenied] for what a policy forbids, of
// [fault.KindConflict] for a version that exists with other bytes. A package that
// is revoked, that lacks a signature or that comes from elsewhere than before is
// refused with [fault.KindVerification], before anything of it is compiled.
func (i *Installer) Plan(ctx context.Context, req Request) (Plan, error) {
	m := req.Package.Manifest()
	if err := runnable(m); err != nil {
		return Plan{}, err
	}
	if req.Since == nil {
		now, err := i.State(ctx)
		if err != nil {
			return Plan{}, err
		}
		req.Since = now
	}
	if err := req.tidy(); err != nil {
		return Plan{}, err
	}
	p := Plan{
		Skill: m.Name, Version: m.Version, Digest: req.Package.Digest(), Kind: m.Type, Type: approval.TypeNewSkill,
		Origin: req.Origin, Source: req.Source, Limits: m.Limits(), request: req, keepsActive: req.Beside,
	}
	if err := i.assess(ctx, &p); err != nil {
		return Plan{}, err
	}
	req.tell(Doing{Stage: StageCompile})
	if err := i.engine.Check(ctx, req.Package); err != nil {
		return Plan{}, fmt.Errorf("%s@%s: %w", m.Name, m.Version, err)
	}
	for _, step := range []func(context.Context, *Plan) error{i.inspect, i.beside, i.judge, i.refused, i.leftover, i.interprets, i.tested} {
		if err := step(ctx, &p); err != nil {
			return Plan{}, err
		}
	}
	return p, nil
}

// Judge says how a package stands by what is known of signers, sources and
// revocations, as [Installer.Plan] does before it looks at anything else.
func (i *Installer) Judge(ctx context.Context, req Request) (trust.Verdict, error) {
	return i.trust.Assess(ctx, req.evidence())
}

// inspect compares what the module calls with what the manifest asks for.
func (i *Installer) inspect(_ context.Context, p *Plan) error {
	found, err := review.Imports(p.request.Package)
	if err != nil {
		return fault.Wrap(fault.KindVerification, fmt.Errorf("%s@%s: %w", p.Skill, p.Version, err))
	}
	p.Warnings = slices.Concat(p.Warnings, agentSkillNotes(p.request.Package.Manifest()), p.request.Notes)
	for _, f := range found {
		if f.Refused {
			return fault.Errorf(fault.KindVerification, "%s@%s: %s", p.Skill, p.Version, f.Words).WithHint("%s", f.WayOut)
		}
		p.Warnings = append(p.Warnings, f.Words)
	}
	return nil
}

// beside compares the package with what is installed.
func (i *Installer) beside(ctx context.Context, p *Plan) error {
	var err error
	if p.former, err = i.compare(ctx, p, p.request.Package.Manifest().Aliases); err != nil {
		return err
	}
	if p.Replaces == "" || p.Installed {
		return nil
	}
	// One that is damaged cannot be compared, and may be replaced.
	before := review.Side{Package: p.former.pkg, Signer: p.former.signer, Workspace: p.request.Workspace}
	after := review.Side{Package: p.request.Package, Signer: p.Signer, Workspace: p.request.Workspace}
	if before.Package == nil {
		return nil
	}
	p.Upgrade, err = review.CompareSides(before, after)
	return err
}

// runnable refuses manifests with fields that this host would have to ignore.
func runnable(m *manifests.Manifest) error {
	ps := m.Unsupported()
	if len(ps) == 0 {
		return nil
	}
	var lines []string
	for _, p := range ps {
		lines = append(lines, p.Path+": "+p.Message)
	}
	return fault.Errorf(fault.KindUsage, "%s@%s asks for something that this host does not support: %s", m.Name, m.Version, strings.Join(lines, "; ")).
		WithHint("remove these fields from the manifest, or use a skillet that supports them")
}

// An Outcome is what became of a request.
type Outcome struct {
	// Skill is what is installed; nil while it waits.
	Skill *registry.Skill `json:"skill,omitempty"`
	// Proposal is what waits for a person; nil when nothing does.
	Proposal *approval.Proposal `json:"proposal,omitempty"`
	// Granted are the grants that it has now.
	Granted []approval.Grant `json:"granted,omitempty"`
	// Unchanged is true when these bytes were installed and active already.
	Unchanged bool `json:"unchanged"`
}

// ErrWaits means that the package waits for a person. Errors that wrap it are
// [fault.Error]s of [fault.KindApproval].
var ErrWaits = errors.New("waits for approval")

// Submit installs a planned package if no person has to be asked, and records
// a proposal otherwise, which it returns with an error that wraps [ErrWaits].
func (i *Installer) Submit(ctx context.Context, p Plan) (Outcome, error) {
	if !p.Installed && p.Effect == policies.Allow.String() && p.request.Person.Check() == nil {
		return i.Accept(ctx, p.request.Person, p)
	}
	return one(i.SubmitGroup(ctx, p.alone()))
}

// Accept installs a planned package with the consent of a person, who was
// shown the plan: everything it asks for is granted. When these bytes are
// installed already, it is granted what it asks for and does not have yet.
func (i *Installer) Accept(ctx context.Context, h approval.Human, p Plan) (Outcome, error) {
	return one(i.AcceptGroup(ctx, h, p.alone()))
}

// alone is a group of one package.
func (p Plan) alone() Group {
	return Group{Kind: "install", Subject: p.Skill + "@" + p.Version, Plans: []Plan{p}, Since: p.request.Since}
}

// one is what became of a group of one package.
func one(all []Outcome, err error) (Outcome, error) {
	if len(all) == 0 {
		return Outcome{}, err
	}
	return all[0], err
}

// outcome is what a decision led to. It is made: an interruption that comes now
// must not look as if it were not.
func (i *Installer) outcome(ctx context.Context, skill, version string) (Outcome, error) {
	ctx = context.WithoutCancel(ctx)
	s, err := i.registry.Lookup(ctx, manifests.Ref{Name: skill, Version: version})
	if err != nil {
		return Outcome{}, err
	}
	gs, err := i.approvals.Grants(ctx, s.Digest)
	now := time.Now()
	gs = slices.DeleteFunc(gs, func(g approval.Grant) bool { return !g.Live(now) })
	return Outcome{Skill: &s, Granted: gs}, err
}

// install keeps the package's bytes and then commits one decision: from the
// moment Commit returns, all of it holds. No grant moves from one version to
// the next by itself: it was given to other bytes. consent makes the grants that
// are part of the decision; h may be zero for a package that asks for nothing.
func (i *Installer) install(ctx context.Context, p Plan, h approval.Human, consent func(context.Context) ([]ledger.Change, error)) (Outcome, error) {
	actor := p.request.ProposedBy
	if h.Check() == nil {
		actor = h.Actor()
	}
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		if err := i.unmoved(ctx, p); err != nil {
			return ledger.Decision{}, err
		}
		if err := i.makeRoom(ctx, p.Skill, p.Signer, p.Source, p.Digest); err != nil {
			return ledger.Decision{}, err
		}
		if err := i.registry.Keep(ctx, p.request.Package); err != nil {
			return ledger.Decision{}, err
		}
		installed, err := p.provenance().Installed(p.request.Package)
		if err != nil {
			return ledger.Decision{}, err
		}
		trusted, err := i.trusting(ctx, h, p)
		if err != nil {
			return ledger.Decision{}, err
		}
		given, err := consent(ctx)
		if err != nil {
			return ledger.Decision{}, err
		}
		settled, err := i.stale(ctx, "the installation of "+p.Skill+"@"+p.Version, func(o approval.Proposal) bool { return o.Skill == p.Skill })
		return ledger.Decision{
			Kind: "install", Actor: actor, Subject: p.Skill + "@" + p.Version, Note: p.note(),
			Changes: slices.Concat([]ledger.Change{installed}, trusted, given, settled),
		}, err
	})
	if err != nil {
		return Outcome{}, err
	}
	return i.outcome(ctx, p.Skill, p.Version)
}

func (i *Installer) propose(ctx context.Context, p Plan) (Outcome, error) {
	var proposal approval.Proposal
	bad := ""
	if err := i.assess(ctx, &p); err != nil { // it may have been revoked since it was planned
		return Outcome{}, err
	}
	scan, err := findings.Scan(ctx, p.request.Package)
	if err != nil {
		return Outcome{}, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if proposal, err = p.proposal(); err != nil {
			return ledger.Decision{}, err
		}
		waiting, ok, err := i.approvals.Pending(ctx, proposal)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ok {
			proposal = waiting
			return ledger.Decision{}, errKnown
		}
		if err := i.unmoved(ctx, p); err != nil {
			return ledger.Decision{}, err
		}
		if err := i.registry.Keep(ctx, p.request.Package); err != nil {
			return ledger.Decision{}, err
		}
		proposal.Scanned = &approval.ScanCount{Block: scan.Count(findings.Block), Warn: scan.Count(findings.Warn), Info: scan.Count(findings.Info)}
		c, err := i.approvals.Proposed(proposal)
		if err != nil {
			return ledger.Decision{}, err
		}
		put, why, err := quarantined(proposal, scan)
		bad = why
		return ledger.Decision{
			Kind: "propose", Actor: proposal.ProposedBy, Subject: p.Skill + "@" + p.Version,
			Note: p.note(), Changes: append([]ledger.Change{c}, put...),
		}, err
	})
	if err != nil && !errors.Is(err, errKnown) {
		return Outcome{}, err
	}
	if proposal, err = i.approvals.Proposal(context.WithoutCancel(ctx), proposal.ID); err != nil {
		return Outcome{}, err
	}
	if bad != "" {
		return Outcome{Proposal: &proposal}, approval.InQuarantine(proposal, bad)
	}
	return Outcome{Proposal: &proposal}, waiting(proposal)
}

func waiting(p approval.Proposal) error {
	return fault.Errorf(fault.KindApproval, "%s %w: proposal %s", p.Ref(), ErrWaits, p.ID).
		WithHint("look at it with %s, then %s or %s", fault.ShowProposal(p.ID), fault.Approve(p.ID), fault.Reject(p.ID))
}

func isWaiting(err error) bool { return errors.Is(err, ErrWaits) }

// errKnown ends a commit because the same is proposed already.
var errKnown = errors.New("proposed already")

func (p Plan) proposal() (approval.Proposal, error) {
	title := fmt.Sprintf("install %s@%s", p.Skill, p.Version)
	if p.Replaces != "" {
		title = fmt.Sprintf("replace %s@%s by %s", p.Skill, p.Replaces, p.Version)
	}
	trusted, err := p.trusted()
	var tested *approval.TestCount
	if r := p.Tests; r != nil {
		tested = &approval.TestCount{Passed: r.Passed, Failed: r.Failed + len(r.Problems), Skipped: r.Skipped}
	}
	return approval.Proposal{
		Tested: tested,
		ID:     approval.NewID(), Type: p.proposalType(), Title: title, Rationale: p.request.Rationale,
		Skill: p.Skill, Version: p.Version, Digest: p.Digest, Requested: p.Asks,
		Origin: string(p.Origin), Source: p.Source, ProposedBy: p.request.ProposedBy,
		Replaces: p.Replaces, Limits: p.Limits, SourceKind: p.request.SourceKind, Signer: p.Signer,
		Artifact: p.request.Artifact, Dependencies: p.request.Dependencies,
		Needed: p.request.Needed, Asked: p.request.Asked, Beside: p.keepsActive, Links: p.links, Trust: trusted, Workspace: p.request.Workspace,
	}, err
}
