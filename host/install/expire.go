package install

import (
	"context"
	"errors"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
)

// errSettled ends a commit because there is nothing to settle.
var errSettled = errors.New("nothing to settle")

// ExpireProposals ends the proposals that wait in vain: those whose time is over, and
// those whose skill is at another version than they said. It returns them as
// they are now, and deletes bytes nobody needs any more.
func (i *Installer) ExpireProposals(ctx context.Context) ([]approval.Proposal, error) {
	if changes, _, err := i.settled(ctx); err != nil || len(changes) == 0 {
		return nil, err
	}
	var over []approval.Proposal
	err := i.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		changes, ps, err := i.settled(ctx)
		if err == nil && len(changes) == 0 {
			err = errSettled
		}
		over = ps
		return ledger.Decision{Kind: "settle", Actor: "host:approvals", Subject: "proposals", Changes: changes}, err
	})
	if errors.Is(err, errSettled) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n, p := range over {
		if over[n], err = i.approvals.Proposal(context.WithoutCancel(ctx), p.ID); err != nil {
			return over, err
		}
	}
	return over, i.tidy(ctx, "proposals are ended")
}

// settled are the changes that end what waits in vain, and the proposals that
// they end.
func (i *Installer) settled(ctx context.Context) ([]ledger.Change, []approval.Proposal, error) {
	ps, err := i.approvals.Proposals(ctx)
	if err != nil {
		return nil, nil, err
	}
	skills, err := i.registry.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	var changes []ledger.Change
	var over []approval.Proposal
	for _, p := range ps {
		end := ending(p, skills, now)
		if end == nil {
			continue
		}
		c, err := end(p)
		if err != nil {
			return nil, nil, err
		}
		changes, over = append(changes, c), append(over, p)
	}
	return changes, over, nil
}

// ending is the change that ends p now; nil for a proposal that goes on.
func ending(p approval.Proposal, skills []registry.Skill, now time.Time) func(approval.Proposal) (ledger.Change, error) {
	switch {
	case p.Status != approval.StatusPending:
		return nil
	case p.Overdue(now):
		return approval.Expired
	}
	why := outdated(p, skills)
	if why == "" {
		return nil
	}
	return func(p approval.Proposal) (ledger.Change, error) { return approval.Overtaken(p, why) }
}

// outdated says why p is about something that is not there any more; "" when it
// is there.
func outdated(p approval.Proposal, skills []registry.Skill) string {
	active, there := "", false
	for _, s := range skills {
		if s.Name == p.Skill && s.Active {
			active = s.Version
		}
		there = there || p.Call != nil && s.Digest == p.Call.Digest
	}
	switch {
	case p.Type == approval.TypeCall && !there:
		return p.Ref() + " is not installed any more"
	case p.Type.Package() && active != p.Replaces:
		return "then " + version(p.Replaces) + " of " + p.Skill + " was active, now " + version(active)
	}
	return ""
}
