package admit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/manifests"
)

// Updated is what became of one skill that was to be updated.
type Updated struct {
	OK     bool   `json:"ok"`
	Skill  string `json:"skill"`
	Status Status `json:"status"`
	From   string `json:"from"`
	To     string `json:"to,omitempty"`
	// Why says why it was left alone, with {0} for the first of Remedies, and so on.
	Why      string         `json:"why,omitempty"`
	Remedies []fault.Remedy `json:"remedies,omitempty"`
	// Held, Broken and AskedOtherwise are as in a [Plan].
	Held           []Hold              `json:"held,omitempty"`
	Broken         []Hold              `json:"broken,omitempty"`
	AskedOtherwise []closure.LatestAsk `json:"asked_otherwise,omitempty"`
	install.Outcome
	Plan *Package `json:"plan,omitempty"`
	// Replays are what the new version did on recorded calls; nil when there are none.
	Replays *replay.Shadow `json:"replays,omitempty"`
	// Needs are the packages that change with it.
	Needs []Needed `json:"needs,omitempty"`
	// Moved are the other skills whose active version became another with it.
	Moved []Move       `json:"moved,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// A Move is a change of the active version of a skill.
type Move struct {
	Skill string `json:"skill"`
	From  string `json:"from"`
	To    string `json:"to"`
	// With is the skill that was updated.
	With string `json:"-"`
}

// Updates are the updates of several skills, one after the other, of which one may move
// another.
type Updates struct {
	// Skills are to be updated, in this order: what needs others before those, which it
	// may take along.
	Skills []string
	moved  map[string]Move
}

// Updates finds the skills that are named, or with none of them all that are active.
func (s *Service) Updates(ctx context.Context, by approval.Principal, names ...string) (*Updates, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	u := &Updates{moved: map[string]Move{}}
	for _, name := range names {
		v, err := s.lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		if strings.Contains(name, "@") {
			return nil, fault.Errorf(fault.KindUsage, "update takes names without versions; it got %q", name).
				WithHint("a later version: %s; an earlier one: %s", fault.Update(v.Name).With(fault.FieldTo, "VERSION"), fault.RollBack(v.Name).With(fault.FieldTo, "VERSION"))
		}
		u.Skills = append(u.Skills, v.Name)
	}
	for _, v := range all {
		if v.Active && len(names) == 0 {
			u.Skills = append(u.Skills, v.Name)
		}
	}
	neededBy := map[string][]string{}
	for _, v := range all {
		neededBy[v.Name] = append(neededBy[v.Name], "")
		for _, d := range v.Dependencies {
			neededBy[d.Chosen()] = append(neededBy[d.Chosen()], v.Name)
		}
	}
	order := visited(neededBy)
	slices.SortStableFunc(u.Skills, func(a, b string) int { return order[a] - order[b] })
	return u, nil
}

// visited numbers names so that each comes after those that it leads to, as far as they
// do not lead to each other, and otherwise in alphabetical order.
func visited(leads map[string][]string) map[string]int {
	order, seen := map[string]int{}, map[string]bool{"": true}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, n := range slices.Sorted(slices.Values(leads[name])) {
			visit(n)
		}
		order[name] = len(order)
	}
	for _, name := range slices.Sorted(maps.Keys(leads)) {
		visit(name)
	}
	return order
}

// Became is what became of one of the skills, by its plan, its result and what went
// wrong; the plan is nil when it could not be made.
func (u *Updates) Became(skill string, p *Plan, r Result, e *fault.Error) Updated {
	v := Updated{OK: e == nil, Skill: skill, Status: StatusFailed, Outcome: r.Outcome, Moved: r.Moved, Error: e}
	if p == nil {
		return v
	}
	v.From, v.To, v.Why, v.Remedies, v.Replays = p.From, p.To, p.Why, p.Remedies, p.Replays
	v.Held, v.Broken, v.AskedOtherwise = p.Held, p.Broken, p.AskedOtherwise
	if e == nil {
		v.Status = p.Status
		if r.Status != "" {
			v.Status = r.Status
		}
	}
	v.Plan, v.Needs = needs(p, r)
	if m, ok := u.moved[skill]; ok && v.Status == StatusCurrent {
		v.Status, v.From, v.To, v.Why, v.Remedies = StatusUpdated, m.From, m.To, "with "+m.With, nil
	}
	for _, m := range v.Moved {
		if before, ok := u.moved[m.Skill]; ok {
			m.From = before.From
		}
		u.moved[m.Skill] = m
	}
	return v
}

// SourceFailure is what is wrong with the place that something was to come from, without what
// that was: a registry that is down fails alike for all of its packages. It is empty for
// other errors.
func SourceFailure(err error) string { return transfer.Reason(err) }

// moves are the skills, but the one that was updated, whose active version is another
// than before.
func moves(before, after []registry.Skill, with string) []Move {
	var all []Move
	for _, s := range before {
		i := slices.IndexFunc(after, func(o registry.Skill) bool { return o.Name == s.Name && o.Active })
		if s.Active && s.Name != with && i >= 0 && after[i].Version != s.Version {
			all = append(all, Move{Skill: s.Name, From: s.Version, To: after[i].Version, With: with})
		}
	}
	return all
}

// lookup finds an installed skill, or a version of it, by its name or an alias.
func (s *Service) lookup(ctx context.Context, name string) (registry.Skill, error) {
	ref, err := manifests.ParseRef(name)
	if err != nil {
		return registry.Skill{}, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what is installed", fault.List(fault.Skills))
	}
	if ref.Tool != "" {
		return registry.Skill{}, fault.Errorf(fault.KindUsage, "%s names a tool", name).WithHint("name the skill alone: %s", ref.Name)
	}
	return s.parts.Registry.Lookup(ctx, ref)
}
