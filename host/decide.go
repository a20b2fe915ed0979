package host

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/agents"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/document"
	"github.com/skillet-run/skillet/host/evidence"
	"github.com/skillet-run/skillet/host/history"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/settings"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
)

// wireApprovals wires what carries out and shows what is proposed.
func (h *Host) wireApprovals(kv store.KV) {
	h.Settings = settings.New(h.Ledger, h.Desk, h.Home)
	h.agents = agents.New(h.Ledger, h.Desk, h.Home, builtin.Text)
	h.Evidence = evidence.New(h.Registry, h.Tester)
	h.History = history.New(h.Ledger, kv, h.store.Blobs(), history.Settings{
		Home: h.Home, Head: h.Decisions.Head, LockWait: seconds(h.Config.Settings().LockWaitSeconds),
	})
}

// Settle brings the proposals to where they stand: what was approved and not
// applied is applied, what waits in vain is ended. Call it before people look at
// them.
func (h *Host) Settle(ctx context.Context) error {
	var errs []error
	for _, k := range []*document.Keeper{h.Settings.Keeper, h.agents.Keeper} {
		_, err := k.Finish(ctx)
		if fault.AsError(err) != nil && fault.AsError(err).Kind == fault.KindConflict { // it is stale now, and shown as that
			h.Log.Warn("a change that was approved could not be applied", "err", err)
			err = nil
		}
		errs = append(errs, err)
	}
	_, err := h.Installer.Settle(ctx)
	return errors.Join(append(errs, err)...)
}

// keeper is what carries out proposals that change a file of the home.
func (h *Host) keeper(t approval.Type) *document.Keeper {
	if t == approval.TypeConfigChange {
		return h.Settings.Keeper
	}
	return h.agents.Keeper
}

// Approve approves a proposal, of whatever type, and carries it out.
func (h *Host) Approve(ctx context.Context, by approval.Human, id string, c install.Consent) (install.Outcome, error) {
	p, err := h.Desk.Proposal(ctx, id)
	if err != nil {
		return install.Outcome{}, err
	}
	if p.Type.Package() {
		return h.Installer.Approve(ctx, by, p.ID, c)
	}
	if err := install.Shown(p, c.Digest); err != nil {
		return install.Outcome{}, err
	}
	switch {
	case c.Terms.Conditions():
		err = fault.Errorf(fault.KindUsage, "approve proposal %s: it is a %s, which grants nothing", p.ID, p.Type).WithHint("leave out --scope, --until and --for")
	case p.Type.Document():
		p, err = h.keeper(p.Type).Approve(ctx, by, p, c.Notes, c.Despite)
	case len(c.Despite) > 0:
		err = fault.Errorf(fault.KindUsage, "approve proposal %s: no call is ever in quarantine", p.ID).WithHint("leave out --despite")
	default:
		p, err = h.Desk.ApproveCall(ctx, by, p, c.Notes)
	}
	if err != nil {
		return install.Outcome{}, err
	}
	return install.Outcome{Proposal: &p}, nil
}

// Revert puts back what a proposal that was applied changed.
func (h *Host) Revert(ctx context.Context, by approval.Human, id, notes string) (approval.Proposal, error) {
	p, err := h.Desk.Proposal(ctx, id)
	switch {
	case err != nil:
		return p, err
	case p.Type.Package():
		return h.Installer.Revert(ctx, by, p.ID, notes)
	case p.Type.Document():
		return h.keeper(p.Type).Revert(ctx, by, p, notes)
	}
	return h.Desk.RevertCall(ctx, by, p, notes)
}

// keepHistory brings the git history up to date. What goes wrong there undoes
// nothing: the next command tries again, and the doctor says so.
func (h *Host) keepHistory(ctx context.Context) {
	if h.History == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	n, err := h.History.Behind()
	if err == nil && n > 0 {
		if err = h.CatchUp(ctx); err == nil {
			err = h.History.Sync(ctx)
		}
	}
	if err != nil {
		h.Log.Warn("the git history is not up to date; the next command tries again", "err", err)
	}
}
