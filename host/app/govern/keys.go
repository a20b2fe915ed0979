package govern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/manifests"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// Keys keep the key with which this home signs packages and revocation lists.
type Keys struct{ p *Parts }

// A SigningKey is the public half of the key, and what is known about it.
type SigningKey struct {
	Signer    signature.Signer `json:"signer"`
	Algorithm string           `json:"algorithm"`
	PublicKey signature.Key    `json:"public_key"`
	MadeAt    time.Time        `json:"made_at"`
	Imported  bool             `json:"imported"`
	// SealedBy says where the key is that seals it.
	SealedBy string `json:"sealed_by"`
	// Retired are the keys before it, oldest first.
	Retired []signer.Retired `json:"retired"`
}

func (k *Keys) view(key signer.Key) SigningKey {
	return SigningKey{
		Signer: key.Identity(), Algorithm: key.Public().Algorithm(), PublicKey: key.Public(), MadeAt: key.MadeAt(),
		Imported: key.Imported(), SealedBy: k.p.SecretKey.Where(), Retired: key.Retired(),
	}
}

// Show returns the signing key. It fails with a [fault.KindNotFound] error when none was
// made yet.
func (k *Keys) Show(ctx context.Context, by approval.Principal) (SigningKey, error) {
	if err := k.p.begin(ctx, by); err != nil {
		return SigningKey{}, err
	}
	key, err := k.p.Signer.Key(ctx)
	if err != nil {
		return SigningKey{}, explainKey(err)
	}
	return k.view(key), nil
}

// A KeyFile is a file that the public key was written to.
type KeyFile struct {
	Path   string           `json:"path"`
	Signer signature.Signer `json:"signer"`
}

// An ExportKey asks for the public key in a file. Over overwrites an existing file, which
// otherwise is a conflict.
type ExportKey struct {
	Path string
	Over bool
}

// Export writes the public key to a file, as PEM.
func (k *Keys) Export(ctx context.Context, by approval.Principal, req ExportKey) (KeyFile, error) {
	key, err := k.Show(ctx, by)
	if err != nil {
		return KeyFile{}, err
	}
	_, err = outfile.Write(req.Path, outfile.Options{Mode: 0o644, Over: req.Over}, func(w io.Writer) error {
		_, err := w.Write(key.PublicKey.PEM())
		return err
	})
	if err != nil {
		return KeyFile{}, fmt.Errorf("write the public key: %w", err)
	}
	return KeyFile{req.Path, key.Signer}, nil
}

// Create makes the signing key. It fails with a [fault.KindConflict] error when there is
// one.
func (k *Keys) Create(ctx context.Context, by approval.Human) (SigningKey, error) {
	return k.changed(ctx, by, "key.create", k.p.Signer.Create)
}

// An ImportKey asks for an existing private key to become the signing key.
type ImportKey struct {
	// PEM is the key: PKCS #8, SEC 1, or cosign's, for which Passphrase is needed.
	PEM        []byte
	Passphrase []byte
	// Replace has the key retired that is there; without it that is a conflict.
	Replace bool
}

// NeedsPassphrase reports whether a private key opens with a passphrase alone.
func NeedsPassphrase(pem []byte) bool {
	needs := false
	_, _ = signer.ParsePrivate(pem, func() ([]byte, error) {
		needs = true
		return nil, signer.ErrPassphrase
	})
	return needs
}

// Import makes an existing private key the signing key.
func (k *Keys) Import(ctx context.Context, by approval.Human, req ImportKey) (SigningKey, error) {
	return k.changed(ctx, by, "key.import", func(ctx context.Context) (signer.Key, error) {
		private, err := signer.ParsePrivate(req.PEM, func() ([]byte, error) { return req.Passphrase, nil })
		if err != nil {
			return signer.Key{}, err
		}
		return k.p.Signer.Import(ctx, private, req.Replace)
	})
}

// Rotate makes a new signing key, and retires the one that is there: the last of its
// Retired.
func (k *Keys) Rotate(ctx context.Context, by approval.Human) (SigningKey, error) {
	return k.changed(ctx, by, "key.rotate", func(ctx context.Context) (signer.Key, error) {
		key, _, err := k.p.Signer.Rotate(ctx)
		return key, err
	})
}

// Ensure returns the key to sign with. When there is none it is made, and made is true:
// say so once.
func (k *Keys) Ensure(ctx context.Context, by approval.Human) (key signer.Key, made bool, err error) {
	if err := k.p.begin(ctx, by); err != nil {
		return signer.Key{}, false, err
	}
	if key, err = k.p.Signer.Key(ctx); err == nil {
		s, err := k.p.Trust.Signer(ctx, key.Identity())
		if err != nil || s.Own {
			return key, false, err
		}
	}
	if err != nil && !errors.Is(err, signer.ErrNoKey) {
		return key, false, explainKey(err)
	}
	key, err = k.keep(ctx, by, "key.create", func(ctx context.Context) (key signer.Key, err error) {
		key, made, err = k.p.Signer.Ensure(ctx)
		return key, err
	})
	return key, made, explainKey(err)
}

// Sign signs a package in the form of artifact, and in any other, with the key that
// [Keys.Ensure] returns.
func (k *Keys) Sign(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (signer.Signature, error) {
	key, made, err := k.Ensure(ctx, by)
	if err != nil {
		return signer.Signature{}, err
	}
	m := p.Manifest()
	b, err := key.Sign(
		signature.Subject{Name: m.Name, Digest: artifact},
		signature.Subject{Name: m.Name + "@" + m.Version, Digest: p.Digest()},
	)
	return signer.Signature{Bundle: b, Signer: key.Identity(), Made: made}, err
}

func (k *Keys) changed(ctx context.Context, by approval.Human, kind string, do func(context.Context) (signer.Key, error)) (SigningKey, error) {
	if err := k.p.begin(ctx, by); err != nil {
		return SigningKey{}, err
	}
	key, err := k.keep(ctx, by, kind, do)
	if err != nil {
		return SigningKey{}, explainKey(err)
	}
	return k.view(key), nil
}

// keep changes the signing key and records it. The ledger's lock is held meanwhile, so
// that the record and the key agree.
func (k *Keys) keep(ctx context.Context, by approval.Human, kind string, do func(context.Context) (signer.Key, error)) (signer.Key, error) {
	var key signer.Key
	err := k.p.Ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		if key, err = do(ctx); err != nil {
			return ledger.Decision{}, err
		}
		own, err := k.p.Trust.Own(ctx, key.Public())
		return ledger.Decision{Kind: kind, Actor: by.Actor(), Subject: string(key.Identity()), Changes: []ledger.Change{own}}, err
	})
	return key, err
}

// explainKey says what an error about the signing key means, and how to get out of it.
func explainKey(err error) error {
	switch {
	case errors.Is(err, signer.ErrNoKey):
		return fault.Wrap(fault.KindNotFound, err).WithHint("%s makes one; so does the first package that is signed", fault.MakeKey())
	case errors.Is(err, signer.ErrExists):
		return fault.Wrap(fault.KindConflict, err).WithHint("%s shows it; %s replaces it, and %s takes another instead", fault.ShowKey(), fault.RotateKey(), fault.ImportKey("").With(fault.FieldReplace))
	case errors.Is(err, signer.ErrPassphrase):
		return fault.Wrap(fault.KindUsage, err).WithHint("the same command asks again")
	case errors.Is(err, signer.ErrImport):
		return fault.Wrap(fault.KindUsage, err).WithHint("name a private key in PEM: PKCS #8, or cosign's cosign.key")
	}
	return err
}
