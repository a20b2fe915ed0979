// Package settings changes the settings of a home by decisions: a change is
// proposed, a person approves it, and then the file is replaced, with what it was
// kept in the decision.
//
// The file is no part of the store, so approving and applying are two entries of
// the record of decisions, with the file written between them. What a crash left
// between is finished by [Settings.Finish]. The package does not know what
// settings mean; package config does.
package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/task"
)

// Settings changes the settings of one home. It is safe for concurrent use, also
// by several processes.
type Settings struct {
	ledger *ledger.Ledger
	desk   *approval.Desk
	path   string
}

// New makes a Settings for the home directory.
func New(l *ledger.Ledger, d *approval.Desk, home string) *Settings {
	return &Settings{ledger: l, desk: d, path: filepath.Join(home, config.FileName)}
}

// A Setting is a setting and the value it is to have, as text.
type Setting struct{ Key, Value string }

// A Request is a change that somebody wants.
type Request struct {
	// Settings are changed together.
	Settings []Setting
	// ProposedBy is who wants it: "human:ada", "model:NAME"; Rationale is why.
	ProposedBy string
	Rationale  string
}

// maxText bounds what a proposer says, in bytes.
const maxText = 4096

// maxSettings is how many settings one proposal changes.
const maxSettings = 32

// Propose records that somebody wants other settings. What cannot be applied is
// refused, with a [task.KindUsage] error. The same change waits once.
func (s *Settings) Propose(ctx context.Context, r Request) (approval.Proposal, error) {
	if len(r.ProposedBy) > maxText || len(r.Rationale) > maxText || len(r.Settings) > maxSettings {
		return approval.Proposal{}, task.Errorf(task.KindUsage, "propose settings: too much at once").WithHint("say it in fewer words, and fewer settings")
	}
	var p approval.Proposal
	err := s.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if p, err = s.proposal(r); err != nil {
			return ledger.Decision{}, err
		}
		waiting, ok, err := s.desk.Pending(ctx, p)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ok {
			p = waiting
			return ledger.Decision{}, errKnown
		}
		c, err := s.desk.Proposed(p)
		return ledger.Decision{Kind: "propose", Actor: p.ProposedBy, Subject: config.FileName, Note: string(p.Digest), Changes: []ledger.Change{c}}, err
	})
	if err != nil && !errors.Is(err, errKnown) {
		return p, err
	}
	return s.desk.Proposal(context.WithoutCancel(ctx), p.ID)
}

// errKnown ends a commit because the same is proposed already.
var errKnown = errors.New("proposed already")

func (s *Settings) proposal(r Request) (approval.Proposal, error) {
	before, err := s.read()
	if err != nil {
		return approval.Proposal{}, err
	}
	c := approval.ConfigChange{Before: before, After: before}
	var titles []string
	for _, set := range r.Settings {
		after, old, err := config.Edit(c.After, set.Key, set.Value)
		if err != nil {
			return approval.Proposal{}, err
		}
		c.After = after
		c.Settings = append(c.Settings, approval.SettingChange{Key: set.Key, Old: old, New: set.Value})
		titles = append(titles, set.Key+" to "+set.Value)
	}
	if bytes.Equal(c.Before, c.After) {
		return approval.Proposal{}, task.Errorf(task.KindConflict, "propose settings: %s says that already", config.FileName).
			WithHint("`skillet config list` shows what is set, and where")
	}
	p := approval.Proposal{
		ID: approval.NewID(), Type: approval.TypeConfigChange, Title: short("set " + strings.Join(titles, ", ")),
		Rationale: strings.Join(strings.Fields(r.Rationale), " "), ProposedBy: r.ProposedBy, Config: &c,
	}
	p.Digest, err = approval.DigestOf(c)
	return p, err
}

// short cuts a title that is too long to be one.
func short(title string) string {
	if r := []rune(title); len(r) > 120 {
		return string(r[:119]) + "…"
	}
	return title
}

// read is the file; nil when there is none.
func (s *Settings) read() ([]byte, error) {
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return b, nil
}

// Approve approves a change of settings and applies it. The file must still be as
// it was when the change was proposed: otherwise the proposal becomes stale, and
// the error is a [task.KindConflict] one.
func (s *Settings) Approve(ctx context.Context, h approval.Human, p approval.Proposal, notes string) (approval.Proposal, error) {
	err := s.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := s.desk.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		if now.Overdue(time.Now()) {
			return ledger.Decision{}, approval.TooLate(now)
		}
		c, err := h.Approved(now, notes)
		return ledger.Decision{Kind: "approve", Actor: h.Actor(), Subject: config.FileName, Note: string(now.Digest), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		return p, err
	}
	return s.finish(context.WithoutCancel(ctx), p.ID)
}

// Finish applies the changes that were approved and, because a command was
// interrupted, not applied. It returns them as they are now.
func (s *Settings) Finish(ctx context.Context) ([]approval.Proposal, error) {
	ps, err := s.desk.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	var done []approval.Proposal
	var errs []error
	for _, p := range ps {
		if p.Type != approval.TypeConfigChange || p.Status != approval.StatusApproved {
			continue
		}
		p, err := s.finish(ctx, p.ID)
		done, errs = append(done, p), append(errs, err)
	}
	return done, errors.Join(errs...)
}

// finish applies one approved change: it writes the file and records that. A
// file that is neither as it was nor as it is to be was changed by somebody else.
func (s *Settings) finish(ctx context.Context, id string) (approval.Proposal, error) {
	var overtaken bool
	err := s.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		p, err := s.desk.Proposal(ctx, id)
		if err != nil {
			return ledger.Decision{}, err
		}
		d := ledger.Decision{Kind: "apply", Actor: "host:settings", Subject: config.FileName, Note: string(p.Digest)}
		if overtaken, err = s.replace(p.Config.Before, p.Config.After); err != nil {
			return d, err
		}
		change := approval.Applied
		if overtaken {
			d.Kind, change = "settle", func(p approval.Proposal) (ledger.Change, error) { return approval.Overtaken(p, changedSince) }
		}
		c, err := change(p)
		d.Changes = []ledger.Change{c}
		return d, err
	})
	if err != nil {
		return approval.Proposal{ID: id}, err
	}
	p, err := s.desk.Proposal(ctx, id)
	if err == nil && overtaken {
		err = task.Errorf(task.KindConflict, "approve proposal %s: %s", id, changedSince).WithHint("have it proposed again, if it is still wanted")
	}
	return p, err
}

const changedSince = config.FileName + " was changed since it was proposed"

// replace writes the file if it is as it was before; it may be as it is to be
// already. overtaken is true when it is neither.
func (s *Settings) replace(before, after []byte) (overtaken bool, err error) {
	now, err := s.read()
	switch {
	case err != nil:
		return false, err
	case same(now, after):
		return false, nil
	case !same(now, before):
		return true, nil
	case after == nil:
		return false, os.Remove(s.path)
	}
	if err := atomicfile.Write(s.path, after); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	return false, nil
}

// same tells an empty file from none.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// Revert puts the file back as it was before a change was applied. It fails with
// a [task.KindConflict] error when the file was changed since.
func (s *Settings) Revert(ctx context.Context, h approval.Human, p approval.Proposal, notes string) (approval.Proposal, error) {
	err := s.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := s.desk.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		c, err := h.Reverted(now, notes)
		if err != nil {
			return ledger.Decision{}, err
		}
		overtaken, err := s.replace(now.Config.After, now.Config.Before)
		if err == nil && overtaken {
			err = task.Errorf(task.KindConflict, "revert proposal %s: %s was changed since it was applied", now.ID, config.FileName).
				WithHint("`git -C HOME/history log -p %s` shows what it was; `skillet config set` sets one setting", config.FileName)
		}
		return ledger.Decision{Kind: "revert", Actor: h.Actor(), Subject: config.FileName, Note: string(now.Digest), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		return p, err
	}
	return s.desk.Proposal(context.WithoutCancel(ctx), p.ID)
}
