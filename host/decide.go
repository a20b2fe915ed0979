package host

import (
	"context"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/record/settings"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
)

// wireApprovals wires what carries out and shows what is proposed.
func (h *Host) wireApprovals(kv store.KV) {
	h.Settings = settings.New(h.Ledger, h.Desk, h.Home)
	h.agents = agents.New(h.Ledger, h.Desk, h.Home, builtin.Text)
	h.Evidence = evidence.New(h.Registry, h.Tester)
	h.History = history.New(h.Ledger, kv, h.store.Blobs(), history.Settings{
		Home: h.Home, Head: h.Decisions.Head, LockWait: duration.OfSeconds(h.Config.Settings().LockWaitSeconds),
	})
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
