package admit

import (
	"cmp"
	"context"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// Consent is what a person says to a plan.
type Consent int

// What can be said. The zero value says nothing: what a person has to be asked about
// waits as proposals, or is refused.
const (
	NotAsked Consent = iota
	// Beforehand is a yes to whatever is asked for, given before that was known. It does
	// not cover packages that were rejected before.
	Beforehand
	// Shown is a yes to this plan, all of which the person was shown. For packages of
	// which no evidence was gathered it counts as Beforehand.
	Shown
)

// A Result is what became of a plan.
type Result struct {
	// Outcome is that of the skill that was named, and Became those of all packages, in
	// the order of the plan.
	install.Outcome
	Became []Became `json:"-"`
	// Status says of an update how it ended. Moved are the other skills whose active
	// version became another.
	Status Status `json:"status,omitempty"`
	Moved  []Move `json:"moved,omitempty"`
	// Removal, Rollback, Sync and Imports are what became of those changes.
	Removal  *Removed    `json:"removal,omitempty"`
	Rollback *RolledBack `json:"rollback,omitempty"`
	Sync     *Synced     `json:"sync,omitempty"`
	Imports  []Imported  `json:"imports,omitempty"`
	// Settled says how imported skills stand now because they did where they come from,
	// one line each.
	Settled []string `json:"settled,omitempty"`
}

// Became is what became of one package.
type Became struct {
	Package *Package
	install.Outcome
}

// Commit carries out a plan with what a person says to it. by is who planned it; an agent
// cannot consent, and all that it plans waits. A plan that waits without a person's
// consent, or was written by a model, is recorded as proposals, and the error is of
// [fault.KindApproval]. A plan is refused with [ErrMoved] when what it was made from has
// changed, and after it was committed once.
func (s *Service) Commit(ctx context.Context, by approval.Principal, p *Plan, c Consent) (Result, error) {
	if err := s.ready(ctx, by); err != nil {
		return Result{}, err
	}
	_, person := by.(approval.Human)
	switch {
	case p == nil || p.commit == nil:
		return Result{}, fault.Errorf(fault.KindUsage, "commit: no plan was given")
	case by != p.by:
		return Result{}, fault.Errorf(fault.KindDenied, "%s %s: %s planned it, and %s would commit it", p.Kind, p.Skill, p.by.Actor(), by.Actor())
	case c != NotAsked && !person:
		return Result{}, fault.Errorf(fault.KindDenied, "%s %s: only a person can consent, not %s", p.Kind, p.Skill, by.Actor())
	case p.Refused != nil:
		return Result{}, p.Refused
	case !p.spent.CompareAndSwap(false, true):
		return Result{}, fault.Errorf(fault.KindConflict, "%s %s: it was committed before, and %w", p.Kind, p.Skill, ErrMoved).WithHint("%s", fault.PlanAgain())
	}
	before, err := s.parts.Registry.List(ctx)
	if err != nil {
		return Result{}, err
	}
	r, err := p.commit(ctx, s, by, c)
	if p.Kind != "update" {
		return r, err
	}
	after, lerr := s.parts.Registry.List(context.WithoutCancel(ctx))
	r.Moved = moves(before, after, p.Skill)
	return r, cmp.Or(err, lerr)
}

// install installs all packages of a plan or none, or records all of them as proposals.
func (p *Plan) install(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
	outs, err := p.decide(ctx, s, by, c)
	r := Result{Status: p.Status.done()}
	found := false
	for i, o := range outs {
		r.Became = append(r.Became, Became{p.member(i), o})
		if p.group.Plans[i].Skill == p.Skill && !found {
			r.Outcome, found = o, true
		}
	}
	if err != nil || found {
		return r, err
	}
	ref := manifests.Ref{Name: p.Skill}
	if p.standing != nil {
		ref.Version = p.standing.Version
	}
	v, err := s.parts.Registry.Lookup(context.WithoutCancel(ctx), ref)
	r.Outcome = install.Outcome{Skill: &v}
	if p.standing != nil {
		r.Became = append(r.Became, Became{&p.Packages[len(p.Packages)-1], r.Outcome})
	}
	return r, err
}

// member is the package of the group's plan i.
func (p *Plan) member(i int) *Package { return &p.Packages[i] }

// decide has the installer decide about the group.
func (p *Plan) decide(ctx context.Context, s *Service, by approval.Principal, c Consent) ([]install.Outcome, error) {
	person, ok := by.(approval.Human)
	if p.Proposed || !ok || p.Waits && c == NotAsked {
		if len(p.group.Plans) == 0 && !p.closure.IsEmpty() && !ok {
			return nil, fault.Errorf(fault.KindDenied, "%s %s: only a person can decide that", p.Kind, p.Skill)
		}
		return s.parts.Installer.SubmitGroup(ctx, p.group)
	}
	g := p.group
	g.Plans = make([]install.Plan, len(p.group.Plans))
	for i, plan := range p.group.Plans {
		if g.Plans[i] = plan; c == Shown && p.member(i).Looked {
			g.Plans[i] = plan.Despite()
		}
	}
	return s.parts.Installer.AcceptGroup(ctx, person, g)
}
