package govern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
)

// The views of an export; see package audit.
type (
	// An ExportScope is what is exported. The zero value is everything.
	ExportScope = audit.Scope
	// A Summary is what was exported.
	Summary = audit.Summary
	// An ExportReport is what a verified export contains, and an ExportedLog what it has of one log.
	ExportReport = audit.ExportReport
	ExportedLog  = audit.ExportedLog
)

// Export writes what is asked for of the audit log to w, in a form that can be verified
// without the home.
func (a *Audit) Export(ctx context.Context, by approval.Principal, w io.Writer, s ExportScope) (Summary, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Summary{}, err
	}
	return audit.Export(ctx, w, a.p.AuditKeys, []audit.Log{{Name: audit.Decisions, Journal: a.p.Decisions}, {Name: audit.Runs, Journal: a.p.Calls}}, s)
}

// An ExportFile asks for an export in a file of its own.
type ExportFile struct {
	Path string
	// Over overwrites an existing file, which otherwise is a conflict.
	Over  bool
	Scope ExportScope
}

// ExportFile writes an export to a file that only its owner reads.
func (a *Audit) ExportFile(ctx context.Context, by approval.Principal, req ExportFile) (Summary, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Summary{}, err
	}
	var sum Summary
	_, err := outfile.Write(req.Path, outfile.Options{Mode: 0o600, Over: req.Over}, func(w io.Writer) (err error) {
		sum, err = a.Export(ctx, by, w, req.Scope)
		return err
	})
	return sum, err
}

// VerifyExport verifies an export, for which no home is needed. key is a public key that
// the caller knows the home by; empty to go by the keys in the export.
func VerifyExport(in io.Reader, key []byte) (ExportReport, error) {
	found, err := audit.Verify(in, key)
	if errors.Is(err, checkpoint.ErrKey) && !errors.Is(err, audit.ErrExport) {
		return found, fault.Wrap(fault.KindUsage, err).WithHint("give a file, or the text that %s shows", fault.ShowLogKey())
	}
	return found, err
}

// IsAuditKey reports whether a text is a public key of an audit log, and no file of one.
func IsAuditKey(text string) bool { return strings.HasPrefix(text, checkpoint.NamePrefix) }

// A Report is what was found when one part of the log was verified.
type Report = journal.Report

// A Verification is what verifying the audit log found.
type Verification struct {
	OK bool `json:"ok"`
	// Unfinished says that a repair of the log was begun, and not finished.
	Unfinished bool   `json:"unfinished,omitempty"`
	Decisions  Report `json:"decisions"`
	Calls      Report `json:"calls"`
	// KnownBy says where it is kept, apart from the log, which key signs it; empty when
	// there is no key yet. Found is whether the key was there before that, and was taken as
	// it was found.
	KnownBy []string `json:"known_by"`
	Found   bool     `json:"found,omitempty"`
	// Against is what the export shows that the log was compared with.
	Against *ExportReport `json:"against,omitempty"`
	// Problem is what is wrong; nil when OK is set.
	Problem error `json:"-"`
}

// A VerifyRequest says what the log is compared with, beside itself.
type VerifyRequest struct {
	// Key is a public key that the caller knows the home by.
	Key []byte
	// Against is an export of this home, of which the log must still have everything.
	Against io.Reader
}

// Verify checks that nobody changed, cut, reordered or replaced the audit log. Damage is a
// Problem of the result and not an error. A log that does not match the key or the export
// of the request is a [fault.KindVerification] error.
func (a *Audit) Verify(ctx context.Context, by approval.Principal, req VerifyRequest) (Verification, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Verification{}, err
	}
	v := Verification{KnownBy: []string{}}
	var err1, err2 error
	v.Decisions, err1 = a.p.Decisions.Verify(ctx)
	v.Calls, err2 = a.p.Calls.Verify(ctx)
	damage := cmp.Or(err1, err2)
	if damage != nil && v.Decisions.Damage == nil && v.Calls.Damage == nil {
		return v, damage
	}
	if damage == nil {
		if err := a.compare(ctx, req, &v); err != nil {
			return v, err
		}
	}
	unfinished := a.p.Unfinished()
	v.Unfinished, v.Problem = unfinished != nil, cmp.Or(damage, unfinished)
	v.OK = v.Problem == nil
	if by, err := a.p.AuditKeys.Known(ctx); err == nil && len(by.Anchors) > 0 {
		v.KnownBy, v.Found = by.Locations, by.Anchors[0].Found
	}
	return v, nil
}

// compare compares a log that is whole with the store, and with the key and the export
// that the caller knows.
func (a *Audit) compare(ctx context.Context, req VerifyRequest, v *Verification) error {
	if err := a.p.Ledger.Fits(ctx); errors.Is(err, ledger.ErrBehind) {
		return err
	}
	if len(req.Key) > 0 {
		if err := a.follows(ctx, req.Key); err != nil {
			return err
		}
	}
	if req.Against == nil {
		return nil
	}
	found, err := VerifyExport(req.Against, req.Key)
	if err != nil {
		return fmt.Errorf("the export to compare with: %w", err)
	}
	v.Against = &found
	return a.has(ctx, found)
}

// follows checks that the home's audit key is the one that is given, or follows from it.
func (a *Audit) follows(ctx context.Context, key []byte) error {
	ring, err := a.p.AuditKeys.Keyring(ctx)
	if err != nil {
		return err
	}
	if ring == nil {
		return fault.Errorf(fault.KindVerification, "the audit log of this home is not signed yet").WithHint("its first decision or run makes a key: %s", fault.ShowLogKey())
	}
	public, err := checkpoint.ReadPublic(key, ring.Name())
	if err != nil {
		return fault.Wrap(fault.KindUsage, err).WithHint("give a file, or the text that %s shows", fault.ShowLogKey())
	}
	if _, err := checkpoint.Succession(ring.Keys, public); err != nil {
		return fault.Errorf(fault.KindVerification, "the audit log is not signed with the key you know: %w", err).
			WithHint("this home is another one, or its key and its log were replaced; %s shows the key it has", fault.ShowLogKey())
	}
	return nil
}

// has checks that the audit log has what an export of this home shows, up to the last
// entry of each part. Otherwise the log was put back to an older state, or replaced.
func (a *Audit) has(ctx context.Context, f ExportReport) error {
	ring, err := a.p.AuditKeys.Keyring(ctx)
	if err != nil {
		return err
	}
	if ring == nil || !slices.Contains(ring.All(), f.Key) {
		return fault.Errorf(fault.KindVerification, "the export is not of this home: it is signed by %s", f.Key).WithHint("%s shows the key of this home", fault.ShowLogKey())
	}
	for _, p := range f.Logs {
		if err := a.hasPart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a search.
var errFound = errors.New("found")

func (a *Audit) hasPart(ctx context.Context, p ExportedLog) error {
	j := map[string]*journal.Journal{audit.Decisions: a.p.Decisions, audit.Runs: a.p.Calls}[p.Log]
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
