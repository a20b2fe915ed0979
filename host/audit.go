package host

import (
	"context"
	"io"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/checkpoint"
	"github.com/skillet-run/skillet/host/ledger"
)

// What statements and exports call the two parts of the audit log.
const (
	logDecisions = "decisions"
	logRuns      = "runs"
)

// AuditKey returns the keys that vouch for the audit log, and makes the first
// one when there is none.
func (h *Host) AuditKey(ctx context.Context) (*checkpoint.Ring, error) { return h.AuditKeys.Make(ctx) }

// RotateAuditKey makes a new key for the audit log, signs both parts of it with
// that, records who wanted it, and retires the key so far.
func (h *Host) RotateAuditKey(ctx context.Context, by approval.Human) (*checkpoint.Ring, error) {
	return h.AuditKeys.Rotate(ctx, func(ctx context.Context) error {
		ring, err := h.AuditKeys.Ring(ctx)
		if err != nil {
			return err
		}
		if err := h.Calls.Sign(ctx); err != nil {
			return err
		}
		return h.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
			return ledger.Decision{Kind: "rotate", Actor: by.Actor(), Subject: "audit key", Note: "from now on " + ring.Current().String()}, nil
		})
	})
}

// ExportAudit writes what is asked for of the audit log to w, in a form that can
// be verified without the home.
func (h *Host) ExportAudit(ctx context.Context, w io.Writer, s audit.Scope) (audit.Summary, error) {
	return audit.Export(ctx, w, h.AuditKeys, []audit.Log{{Name: logDecisions, Journal: h.Decisions}, {Name: logRuns, Journal: h.Calls}}, s)
}
