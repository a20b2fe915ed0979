package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha512" // P-384 and P-521 sign with it
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/manifests"
)

// ErrKey means that something is not a public key that signatures are verified
// with: ed25519, ECDSA on P-256, P-384 or P-521, and RSA of 2048 to 8192 bits.
var ErrKey = errors.New("not a public key that is supported")

// maxPEM is the longest text of a public key, in bytes.
const maxPEM = 8 << 10

const pemType = "PUBLIC KEY"

// A Key is a public key. The zero value verifies nothing.
type Key struct {
	public    crypto.PublicKey
	der       []byte // SubjectPublicKeyInfo
	algorithm string
	// hashes are tried in order. ed25519 has none: it signs the message.
	hashes []crypto.Hash
}

// NewKey makes a Key of a public key of the standard library. The error wraps
// [ErrKey].
func NewKey(public crypto.PublicKey) (Key, error) {
	algorithm, hashes, err := classify(public)
	if err != nil {
		return Key{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return Key{public: public, der: der, algorithm: algorithm, hashes: hashes}, nil
}

// classify says what a key is and with which hashes it may have signed: that of
// Sigstore's algorithm registry, and SHA-256, which cosign takes whatever the
// curve unless it is told otherwise.
func classify(public crypto.PublicKey) (algorithm string, hashes []crypto.Hash, err error) {
	switch k := public.(type) {
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize {
			return "ed25519", nil, nil
		}
	case *ecdsa.PublicKey:
		return classifyCurve(k.Curve)
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= 2048 && bits <= 8192 {
			return fmt.Sprintf("rsa-%d", bits), []crypto.Hash{crypto.SHA256}, nil
		}
	}
	return "", nil, fmt.Errorf("%w: %T", ErrKey, public)
}

func classifyCurve(c elliptic.Curve) (algorithm string, hashes []crypto.Hash, err error) {
	switch c {
	case elliptic.P256():
		return "ecdsa-p256", []crypto.Hash{crypto.SHA256}, nil
	case elliptic.P384():
		return "ecdsa-p384", []crypto.Hash{crypto.SHA384, crypto.SHA256}, nil
	case elliptic.P521():
		return "ecdsa-p521", []crypto.Hash{crypto.SHA512, crypto.SHA256}, nil
	}
	return "", nil, fmt.Errorf("%w: curve %s", ErrKey, c.Params().Name)
}

// ParseKey reads a public key in PEM, as `skillet key export` and `cosign
// generate-key-pair` write it. The error wraps [ErrKey].
func ParseKey(text []byte) (Key, error) {
	if len(text) > maxPEM {
		return Key{}, fmt.Errorf("parse public key: %w: it has %d bytes", ErrKey, len(text))
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return Key{}, fmt.Errorf("parse public key: %w: it is not PEM", ErrKey)
	case block.Type != pemType:
		return Key{}, fmt.Errorf("parse public key: %w: it is a %s", ErrKey, block.Type)
	case len(bytes.TrimSpace(rest)) > 0:
		return Key{}, fmt.Errorf("parse public key: %w: something follows it", ErrKey)
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return Key{}, fmt.Errorf("parse public key: %w: %w", ErrKey, err)
	}
	k, err := NewKey(public)
	if err != nil {
		return Key{}, fmt.Errorf("parse public key: %w", err)
	}
	return k, nil
}

// PEM is the text form of the key.
func (k Key) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: k.der})
}

// Algorithm names what kind of key it is, such as "ed25519" or "ecdsa-p256";
// empty for the zero value.
func (k Key) Algorithm() string { return k.algorithm }

// Signer is the identity of who holds the key.
func (k Key) Signer() Signer { return Signer(keyPrefix + manifests.DigestOf(k.der).Hex()) }

// IsZero reports whether k is not a key.
func (k Key) IsZero() bool { return k.public == nil }

// MarshalText is [Key.PEM]; the zero value is empty.
func (k Key) MarshalText() ([]byte, error) {
	if k.IsZero() {
		return nil, nil
	}
	return k.PEM(), nil
}

// UnmarshalText is [ParseKey]; an empty text is the zero value.
func (k *Key) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*k = Key{}
		return nil
	}
	*k, err = ParseKey(text)
	return err
}

// sign signs a message with the private key that belongs to k. Where there is a
// choice it takes SHA-256, because `cosign verify --key` does.
func (k Key) sign(private crypto.Signer, message []byte) ([]byte, error) {
	if len(k.hashes) == 0 {
		return private.Sign(nil, message, crypto.Hash(0))
	}
	return private.Sign(rand.Reader, sumOf(crypto.SHA256, message), crypto.SHA256)
}

// verify fails with [ErrInvalid] unless sig is one of k's over the message.
func (k Key) verify(message, sig []byte) error {
	if p, ok := k.public.(ed25519.PublicKey); ok && ed25519.Verify(p, message, sig) {
		return nil
	}
	for _, h := range k.hashes {
		if k.verifySum(h, sumOf(h, message), sig) {
			return nil
		}
	}
	return ErrInvalid
}

// verifyBlob fails with [ErrInvalid] unless sig is one of k's over the artifact.
// For ed25519 that may also be Ed25519ph (RFC 8032, section 5.1), which Sigstore
// uses where only a digest is at hand.
func (k Key) verifyBlob(artifact blob, sig []byte) error {
	if p, ok := k.public.(ed25519.PublicKey); ok {
		return verifyBlobEd25519(p, artifact, sig)
	}
	missing := false
	for _, h := range k.hashes {
		sum, ok := artifact.sum(h)
		if ok && k.verifySum(h, sum, sig) {
			return nil
		}
		missing = missing || !ok
	}
	if missing {
		return ErrNeedsBytes
	}
	return ErrInvalid
}

func verifyBlobEd25519(p ed25519.PublicKey, artifact blob, sig []byte) error {
	if !artifact.whole {
		return ErrNeedsBytes
	}
	sum := sumOf(crypto.SHA512, artifact.bytes)
	if ed25519.Verify(p, artifact.bytes, sig) || ed25519.VerifyWithOptions(p, sum, sig, &ed25519.Options{Hash: crypto.SHA512}) == nil {
		return nil
	}
	return ErrInvalid
}

func (k Key) verifySum(h crypto.Hash, sum, sig []byte) bool {
	switch p := k.public.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(p, sum, sig)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(p, h, sum, sig) == nil || rsa.VerifyPSS(p, h, sum, sig, nil) == nil
	}
	return false
}

func sumOf(h crypto.Hash, b []byte) []byte {
	w := h.New()
	w.Write(b)
	return w.Sum(nil)
}

// A Keyring is a set of public keys. The zero value has none.
type Keyring struct{ keys []Key }

// NewKeyring makes a Keyring; keys that are there twice count once.
func NewKeyring(keys ...Key) Keyring {
	var r Keyring
	for _, k := range keys {
		if _, ok := r.Find(k.Signer()); !ok && !k.IsZero() {
			r.keys = append(r.keys, k)
		}
	}
	return r
}

// Find finds the key of a signer.
func (r Keyring) Find(s Signer) (Key, bool) {
	i := slices.IndexFunc(r.keys, func(k Key) bool { return k.Signer() == s })
	if i < 0 {
		return Key{}, false
	}
	return r.keys[i], true
}

// Keys returns the keys, in the order they were given.
func (r Keyring) Keys() []Key { return slices.Clone(r.keys) }
