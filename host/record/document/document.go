// Package document changes files of the home by decisions: a change is proposed,
// a person approves it, and then the file is replaced, with what it was kept in
// the decision.
//
// A file is not part of the store, so approving and applying are two entries of
// the record of decisions, with the file written between them. What a crash left
// between is finished by [Files.Finish]. The package does not know what is in
// the files; those who propose do.
package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/internal/absent"
)

// Files changes the files that some types of proposal are about. It is safe
// for concurrent use, also by several processes.
type Files struct {
	ledger    *ledger.Ledger
	approvals *approval.Store
	home      string
	actor     string
	types     []approval.Type
	screen    Screen
}

// A Screen looks at what a file is to say and returns the rules that keep the
// change in quarantine, sorted; none when nothing speaks against it. It must answer
// the same for the same change.
type Screen func(context.Context, approval.FileChange) (rules []string, err error)

// NewFiles makes Files of the home directory. actor is who applies
// changes, for the record of decisions: "host:settings". Without a screen no change
// is put in quarantine.
func NewFiles(l *ledger.Ledger, d *approval.Store, home, actor string, s Screen, types ...approval.Type) *Files {
	if s == nil {
		s = func(context.Context, approval.FileChange) ([]string, error) { return nil, nil }
	}
	return &Files{ledger: l, approvals: d, home: home, actor: actor, screen: s, types: types}
}

// Read is a file of the home, named as in [approval.FileChange]; nil when there
// is none.
func (k *Files) Read(name string) ([]byte, error) {
	b, err := os.ReadFile(k.path(name))
	if absent.Is(err, k.path(name)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

func (k *Files) path(name string) string { return filepath.Join(k.home, filepath.FromSlash(name)) }

// maxText bounds what a proposer says, in bytes.
const maxText = 4096

// maxTitle is how many characters a title has.
const maxTitle = 120

// Propose records a proposal that wanted returns, which is called when nobody else
// decides. Its FileChange must be set; ID and digest are filled in. The same change
// waits once.
func (k *Files) Propose(ctx context.Context, wanted func() (approval.Proposal, error)) (approval.Proposal, error) {
	var p approval.Proposal
	err := k.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if p, err = k.complete(wanted()); err != nil {
			return ledger.Decision{}, err
		}
		waiting, ok, err := k.approvals.Pending(ctx, p)
		if err != nil {
			return ledger.Decision{}, err
		}
		if ok {
			p = waiting
			return ledger.Decision{}, errKnown
		}
		changes, err := k.proposed(ctx, p)
		return decision("propose", p.ProposedBy, p, changes...), err
	})
	if err != nil && !errors.Is(err, errKnown) {
		return p, err
	}
	return k.approvals.Proposal(context.WithoutCancel(ctx), p.ID)
}

// proposed are the changes that record a proposal, and put it in quarantine when
// something bad was found in it.
func (k *Files) proposed(ctx context.Context, p approval.Proposal) ([]ledger.Change, error) {
	c, err := k.approvals.Proposed(p)
	if err != nil {
		return nil, err
	}
	rules, err := k.screen(ctx, p.File())
	if err != nil || len(rules) == 0 {
		return []ledger.Change{c}, err
	}
	p.Status = approval.StatusPending
	put, err := approval.Quarantined(p, approval.PartyPolicy, approval.Found(rules))
	return []ledger.Change{c, put}, err
}

// errKnown ends a commit because the same is proposed already.
var errKnown = errors.New("proposed already")

// complete fills in what follows from the rest of a proposal.
func (k *Files) complete(p approval.Proposal, err error) (approval.Proposal, error) {
	switch f := p.File(); {
	case err != nil:
		return p, err
	case len(p.ProposedBy) > maxText || len(p.Rationale) > maxText:
		return p, fault.Errorf(fault.KindUsage, "propose a change of %s: too much at once", f.Name).WithHint("shorten it")
	case same(f.Before, f.After):
		return p, fault.Errorf(fault.KindConflict, "propose a change of %s: it says that already", f.Name).
			WithHint("look at what is there now: nothing has to be changed")
	}
	p.ID, p.Title = approval.NewID(), short(p.Title)
	p.Rationale = strings.Join(strings.Fields(p.Rationale), " ")
	p.Digest, err = p.ChangeDigest()
	return p, err
}

// short cuts a title that is too long to be one.
func short(title string) string {
	if r := []rune(title); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return title
}

// Approve approves a change and applies it. The file must still be as it was
// when the change was proposed: otherwise the proposal becomes stale, and the
// error is a [fault.KindConflict] one. What was found in the change is a
// [fault.KindDenied] error, unless despite names each of the rules.
func (k *Files) Approve(ctx context.Context, h approval.Human, p approval.Proposal, notes string, despite []string) (approval.Proposal, error) {
	rules, err := k.screen(ctx, p.File())
	if err == nil {
		err = approval.Screened(p, rules, despite)
	}
	if err != nil {
		return p, err
	}
	err = k.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := k.approvals.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		if now.Overdue(time.Now()) {
			return ledger.Decision{}, approval.TooLate(now)
		}
		changes, err := h.Approved(now, notes)
		return decision("approve", h.Actor(), now, changes...), err
	})
	if err != nil {
		return p, err
	}
	return k.finish(context.WithoutCancel(ctx), p.ID)
}

// decision is one entry of the record about a change.
func decision(kind, actor string, p approval.Proposal, changes ...ledger.Change) ledger.Decision {
	return ledger.Decision{Kind: kind, Actor: actor, Subject: p.File().Name, Note: string(p.Digest), Changes: changes}
}

// Finish applies the changes that were approved and, because a command was
// interrupted, not applied. It returns them as they are now.
func (k *Files) Finish(ctx context.Context) ([]approval.Proposal, error) {
	ps, err := k.approvals.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	var done []approval.Proposal
	var errs []error
	for _, p := range ps {
		if !slices.Contains(k.types, p.Type) || p.Status != approval.StatusApproved {
			continue
		}
		p, err := k.finish(ctx, p.ID)
		done, errs = append(done, p), append(errs, err)
	}
	return done, errors.Join(errs...)
}

// finish applies one approved change: it writes the file and records that. A
// file that is neither as it was nor as it is to be was changed by somebody else.
func (k *Files) finish(ctx context.Context, id string) (approval.Proposal, error) {
	var overtaken bool
	err := k.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		p, err := k.approvals.Proposal(ctx, id)
		if err != nil {
			return ledger.Decision{}, err
		}
		f := p.File()
		if overtaken, err = k.replace(f.Name, f.Before, f.After); err != nil {
			return ledger.Decision{}, err
		}
		kind, change := "apply", approval.Applied
		if overtaken {
			kind, change = "settle", func(p approval.Proposal) (ledger.Change, error) { return approval.Overtaken(p, changedSince(f.Name)) }
		}
		c, err := change(p)
		return decision(kind, k.actor, p, c), err
	})
	if err != nil {
		return approval.Proposal{ID: id}, err
	}
	p, err := k.approvals.Proposal(ctx, id)
	if err == nil && overtaken {
		err = fault.Errorf(fault.KindConflict, "approve proposal %s: %s", id, changedSince(p.File().Name)).WithHint("have it proposed again, if it is still wanted")
	}
	return p, err
}

func changedSince(name string) string { return name + " was changed since it was proposed" }

// replace writes a file if it is as it was before; it may be as it is to be
// already. overtaken is true when it is neither.
func (k *Files) replace(name string, before, after []byte) (overtaken bool, err error) {
	now, err := k.Read(name)
	switch {
	case err != nil:
		return false, err
	case same(now, after):
		return false, nil
	case !same(now, before):
		return true, nil
	case after == nil:
		return false, os.Remove(k.path(name))
	}
	if err := os.MkdirAll(filepath.Dir(k.path(name)), 0o700); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	if err := atomicfile.Write(k.path(name), after); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	return false, nil
}

// same tells an empty file from none.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// Revert puts a file back as it was before a change was applied. It fails with a
// [fault.KindConflict] error when the file was changed since.
func (k *Files) Revert(ctx context.Context, h approval.Human, p approval.Proposal, notes string) (approval.Proposal, error) {
	err := k.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		now, err := k.approvals.Proposal(ctx, p.ID)
		if err != nil {
			return ledger.Decision{}, err
		}
		c, err := h.Reverted(now, notes)
		if err != nil {
			return ledger.Decision{}, err
		}
		f := now.File()
		overtaken, err := k.replace(f.Name, f.After, f.Before)
		if err == nil && overtaken {
			err = fault.Errorf(fault.KindConflict, "revert proposal %s: %s was changed since it was applied", now.ID, f.Name).
				WithHint("`git -C HOME/history log -p %s` shows what it was", f.Name)
		}
		return decision("revert", h.Actor(), now, c), err
	})
	if err != nil {
		return p, err
	}
	return k.approvals.Proposal(context.WithoutCancel(ctx), p.ID)
}
