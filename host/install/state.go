package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// ErrMoved means that what a plan was made from has changed since. Errors that wrap it
// are [fault.Error]s of [fault.KindConflict].
var ErrMoved = errors.New("changed since this was planned")

// A State is what a plan is made from: the installed versions and how they stand, what
// they were granted for good, what was decided about packages before, and the policies in
// force. Take it with [Installer.State] before anything else is looked at.
type State struct {
	policies  *policies.Set
	skills    map[string]string // a digest by name
	proposals map[manifests.Digest]proposed
}

// proposed is what was decided about a package of a skill.
type proposed struct{ skill, decided string }

// State reads how everything stands now.
func (i *Installer) State(ctx context.Context) (*State, error) {
	all, err := i.registry.List(ctx)
	if err != nil {
		return nil, err
	}
	grants, err := i.approvals.AllGrants(ctx)
	if err != nil {
		return nil, err
	}
	proposals, err := i.approvals.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := i.policies()
	if err != nil {
		return nil, err
	}
	s := &State{policies: rules, skills: map[string]string{}, proposals: map[manifests.Digest]proposed{}}
	for _, v := range all {
		if err := s.add(v, grants[v.Digest]); err != nil {
			return nil, err
		}
	}
	for _, p := range proposals {
		s.proposals[p.Digest] = proposed{p.Skill, s.proposals[p.Digest].decided + p.ID + " " + string(p.Status) + "\n"}
	}
	return s, nil
}

// add sums up one version and what it was granted. A grant for a number of runs is for
// runs of that version: that one more was made changes nothing for a plan.
func (s *State) add(v registry.Skill, grants []approval.Grant) error {
	now := time.Now()
	grants = slices.DeleteFunc(slices.Clone(grants), func(g approval.Grant) bool { return !g.Unconditional(now) })
	b, err := json.Marshal(struct {
		Before string
		Skill  registry.Skill
		Grants []approval.Grant
	}{s.skills[v.Name], v, grants})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", v.Ref(), err)
	}
	sum := sha256.Sum256(b)
	s.skills[v.Name] = hex.EncodeToString(sum[:])
	return nil
}

// unchanged refuses what was planned from a state that does not hold any more, as far as
// it is about these skills and packages, or when the policies are not those of then.
func (i *Installer) unchanged(ctx context.Context, since *State, skills []string, packages ...manifests.Digest) error {
	now, err := i.underSame(ctx, since)
	if err != nil {
		return err
	}
	for _, name := range skills {
		if since.skills[name] != now.skills[name] {
			return moved(name)
		}
	}
	for _, d := range packages {
		if since.proposals[d] != now.proposals[d] {
			return moved("what was proposed of " + d.Short())
		}
	}
	return nil
}

// underSame is the state now, under the policies of then. Nothing is decided by a plan that
// does not say what it was made from.
func (i *Installer) underSame(ctx context.Context, since *State) (*State, error) {
	if since == nil {
		return nil, fault.Errorf(fault.KindInternal, "decide by a plan that does not say what it was made from")
	}
	now, err := i.State(ctx)
	if err == nil && now.policies != since.policies {
		err = moved("the policies")
	}
	return now, err
}

// Follow notes in a state how these skills stand now, because whoever planned from it has
// changed them since: what comes next of the same plan is compared with that.
func (i *Installer) Follow(ctx context.Context, since *State, skills ...string) error {
	now, err := i.State(ctx)
	if err != nil {
		return err
	}
	for _, name := range skills {
		since.skills[name] = now.skills[name]
	}
	for d, p := range now.proposals {
		if slices.Contains(skills, p.skill) {
			since.proposals[d] = p
		}
	}
	return nil
}

func moved(what string) error {
	return fault.Errorf(fault.KindConflict, "%s %w", what, ErrMoved).WithHint("%s", fault.PlanAgain())
}

// Unmoved refuses what was planned from a state about all that is installed, when any of
// it has changed since, with [ErrMoved].
func (i *Installer) Unmoved(ctx context.Context, since *State) error {
	now, err := i.underSame(ctx, since)
	if err != nil {
		return err
	}
	for _, skills := range []map[string]string{since.skills, now.skills} {
		for _, name := range slices.Sorted(maps.Keys(skills)) {
			if since.skills[name] != now.skills[name] {
				return moved(name)
			}
		}
	}
	return nil
}
