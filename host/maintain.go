package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/store/badgerstore"
)

// VerifyStore reads everything in the store and checks it. The report is
// complete also when there is damage.
func (h *Host) VerifyStore(ctx context.Context) (badgerstore.Report, error) {
	o, err := h.storeOptions()
	if err != nil {
		return badgerstore.Report{}, err
	}
	r, err := badgerstore.Verify(ctx, h.Log.Named("store"), h.path("store"), o)
	if errors.Is(err, fs.ErrNotExist) { // nothing was ever stored
		return r, nil
	}
	return r, err
}

// Backup writes the state of the store, and every stored package, to w. The
// backup is encrypted when the store is.
func (h *Host) Backup(ctx context.Context, w io.Writer) error {
	_, err := h.store.Backup(ctx, w)
	return err
}

// A Renewal is what became of a store that was made again.
type Renewal struct {
	// Decisions is how many decisions of the journal are in the store.
	Decisions uint64 `json:"decisions"`
	// Kept is how many values that skills keep are in it.
	Kept int `json:"kept"`
	// Lost says what could not be read, for people.
	Lost []string `json:"lost"`
	// Aside is where the store as it was is kept; empty when there was none.
	Aside string `json:"aside,omitempty"`
}

// skillData is the part of the store that is not made from the journal.
const skillData = "kv/"

// PlanRebuild says what [Host.Rebuild] would find.
func (h *Host) PlanRebuild(ctx context.Context) (Renewal, error) {
	if _, err := h.Decisions.Verify(ctx); err != nil {
		return Renewal{}, err
	}
	kept, r, err := h.salvage(ctx)
	if err != nil {
		return r, err
	}
	r.Kept = len(kept)
	r.Decisions, _, err = h.Decisions.Head()
	return r, err
}

// Rebuild makes the store again: decisions from the journal, and what skills
// keep as far as it can be read. The store stays as it is when the journal is
// damaged. Nothing else should use the home meanwhile.
func (h *Host) Rebuild(ctx context.Context) (Renewal, error) {
	if _, err := h.Decisions.Verify(ctx); err != nil {
		return Renewal{}, err
	}
	kept, r, err := h.salvage(ctx)
	if err != nil {
		return r, err
	}
	if r.Aside, err = h.setAside(); err != nil {
		return r, err
	}
	if err := h.reopen(ctx); err != nil {
		return r, err
	}
	for _, e := range kept {
		if _, err := h.store.KV().Put(ctx, e.Key, e.Value, store.Any); err != nil {
			return r, fmt.Errorf("rebuild: put %s back: %w", e.Key, err)
		}
	}
	r.Kept = len(kept)
	r.Decisions, err = h.Ledger.Rebuild(ctx)
	return r, err
}

// salvage reads what skills keep from the store, damaged or not.
func (h *Host) salvage(ctx context.Context) ([]store.Entry, Renewal, error) {
	r := Renewal{Lost: []string{}}
	o, err := h.storeOptions()
	if err != nil {
		return nil, r, err
	}
	if err := h.store.Close(); err != nil {
		h.Log.Warn("close the store", "err", err)
	}
	old, report, err := badgerstore.Salvage(ctx, h.Log.Named("store"), h.path("store"), o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r, nil
	}
	if errors.Is(err, store.ErrDamaged) { // nothing can be read at all
		r.Lost = append(r.Lost, err.Error())
		return nil, r, nil
	}
	if err != nil {
		return nil, r, err
	}
	r.Lost = append(r.Lost, report.Lost...)
	kept, err := old.KV().List(ctx, skillData)
	return kept, r, errors.Join(err, old.Close())
}

// Restore goes back to a backup. Decisions made since are applied again from
// the journal, so what is lost is what skills kept since.
func (h *Host) Restore(ctx context.Context, backup io.Reader) (Renewal, error) {
	r := Renewal{Lost: []string{}}
	o, err := h.storeOptions()
	if err != nil {
		return r, err
	}
	fresh := h.path("store.restored")
	if err := os.RemoveAll(fresh); err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(fresh)
	if _, err := badgerstore.Restore(ctx, h.Log.Named("store"), backup, fresh, o); err != nil {
		return r, err
	}
	if err := h.store.Close(); err != nil {
		h.Log.Warn("close the store", "err", err)
	}
	if r.Aside, err = h.setAside(); err != nil {
		return r, err
	}
	if err := os.Rename(fresh, h.path("store")); err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	if err := h.reopen(ctx); err != nil {
		return r, err
	}
	if err := h.CatchUp(ctx); err != nil {
		return r, err
	}
	kept, err := h.store.KV().List(ctx, skillData)
	if err != nil {
		return r, err
	}
	r.Kept = len(kept)
	r.Decisions, _, err = h.Decisions.Head()
	return r, err
}

// setAside moves the store away under a name that says when.
func (h *Host) setAside() (string, error) {
	aside := h.path("store.aside-" + strings.ReplaceAll(time.Now().UTC().Format("20060102-150405.000"), ".", "-"))
	err := os.Rename(h.path("store"), aside)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("set the store aside: %w", err)
	}
	return aside, nil
}

// reopen opens the store anew and wires everything to it.
func (h *Host) reopen(ctx context.Context) error {
	if err := h.openStore(ctx); err != nil {
		return err
	}
	h.wire()
	return h.SecretKey.Anchors().Refill(ctx)
}
