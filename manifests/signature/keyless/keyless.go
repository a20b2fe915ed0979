// Package keyless verifies Sigstore bundles whose signer is named by a
// certificate: that a certificate authority of the trust root issued it for that
// identity, that a certificate log and a transparency log of the trust root
// recorded it, and that it was valid when the signature was made.
//
// It works offline: all it needs is in the bundle and in the trust root that it
// is given. It neither fetches nor knows a trust root of its own, and whether a
// signer is trusted is for others.
package keyless

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// MaxRootBytes is the longest trust root that is read.
const MaxRootBytes = 1 << 20

var (
	// ErrRoot means that a document is not a trust root that can be used.
	ErrRoot = errors.New("no usable trust root")
	// ErrIdentity means that a signature is good, and of somebody else.
	ErrIdentity = errors.New("signed by somebody else")
)

// A Root is a trust root: the certificate authorities, logs and timestamp
// authorities that are believed. It is immutable and safe for concurrent use.
type Root struct {
	verifier *verify.Verifier
}

// ParseRoot reads a trust root in the form of a trusted_root.json
// (protobuf-specs, sigstore_trustroot.proto). The error wraps [ErrRoot].
//
// What the root has is demanded: with certificate logs, a certificate must be in
// one; with transparency logs, the signature must be in one. A time that a log or
// a timestamp authority vouches for is always demanded.
func ParseRoot(data []byte) (*Root, error) {
	if len(data) > MaxRootBytes {
		return nil, fmt.Errorf("parse trust root: %w: it has %d bytes, at most %d are accepted", ErrRoot, len(data), MaxRootBytes)
	}
	tr, err := root.NewTrustedRootFromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("parse trust root: %w: %s", ErrRoot, signature.Reason(err))
	}
	if len(tr.FulcioCertificateAuthorities()) == 0 {
		return nil, fmt.Errorf("parse trust root: %w: it has no certificate authority", ErrRoot)
	}
	if len(tr.RekorLogs())+len(tr.TimestampingAuthorities()) == 0 {
		return nil, fmt.Errorf("parse trust root: %w: nothing in it tells the time", ErrRoot)
	}
	v, err := verify.NewVerifier(tr, demands(tr)...)
	if err != nil {
		return nil, fmt.Errorf("parse trust root: %w: %s", ErrRoot, signature.Reason(err))
	}
	return &Root{v}, nil
}

func demands(tr *root.TrustedRoot) []verify.VerifierOption {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if len(tr.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	if len(tr.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	return options
}

// Verify verifies a bundle of a signature of the artifact with this digest, and
// says who signed it. With expected signers, it must be one of them, else the
// error wraps [ErrIdentity]; without, anybody whom an authority of the root
// vouches for is accepted, and the caller decides about Signer. Other errors
// wrap one of the package signature.
func (r *Root) Verify(data []byte, artifact manifests.Digest, expected ...signature.Signer) (signature.Signature, error) {
	s, err := r.verified(data, artifact)
	if err == nil && len(expected) > 0 && !slices.Contains(expected, s.Signer) {
		err = fmt.Errorf("%w: %s", ErrIdentity, s.Signer)
	}
	if err != nil {
		return signature.Signature{}, fmt.Errorf("verify signature of %s: %w", artifact.Short(), err)
	}
	return s, nil
}

func (r *Root) verified(data []byte, artifact manifests.Digest) (signature.Signature, error) {
	b, err := load(data)
	if err != nil {
		return signature.Signature{}, err
	}
	who, err := r.signer(b, artifact)
	if err != nil {
		return signature.Signature{}, err
	}
	s := signature.Signature{Signer: who, Known: true, Subjects: []signature.Subject{{Digest: artifact}}}
	if e, err := b.Envelope(); err == nil {
		payload, err := e.DecodeB64Payload()
		if err != nil {
			return s, fmt.Errorf("%w: %w", signature.ErrMalformed, err)
		}
		s.Subjects, err = signature.CheckStatement(payload, artifact)
		return s, err
	}
	return s, nil
}

// load reads a bundle whose signer is named by a certificate.
func load(data []byte) (*bundle.Bundle, error) {
	p, err := signature.Parse(data)
	if err != nil {
		return nil, err
	}
	if !p.Keyless() {
		return nil, fmt.Errorf("%w: it is signed with a key", signature.ErrUnsupported)
	}
	b := new(bundle.Bundle)
	if err := b.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("%w: %s", signature.ErrMalformed, signature.Reason(err))
	}
	return b, nil
}

// signer verifies everything but what the statement says, and returns who the
// certificate names.
func (r *Root) signer(b *bundle.Bundle, artifact manifests.Digest) (signature.Signer, error) {
	sum, err := hex.DecodeString(artifact.Hex())
	if err != nil {
		return "", fmt.Errorf("%w: %w", manifests.ErrDigest, err)
	}
	// Whose signature it is, is asked of the certificate that was verified.
	policy := verify.NewPolicy(verify.WithArtifactDigest("sha256", sum), verify.WithoutIdentitiesUnsafe())
	result, err := r.verifier.Verify(b, policy)
	if err != nil {
		return "", fmt.Errorf("%w: %s", signature.ErrInvalid, signature.Reason(err))
	}
	if result.Signature == nil || result.Signature.Certificate == nil {
		return "", fmt.Errorf("%w: no certificate", signature.ErrInvalid)
	}
	c := result.Signature.Certificate
	who, err := signature.KeylessSigner(c.Issuer, c.SubjectAlternativeName)
	if err != nil {
		return "", fmt.Errorf("%w: its certificate: %w", signature.ErrUnsupported, err)
	}
	return who, nil
}
