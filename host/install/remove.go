package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

// Remove takes versions of a skill out, all of them or the one ref names, and
// ends their grants. Their bytes are deleted unless something else uses them.
// What the skill kept between its runs stays behind for who installs the same
// skill again; [Installer.Purge] deletes it.
func (i *Installer) Remove(ctx context.Context, actor string, ref manifests.Ref) ([]registry.Skill, error) {
	var gone, rest []registry.Skill
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if gone, rest, err = i.leaving(ctx, ref); err != nil {
			return ledger.Decision{}, err
		}
		changes, err := i.removal(ctx, gone, rest)
		return ledger.Decision{Kind: "remove", Actor: actor, Subject: subject(ref, gone), Changes: changes}, err
	})
	if err != nil {
		return nil, err
	}
	return gone, i.tidy(ctx, "it is removed")
}

// Purge deletes what a skill that is not installed any more kept between its
// runs. It fails with a [task.KindConflict] error while a version of it is
// installed, and with [registry.ErrNotFound] when it left nothing.
func (i *Installer) Purge(ctx context.Context, actor, skill string) error {
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		versions, err := i.registry.Versions(ctx, skill)
		if err != nil {
			return ledger.Decision{}, err
		}
		if len(versions) > 0 {
			return ledger.Decision{}, task.Errorf(task.KindConflict, "purge %s: %s is installed", skill, versions[0].Ref()).
				WithHint("remove it together with what it keeps: `skillet remove %s --purge`", skill)
		}
		_, left, err := i.registry.Left(ctx, skill)
		if err != nil {
			return ledger.Decision{}, err
		}
		if !left {
			return ledger.Decision{}, task.Errorf(task.KindNotFound, "purge %s: it left nothing behind, or is %w", skill, registry.ErrNotFound).
				WithHint("`skillet list` shows what is installed")
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

func subject(ref manifests.Ref, gone []registry.Skill) string {
	if len(gone) == 1 {
		return gone[0].Ref()
	}
	return ref.Name
}

// leaving splits the versions of a skill into those that go and those that stay.
func (i *Installer) leaving(ctx context.Context, ref manifests.Ref) (gone, rest []registry.Skill, err error) {
	found, err := i.registry.Lookup(ctx, ref)
	if err != nil {
		return nil, nil, i.orLeft(ctx, ref, err)
	}
	versions, err := i.registry.Versions(ctx, found.Name)
	if err != nil || ref.Version == "" {
		return versions, nil, err
	}
	for _, v := range versions {
		if v.Digest == found.Digest {
			gone = append(gone, v)
		} else {
			rest = append(rest, v)
		}
	}
	return gone, rest, nil
}

// orLeft says of a skill that is not installed whether it left something.
func (i *Installer) orLeft(ctx context.Context, ref manifests.Ref, err error) error {
	if _, left, lerr := i.registry.Left(ctx, ref.Name); lerr == nil && left && errors.Is(err, registry.ErrNotFound) {
		return task.AsError(err).WithHint("it was removed; what it kept is still there: `skillet remove %s --purge` deletes it", ref.Name)
	}
	return err
}

// removal are the changes that take out gone; rest is what stays of the skill.
func (i *Installer) removal(ctx context.Context, gone, rest []registry.Skill) ([]ledger.Change, error) {
	var changes []ledger.Change
	// The active one goes last: what stays behind is known as its.
	gone = slices.SortedStableFunc(slices.Values(gone), func(a, b registry.Skill) int { return one(a.Active) - one(b.Active) })
	for n, s := range gone {
		gs, err := i.desk.Grants(ctx, s.Digest)
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

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
