package admit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/policies/limit"
)

// ErrMoved means that a plan cannot be committed because what it was made from has
// changed, or because it was committed before: plan again. Errors that wrap it are
// [fault.Error]s of [fault.KindConflict].
var ErrMoved = install.ErrMoved

// A Plan says what a change would do. Only [Service.Plan] makes one that can be
// committed, and it can be committed once.
type Plan struct {
	// Kind is what is planned: "install", "update", "remove", "rollback", "sync" or "import".
	Kind string `json:"kind"`
	// Skill is the skill that was named, From its active version and To the one that
	// becomes active; empty for none.
	Skill string `json:"skill"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Status says of an update how it stands, and Why the reason when there is nothing
	// to do: with {0} for the first of Remedies, and so on.
	Status   Status         `json:"status,omitempty"`
	Why      string         `json:"why,omitempty"`
	Remedies []fault.Remedy `json:"remedies,omitempty"`
	// Held is what keeps a skill that has a later version where it is. Broken are skills that do
	// not take the version that another goes to: they move with it. AskedOtherwise are those that
	// a person asks for otherwise then.
	Held           []Hold              `json:"held,omitempty"`
	Broken         []Hold              `json:"broken,omitempty"`
	AskedOtherwise []closure.LatestAsk `json:"asked_otherwise,omitempty"`
	// Packages are what would be installed or granted something: what is needed before
	// what needs it.
	Packages []Package `json:"packages,omitempty"`
	// Links are installed versions that would be resolved otherwise, Activate those
	// that would become active again, and Omitted what is optional and left out.
	Links    []registry.Link  `json:"links,omitempty"`
	Activate []registry.Skill `json:"activate,omitempty"`
	Omitted  []Omitted        `json:"omitted,omitempty"`
	// Replays are what the new version of an updated skill did on recorded calls; nil
	// when there are none.
	Replays *replay.Shadow `json:"replays,omitempty"`
	// Upgrades are what becomes different with each of Activate, for an update; nil where
	// that cannot be told.
	Upgrades []*review.Upgrade `json:"upgrades,omitempty"`
	// Removal, Rollback, Sync and Imports are what those changes would do.
	Removal  *Removed    `json:"removal,omitempty"`
	Rollback *RolledBack `json:"rollback,omitempty"`
	Sync     *Synced     `json:"sync,omitempty"`
	Imports  []Imported  `json:"imports,omitempty"`
	// Waits is true when a person has to be asked, and Proposed when it is recorded as
	// proposals whatever a person says to this plan.
	Waits    bool `json:"waits"`
	Proposed bool `json:"proposed,omitempty"`
	// Refused says why it will not be committed: because of what the change itself
	// rules out. It is nil otherwise.
	Refused *fault.Error `json:"refused,omitempty"`

	by        approval.Principal
	since     *install.State
	terms     Terms
	model     string
	made      bool // the package that was named is one that this program made
	rationale string
	group     install.Group
	closure   *closure.Plan
	// standing is the version of the named skill that is installed already, as it was
	// looked at again; it is not a member of the group.
	standing *install.Plan
	commit   func(context.Context, *Service, approval.Principal, Consent) (Result, error)
	spent    atomic.Bool
}

// A Package is one package of a plan, with what a person looks at before deciding.
type Package struct {
	install.Plan
	// Limits are those that hold on this host, and Cut those of the manifest that it
	// makes smaller.
	Limits limit.Set   `json:"limits"`
	Cut    []limit.Cut `json:"limits_cut"`
	// Difference is the package beside the active version of its skill.
	Difference Comparison      `json:"difference"`
	Findings   findings.Report `json:"findings"`
	// Similar are installed skills that are much like it.
	Similar []evidence.Similar `json:"similar"`
	// Summary is what should not be missed.
	Summary []evidence.Point `json:"summary"`
	// Read is what models read of a new skill; nil for what replaces a version.
	Read *review.ReadByModels `json:"read_by_models,omitempty"`
	// Replays are what it did on recorded calls; nil when there are none.
	Replays *replay.Shadow `json:"replays,omitempty"`

	// For says who needs it, and Name how it was named, or where it comes from.
	For  string `json:"-"`
	Name string `json:"-"`
	// Trust says who signed it, where it comes from, and what of that is accepted.
	Trust []Trusted `json:"-"`
	// Looked is true when the evidence was gathered: all above that [install.Plan] does
	// not have.
	Looked bool `json:"-"`

	got *source.Fetched
}

// Trusted is something that is known of who signed a package, or where it comes from.
type Trusted struct {
	Words string `json:"words"`
	// Noted is true for what a person should be told: who is seen for the first time,
	// and what was accepted.
	Noted bool `json:"noted"`
}

// A Link is an installed version that is resolved otherwise than before.
type Link = registry.Link

// Omitted is an optional dependency that is left out.
type Omitted struct {
	Skill      string `json:"skill"`
	Constraint string `json:"constraint"`
	// By is who could use it; empty for who asks for the change.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason"`
}

// Plan says what a change would do. It changes nothing. Errors are those of the parts
// that look at it: of [fault.KindVerification] for what cannot be accepted, of
// [fault.KindDenied] for what a policy forbids, of [fault.KindConflict] for what does
// not fit together.
func (s *Service) Plan(ctx context.Context, by approval.Principal, c Change) (*Plan, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fault.Errorf(fault.KindUsage, "plan: no change is named")
	}
	since, err := s.parts.Installer.State(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{by: by, since: since, commit: nothing}
	if err := c.plan(ctx, s, p); err != nil {
		return nil, err
	}
	return p, nil
}

// nothing commits a plan with which there is nothing to do.
func nothing(context.Context, *Service, approval.Principal, Consent) (Result, error) {
	return Result{}, nil
}

// Main is the package that was named, as far as it is looked at; nil for none.
func (p *Plan) Main() *Package {
	for i := range p.Packages {
		if p.Packages[i].Skill == p.Skill {
			return &p.Packages[i]
		}
	}
	return nil
}

// Asks reports whether a person's answer to this plan makes a difference.
func (p *Plan) Asks() bool { return p.Waits && !p.Proposed }

// admit plans what a closure comes to: every package of it is checked.
func (p *Plan) admit(ctx context.Context, s *Service, c *closure.Plan, named *Arrival) error {
	p.closure, p.Links, p.Activate = c, c.Links, c.Activate
	p.group = install.Group{Kind: p.Kind, Subject: p.Skill, Links: c.Links, Activate: c.Activate, Asked: map[string]*registry.Asked{}, Since: p.since}
	for _, a := range c.Asked {
		p.group.Asked[a.Skill] = a.Asked
	}
	for _, o := range c.Graph.Omitted {
		by := ""
		if o.By >= 0 {
			by = c.Graph.Nodes[o.By].Name
		}
		p.Omitted = append(p.Omitted, Omitted{Skill: o.Name, Constraint: o.Range.Text(), By: by, Reason: o.Reason})
	}
	for _, step := range c.Steps {
		if err := p.step(ctx, s, step, named); err != nil {
			return err
		}
	}
	if err := p.stands(ctx, s, named); err != nil {
		return err
	}
	p.Waits = p.group.Waits()
	p.commit = func(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
		return p.install(ctx, s, by, c)
	}
	return nil
}

// step plans one package.
func (p *Plan) step(ctx context.Context, s *Service, step closure.Step, named *Arrival) error {
	skill := step.Got.Package.Manifest().Name
	plan, err := p.check(ctx, s, step)
	if err != nil && step.Needed {
		return fmt.Errorf("%s needs %s: %w", cmp.Or(step.For, p.Skill), skill, err)
	}
	if err != nil {
		return err
	}
	pkg := s.packageOf(plan, step.Got)
	if pkg.For = step.For; named != nil && named.got == step.Got {
		pkg.Name = named.Name
	}
	if plan.Skill == p.Skill {
		p.group.Subject = plan.Skill + "@" + plan.Version
	}
	p.group.Plans, p.Packages = append(p.group.Plans, plan), append(p.Packages, pkg)
	return nil
}

func (p *Plan) check(ctx context.Context, s *Service, step closure.Step) (install.Plan, error) {
	defer p.terms.tell(StageCheck, step.Got.Package.Manifest().Name)()
	if err := s.shadows(ctx, step.Got.Package.Manifest()); err != nil {
		return install.Plan{}, err
	}
	req := p.request(step.Got, step.Needed)
	req.Dependencies, req.Needed, req.Asked, req.Beside = step.Dependencies, step.Needed, step.Asked, step.Beside
	return s.parts.Installer.Plan(ctx, req)
}

// stands looks again at the named package when its version is installed already: it may
// ask for something that it was not granted.
func (p *Plan) stands(ctx context.Context, s *Service, named *Arrival) error {
	if named == nil || slices.ContainsFunc(p.group.Plans, func(o install.Plan) bool { return o.Skill == p.Skill }) {
		return nil
	}
	plan, err := p.check(ctx, s, closure.Step{Got: named.got, Asked: named.asked()})
	if err != nil {
		return err
	}
	pkg := s.packageOf(plan, named.got)
	pkg.Name = named.Name
	p.group.Subject, p.Packages = plan.Skill+"@"+plan.Version, append(p.Packages, pkg)
	if plan.Installed {
		p.group.Plans = append(p.group.Plans, plan)
	} else { // it becomes active again, with what it was granted
		p.standing = &plan
	}
	return nil
}

func (s *Service) packageOf(plan install.Plan, got *source.Fetched) Package {
	pkg := Package{Plan: plan, Name: got.Source, Summary: []evidence.Point{}, Similar: []evidence.Similar{}, got: got}
	bounds := plan.Limits.Within(s.parts.Ceilings)
	pkg.Limits, pkg.Cut = bounds.Limits, bounds.Cut
	for _, f := range plan.Trust.Findings {
		pkg.Trust = append(pkg.Trust, Trusted{Words: f.Words, Noted: f.Refused || f.State == trust.FirstSeen})
	}
	if got.Listed {
		pkg.Trust = append(pkg.Trust, Trusted{Words: "comes with this program, every byte as listed there", Noted: !plan.Installed})
	}
	return pkg
}
