package govern

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
)

// Secrets keep what the host adds to requests of skills. Nobody gets a value back.
type Secrets struct{ p *Parts }

// A Secret is the name of a secret, and when it was set; the zero time is left out.
type Secret = secret.Info

// A SetSecret asks for a secret to be stored, in the place of one of that name.
type SetSecret struct {
	Name  string
	Value []byte
}

// A StoredSecret is a secret that was stored.
type StoredSecret struct {
	Secret
	// SealedBy says where the key is that seals it.
	SealedBy string `json:"-"`
}

// CheckSecretName fails with a [fault.KindUsage] error for what cannot be the name of a
// secret.
func CheckSecretName(name string) error {
	if err := secret.CheckName(name); err != nil {
		return fault.Wrap(fault.KindUsage, err).WithHint("choose another name")
	}
	return nil
}

// Set stores a secret, and records that it was set.
func (s *Secrets) Set(ctx context.Context, by approval.Human, req SetSecret) (StoredSecret, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return StoredSecret{}, err
	}
	if err := CheckSecretName(req.Name); err != nil {
		return StoredSecret{}, err
	}
	if len(req.Value) == 0 {
		return StoredSecret{}, emptySecret(req.Name)
	}
	err := s.change(ctx, by, "secret.set", req.Name, func() error { return s.p.Secrets.Set(ctx, req.Name, req.Value) })
	return StoredSecret{Secret{Name: req.Name}, s.p.SecretKey.Where()}, err
}

func emptySecret(name string) error {
	return fault.Errorf(fault.KindUsage, "the value of %s is empty", name).WithHint("a secret has at least one byte")
}

// Delete deletes a secret, and records that. It fails with a [fault.KindNotFound] error
// when no secret has the name.
func (s *Secrets) Delete(ctx context.Context, by approval.Human, name string) (Secret, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Secret{}, err
	}
	err := s.change(ctx, by, "secret.deleted", name, func() error { return s.p.Secrets.Delete(ctx, name) })
	return Secret{Name: name}, err
}

// change changes a secret and records that it was changed. The ledger's lock is held
// meanwhile, so that the record and the file agree.
func (s *Secrets) change(ctx context.Context, by approval.Human, kind, name string, change func() error) error {
	return s.p.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: kind, Actor: by.Actor(), Subject: name}, change()
	})
}

// Find returns a secret. It fails with a [fault.KindNotFound] error when no secret has the
// name.
func (s *Secrets) Find(ctx context.Context, by approval.Principal, name string) (Secret, error) {
	all, err := s.List(ctx, by)
	if err != nil {
		return Secret{}, err
	}
	i := slices.IndexFunc(all, func(o Secret) bool { return o.Name == name })
	if i < 0 {
		return Secret{}, fault.Wrap(fault.KindNotFound, fmt.Errorf("secret %s: %w", name, secret.ErrNotFound)).
			WithHint("%s shows the names", fault.List(fault.Secrets))
	}
	return all[i], nil
}

// List returns all secrets, by name.
func (s *Secrets) List(ctx context.Context, by approval.Principal) ([]Secret, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	all, err := s.p.Secrets.List(ctx)
	return append([]Secret{}, all...), err
}
