package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// A Group is several packages that need each other and come in by one decision:
// all or none.
type Group struct {
	// Kind is the kind of the decision, such as "install", and Subject what it is
	// about, for the audit log.
	Kind, Subject string
	// Plans are the packages: what is needed before what needs it.
	Plans []Plan
	// Links are installed versions that are resolved otherwise from then on,
	// Activate those that become the active ones, and Asked the installed skills that
	// are asked for otherwise; a nil value there means that nobody asks for them.
	Links    []registry.Link
	Activate []registry.Skill
	Asked    map[string]*registry.Asked
	// Since is what the group was planned from: it is compared for all skills that the
	// group names. A group without it is refused.
	Since *State
}

// Waits reports whether a person has to be asked about any of it, see
// [Plan.Waits].
func (g Group) Waits() bool { return slices.ContainsFunc(g.Plans, Plan.Waits) }

// AcceptGroup installs a group with the consent of a person, who was shown all
// plans, or need not be asked about any of them. It returns what became of each.
func (i *Installer) AcceptGroup(ctx context.Context, h approval.Human, g Group) ([]Outcome, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		changes, err := i.groupChanges(ctx, h, g)
		if err == nil && len(changes) == 0 {
			err = errAlready
		}
		return ledger.Decision{Kind: g.kind(), Actor: h.Actor(), Subject: g.Subject, Note: g.note(), Changes: changes}, err
	})
	already := errors.Is(err, errAlready)
	if err != nil && !already {
		return nil, err
	}
	var all []Outcome
	for _, p := range g.Plans {
		out, err := i.outcome(ctx, p.Skill, p.Version)
		if err != nil {
			return all, err
		}
		out.Unchanged = already || p.Installed && len(p.New()) == 0
		all = append(all, out)
	}
	return all, nil
}

// kind is that of the decision: where all packages are there already, they are only
// granted something.
func (g Group) kind() string {
	if len(g.Plans) > 0 && len(g.Links)+len(g.Activate)+len(g.Asked) == 0 && !slices.ContainsFunc(g.Plans, func(p Plan) bool { return !p.Installed }) {
		return "grant"
	}
	return g.Kind
}

// Names are the skills that a group is about.
func (g Group) Names() []string {
	names := slices.Sorted(maps.Keys(g.Asked))
	for _, p := range g.Plans {
		names = append(names, p.Skill)
	}
	for _, l := range g.Links {
		names = append(names, l.Name)
	}
	for _, s := range g.Activate {
		names = append(names, s.Name)
	}
	return names
}

func (g Group) note() string {
	if len(g.Plans) == 1 {
		return g.Plans[0].note()
	}
	var refs []string
	for _, p := range g.Plans {
		refs = append(refs, p.Skill+"@"+p.Version+" "+p.Digest.Short())
	}
	return strings.Join(refs, ", ")
}

func (i *Installer) groupChanges(ctx context.Context, h approval.Human, g Group) ([]ledger.Change, error) {
	if err := i.unchanged(ctx, g.Since, g.Names()); err != nil {
		return nil, err
	}
	if err := i.complete(ctx, g); err != nil {
		return nil, err
	}
	var changes []ledger.Change
	for _, p := range g.Plans {
		cs, err := i.memberChanges(ctx, h, g, p)
		if err != nil {
			return nil, err
		}
		changes = append(changes, cs...)
	}
	for _, l := range g.Links {
		c, err := registry.Linked(l)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	for _, s := range g.Activate {
		c, err := registry.Activated(s)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Asked)) {
		c, err := registry.AskedFor(name, g.Asked[name])
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// memberChanges are the changes that install one package of a group.
func (i *Installer) memberChanges(ctx context.Context, h approval.Human, g Group, p Plan) ([]ledger.Change, error) {
	if err := i.consented(ctx, p); err != nil {
		return nil, err
	}
	if err := i.unmoved(ctx, p); err != nil {
		return nil, err
	}
	if p.Installed {
		return i.grants(ctx, h, p, p.New())
	}
	if err := i.makeRoom(ctx, p.Skill, p.Signer, p.Source, p.Digest); err != nil {
		return nil, err
	}
	if err := i.registry.Keep(ctx, p.request.Package); err != nil {
		return nil, err
	}
	installed, err := p.provenance().Installed(p.request.Package)
	if err != nil {
		return nil, err
	}
	var given []ledger.Change
	if p.Effect != policies.Allow.String() {
		if given, err = i.grants(ctx, h, p, p.Asks); err != nil {
			return nil, err
		}
	}
	trusted, err := i.trusting(ctx, h, p)
	if err != nil {
		return nil, err
	}
	settled, err := i.stale(ctx, "the installation of "+p.Skill+"@"+p.Version, func(o approval.Proposal) bool { return o.Skill == p.Skill })
	return slices.Concat([]ledger.Change{installed}, trusted, given, settled), err
}

// complete refuses a group in which something is resolved to what is not there:
// somebody may have removed it since.
func (i *Installer) complete(ctx context.Context, g Group) error {
	there := map[manifests.Digest]bool{}
	all, err := i.registry.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		there[s.Digest] = true
	}
	for _, p := range g.Plans {
		there[p.Digest] = true
	}
	check := func(who string, ds []registry.Dependency) error {
		for _, d := range ds {
			if d.Digest != "" && !there[d.Digest] {
				return fault.Errorf(fault.KindConflict, "%s needs %s@%s, which is not installed any more", who, d.Chosen(), d.Version).WithHint("%s", fault.PlanAgain())
			}
		}
		return nil
	}
	for _, p := range g.Plans {
		if err := check(p.Skill+"@"+p.Version, p.request.Dependencies); err != nil {
			return err
		}
	}
	for _, l := range g.Links {
		if err := check(l.Name, l.Dependencies); err != nil {
			return err
		}
	}
	return nil
}

// SubmitGroup records a proposal for each package of a group that is not installed, in
// the order in which they can be approved. The error wraps [ErrWaits] and names them all.
func (i *Installer) SubmitGroup(ctx context.Context, g Group) ([]Outcome, error) {
	var all []Outcome
	var ids []string
	if err := i.unchanged(ctx, g.Since, g.Names()); err != nil {
		return nil, err
	}
	for n, p := range g.Plans {
		if n == len(g.Plans)-1 {
			p.links = g.Links
		}
		out, err := i.submitMember(ctx, p)
		if out.Proposal != nil || out.Skill != nil {
			all = append(all, out)
		}
		if err != nil && !isWaiting(err) {
			return all, err
		}
		if out.Proposal != nil {
			ids = append(ids, out.Proposal.ID)
		}
	}
	switch len(ids) {
	case 0:
		return all, nil
	case 1:
		n := slices.IndexFunc(all, func(o Outcome) bool { return o.Proposal != nil })
		return all, waiting(*all[n].Proposal)
	}
	return all, fault.Errorf(fault.KindApproval, "%s %w, with what it needs: proposals %s", g.Subject, ErrWaits, strings.Join(ids, ", ")).
		WithHint("look at each with %s, then approve them in that order: what is needed comes first", fault.ShowProposal(""))
}

// submitMember makes a proposal of one package of a group, unless it is installed already.
func (i *Installer) submitMember(ctx context.Context, p Plan) (Outcome, error) {
	if !p.Installed {
		return i.propose(ctx, p)
	}
	out, err := i.outcome(ctx, p.Skill, p.Version)
	out.Unchanged = true
	return out, err
}

// ready refuses to approve what needs something that is not installed yet.
func (i *Installer) ready(ctx context.Context, p approval.Proposal) error {
	all, err := i.registry.List(ctx)
	if err != nil {
		return err
	}
	for _, d := range p.Dependencies {
		if d.Digest == "" || slices.ContainsFunc(all, func(s registry.Skill) bool { return s.Digest == d.Digest }) {
			continue
		}
		e := fault.Errorf(fault.KindConflict, "approve proposal %s: %s needs %s@%s, which is not installed", p.ID, p.Ref(), d.Chosen(), d.Version)
		waits, err := i.approvals.Proposals(ctx)
		if err != nil {
			return err
		}
		if n := slices.IndexFunc(waits, func(o approval.Proposal) bool { return o.Digest == d.Digest && o.Status == approval.StatusPending }); n >= 0 {
			return e.WithHint("it also waits for a decision: %s first", fault.Approve(waits[n].ID))
		}
		return e.WithHint("install it first, or reject this and install the whole again")
	}
	return nil
}

// relinks are the changes that resolve other installed versions as a proposal says,
// as far as they are still there.
func (i *Installer) relinks(ctx context.Context, p approval.Proposal) ([]ledger.Change, error) {
	all, err := i.registry.List(ctx)
	if err != nil {
		return nil, err
	}
	var changes []ledger.Change
	for _, l := range p.Links {
		if !slices.ContainsFunc(all, func(s registry.Skill) bool { return s.Name == l.Name && s.Digest == l.Digest }) {
			continue
		}
		c, err := registry.Linked(l)
		if err != nil {
			return nil, fmt.Errorf("resolve %s: %w", l.Name, err)
		}
		changes = append(changes, c)
	}
	return changes, nil
}
