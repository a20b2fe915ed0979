package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/task"
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
	if why := held(s, others); err != nil && task.AsError(err).Kind == task.KindConflict && why.Status == statusSkipped && !c.IsSet("to") {
		return why, nil // and it asks for nothing else
	}
	if err != nil {
		return updated{}, err
	}
	to, ok := plan.Version(s.Name)
	if !c.IsSet("to") {
		if !ok || !isNewer(to, s.Version) {
			return held(s, others), nil
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
func held(s registry.Skill, others []registry.Skill) updated {
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
			return updated{Status: statusSkipped, To: version, Why: why}
		}
	}
	return updated{Status: statusCurrent, Why: " that fits together with the others; `skillet outdated` shows what is published"}
}

// updateGroup carries out an update of several packages.
func (t *terminal) updateGroup(ctx context.Context, w *works, to string, share install.Share) (updated, error) {
	u := updated{Status: statusUpdated, To: to}
	c := w.c
	main := slices.IndexFunc(w.group.Plans, func(p install.Plan) bool { return p.Skill == w.name })
	if share.Percent > 0 {
		if len(w.group.Plans) != 1 || main != 0 || len(w.group.Links)+len(w.group.Activate) > 0 {
			return u, task.Errorf(task.KindConflict, "try %s@%s: other skills would change with it, and those cannot be on trial together", w.name, to).
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
