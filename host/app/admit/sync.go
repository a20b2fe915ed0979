package admit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
)

// Sync is the wish to have exactly what a lock says installed. Each package is whole or
// not there, what is needed first; after an interruption, sync again.
type Sync struct {
	// Lock is the path of the lock.
	Lock string
	// Prune removes what is not in it.
	Prune bool
	Terms
}

// Synced is what syncing with a lock comes to.
type Synced struct {
	OK        bool     `json:"ok"`
	Installed []Needed `json:"installed"`
	Removed   []string `json:"removed"`
	// Missing are packages of the lock that were not installed, Extra installed versions
	// that are not in it.
	Missing []string `json:"missing"`
	Extra   []string `json:"extra"`
	// Changed is true when what is installed was resolved otherwise than now.
	Changed bool `json:"changed"`
	// NotRun are the versions of the lock that are installed, and disabled or in
	// quarantine here, with why.
	NotRun []string `json:"not_run,omitempty"`
	// Resolves is true of a plan when something is not as the lock says.
	Resolves bool `json:"-"`
}

func (c Sync) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind, p.terms = "sync", c.Terms
	l, err := readLock(ctx, c.Lock)
	if err != nil {
		return err
	}
	catalog, err := s.catalog(ctx, closure.Settings{})
	if err != nil {
		return err
	}
	found, err := catalog.Sync(ctx, l)
	if err != nil {
		return err
	}
	y := &syncing{Sync: c, lock: l, catalog: catalog, found: found, plan: p}
	for _, m := range found.Missing {
		if err := y.add(ctx, s, m); err != nil {
			return err
		}
	}
	p.Links, p.Activate = found.Links, found.Activate
	_, person := p.by.(approval.Human)
	p.Proposed = !person
	p.Waits = p.group.Waits() || c.Prune && len(found.Extra) > 0
	p.commit = y.commit
	if err := p.look(ctx, s); err != nil {
		return err
	}
	p.Sync, err = y.planned(ctx, s)
	return err
}

// syncing is a sync on its way.
type syncing struct {
	Sync
	lock    *lockfile.Lock
	catalog *closure.Catalog
	found   *closure.Sync
	plan    *Plan
}

// add gets and checks one version that is missing.
func (y *syncing) add(ctx context.Context, s *Service, m closure.Locked) error {
	p := y.plan
	done := p.terms.tell(StageFetch, m.Package.Name)
	got, err := y.catalog.FetchLocked(ctx, m)
	done()
	if err != nil {
		return err
	}
	plan, err := p.check(ctx, s, closure.Step{Got: got, Dependencies: m.Dependencies, Needed: m.Needed, Asked: m.Asked, Beside: m.Beside})
	if err != nil {
		return err
	}
	if plan.Signer != m.Package.Signer && m.Package.Signer != "" {
		signer := plan.Signer
		if signer == "" {
			signer = "nobody"
		}
		return fault.Errorf(fault.KindVerification, "%s is signed by %s, and was by %s when it was locked", m.Package.ID(), signer, m.Package.Signer).
			WithHint("find out why before you lock again")
	}
	p.group.Plans, p.Packages = append(p.group.Plans, plan), append(p.Packages, s.packageOf(plan, got))
	return nil
}

// planned is what would be done.
func (y *syncing) planned(ctx context.Context, s *Service) (*Synced, error) {
	out := &Synced{OK: true, Installed: []Needed{}, Removed: []string{}, Missing: []string{}, Extra: []string{}, Resolves: !y.found.IsEmpty()}
	for _, m := range y.found.Missing {
		out.Missing = append(out.Missing, m.Package.Name+"@"+m.Package.Version)
	}
	for _, v := range y.found.Extra {
		out.Extra = append(out.Extra, v.Ref())
	}
	for i := range y.plan.Packages {
		if pkg := &y.plan.Packages[i]; pkg.Looked {
			out.Installed = append(out.Installed, Needed{Skill: pkg.Skill, Version: pkg.Version, Plan: pkg})
		}
	}
	var err error
	out.NotRun, err = s.stopped(ctx, y.lock)
	return out, err
}

// stopped names the versions of a lock that are disabled or in quarantine, which no
// lock says.
func (s *Service) stopped(ctx context.Context, l *lockfile.Lock) ([]string, error) {
	all, err := s.parts.Registry.List(ctx)
	var lines []string
	for _, v := range all {
		locked := slices.ContainsFunc(l.Packages, func(p lockfile.Package) bool { return p.Name == v.Name && p.Version == v.Version })
		switch d := v.Disabled; {
		case !locked || d == nil:
		case d.Quarantined:
			lines = append(lines, fmt.Sprintf("%s is in quarantine: %s", v.Ref(), d.Reason))
		case d.Reason != "":
			lines = append(lines, fmt.Sprintf("%s is disabled by %s (%s)", v.Ref(), d.By, d.Reason))
		default:
			lines = append(lines, fmt.Sprintf("%s is disabled by %s", v.Ref(), d.By))
		}
	}
	return lines, err
}

func (y *syncing) commit(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
	out := *y.plan.Sync
	out.Installed = []Needed{}
	r := Result{Sync: &out}
	if y.Prune && len(y.found.Extra) > 0 && c == NotAsked {
		return r, fault.Errorf(fault.KindUsage, "removing what is not in the lock needs confirmation, and nobody can be asked here").WithHint("add %s", fault.SetField(fault.FieldYes))
	}
	if err := s.parts.Installer.Unmoved(ctx, y.plan.since); err != nil {
		return r, err
	}
	if err := y.install(ctx, s, by, c, &r); err != nil {
		return r, err
	}
	if err := y.settle(ctx, s, by, &out); err != nil {
		return r, err
	}
	if err := y.prune(ctx, s, by, &out); err != nil {
		return r, err
	}
	var err error
	out.NotRun, err = s.stopped(ctx, y.lock)
	return r, err
}

// install installs one package after the other. Without a person who agreed, what has to
// be asked about waits, and with it what needs it.
func (y *syncing) install(ctx context.Context, s *Service, by approval.Principal, c Consent, r *Result) error {
	person, ok := by.(approval.Human)
	var waiting []install.Plan
	var names []string
	for n, p := range y.plan.group.Plans {
		needs := slices.ContainsFunc(y.found.Missing[n].Dependencies, func(d registry.Dependency) bool {
			return slices.ContainsFunc(waiting, func(w install.Plan) bool { return w.Digest == d.Digest })
		})
		ref := p.Skill + "@" + p.Version
		if !ok || p.Waits() && c == NotAsked || needs {
			waiting, names = append(waiting, p), append(names, ref)
			continue
		}
		pkg := y.plan.member(n)
		if c == Shown && pkg.Looked {
			p = p.Despite()
		}
		outs, err := s.parts.Installer.AcceptGroup(ctx, person, install.Group{Kind: "sync", Subject: ref, Plans: []install.Plan{p}, Since: y.plan.since})
		if err == nil { // another version of it may come next
			err = s.parts.Installer.Follow(ctx, y.plan.since, p.Skill)
		}
		if err != nil {
			return err
		}
		r.Became = append(r.Became, Became{pkg, outs[0]})
		r.Sync.Installed = append(r.Sync.Installed, Needed{Skill: p.Skill, Version: p.Version, Outcome: outs[0]})
	}
	if len(waiting) == 0 {
		return nil
	}
	_, err := s.parts.Installer.SubmitGroup(ctx, install.Group{Kind: "sync", Subject: strings.Join(names, ", "), Plans: waiting, Since: y.plan.since})
	return err
}

// settle makes the rest so: what is asked for, what is active, and what each was
// resolved to.
func (y *syncing) settle(ctx context.Context, s *Service, by approval.Principal, out *Synced) error {
	since, err := s.parts.Installer.State(ctx)
	if err != nil {
		return err
	}
	if err := y.catalog.Refresh(ctx); err != nil {
		return err
	}
	left, err := y.catalog.Sync(ctx, y.lock)
	if err != nil || left.IsEmpty() {
		return err
	}
	person, ok := by.(approval.Human)
	if !ok {
		return fault.Errorf(fault.KindDenied, "sync: only a person can decide what is asked for, and which versions are active, not %s", by.Actor())
	}
	g := install.Group{Kind: "sync", Subject: "lock", Links: left.Links, Activate: left.Activate, Asked: map[string]*registry.Asked{}, Since: since}
	for _, a := range left.Asked {
		g.Asked[a.Skill] = a.Asked
	}
	for _, name := range left.Needed {
		g.Asked[name] = nil
	}
	out.Changed = true
	if _, err = s.parts.Installer.AcceptGroup(ctx, person, g); err != nil {
		return err
	}
	return s.parts.Installer.Follow(ctx, y.plan.since, g.Names()...)
}

// prune removes what is not in the lock.
func (y *syncing) prune(ctx context.Context, s *Service, by approval.Principal, out *Synced) error {
	if !y.Prune || len(y.found.Extra) == 0 {
		return nil
	}
	what := install.Removing{Force: true, Since: y.plan.since}
	for _, v := range y.found.Extra {
		what.Refs = append(what.Refs, manifests.Ref{Name: v.Name, Version: v.Version})
	}
	r, err := s.parts.Installer.RemoveAll(ctx, by.Actor(), what)
	for _, v := range r.Gone {
		out.Removed = append(out.Removed, v.Ref())
	}
	return err
}
