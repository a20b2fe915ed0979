package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// A Removing says what is to be removed, and how.
type Removing struct {
	// Refs are skills, or versions of them.
	Refs []manifests.Ref
	// Force removes also what others need.
	Force bool
	// Prune removes also what nobody needs any more.
	Prune bool
	// Since is what this was planned from: without it nothing is removed.
	Since *State
}

// A Removal is what goes, and what that means for others.
type Removal struct {
	// Gone are the versions that were named, and Pruned those that nobody needs any
	// more and that go with them.
	Gone   []registry.Skill `json:"removed"`
	Pruned []registry.Skill `json:"pruned"`
	// Broken are versions that stay and need one that goes.
	Broken []registry.Skill `json:"broken"`
	// Unneeded are versions that stay although nobody asked for them and nobody
	// needs them any more.
	Unneeded []registry.Skill `json:"unneeded"`
}

// All are the versions that go.
func (r Removal) All() []registry.Skill { return slices.Concat(r.Gone, r.Pruned) }

// Remove takes versions of a skill out, all of them or the one ref names; see
// [Installer.RemoveAll].
func (i *Installer) Remove(ctx context.Context, actor string, ref manifests.Ref) ([]registry.Skill, error) {
	now, err := i.State(ctx)
	if err != nil {
		return nil, err
	}
	r, err := i.RemoveAll(ctx, actor, Removing{Refs: []manifests.Ref{ref}, Since: now})
	return r.Gone, err
}

// RemoveAll takes versions of skills out and ends their grants, by one decision.
// Their bytes are deleted unless something else uses them. What a skill kept
// between its runs stays behind for who installs the same skill again;
// [Installer.Purge] deletes it. What others need is removed by force only: a
// [fault.KindConflict] error says who they are.
func (i *Installer) RemoveAll(ctx context.Context, actor string, what Removing) (Removal, error) {
	var r Removal
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		err := i.unchanged(ctx, what.Since, namesIn(what.Refs))
		if err != nil {
			return ledger.Decision{}, err
		}
		if r, err = i.PlanRemoval(ctx, what); err != nil {
			return ledger.Decision{}, err
		}
		if err := i.unchanged(ctx, what.Since, namesOf(r.All(), r.Broken)); err != nil {
			return ledger.Decision{}, err
		}
		d := ledger.Decision{Kind: "remove", Actor: actor, Subject: subject(what, r.All())}
		if len(r.Broken) > 0 {
			d.Note = "by force, although needed by " + refs(r.Broken)
		}
		if len(r.All()) == 0 {
			return d, errAlready
		}
		d.Changes, err = i.removals(ctx, r.All())
		return d, err
	})
	if errors.Is(err, errAlready) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, i.tidy(ctx, "it is removed")
}

// PlanRemoval says what [Installer.RemoveAll] would do, or why it would not.
func (i *Installer) PlanRemoval(ctx context.Context, what Removing) (Removal, error) {
	r := Removal{Gone: []registry.Skill{}, Pruned: []registry.Skill{}}
	for _, ref := range what.Refs {
		more, err := i.leaving(ctx, ref)
		if err != nil {
			return r, err
		}
		r.Gone = append(r.Gone, without(more, r.Gone)...)
	}
	all, err := i.registry.List(ctx)
	if err != nil {
		return r, err
	}
	stays := without(all, r.Gone)
	r.Unneeded = registry.Unneeded(stays)
	if what.Prune {
		r.Pruned, r.Unneeded = r.Unneeded, []registry.Skill{}
		stays = without(stays, r.Pruned)
	}
	r.Broken = registry.Dependents(stays, digests(r.Gone)...)
	if len(r.Broken) > 0 && !what.Force {
		return r, fault.Errorf(fault.KindConflict, "remove %s: %s by %s", refs(r.Gone), map[bool]string{true: "they are needed", false: "it is needed"}[len(r.Gone) > 1], refs(r.Broken)).
			WithHint("remove those, too; or say %s to leave them without it; %s shows who needs a skill", fault.SetField(fault.FieldForce), fault.ShowUsers(""))
	}
	return r, nil
}

// without are the versions of all that are not among others.
func without(all, others []registry.Skill) []registry.Skill {
	return slices.DeleteFunc(slices.Clone(all), func(s registry.Skill) bool {
		return slices.ContainsFunc(others, func(o registry.Skill) bool { return o.Name == s.Name && o.Digest == s.Digest })
	})
}

func digests(all []registry.Skill) []manifests.Digest {
	var ds []manifests.Digest
	for _, s := range all {
		ds = append(ds, s.Digest)
	}
	return ds
}

func namesIn(all []manifests.Ref) []string {
	var names []string
	for _, ref := range all {
		names = append(names, ref.Name)
	}
	return names
}

func namesOf(lists ...[]registry.Skill) []string {
	var names []string
	for _, s := range slices.Concat(lists...) {
		names = append(names, s.Name)
	}
	return names
}

func refs(all []registry.Skill) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, s.Ref())
	}
	return strings.Join(texts, ", ")
}

// removals are the changes that take out versions of several skills.
func (i *Installer) removals(ctx context.Context, gone []registry.Skill) ([]ledger.Change, error) {
	var changes []ledger.Change
	for n, s := range gone {
		same := func(o registry.Skill) bool { return o.Name == s.Name }
		if slices.ContainsFunc(gone[:n], same) {
			continue
		}
		versions, err := i.registry.Versions(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		mine := slices.DeleteFunc(slices.Clone(gone), func(o registry.Skill) bool { return !same(o) })
		cs, err := i.removal(ctx, mine, without(versions, mine))
		if err != nil {
			return nil, err
		}
		changes = append(changes, cs...)
	}
	return changes, nil
}

// Purge deletes what a skill that is not installed any more kept between its
// runs. It fails with a [fault.KindConflict] error while a version of it is
// installed, and with [registry.ErrNotFound] when it left nothing.
func (i *Installer) Purge(ctx context.Context, actor, skill string) error {
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		versions, err := i.registry.Versions(ctx, skill)
		if err != nil {
			return ledger.Decision{}, err
		}
		if len(versions) > 0 {
			return ledger.Decision{}, fault.Errorf(fault.KindConflict, "purge %s: %s is installed", skill, versions[0].Ref()).
				WithHint("remove it together with what it keeps: %s", fault.Remove(skill).With(fault.FieldPurge))
		}
		_, left, err := i.registry.Left(ctx, skill)
		if err != nil {
			return ledger.Decision{}, err
		}
		if !left {
			return ledger.Decision{}, fault.Errorf(fault.KindNotFound, "purge %s: it left nothing behind, or is %w", skill, registry.ErrNotFound).
				WithHint("%s shows what is installed", fault.List(fault.Skills))
		}
		c, err := registry.Purged(skill)
		return ledger.Decision{Kind: "purge", Actor: actor, Subject: skill, Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		return err
	}
	if err := i.engine.Forget(context.WithoutCancel(ctx), skill); err != nil {
		return fmt.Errorf("%s is to be purged, but what it kept could not be deleted: %w", skill, err)
	}
	return nil
}

func subject(what Removing, gone []registry.Skill) string {
	switch {
	case len(gone) == 1:
		return gone[0].Ref()
	case len(what.Refs) == 1 && !what.Prune:
		return what.Refs[0].Name
	}
	return refs(gone)
}

// leaving are the versions that a reference names.
func (i *Installer) leaving(ctx context.Context, ref manifests.Ref) ([]registry.Skill, error) {
	found, err := i.registry.Lookup(ctx, ref)
	if err != nil {
		return nil, i.orLeft(ctx, ref, err)
	}
	if ref.Version != "" {
		return []registry.Skill{found}, nil
	}
	return i.registry.Versions(ctx, found.Name)
}

// orLeft says of a skill that is not installed whether it left something.
func (i *Installer) orLeft(ctx context.Context, ref manifests.Ref, err error) error {
	if _, left, lerr := i.registry.Left(ctx, ref.Name); lerr == nil && left && errors.Is(err, registry.ErrNotFound) {
		return fault.AsError(err).WithHint("it was removed; what it kept is still there: %s deletes it", fault.Remove(ref.Name).With(fault.FieldPurge))
	}
	return err
}

// removal are the changes that take out gone; rest is what stays of the skill.
func (i *Installer) removal(ctx context.Context, gone, rest []registry.Skill) ([]ledger.Change, error) {
	var changes []ledger.Change
	// The active one goes last: what stays behind is known as its.
	gone = slices.SortedStableFunc(slices.Values(gone), func(a, b registry.Skill) int { return order(a.Active) - order(b.Active) })
	for n, s := range gone {
		gs, err := i.approvals.Grants(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		revoked, err := approval.RevokedAll(gs)
		if err != nil {
			return nil, err
		}
		// While versions go one after the other, those that go later are still there.
		removed, err := registry.Removed(s, append(rest[:len(rest):len(rest)], gone[n+1:]...))
		if err != nil {
			return nil, err
		}
		changes = append(append(changes, revoked...), removed)
	}
	return changes, nil
}

func order(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
