package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// A Rollback is what became of going back to another version.
type Rollback struct {
	// From was active and To is; From is nil when none was.
	From *registry.Skill `json:"from,omitempty"`
	To   registry.Skill  `json:"to"`
	// Canary is the trial that ended instead of a change of the active version;
	// nil when there was none.
	Canary *registry.Canary `json:"canary,omitempty"`
}

// Rollback makes an installed version of a skill the active one: the one that ref
// names, or else the one that was active before. Its grants are those it had, and
// what the skill keeps is taken back to what it was before a later version
// changed it, unless keepState. While a canary is on trial, Rollback without a
// version ends the trial.
//
// Errors are [fault.Error]s: of [fault.KindNotFound] when there is no such version,
// of [fault.KindConflict] when it is active already or could not work with what the
// skill keeps, of [fault.KindVerification] when its bytes are damaged, and those of
// [registry.Skill.CheckEnabled].
func (i *Installer) Rollback(ctx context.Context, h approval.Human, ref manifests.Ref, keepState bool) (Rollback, error) {
	if err := h.Check(); err != nil {
		return Rollback{}, err
	}
	now, err := i.State(ctx)
	if err != nil {
		return Rollback{}, err
	}
	return i.RollbackSince(ctx, h, ref, keepState, now)
}

// RollbackSince is [Installer.Rollback] as it was planned from a state: when that has
// changed for the skill, or is nil, nothing is done, see [ErrMoved].
func (i *Installer) RollbackSince(ctx context.Context, h approval.Human, ref manifests.Ref, keepState bool, since *State) (Rollback, error) {
	if err := h.Check(); err != nil {
		return Rollback{}, err
	}
	r, err := i.PlanRollback(ctx, ref, keepState)
	if err != nil {
		return r, err
	}
	if r.Canary != nil {
		if err := i.unchanged(ctx, since, []string{r.To.Name}); err != nil {
			return r, err
		}
		_, err := i.EndCanary(ctx, h, r.To.Name, registry.VerdictRolledBack)
		return r, err
	}
	err = i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		if err := i.unchanged(ctx, since, []string{ref.Name, r.To.Name}); err != nil {
			return ledger.Decision{}, err
		}
		now, err := i.PlanRollback(ctx, ref, keepState)
		if err != nil {
			return ledger.Decision{}, err
		}
		if r = now; r.Canary != nil {
			return ledger.Decision{}, fault.Errorf(fault.KindConflict, "%s changed while it was being rolled back", r.To.Name).WithHint("%s", fault.PlanAgain())
		}
		c, err := registry.RolledBack(r.To, keepState)
		return ledger.Decision{Kind: "rollback", Actor: h.Actor(), Subject: r.To.Ref(), Note: r.note(), Changes: []ledger.Change{c}}, err
	})
	if err != nil || keepState {
		return r, err
	}
	return r, i.takeBack(context.WithoutCancel(ctx), r.To)
}

func (r Rollback) note() string {
	if r.From == nil {
		return ""
	}
	return "from " + r.From.Version
}

// takeBack brings what a skill keeps to where the version that is active again
// left it. Should the process die before, that version does it at its first call.
func (i *Installer) takeBack(ctx context.Context, s registry.Skill) error {
	p, err := i.registry.Package(ctx, s.Digest)
	if err != nil {
		return err
	}
	if err := i.engine.TakeBack(ctx, p.Manifest()); err != nil {
		return fmt.Errorf("%s is active again, and takes back what it keeps at its first call: %w", s.Ref(), err)
	}
	return nil
}

// PlanRollback says what [Installer.Rollback] would do, or why it cannot be done.
func (i *Installer) PlanRollback(ctx context.Context, ref manifests.Ref, keepState bool) (Rollback, error) {
	s, err := i.named(ctx, ref.Name)
	if err != nil {
		return Rollback{}, err
	}
	versions, err := i.registry.Versions(ctx, s.Name)
	if err != nil {
		return Rollback{}, err
	}
	r := Rollback{}
	if n := slices.IndexFunc(versions, func(v registry.Skill) bool { return v.Active }); n >= 0 {
		r.From = &versions[n]
	}
	if r.From != nil && r.From.Canary != nil && ref.Version == "" {
		r.To, r.Canary = *r.From, r.From.Canary
		return r, nil
	}
	if r.To, err = i.rollbackTarget(ctx, s.Name, ref.Version, versions); err != nil {
		return r, err
	}
	return r, i.canGoBack(ctx, r.To, keepState)
}

// named finds any version of a skill, active or not, by its name or an alias.
func (i *Installer) named(ctx context.Context, name string) (registry.Skill, error) {
	all, err := i.registry.List(ctx)
	if err != nil {
		return registry.Skill{}, err
	}
	for _, is := range []func(registry.Skill) bool{
		func(s registry.Skill) bool { return s.Name == name },
		func(s registry.Skill) bool { return slices.Contains(s.Aliases, name) },
	} {
		if n := slices.IndexFunc(all, is); n >= 0 {
			return all[n], nil
		}
	}
	return i.registry.Lookup(ctx, manifests.Ref{Name: name}) // it says what is nearest
}

func (i *Installer) rollbackTarget(ctx context.Context, name, version string, versions []registry.Skill) (registry.Skill, error) {
	if version == "" {
		to, ok, err := i.registry.Former(ctx, name)
		if err == nil && !ok {
			err = fault.Errorf(fault.KindNotFound, "roll back %s: no version of it was active before that is still installed", name).
				WithHint("%s shows its versions; name one with %s", fault.List(fault.Versions), fault.SetField(fault.FieldTo, "VERSION"))
		}
		return to, err
	}
	n := slices.IndexFunc(versions, func(v registry.Skill) bool { return v.Version == version })
	if n < 0 {
		_, err := i.registry.Lookup(ctx, manifests.Ref{Name: name, Version: version})
		if err == nil {
			err = registry.ErrNotFound
		}
		return registry.Skill{}, err
	}
	if versions[n].Active {
		return versions[n], fault.Errorf(fault.KindConflict, "roll back %s: %s is the active version already", name, versions[n].Ref()).
			WithHint("%s shows its versions", fault.List(fault.Versions))
	}
	return versions[n], nil
}

// canGoBack refuses a version that would not run.
func (i *Installer) canGoBack(ctx context.Context, s registry.Skill, keepState bool) error {
	if err := Stopped(ctx, i.registry, i.trust, s); err != nil {
		return err
	}
	p, err := i.registry.Package(ctx, s.Digest)
	if err != nil {
		return err
	}
	if keepState {
		return nil
	}
	if err := i.engine.FitsState(ctx, p.Manifest()); err != nil {
		return fault.AsError(fmt.Errorf("roll back to %s: %w", s.Ref(), err)).
			WithHint("%s rolls back all the same: %s is not run while the data is as it is; %s deletes it", fault.SetField(fault.FieldKeepState), s.Ref(), fault.Remove(s.Name).With(fault.FieldPurge))
	}
	return nil
}

// errAlready ends a commit because it is so already.
var errAlready = errors.New("it is so already")

// decideOn commits a decision about a skill, if it changes anything. It returns the
// versions that it is about, as they are after it.
func (i *Installer) decideOn(ctx context.Context, kind, actor, note string, ref manifests.Ref, change func([]registry.Skill) (ledger.Change, error)) ([]registry.Skill, error) {
	var about []registry.Skill
	concerned := func(ctx context.Context) ([]registry.Skill, error) {
		s, err := i.named(ctx, ref.Name)
		if err == nil && ref.Version != "" {
			s, err = i.registry.Lookup(ctx, manifests.Ref{Name: s.Name, Version: ref.Version})
			return []registry.Skill{s}, err
		}
		if err != nil {
			return nil, err
		}
		return i.registry.Versions(ctx, s.Name)
	}
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if about, err = concerned(ctx); err != nil {
			return ledger.Decision{}, err
		}
		c, err := change(about)
		subject := manifests.Ref{Name: about[0].Name, Version: ref.Version}
		return ledger.Decision{Kind: kind, Actor: actor, Subject: subject.String(), Note: note, Changes: []ledger.Change{c}}, err
	})
	if err != nil && !errors.Is(err, errAlready) {
		return nil, err
	}
	return concerned(context.WithoutCancel(ctx))
}

// Disable has a skill, or the version that ref names, not run any more, whoever
// asks. It returns the versions concerned. Disabling what is disabled changes
// nothing.
func (i *Installer) Disable(ctx context.Context, actor string, ref manifests.Ref, reason string) ([]registry.Skill, error) {
	return i.decideOn(ctx, "disable", actor, oneLine(reason), ref, func(all []registry.Skill) (ledger.Change, error) {
		if ref.Version != "" && all[0].Disabled != nil {
			return ledger.Change{}, errAlready
		}
		return registry.Disabled(all[0].Name, digestOf(ref, all), oneLine(reason))
	})
}

// digestOf is that of the version a reference names; empty when it names none.
func digestOf(ref manifests.Ref, all []registry.Skill) manifests.Digest {
	if ref.Version == "" {
		return ""
	}
	return all[0].Digest
}

// Enable ends what [Installer.Disable] began. Without a version, that is what
// holds for all of them, and for the active one. What is in quarantine stays
// there: a [fault.KindDenied] error.
func (i *Installer) Enable(ctx context.Context, h approval.Human, ref manifests.Ref) ([]registry.Skill, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	var about []registry.Skill
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		s, err := i.named(ctx, ref.Name)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ref.Version != "" {
			if s, err = i.registry.Lookup(ctx, manifests.Ref{Name: s.Name, Version: ref.Version}); err != nil {
				return ledger.Decision{}, err
			}
		} else if active, err := i.registry.Lookup(ctx, manifests.Ref{Name: s.Name}); err == nil {
			s = active
		}
		if d := s.Disabled; d != nil && d.Quarantined {
			return ledger.Decision{}, Stopped(ctx, i.registry, i.trust, s)
		}
		changes, err := enabled(s)
		about = []registry.Skill{s}
		return ledger.Decision{Kind: "enable", Actor: h.Actor(), Subject: s.Ref(), Changes: changes}, err
	})
	if err != nil {
		return nil, err
	}
	s, err := i.registry.Lookup(context.WithoutCancel(ctx), manifests.Ref{Name: about[0].Name, Version: about[0].Version})
	return []registry.Skill{s}, err
}

// enabled are the changes that enable a version, and with it the skill: the one
// without the other would not run.
func enabled(s registry.Skill) ([]ledger.Change, error) {
	var cs []ledger.Change
	for _, d := range []manifests.Digest{"", s.Digest} {
		c, err := registry.Enabled(s.Name, d)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// Isolate puts an installed version into quarantine because it was revoked: it is
// not run, and not enabled again. It is the change alone, for the decision that
// says so.
func Isolate(s registry.Skill, reason string) (ledger.Change, error) {
	return registry.Quarantined(s, oneLine(reason))
}

// IsolateAll puts the installed versions with these digests into quarantine, in
// one decision, each for the reason that is given. It returns those that were not
// there yet; when there are none, nothing is decided.
func (i *Installer) IsolateAll(ctx context.Context, actor string, reasons map[manifests.Digest]string) ([]registry.Skill, error) {
	var isolated []registry.Skill
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		all, err := i.registry.List(ctx)
		if err != nil {
			return ledger.Decision{}, err
		}
		isolated = slices.DeleteFunc(all, func(s registry.Skill) bool {
			_, bad := reasons[s.Digest]
			return !bad || s.Disabled != nil && s.Disabled.Quarantined
		})
		d := ledger.Decision{Kind: "quarantine", Actor: actor, Subject: "installed skills"}
		for _, s := range isolated {
			c, err := Isolate(s, reasons[s.Digest])
			if err != nil {
				return d, err
			}
			d.Changes, d.Subject = append(d.Changes, c), s.Ref()
		}
		if len(isolated) == 0 {
			return d, errAlready
		}
		return d, nil
	})
	if errors.Is(err, errAlready) {
		err = nil
	}
	return isolated, err
}

// Release ends the quarantine of the installed versions that are not revoked any
// more, in one decision: still says which are, by their digests. It returns the
// versions that it let go; one that was disabled before is disabled again.
func (i *Installer) Release(ctx context.Context, h approval.Human, still map[manifests.Digest]string) ([]registry.Skill, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	var released []registry.Skill
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		all, err := i.registry.List(ctx)
		if err != nil {
			return ledger.Decision{}, err
		}
		released = slices.DeleteFunc(all, func(s registry.Skill) bool {
			_, bad := still[s.Digest]
			return bad || s.Disabled == nil || !s.Disabled.Quarantined
		})
		d := ledger.Decision{Kind: "release", Actor: h.Actor(), Subject: refs(released), Note: "not revoked any more"}
		for _, s := range released {
			c, err := registry.Enabled(s.Name, s.Digest)
			if err != nil {
				return d, err
			}
			d.Changes = append(d.Changes, c)
		}
		if len(released) == 0 {
			return d, errAlready
		}
		return d, nil
	})
	if errors.Is(err, errAlready) {
		err = nil
	}
	return released, err
}

// Pin holds a skill at its active version: an update leaves it alone.
func (i *Installer) Pin(ctx context.Context, actor, skill, reason string) ([]registry.Skill, error) {
	return i.decideOn(ctx, "pin", actor, oneLine(reason), manifests.Ref{Name: skill}, func(all []registry.Skill) (ledger.Change, error) {
		return registry.PinnedAt(all[0].Name, oneLine(reason))
	})
}

// Unpin ends a pin.
func (i *Installer) Unpin(ctx context.Context, actor, skill string) ([]registry.Skill, error) {
	return i.decideOn(ctx, "unpin", actor, "", manifests.Ref{Name: skill}, func(all []registry.Skill) (ledger.Change, error) {
		if all[0].Pinned == nil {
			return ledger.Change{}, errAlready
		}
		return registry.Unpinned(all[0].Name)
	})
}
