package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Share says how a new version is tried.
type Share struct {
	// Percent of the calls go to it, 1 to 99.
	Percent int
	// Calls is how many of its calls it takes until it is promoted; 0 means
	// [DefaultCanaryCalls].
	Calls int
	// Replays says in one line what it did on recorded calls before; empty when
	// there were none.
	Replays string
	// Since is the state that the trial of an installed version was planned from: without
	// it, [Installer.TryInstalled] refuses. For a package that is installed for its trial
	// the plan has it.
	Since *State
}

// DefaultCanaryCalls is how many calls a version on trial has to take.
const DefaultCanaryCalls = 200

// AcceptCanary installs a planned package beside the active version, with the
// consent of a person as in [Installer.Accept], and puts it on trial. It fails
// with a [fault.KindConflict] error when there is no active version, when another
// one is on trial, or when the two would not share what the skill keeps.
func (i *Installer) AcceptCanary(ctx context.Context, h approval.Human, p Plan, s Share) (Outcome, error) {
	if err := h.Check(); err != nil {
		return Outcome{}, err
	}
	if err := i.consented(ctx, p); err != nil {
		return Outcome{}, err
	}
	t := trial{skill: p.Skill, version: p.Version, stable: p.Replaces, is: p.request.Package, was: p.former.pkg}
	if p.Installed {
		t.stable = ""
	}
	if err := i.canTry(ctx, t, s); err != nil {
		return Outcome{}, err
	}
	p.keepsActive = true
	return i.install(ctx, p, h, func(ctx context.Context) ([]ledger.Change, error) {
		given, err := i.grants(ctx, h, p, p.Asks)
		if err != nil {
			return nil, err
		}
		begun, err := t.begun(p.Digest, p.former.digest, s)
		return append(given, begun), err
	})
}

// TryInstalled puts an installed version on trial beside the active one, with the
// grants that it has. It fails as [Installer.AcceptCanary] and
// [registry.Skill.CheckEnabled] do.
func (i *Installer) TryInstalled(ctx context.Context, h approval.Human, v registry.Skill, s Share) (Outcome, error) {
	if err := h.Check(); err != nil {
		return Outcome{}, err
	}
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		begun, err := i.tryInstalled(ctx, v, s)
		return ledger.Decision{Kind: "canary", Actor: h.Actor(), Subject: v.Ref(), Note: fmt.Sprintf("started with %d%% of the calls", s.Percent), Changes: []ledger.Change{begun}}, err
	})
	if err != nil {
		return Outcome{}, err
	}
	return i.outcome(ctx, v.Name, v.Version)
}

func (i *Installer) tryInstalled(ctx context.Context, v registry.Skill, s Share) (ledger.Change, error) {
	if err := i.unchanged(ctx, s.Since, []string{v.Name}); err != nil {
		return ledger.Change{}, err
	}
	now, err := i.registry.Lookup(ctx, manifests.Ref{Name: v.Name, Version: v.Version})
	if err == nil {
		err = now.CheckEnabled()
	}
	if err != nil {
		return ledger.Change{}, err
	}
	t := trial{skill: now.Name, version: now.Version}
	if t.is, err = i.registry.Package(ctx, now.Digest); err != nil {
		return ledger.Change{}, err
	}
	active, err := i.registry.Lookup(ctx, manifests.Ref{Name: v.Name})
	switch {
	case errors.Is(err, registry.ErrNotFound) || err == nil && active.Digest == now.Digest:
	case err != nil:
		return ledger.Change{}, err
	default:
		t.stable = active.Version
		if t.was, err = i.registry.Package(ctx, active.Digest); ctx.Err() != nil {
			return ledger.Change{}, err
		}
	}
	if err := i.canTry(ctx, t, s); err != nil {
		return ledger.Change{}, err
	}
	return t.begun(now.Digest, active.Digest, s)
}

// A trial is a version that is measured against the active one.
type trial struct {
	skill, version string
	// stable is the active version; empty for none.
	stable string
	// is and was are the packages; was is nil for one that is damaged.
	is, was *bundle.Package
}

func (t trial) begun(d, stable manifests.Digest, s Share) (ledger.Change, error) {
	return registry.CanaryStarted(t.skill, registry.Canary{
		Digest: d, Stable: stable, Version: t.version, StableVersion: t.stable, Percent: s.Percent, Calls: cmp.Or(s.Calls, DefaultCanaryCalls), Replays: s.Replays,
	})
}

func (i *Installer) canTry(ctx context.Context, t trial, s Share) error {
	switch {
	case s.Percent < 1 || s.Percent > 99:
		return fault.Errorf(fault.KindUsage, "a canary gets 1 to 99 percent of the calls, not %d", s.Percent).WithHint("such as %s", fault.SetField(fault.FieldCanary, "10%"))
	case s.Calls < 0:
		return fault.Errorf(fault.KindUsage, "the number of calls of a canary must not be negative, and is %d", s.Calls)
	case t.stable == "":
		return fault.Errorf(fault.KindConflict, "try %s@%s: no other version is active to compare it with", t.skill, t.version).
			WithHint("install it without %s", fault.OmitField(fault.FieldCanary))
	case t.was == nil:
		return fault.Errorf(fault.KindVerification, "try %s@%s: the active version %s is damaged", t.skill, t.version, t.stable).
			WithHint("install it without %s", fault.OmitField(fault.FieldCanary))
	}
	was, is := t.was.Manifest().Security.Permissions.KV, t.is.Manifest().Security.Permissions.KV
	if was != nil && is != nil && max(was.SchemaVersion, 1) != max(is.SchemaVersion, 1) {
		return fault.Errorf(fault.KindConflict, "try %s@%s: it keeps data of schema version %d, and %s of version %d: the two cannot share it",
			t.skill, t.version, max(is.SchemaVersion, 1), t.stable, max(was.SchemaVersion, 1)).
			WithHint("update without %s: %s takes the data back as well", fault.OmitField(fault.FieldCanary), fault.RollBack(t.skill))
	}
	active, err := i.registry.Lookup(ctx, manifests.Ref{Name: t.skill})
	if err != nil {
		return err
	}
	if c := active.Canary; c != nil {
		return fault.Errorf(fault.KindConflict, "try %s@%s: %s is on trial already", t.skill, t.version, c.Version).
			WithHint("%s makes it the active version, %s ends the trial", fault.Update(t.skill).With(fault.FieldPromote), fault.RollBack(t.skill))
	}
	return nil
}

// EndCanary ends the trial of a skill as a person decides: with
// [registry.VerdictPromoted] the version on trial is the active one from then on.
func (i *Installer) EndCanary(ctx context.Context, h approval.Human, skill string, v registry.Verdict) (registry.Skill, error) {
	if err := h.Check(); err != nil {
		return registry.Skill{}, err
	}
	return i.endCanary(ctx, h.Actor(), skill, 0, v, "as decided by "+h.Actor(), nil)
}

// Conclude ends a trial as its figures say. It does nothing when that trial is
// over already.
func (i *Installer) Conclude(ctx context.Context, skill string, c registry.Canary, v registry.Verdict, reason string, report json.RawMessage) error {
	_, err := i.endCanary(ctx, "host:canary", skill, c.Seq, v, reason, report)
	return err
}

// endCanary ends the trial that decision seq began; 0 means whichever there is.
func (i *Installer) endCanary(ctx context.Context, actor, skill string, seq uint64, v registry.Verdict, reason string, report json.RawMessage) (registry.Skill, error) {
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		active, err := i.registry.Lookup(ctx, manifests.Ref{Name: skill})
		if err != nil {
			return ledger.Decision{}, err
		}
		c := active.Canary
		switch {
		case c == nil && seq == 0:
			return ledger.Decision{}, fault.Errorf(fault.KindConflict, "%s has no version on trial", active.Name).
				WithHint("%s begins a trial", fault.Update(active.Name).With(fault.FieldCanary, "10%"))
		case c == nil || seq != 0 && c.Seq != seq:
			return ledger.Decision{}, errAlready
		}
		if v == registry.VerdictPromoted {
			if err := i.promotable(ctx, active.Name, *c); err != nil {
				return ledger.Decision{}, err
			}
		}
		change, err := registry.CanaryEnded(active.Name, v, reason, report)
		return ledger.Decision{Kind: "canary", Actor: actor, Subject: active.Name + "@" + c.Version, Note: string(v) + ": " + reason, Changes: []ledger.Change{change}}, err
	})
	if err != nil && !errors.Is(err, errAlready) {
		return registry.Skill{}, err
	}
	return i.registry.Lookup(context.WithoutCancel(ctx), manifests.Ref{Name: skill})
}

// promotable refuses a version that would not run.
func (i *Installer) promotable(ctx context.Context, skill string, c registry.Canary) error {
	versions, err := i.registry.Versions(ctx, skill)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(versions, func(v registry.Skill) bool { return v.Digest == c.Digest })
	if n < 0 {
		return fmt.Errorf("promote %s@%s: %w", skill, c.Version, registry.ErrNotFound)
	}
	return versions[n].CheckEnabled()
}
