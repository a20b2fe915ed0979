// Package install is the one way in: whatever a package's origin, it is read
// and verified, its module is checked against its manifest, what it asks for
// is put to the policies, and it becomes active only when nobody else has to
// be asked, or when a person said yes.
//
// It does not compile or run anything by itself; the [Checker] it is given
// does.
package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Checker proves that a package's module can be loaded and has the exports
// its tools name. It runs none of the package's code.
type Checker interface {
	Check(ctx context.Context, p *bundle.Package) error
}

// An Installer brings packages in and takes them out.
type Installer struct {
	ledger   *ledger.Ledger
	registry *registry.Registry
	desk     *approval.Desk
	policies *policies.Set
	checker  Checker
	home     string
}

// New makes an Installer for the home directory, which policies may speak of.
func New(l *ledger.Ledger, r *registry.Registry, d *approval.Desk, p *policies.Set, c Checker, home string) *Installer {
	return &Installer{ledger: l, registry: r, desk: d, policies: p, checker: c, home: home}
}

// A Request is a package that somebody wants installed.
type Request struct {
	Package *bundle.Package
	// Source is where the package came from, as it was named.
	Source string
	Origin registry.Origin
	// ProposedBy is who brings it: "human:ada", "model:NAME".
	ProposedBy string
	// Rationale is the proposer's reason; may be empty.
	Rationale string
	// Workspace is the absolute directory that relative paths in the manifest
	// resolve against.
	Workspace string
}

// A Plan says what an installation would do.
type Plan struct {
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Type    approval.Type    `json:"type"`
	Origin  registry.Origin  `json:"origin"`
	Source  string           `json:"source"`
	// Replaces is the version that is active now; empty for a new skill.
	Replaces string `json:"replaces,omitempty"`
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

	request Request
}

// New are the asks that no earlier version was granted.
func (p Plan) New() []approval.Ask {
	return slices.DeleteFunc(slices.Clone(p.Asks), func(a approval.Ask) bool { return !a.New })
}

// Plan checks a package and says what installing it would do. It changes
// nothing. Errors are [task.Error]s: of [task.KindVerification] for a module
// that cannot be accepted, of [task.KindDenied] for what a policy forbids, of
// [task.KindConflict] for a version that exists with other bytes.
func (i *Installer) Plan(ctx context.Context, req Request) (Plan, error) {
	m := req.Package.Manifest()
	if err := runnable(m); err != nil {
		return Plan{}, err
	}
	if err := i.checker.Check(ctx, req.Package); err != nil {
		return Plan{}, fmt.Errorf("%s@%s: %w", m.Name, m.Version, err)
	}
	p := Plan{
		Skill: m.Name, Version: m.Version, Digest: req.Package.Digest(), Type: approval.TypeNewSkill,
		Origin: req.Origin, Source: req.Source, request: req,
	}
	before, err := i.compare(ctx, &p)
	if err != nil {
		return Plan{}, err
	}
	return p, i.judge(&p, before)
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
	return task.Errorf(task.KindUsage, "%s@%s asks for what this host cannot honour: %s", m.Name, m.Version, strings.Join(lines, "; ")).
		WithHint("remove these fields from the manifest, or use a skillet that supports them")
}

// compare looks at what is installed, and returns what the active version of
// the same skill was granted.
func (i *Installer) compare(ctx context.Context, p *Plan) (capability.Set, error) {
	versions, err := i.registry.Versions(ctx, p.Skill)
	if err != nil {
		return capability.Set{}, err
	}
	var before capability.Set
	for _, v := range versions {
		if v.Active {
			p.Type, p.Replaces, p.Installed = approval.TypeModifySkill, v.Version, v.Digest == p.Digest
			if before, err = i.desk.Granted(ctx, v.Digest, time.Now()); err != nil {
				return before, err
			}
		}
		if v.Version == p.Version && v.Digest != p.Digest && p.Origin != registry.OriginDevelopment {
			return before, task.Errorf(task.KindConflict, "%s is installed with other bytes (%s, this package is %s)", v.Ref(), v.Digest.Short(), p.Digest.Short()).
				WithHint("a version never changes: give the package a new version, or `skillet remove %s` first", v.Ref())
		}
	}
	return before, nil
}

// judge puts each ask to the policies and sums up.
func (i *Installer) judge(p *Plan, before capability.Set) error {
	asks, err := p.request.Package.Manifest().Requests(p.request.Workspace)
	if err != nil {
		return task.Wrap(task.KindUsage, fmt.Errorf("%s: %w", p.Skill, err))
	}
	who := policies.Principal{Skill: p.Skill, Version: p.Version, Digest: string(p.Digest), Origin: string(p.Origin)}
	total := i.policies.Decide(policies.Query{Phase: policies.PhaseInstall, Principal: who, Home: i.home})
	for _, a := range asks {
		d := i.policies.Decide(policies.Query{Phase: policies.PhaseInstall, Principal: who, Capability: a.Capability, Home: i.home})
		p.Asks = append(p.Asks, approval.Ask{
			Capability: a.Capability, Words: a.Capability.Words(), Reason: a.Reason,
			New: !before.Covers(a.Capability), Effect: d.Effect.String(), Policies: d.Policies,
		})
		if d.Effect == policies.Deny {
			return task.Errorf(task.KindDenied, "%s@%s may not ask for %s: %s", p.Skill, p.Version, a.Capability, d.Reason).
				WithHint("decided by policy %s; remove %s from the manifest, or change the policy", strings.Join(d.Policies, ", "), a.Field)
		}
		if p.carries(before, a.Capability) {
			continue
		}
		if d.Effect < total.Effect {
			total = d
		}
	}
	if total.Effect == policies.Deny {
		return task.Errorf(task.KindDenied, "%s@%s may not be installed: %s", p.Skill, p.Version, total.Reason).
			WithHint("decided by policy %s", strings.Join(total.Policies, ", "))
	}
	p.Effect, p.Reason, p.Policies = total.Effect.String(), total.Reason, total.Policies
	return nil
}

// carries reports whether a person's earlier yes stands for c: they gave it to
// the version this one replaces, and are bringing this one themselves.
func (p Plan) carries(before capability.Set, c capability.Capability) bool {
	return p.Origin != registry.OriginGenerated && before.Covers(c)
}

// An Outcome is what became of a request.
type Outcome struct {
	// Skill is what is installed; nil while it waits.
	Skill *registry.Skill `json:"skill,omitempty"`
	// Proposal is what waits for a person; nil when nothing does.
	Proposal *approval.Proposal `json:"proposal,omitempty"`
	// Unchanged is true when these bytes were installed and active already.
	Unchanged bool `json:"unchanged"`
}

// ErrWaits means that the package waits for a person. Errors that wrap it are
// [task.Error]s of [task.KindApproval].
var ErrWaits = errors.New("waits for approval")

// Submit installs a planned package if no person has to be asked, and records
// a proposal otherwise, which it returns with an error that wraps [ErrWaits].
func (i *Installer) Submit(ctx context.Context, p Plan) (Outcome, error) {
	if p.Installed {
		s, err := i.registry.Lookup(ctx, manifests.Ref{Name: p.Skill, Version: p.Version})
		return Outcome{Skill: &s, Unchanged: true}, err
	}
	if p.Effect == policies.Allow.String() {
		return i.install(ctx, p, p.request.ProposedBy, nil)
	}
	return i.propose(ctx, p)
}

// Accept installs a planned package with the consent of a person, who was
// shown the plan: everything it asks for is granted.
func (i *Installer) Accept(ctx context.Context, h approval.Human, p Plan) (Outcome, error) {
	if p.Installed {
		return i.Submit(ctx, p)
	}
	return i.install(ctx, p, h.Actor(), func() ([]ledger.Change, error) {
		return grants(h, p.Skill, p.Digest, p.Asks)
	})
}

func grants(h approval.Human, skill string, d manifests.Digest, asks []approval.Ask) ([]ledger.Change, error) {
	var cs []ledger.Change
	for _, a := range asks {
		c, err := h.Grant(skill, d, a.Capability, approval.Terms{Reason: a.Reason})
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// install keeps the package's bytes and then commits one decision: from the
// moment Commit returns, all of it holds.
func (i *Installer) install(ctx context.Context, p Plan, actor string, consent func() ([]ledger.Change, error)) (Outcome, error) {
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		if err := i.unmoved(ctx, p); err != nil {
			return ledger.Decision{}, err
		}
		if err := i.registry.Keep(ctx, p.request.Package); err != nil {
			return ledger.Decision{}, err
		}
		installed, err := registry.Installed(p.request.Package, p.Source, p.Origin)
		if err != nil {
			return ledger.Decision{}, err
		}
		given, err := i.given(ctx, p, consent)
		if err != nil {
			return ledger.Decision{}, err
		}
		return ledger.Decision{
			Kind: "install", Actor: actor, Subject: p.Skill + "@" + p.Version, Note: string(p.Digest),
			Changes: append([]ledger.Change{installed}, given...),
		}, nil
	})
	if err != nil {
		return Outcome{}, err
	}
	s, err := i.registry.Lookup(ctx, manifests.Ref{Name: p.Skill, Version: p.Version})
	return Outcome{Skill: &s}, err
}

// unmoved refuses a plan that somebody else overtook.
func (i *Installer) unmoved(ctx context.Context, p Plan) error {
	now := Plan{Skill: p.Skill, Version: p.Version, Digest: p.Digest, Origin: p.Origin, Type: approval.TypeNewSkill}
	if _, err := i.compare(ctx, &now); err != nil {
		return err
	}
	if now.Replaces != p.Replaces {
		return task.Errorf(task.KindConflict, "%s changed while it was being installed", p.Skill).WithHint("run the command again")
	}
	return nil
}

// given are the grants of an installation: with a person's consent all that
// was asked, otherwise what a person gave to the version it replaces and the
// new one asks for again.
func (i *Installer) given(ctx context.Context, p Plan, consent func() ([]ledger.Change, error)) ([]ledger.Change, error) {
	if consent != nil {
		return consent()
	}
	if p.Replaces == "" {
		return nil, nil
	}
	old, err := i.registry.Lookup(ctx, manifests.Ref{Name: p.Skill, Version: p.Replaces})
	if err != nil {
		return nil, err
	}
	gs, err := i.desk.Grants(ctx, old.Digest)
	if err != nil {
		return nil, err
	}
	asked := approval.Proposal{Requested: p.Asks}.Capabilities()
	var cs []ledger.Change
	for _, g := range gs {
		if !g.Live(time.Now()) || !asked.Covers(g.Capability) {
			continue
		}
		c, err := approval.Carried(g, p.Digest)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

func (i *Installer) propose(ctx context.Context, p Plan) (Outcome, error) {
	var proposal approval.Proposal
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		waiting, ok, err := i.desk.Pending(ctx, p.Digest)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ok {
			proposal = waiting
			return ledger.Decision{}, errKnown
		}
		if err := i.registry.Keep(ctx, p.request.Package); err != nil {
			return ledger.Decision{}, err
		}
		proposal = p.proposal()
		c, err := approval.Proposed(proposal)
		return ledger.Decision{
			Kind: "propose", Actor: proposal.ProposedBy, Subject: p.Skill + "@" + p.Version,
			Note: string(p.Digest), Changes: []ledger.Change{c},
		}, err
	})
	if err != nil && !errors.Is(err, errKnown) {
		return Outcome{}, err
	}
	if proposal, err = i.desk.Proposal(ctx, proposal.ID); err != nil {
		return Outcome{}, err
	}
	return Outcome{Proposal: &proposal}, task.Errorf(task.KindApproval, "%s@%s %w: proposal %s", p.Skill, p.Version, ErrWaits, proposal.ID).
		WithHint("look at it with `skillet approvals show %s`, then `skillet approvals approve %s` or `reject`", proposal.ID, proposal.ID)
}

// errKnown ends a commit because the same bytes are proposed already.
var errKnown = errors.New("proposed already")

func (p Plan) proposal() approval.Proposal {
	title := fmt.Sprintf("install %s@%s", p.Skill, p.Version)
	if p.Replaces != "" {
		title = fmt.Sprintf("replace %s@%s by %s", p.Skill, p.Replaces, p.Version)
	}
	return approval.Proposal{
		ID: approval.NewID(), Type: p.Type, Title: title, Rationale: p.request.Rationale,
		Skill: p.Skill, Version: p.Version, Digest: p.Digest, Requested: p.Asks,
		Origin: string(p.Origin), Source: p.Source, ProposedBy: p.request.ProposedBy,
	}
}
