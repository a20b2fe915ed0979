package host

import (
	"context"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
)

// SetSecret stores a secret, replacing an earlier one, and records that it was
// set. See [secret.Vault.Set] for what it can fail with.
func (h *Host) SetSecret(ctx context.Context, by approval.Human, name string, value []byte) error {
	return h.changeSecret(ctx, by, "secret.set", name, func() error { return h.Secrets.Set(ctx, name, value) })
}

// DeleteSecret deletes a secret, and records that. It fails with
// [secret.ErrNotFound].
func (h *Host) DeleteSecret(ctx context.Context, by approval.Human, name string) error {
	return h.changeSecret(ctx, by, "secret.deleted", name, func() error { return h.Secrets.Delete(ctx, name) })
}

// changeSecret changes a secret and records that it was changed. The ledger's
// lock is held meanwhile, so that the record and the file agree.
func (h *Host) changeSecret(ctx context.Context, by approval.Human, kind, name string, change func() error) error {
	if err := by.Check(); err != nil {
		return err
	}
	return h.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: kind, Actor: by.Actor(), Subject: name}, change()
	})
}
