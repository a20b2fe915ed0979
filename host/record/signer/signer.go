// Package signer keeps the key with which this home signs packages: one private
// key, sealed like a secret, made when it is first needed.
//
// It signs what it is given and knows no packages. Who trusts the key is decided
// elsewhere, and no skill can be granted it: it is not in the vault with the secrets
// that skills' requests use.
//
// # Files
//
//	DIR/signing.age   the private key and what is known about it, sealed by host/base/secret
//	DIR/lock          held while the key is made, imported or replaced
package signer

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/manifests/signature"
)

var (
	// ErrNoKey means that the home has no signing key yet.
	ErrNoKey = errors.New("this home has no signing key yet")
	// ErrExists means that the home has a signing key already.
	ErrExists = errors.New("this home has a signing key already")
	// ErrImport means that a file holds no private key that can be used.
	ErrImport = errors.New("not a private key that can be imported")
	// ErrPassphrase means that a private key does not open with the passphrase.
	ErrPassphrase = errors.New("the passphrase does not open the private key")
)

// lockWait is how long to wait for another process that makes the key.
const lockWait = 10 * time.Second

// name is that of the key in its vault.
const name = "signing"

// A Keystore keeps the signing key of one home. It is safe for concurrent use, also
// by several processes.
type Keystore struct {
	dir   string
	vault *secret.Vault
}

// Open makes a Keystore over dir, which need not exist yet; key seals what is in it.
func Open(dir string, key *secret.Key) *Keystore {
	return &Keystore{dir: dir, vault: secret.Open(dir, key)}
}

// A Key is a private key for signing. It comes from a [Keystore]; the zero value
// signs nothing.
type Key struct {
	private crypto.Signer
	public  signature.Key
	record  record
}

// A Signature is one of a package.
type Signature struct {
	Bundle []byte // in the format of Sigstore
	Signer signature.Signer
	// Made is true when the key was made for it.
	Made bool
}

// A Retired is a key that was replaced: what it signed stays signed.
type Retired struct {
	Key       signature.Key `json:"public_key"`
	RetiredAt time.Time     `json:"retired_at"`
}

// record is what the vault keeps.
type record struct {
	V        int       `json:"v"`
	Private  []byte    `json:"private"` // PKCS #8
	MadeAt   time.Time `json:"made_at"`
	Imported bool      `json:"imported,omitempty"`
	Retired  []Retired `json:"retired,omitempty"` // oldest first
}

const recordVersion = 1

// Public is the public key.
func (k Key) Public() signature.Key { return k.public }

// Identity is the signer that signatures of this key have.
func (k Key) Identity() signature.Signer { return k.public.Signer() }

// Private is the key itself, for signing what [Key.Sign] does not.
func (k Key) Private() crypto.Signer { return k.private }

// MadeAt is when the key was made or imported.
func (k Key) MadeAt() time.Time { return k.record.MadeAt }

// Imported reports whether the key was made somewhere else.
func (k Key) Imported() bool { return k.record.Imported }

// Retired are the keys before it, oldest first.
func (k Key) Retired() []Retired { return append([]Retired{}, k.record.Retired...) }

// String returns the identity, so that a key that gets into a log leaks nothing.
func (k Key) String() string {
	if k.private == nil {
		return "no key"
	}
	return string(k.Identity())
}

// GoString is [Key.String].
func (k Key) GoString() string { return k.String() }

// Sign makes a Sigstore bundle over the subjects: see [signature.Sign].
func (k Key) Sign(subjects ...signature.Subject) ([]byte, error) {
	if k.private == nil {
		return nil, fmt.Errorf("sign: %w", ErrNoKey)
	}
	return signature.Sign(k.private, subjects...)
}

// Key returns the signing key. It fails with [ErrNoKey] when there is none.
func (s *Keystore) Key(ctx context.Context) (Key, error) {
	b, err := s.vault.Get(ctx, name)
	if errors.Is(err, secret.ErrNotFound) {
		return Key{}, ErrNoKey
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the signing key: %w", err)
	}
	k, err := decode(b)
	if err != nil {
		return Key{}, fmt.Errorf("read the signing key: %w", err)
	}
	return k, nil
}

// Ensure returns the signing key, and makes an ed25519 key when there is none:
// then made is true, and a person should be told.
func (s *Keystore) Ensure(ctx context.Context) (k Key, made bool, err error) {
	k, err = s.Key(ctx)
	if !errors.Is(err, ErrNoKey) {
		return k, false, err
	}
	err = s.locked(ctx, func() error {
		if k, err = s.Key(ctx); !errors.Is(err, ErrNoKey) { // another process was first
			return err
		}
		k, err = s.replace(ctx, Key{}, nil)
		made = err == nil
		return err
	})
	return k, made, err
}

// Create makes the signing key. It fails with [ErrExists] when there is one.
func (s *Keystore) Create(ctx context.Context) (k Key, err error) {
	err = s.locked(ctx, func() error {
		if err := s.absent(ctx); err != nil {
			return err
		}
		k, err = s.replace(ctx, Key{}, nil)
		return err
	})
	return k, err
}

// Import makes an existing private key the signing key: see [ParsePrivate] for
// what it reads. With replace, the key that was there is retired; without, it
// fails with [ErrExists].
func (s *Keystore) Import(ctx context.Context, private crypto.Signer, replace bool) (k Key, err error) {
	err = s.locked(ctx, func() error {
		old, err := s.Key(ctx)
		switch {
		case err != nil && !errors.Is(err, ErrNoKey):
			return err
		case err == nil && !replace:
			return ErrExists
		}
		k, err = s.replace(ctx, old, private)
		return err
	})
	return k, err
}

// Rotate makes a new key and retires the one that was there. It fails with
// [ErrNoKey] when there is none.
func (s *Keystore) Rotate(ctx context.Context) (k, old Key, err error) {
	err = s.locked(ctx, func() error {
		if old, err = s.Key(ctx); err != nil {
			return err
		}
		k, err = s.replace(ctx, old, nil)
		return err
	})
	return k, old, err
}

func (s *Keystore) absent(ctx context.Context) error {
	_, err := s.Key(ctx)
	if err == nil {
		return ErrExists
	}
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	return err
}

// replace keeps a private key, a new one when it is nil, in place of old, which
// may be zero.
func (s *Keystore) replace(ctx context.Context, old Key, private crypto.Signer) (Key, error) {
	r := record{V: recordVersion, MadeAt: time.Now().UTC().Truncate(time.Second), Imported: private != nil, Retired: old.Retired()}
	if private == nil {
		_, made, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return Key{}, fmt.Errorf("make a signing key: %w", err)
		}
		private = made
	}
	if old.private != nil {
		r.Retired = append(r.Retired, Retired{Key: old.public, RetiredAt: r.MadeAt})
	}
	k, err := newKey(private, r)
	if err != nil {
		return Key{}, fmt.Errorf("keep the signing key: %w", err)
	}
	if k.Identity() == old.Identity() {
		return Key{}, fmt.Errorf("keep the signing key: %w, and it is this one", ErrExists)
	}
	b, err := json.Marshal(k.record)
	if err != nil {
		return Key{}, fmt.Errorf("keep the signing key: %w", err)
	}
	if err := s.vault.Set(ctx, name, b); err != nil {
		return Key{}, fmt.Errorf("keep the signing key: %w", err)
	}
	return k, nil
}

func newKey(private crypto.Signer, r record) (Key, error) {
	public, err := signature.NewKey(private.Public())
	if err != nil {
		return Key{}, err
	}
	if r.Private, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		return Key{}, err
	}
	return Key{private: private, public: public, record: r}, nil
}

func decode(b []byte) (Key, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return Key{}, fmt.Errorf("%w: %w", secret.ErrDamaged, err)
	}
	if r.V != recordVersion {
		return Key{}, fmt.Errorf("it has format %d, this skillet knows %d: use the skillet that wrote it, or a newer one", r.V, recordVersion)
	}
	private, err := parsePKCS8(r.Private)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", secret.ErrDamaged, err)
	}
	return newKey(private, r)
}

// locked runs do while no other process changes the key.
func (s *Keystore) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("lock the signing key: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(s.dir, "lock"), lockWait)
	if err != nil {
		return fmt.Errorf("lock the signing key: %w", err)
	}
	return errors.Join(do(), lock.Release())
}
