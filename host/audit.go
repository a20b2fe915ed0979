package host

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/checkpoint"
	"github.com/skillet-run/skillet/host/journal"
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

// AuditKeyFollows checks that the home's audit key is the one that is given, or
// follows from it. The error is a [fault.KindVerification] error otherwise.
func (h *Host) AuditKeyFollows(ctx context.Context, key []byte) error {
	ring, err := h.AuditKeys.Ring(ctx)
	if err != nil {
		return err
	}
	if ring == nil {
		return fault.Errorf(fault.KindVerification, "the audit log of this home is not signed yet").WithHint("its first decision or run makes a key: `skillet audit key`")
	}
	public, err := checkpoint.ReadPublic(key, ring.Name())
	if err != nil {
		return fault.Wrap(fault.KindUsage, err).WithHint("give a file, or the text that `skillet audit key` shows")
	}
	if _, err := checkpoint.Succession(ring.Keys, public); err != nil {
		return fault.Errorf(fault.KindVerification, "the audit log is not signed with the key you know: %w", err).
			WithHint("this home is another one, or its key and its log were replaced; `skillet audit key` shows the key it has")
	}
	return nil
}

// AuditHas checks that the audit log has what an export of this home shows, up
// to the last entry of each part. The error is a [fault.KindVerification] error
// when it does not: the log was put back to an older state, or replaced.
func (h *Host) AuditHas(ctx context.Context, f audit.Finding) error {
	ring, err := h.AuditKeys.Ring(ctx)
	if err != nil {
		return err
	}
	if ring == nil || !slices.Contains(ring.All(), f.Key) {
		return fault.Errorf(fault.KindVerification, "the export is not of this home: it is signed by %s", f.Key).WithHint("`skillet audit key` shows the key of this home")
	}
	for _, p := range f.Logs {
		if err := h.auditHasPart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a search.
var errFound = errors.New("found")

func (h *Host) auditHasPart(ctx context.Context, p audit.Part) error {
	j := map[string]*journal.Journal{logDecisions: h.Decisions, logRuns: h.Calls}[p.Log]
	if p.Last == 0 || j == nil {
		return nil
	}
	err := j.Replay(ctx, p.Last-1, func(e journal.Entry) error {
		if e.Hash == p.Hash {
			return errFound
		}
		return fault.Errorf(fault.KindVerification, "entry %d of the %s is not the one that the export shows: the log was replaced", p.Last, p.Log)
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err == nil:
		return fault.Errorf(fault.KindVerification, "the export shows entry %d of the %s, and the log does not reach that far: an older state was put back", p.Last, p.Log).
			WithHint("the export is what is left of the entries behind it; keep it")
	}
	return err
}
