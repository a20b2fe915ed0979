package host

import (
	"context"
	"crypto"
	"errors"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/signer"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/trust"
)

// wireTrust keeps the signing key beside the key of the audit log: where one of
// them is, no new identity is made in place of one that is lost.
func (h *Host) wireTrust(kv store.KV) {
	h.Signer = signer.Open(h.path("keys"), h.SecretKey)
	h.Trust = trust.New(h.Ledger, kv)
}

// SigningKey returns the key that packages are signed with. When there is none
// it is made, and made is true: say so once.
func (h *Host) SigningKey(ctx context.Context, by approval.Human) (k signer.Key, made bool, err error) {
	k, err = h.Signer.Key(ctx)
	if err == nil {
		s, err := h.Trust.Signer(ctx, k.Identity())
		if err != nil || s.Own {
			return k, false, err
		}
	}
	if err != nil && !errors.Is(err, signer.ErrNoKey) {
		return k, false, err
	}
	k, err = h.keepKey(ctx, by, "key.create", func(ctx context.Context) (k signer.Key, err error) {
		k, made, err = h.Signer.Ensure(ctx)
		return k, err
	})
	return k, made, err
}

// CreateKey makes the signing key. It fails with an error that wraps
// [signer.ErrExists] when there is one.
func (h *Host) CreateKey(ctx context.Context, by approval.Human) (signer.Key, error) {
	return h.keepKey(ctx, by, "key.create", h.Signer.Create)
}

// ImportKey makes an existing private key the signing key; see [signer.Safe.Import].
func (h *Host) ImportKey(ctx context.Context, by approval.Human, private crypto.Signer, replace bool) (signer.Key, error) {
	return h.keepKey(ctx, by, "key.import", func(ctx context.Context) (signer.Key, error) {
		return h.Signer.Import(ctx, private, replace)
	})
}

// RotateKey makes a new signing key and retires the old one.
func (h *Host) RotateKey(ctx context.Context, by approval.Human) (k, old signer.Key, err error) {
	k, err = h.keepKey(ctx, by, "key.rotate", func(ctx context.Context) (k signer.Key, err error) {
		k, old, err = h.Signer.Rotate(ctx)
		return k, err
	})
	return k, old, err
}

// keepKey changes the signing key and records it. The ledger's lock is held
// meanwhile, so that the record and the key agree.
func (h *Host) keepKey(ctx context.Context, by approval.Human, kind string, do func(context.Context) (signer.Key, error)) (signer.Key, error) {
	if by == (approval.Human{}) {
		return signer.Key{}, fault.Errorf(fault.KindDenied, "only a person can decide which key signs")
	}
	var k signer.Key
	err := h.Ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if k, err = do(ctx); err != nil {
			return ledger.Decision{}, err
		}
		own, err := h.Trust.Own(ctx, k.Public())
		return ledger.Decision{Kind: kind, Actor: by.Actor(), Subject: string(k.Identity()), Changes: []ledger.Change{own}}, err
	})
	return k, err
}
