package main

import (
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/review"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// tied reports whether a skill cannot be updated by itself: it needs others, others
// need it, or a person asked for certain versions of it.
func (t *terminal) tied(s registry.Skill, others []registry.Skill) bool {
	asked := s.Asked != nil && (s.Asked.Constraint != "" || s.Asked.Closure != "")
	return asked || s.Needed || len(s.Dependencies) > 0 || slices.ContainsFunc(others, func(o registry.Skill) bool {
		return slices.ContainsFunc(o.Dependencies, func(d registry.Dependency) bool { return d.Chosen() == s.Name })
	})
}

// updateTied updates a skill so that everything still fits together: what it needs
// is updated with it where that is necessary, and it goes no further than what
// others need of it allows.
func (t *terminal) updateTied(ctx context.Context, c *cli.Context, h *host.Host, s registry.Skill, others []registry.Skill, share install.Share) (updated, error) {
	q := closure.Question{Renew: []string{s.Name}}
	for _, name := range c.StringSlice("again") {
		other, err := t.lookup(ctx, h, name)
		if err != nil {
			return updated{}, err
		}
		if other.Name == s.Name {
			return updated{}, fault.Errorf(fault.KindUsage, "--again %s: it is for what %s needs", name, s.Name).WithHint("`skillet update %s --to VERSION` goes to a version again", s.Name)
		}
		q.Again = append(q.Again, other.Name)
	}
	settings := closure.Settings{}
	if c.IsSet("to") {
		w, err := closure.Later(s, others, c.String("to"))
		if err != nil {
			return updated{}, err
		}
		q.Wishes = []closure.Wish{w}
	}
	if c.IsSet("from") {
		next, err := newer(ctx, h, s, c.String("from"))
		if err != nil || next == nil {
			return updated{Status: statusCurrent}, err
		}
		settings.Hand = []*sources.Fetched{next.got}
		q.Wishes = []closure.Wish{{Name: s.Name, Exactly: next.got.Version, Prereleases: strings.Contains(next.got.Version, "-"), Isolated: s.Asked != nil && s.Asked.Closure != ""}}
	}
	done := t.waiting("looking for a newer %s, and what it needs", s.Name)
	defer done()
	catalog, err := h.Catalog(ctx, settings)
	if err != nil {
		return updated{}, err
	}
	plan, err := catalog.Plan(ctx, q)
	done()
	if why, ok := held(s, others); err != nil && fault.AsError(err).Kind == fault.KindConflict && ok && !c.IsSet("to") {
		return why, nil // and it asks for nothing else
	}
	if err != nil {
		return updated{}, err
	}
	to, ok := plan.Version(s.Name)
	if !c.IsSet("to") {
		if !ok || !isNewer(to, s.Version) {
			if why, ok := held(s, others); ok {
				return why, nil
			}
			return behind(ctx, catalog, s)
		}
		if why := unwanted(s, others, to); why != "" {
			return updated{Status: statusSkipped, To: to, Why: why}, nil
		}
	}
	w, err := t.works(ctx, h, c, plan, s.Name, incoming{})
	if err != nil {
		return updated{To: to}, err
	}
	w.group.Kind = "update"
	return t.updateGroup(ctx, w, to, share)
}

// held says of a skill for which nothing later was chosen whether that is because
// somebody went back from it, or disabled it.
func held(s registry.Skill, others []registry.Skill) (updated, bool) {
	later := []string{}
	if s.Avoided != nil {
		later = append(later, s.Avoided.Version)
	}
	for _, o := range others {
		if o.Name == s.Name {
			later = append(later, o.Version)
		}
	}
	for _, version := range later {
		if why := unwanted(s, others, version); why != "" && isNewer(version, s.Version) {
			return updated{Status: statusSkipped, To: version, Why: why}, true
		}
	}
	return updated{}, false
}

// behind says why nothing later than the active version was chosen.
func behind(ctx context.Context, catalog *closure.Catalog, s registry.Skill) (updated, error) {
	u := updated{Status: statusCurrent}
	newest, asked, err := catalog.Newest(ctx, s)
	switch {
	case err != nil || newest == "" || !isNewer(newest, s.Version):
	case asked != "" && isNewer(asked, s.Version):
		u.Why = " that fits together with the others; `skillet outdated` shows what is published"
	default:
		u.Why = " of " + s.Asked.Constraint + ", which you asked for; there is " + newest + ", and `skillet install " + s.Name + "@^" + newest + "` asks for that"
	}
	return u, err
}

// updateGroup carries out an update of several packages.
func (t *terminal) updateGroup(ctx context.Context, w *works, to string, share install.Share) (updated, error) {
	u := updated{Status: statusUpdated, To: to}
	c := w.c
	main := slices.IndexFunc(w.group.Plans, func(p install.Plan) bool { return p.Skill == w.name })
	if s, ok := w.returns(); ok && share.Percent > 0 {
		return w.tryInstalled(ctx, s, share)
	}
	if share.Percent > 0 {
		if len(w.group.Plans) != 1 || main != 0 || len(w.group.Links)+len(w.group.Activate) > 0 {
			return u, fault.Errorf(fault.KindConflict, "try %s@%s: other skills would change with it, and those cannot be on trial together", w.name, to).
				WithHint("`skillet update %s --preview` shows them; update without --canary", w.name)
		}
		return t.updateTo(ctx, c, w.h, w.group.Plans[0], incoming{path: w.steps[0].Got.Source, got: w.steps[0].Got}, share)
	}
	if c.Bool("preview") || w.group.Waits() && !c.Bool("yes") && t.canAsk() {
		if err := w.preview(ctx, &u); err != nil {
			return u, err
		}
	}
	if err := w.shadow(ctx, main, &u); err != nil {
		return u, err
	}
	for _, p := range w.group.Plans {
		if c.Bool("fail-on-new-capabilities") && (p.Upgrade != nil && p.Upgrade.Grows() || p.Replaces == "" && len(p.Asks) > 0) {
			return u, grows(p)
		}
	}
	for _, s := range w.plan.Activate {
		if err := w.examine(ctx, s, &u); err != nil {
			return u, err
		}
	}
	if c.Bool("preview") {
		u.Status = statusPreview
		return u, nil
	}
	in, err := w.commit(ctx)
	u.Outcome, u.Needs = in.Outcome, in.Needs
	return u, err
}

// preview shows all that would change.
func (w *works) preview(ctx context.Context, u *updated) error {
	for n, p := range w.group.Plans {
		s, err := w.t.show(ctx, w.c, w.h, p, incoming{path: w.steps[n].Got.Source, got: w.steps[n].Got})
		if err != nil {
			return err
		}
		if p.Skill == w.name {
			u.Plan = &s
			continue
		}
		u.Needs = append(u.Needs, needed{Skill: p.Skill, Version: p.Version, For: w.steps[n].For, Plan: &s})
	}
	w.showRest()
	return nil
}

// returns is the installed version that takes the place of the active one, if that
// is all that changes.
func (w *works) returns() (registry.Skill, bool) {
	if len(w.steps)+len(w.plan.Links) > 0 || len(w.plan.Activate) != 1 || w.plan.Activate[0].Name != w.name {
		return registry.Skill{}, false
	}
	return w.plan.Activate[0], true
}

// tryInstalled puts an installed version on trial.
func (w *works) tryInstalled(ctx context.Context, s registry.Skill, share install.Share) (updated, error) {
	u := updated{Status: statusPreview, To: s.Version}
	if err := w.examine(ctx, s, &u); err != nil || w.c.Bool("preview") {
		return u, err
	}
	if u.Replays != nil {
		share.Replays = u.Replays.Summary()
	}
	var err error
	u.Status = statusTrial
	u.Outcome, err = w.h.Installer.TryInstalled(ctx, w.t.person(), s, share)
	return u, err
}

// examine compares an installed version with the active one whose place it takes:
// what it asks for, and of the skill that is updated, what it does on recorded
// calls.
func (w *works) examine(ctx context.Context, s registry.Skill, u *updated) error {
	next, err := w.h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return err
	}
	plan, err := w.inPlace(ctx, s, next)
	if err != nil {
		return err
	}
	if w.c.Bool("preview") && !w.t.json {
		w.t.showUpgrade(w.t.note, plan.Upgrade)
	}
	if s.Name == w.name {
		if err := w.t.shadowUpdate(ctx, w.h, incoming{path: s.Ref(), got: &sources.Fetched{Package: next}}, u); err != nil {
			return err
		}
	}
	switch {
	case w.c.Bool("fail-on-difference") && u.Replays != nil && u.Replays.Different > 0:
		return differs(plan, u.Replays)
	case w.c.Bool("fail-on-new-capabilities") && plan.Upgrade != nil && plan.Upgrade.Grows():
		return grows(plan)
	}
	return nil
}

// inPlace is what becomes different when an installed version takes the place of the
// active one. One that is damaged cannot be compared.
func (w *works) inPlace(ctx context.Context, s registry.Skill, next *bundle.Package) (install.Plan, error) {
	p := install.Plan{Skill: s.Name, Version: s.Version, Digest: s.Digest}
	active, err := w.h.Registry.Lookup(ctx, manifests.Ref{Name: s.Name})
	if err != nil {
		return p, ctx.Err()
	}
	p.Replaces = active.Version
	ws, err := workspace(w.c)
	if err != nil {
		return p, err
	}
	before, err := w.h.Registry.Package(ctx, active.Digest)
	if err != nil {
		return p, ctx.Err()
	}
	p.Upgrade, err = review.CompareSides(
		review.Side{Package: before, Signer: active.Signer, Workspace: ws},
		review.Side{Package: next, Signer: s.Signer, Workspace: ws})
	return p, err
}
