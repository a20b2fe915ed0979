package install

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// A VersionState is the state that a version of a skill had in another home.
type VersionState struct {
	Skill, Version string
	Digest         manifests.Digest
	// Active is true for the active version. Avoided is the version that somebody went
	// back from to it; empty for none.
	Active  bool
	Avoided string
	// Pinned says that the skill was held at it, and PinReason why.
	Pinned    bool
	PinReason string
	// Stopped says that it was not run; nil for one that was.
	Stopped *registry.Stop
}

// RestoreStates gives installed versions the state that they had in another home, in one decision.
// What is not installed with those bytes is left out, and nothing that is stopped
// here is started. It says what became different, one line each.
func (i *Installer) RestoreStates(ctx context.Context, h approval.Human, subject string, all []VersionState) ([]string, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	var lines []string
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		d := ledger.Decision{Kind: "import", Actor: h.Actor(), Subject: oneLine(subject)}
		lines = nil
		for _, want := range all {
			s, err := i.registry.Lookup(ctx, manifests.Ref{Name: want.Skill, Version: want.Version})
			if errors.Is(err, registry.ErrNotFound) || err == nil && s.Digest != want.Digest {
				continue
			}
			if err != nil {
				return d, err
			}
			for _, step := range want.steps(s) {
				c, err := step.change()
				if err != nil {
					return d, err
				}
				d.Changes, lines = append(d.Changes, c), append(lines, step.words)
			}
		}
		if len(d.Changes) == 0 {
			return d, errAlready
		}
		return d, nil
	})
	if errors.Is(err, errAlready) {
		err = nil
	}
	return lines, err
}

// A standingStep is one thing that an installed version lacks to stand as it should.
type standingStep struct {
	words  string
	change func() (ledger.Change, error)
}

func (w VersionState) steps(s registry.Skill) []standingStep {
	var all []standingStep
	add := func(words string, change func() (ledger.Change, error)) {
		all = append(all, standingStep{words, change})
	}
	if w.Active && !s.Active {
		add(s.Ref()+" is the active version", func() (ledger.Change, error) { return registry.Activated(s) })
	}
	if w.Active && w.Avoided != "" && manifests.CompareVersions(w.Avoided, w.Version) > 0 && (s.Avoided == nil || manifests.CompareVersions(w.Avoided, s.Avoided.Version) > 0) {
		add(s.Name+" went back from "+w.Avoided, func() (ledger.Change, error) { return registry.WentBack(s.Name, w.Avoided) })
	}
	if reason := oneLine(w.PinReason); w.Active && w.Pinned && (s.Pinned == nil || s.Pinned.Reason != reason) {
		add(s.Name+" is pinned", func() (ledger.Change, error) { return registry.PinnedAt(s.Name, reason) })
	}
	switch stop := w.Stopped; {
	case stop == nil || s.Disabled != nil && (stop.All || !s.Disabled.All):
	case stop.All:
		add(s.Name+" is disabled", func() (ledger.Change, error) { return registry.Disabled(s.Name, "", oneLine(stop.Reason)) })
	default:
		add(s.Ref()+" is disabled", func() (ledger.Change, error) { return registry.Disabled(s.Name, s.Digest, oneLine(stop.Reason)) })
	}
	return all
}
