package signature

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	bundlepb "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	dssepb "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillet-run/skillet/manifests"
)

// bundleJSON is a bundle as Sign writes it. The JSON that the protobuf library
// makes differs from one build to the next, on purpose.
type bundleJSON struct {
	MediaType            string `json:"mediaType"`
	VerificationMaterial struct {
		PublicKey struct {
			Hint string `json:"hint"`
		} `json:"publicKey"`
	} `json:"verificationMaterial"`
	Envelope envelopeJSON `json:"dsseEnvelope"`
}

type envelopeJSON struct {
	Payload     []byte          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []signatureJSON `json:"signatures"`
}

// signatureJSON has no keyid: with one, verifiers that follow DSSE to the letter
// look for a key of that name and refuse the one they were given.
type signatureJSON struct {
	Sig []byte `json:"sig"`
}

// A Bundle is a bundle that was read and not yet verified: nothing in it is to
// be believed. It comes from [Parse].
type Bundle struct {
	material *bundlepb.VerificationMaterial
	envelope *dssepb.Envelope           // one of the two is nil
	message  *commonpb.MessageSignature //
}

// versions are the media types under which bundles of version 0.3 come, and
// those of the earlier ones, which say the same about the parts that are read
// here.
func versions() []string {
	const old = "application/vnd.dev.sigstore.bundle+json;version="
	return []string{MediaType, old + "0.3", old + "0.2", old + "0.1"}
}

// Parse reads a bundle. Members it does not know, duplicate ones, and anything
// after the bundle are refused. The error wraps [ErrMalformed] or
// [ErrUnsupported].
func Parse(data []byte) (*Bundle, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("parse signature: %w: it has %d bytes, at most %d are accepted", ErrMalformed, len(data), MaxBytes)
	}
	var p bundlepb.Bundle
	if err := protojson.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("parse signature: %w: %s", ErrMalformed, Reason(err))
	}
	b := &Bundle{material: p.GetVerificationMaterial(), envelope: p.GetDsseEnvelope(), message: p.GetMessageSignature()}
	if err := b.check(p.GetMediaType()); err != nil {
		return nil, fmt.Errorf("parse signature: %w", err)
	}
	return b, nil
}

func (b *Bundle) check(mediaType string) error {
	switch {
	case !slices.Contains(versions(), mediaType):
		return fmt.Errorf("%w: its media type is %q", ErrUnsupported, mediaType)
	case b.Keyless() == (b.material.GetPublicKey() != nil):
		return fmt.Errorf("%w: it names neither a key nor a certificate", ErrMalformed)
	case b.envelope != nil:
		return checkEnvelope(b.envelope)
	case b.message != nil:
		return checkMessage(b.message)
	}
	return fmt.Errorf("%w: it holds no signature", ErrMalformed)
}

func checkEnvelope(e *dssepb.Envelope) error {
	switch {
	case len(e.GetSignatures()) != 1:
		return fmt.Errorf("%w: its envelope has %d signatures, want one", ErrMalformed, len(e.GetSignatures()))
	case len(e.GetSignatures()[0].GetSig()) == 0:
		return fmt.Errorf("%w: its signature is empty", ErrMalformed)
	case e.GetPayloadType() != PayloadType:
		return fmt.Errorf("%w: its payload is a %q", ErrUnsupported, e.GetPayloadType())
	}
	return nil
}

func checkMessage(m *commonpb.MessageSignature) error {
	if len(m.GetSignature()) == 0 || len(m.GetMessageDigest().GetDigest()) == 0 {
		return fmt.Errorf("%w: its signature or its digest is empty", ErrMalformed)
	}
	return nil
}

// Keyless reports whether the bundle names its signer by a certificate.
func (b *Bundle) Keyless() bool {
	return b.material.GetCertificate() != nil || b.material.GetX509CertificateChain() != nil
}

// Hint is what the bundle says about its key; empty when it says nothing.
func (b *Bundle) Hint() string { return b.material.GetPublicKey().GetHint() }

// ownKey is the key that the bundle brings. Whoever made the bundle chose it.
func (b *Bundle) ownKey() (Key, bool) {
	if b.envelope == nil {
		return Key{}, false
	}
	return statementKey(b.envelope.GetPayload())
}

// hintedSigner reads a hint of the recommended form: the Base64 of the SHA-256
// of the key (sigstore_common.proto, PublicKeyIdentifier).
func hintedSigner(hint string) (Signer, bool) {
	sum, err := base64.StdEncoding.DecodeString(hint)
	if err != nil || len(sum) != sha256.Size {
		return "", false
	}
	return Signer(keyPrefix + hex.EncodeToString(sum)), true
}

// preAuth is what a signature in a DSSE envelope is over (DSSE v1, protocol.md).
func preAuth(payloadType string, payload []byte) []byte { return dsse.PAE(payloadType, payload) }

// A blob is an artifact: its digest, and its bytes when they are at hand.
type blob struct {
	digest manifests.Digest
	bytes  []byte
	whole  bool
}

// sum is the digest of the artifact with h; ok is false when it is not to be
// had.
func (a blob) sum(h crypto.Hash) (sum []byte, ok bool) {
	if a.whole {
		w := h.New()
		w.Write(a.bytes)
		return w.Sum(nil), true
	}
	sum, err := hex.DecodeString(a.digest.Hex())
	return sum, h == crypto.SHA256 && err == nil && len(sum) == sha256.Size
}

// matches demands that a digest which a bundle gives is the artifact's. It is
// never what is verified.
func (a blob) matches(d *commonpb.HashOutput) error {
	hashes := map[commonpb.HashAlgorithm]crypto.Hash{
		commonpb.HashAlgorithm_SHA2_256: crypto.SHA256,
		commonpb.HashAlgorithm_SHA2_384: crypto.SHA384,
		commonpb.HashAlgorithm_SHA2_512: crypto.SHA512,
	}
	h, ok := hashes[d.GetAlgorithm()]
	if !ok {
		return fmt.Errorf("%w: its digest is a %s", ErrUnsupported, d.GetAlgorithm())
	}
	sum, ok := a.sum(h)
	if !ok {
		return ErrNeedsBytes
	}
	if !bytes.Equal(sum, d.GetDigest()) {
		return fmt.Errorf("%w: it gives the digest %x", ErrMismatch, d.GetDigest())
	}
	return nil
}
