// Package signature makes and verifies the signatures of packages: Sigstore
// bundles (protobuf-specs, sigstore_bundle.proto, version 0.3) that hold a DSSE
// envelope with an in-toto statement, or, as `cosign sign-blob` makes them, a
// signature of the bytes themselves.
//
// It knows keys and bytes. It reads no files and asks nobody: whose key it is,
// whether that somebody is trusted, and for what, is for others. Signatures
// whose key a certificate authority vouches for are verified in
// [github.com/skillet-run/skillet/manifests/signature/keyless].
package signature

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// Formats that a signature is made of.
const (
	// MediaType is that of a bundle, also as the artifact type of a referrer.
	MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// PredicateType says that a statement is a signature, and no other
	// attestation: the result of a scan, for one, does not make a package trusted.
	PredicateType = "https://sigstore.dev/cosign/sign/v1"
	// StatementType is that of in-toto statements (in-toto Attestation
	// Framework, v1).
	StatementType = "https://in-toto.io/Statement/v1"
	// PayloadType is what a DSSE envelope says it holds.
	PayloadType = "application/vnd.in-toto+json"
	// Extension is what the name of a signature adds to the name of the file it
	// is beside.
	Extension = ".sigstore.json"
)

// Bounds on every bundle.
const (
	MaxBytes    = 256 << 10 // of a bundle
	MaxSubjects = 64        // of a statement
)

// The errors a caller may test for. All but [ErrUnknownKey], [ErrKeyless] and
// [ErrNeedsBytes] mean that the signature is worth nothing.
var (
	// ErrMalformed means that the bytes are not a bundle that this package reads.
	ErrMalformed = errors.New("not a valid Sigstore bundle")
	// ErrUnsupported means a bundle of another version or purpose.
	ErrUnsupported = errors.New("not a signature of a kind that is accepted")
	// ErrInvalid means that the signature is not one of the key's over what the
	// bundle holds.
	ErrInvalid = errors.New("the signature does not verify")
	// ErrMismatch means that the signature is good, and of something else.
	ErrMismatch = errors.New("the signature is of something else")
	// ErrUnknownKey means that the bundle does not bring its key and no known
	// key made it. Errors that wrap it are [*UnknownKeyError]s.
	ErrUnknownKey = errors.New("signed with a key that is not known")
	// ErrKeyless means that the signer is named by a certificate: see the
	// package keyless.
	ErrKeyless = errors.New("signed with a certificate and no key")
	// ErrNeedsBytes means that the digest of the artifact is not enough to
	// verify this one: use [VerifyBlob].
	ErrNeedsBytes = errors.New("the signature can be verified over the whole artifact only")
)

// An UnknownKeyError says which key is missing.
type UnknownKeyError struct {
	// Hint is what the bundle says about its key. It proves nothing.
	Hint string
}

// Error names the key as far as the bundle does.
func (e *UnknownKeyError) Error() string {
	if s, ok := hintedSigner(e.Hint); ok {
		return fmt.Sprintf("%v (%s)", ErrUnknownKey, s)
	}
	return ErrUnknownKey.Error()
}

// Unwrap returns [ErrUnknownKey].
func (e *UnknownKeyError) Unwrap() error { return ErrUnknownKey }

// maxReason is how many bytes of a library's error are shown.
const maxReason = 400

// Reason is the text of an error of the libraries that read bundles, in one
// line: theirs may have several, and quote all of what they read.
func Reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}

// A Subject is something that is signed: the name is for people, the digest
// counts.
type Subject struct {
	Name   string           `json:"name,omitempty"`
	Digest manifests.Digest `json:"digest"`
}

// PackageSubject is the subject that ties a signature to the name, the version
// and the content of a package, whatever it was wrapped in.
func PackageSubject(name, version string, content manifests.Digest) Subject {
	return Subject{Name: name + "@" + version, Digest: content}
}

// A Signature is one that was verified.
type Signature struct {
	// Signer is who made it.
	Signer Signer
	// Key verified it; zero for keyless signatures.
	Key Key
	// Known is whether the key was in the keyring. If it is false the bundle
	// brought the key: the signature then proves that somebody has that key, and
	// nothing about who that is.
	Known bool
	// Subjects are what was signed, the artifact among them. A signature over
	// the bytes of the artifact has that one alone.
	Subjects []Subject
}

// CheckPackage fails with [ErrMismatch] when the signature names packages and
// this one is not among them. A signature that names none, such as those that
// cosign makes, holds for whatever package is in the artifact.
func (s Signature) CheckPackage(name, version string, content manifests.Digest) error {
	want, named := PackageSubject(name, version, content), false
	for _, sub := range s.Subjects {
		if sub == want {
			return nil
		}
		named = named || strings.Contains(sub.Name, "@") && !strings.ContainsAny(sub.Name, "/:")
	}
	if named {
		return fmt.Errorf("%w: it does not name %s (%s)", ErrMismatch, want.Name, content)
	}
	return nil
}

// Sign makes a bundle that says that the holder of the key signs the subjects:
// the first is the artifact, by the digest under which it is fetched. The bundle
// brings the public key. An ed25519 key gives the same bundle each time.
func Sign(key crypto.Signer, subjects ...Subject) ([]byte, error) {
	b, err := sign(key, subjects)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return b, nil
}

func sign(key crypto.Signer, subjects []Subject) ([]byte, error) {
	public, err := NewKey(key.Public())
	if err != nil {
		return nil, err
	}
	payload, err := newStatement(public, subjects)
	if err != nil {
		return nil, err
	}
	sig, err := public.sign(key, preAuth(PayloadType, payload))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public.der)
	b := bundleJSON{MediaType: MediaType}
	b.VerificationMaterial.PublicKey.Hint = base64.StdEncoding.EncodeToString(sum[:])
	b.Envelope = envelopeJSON{Payload: payload, PayloadType: PayloadType, Signatures: []signatureJSON{{Sig: sig}}}
	return json.Marshal(b)
}

// Verify verifies a bundle of a signature of the artifact with this digest: the
// SHA-256 of a file, or the digest of an OCI manifest. Keys of the keyring come
// first; if none of them made it, the key that the bundle brings counts, and
// Known is false. The error wraps one of the errors above.
func Verify(bundle []byte, artifact manifests.Digest, known Keyring) (Signature, error) {
	return verified(bundle, blob{digest: artifact}, known)
}

// VerifyBlob is [Verify] for who has the whole artifact, which some signatures
// of cosign's need.
func VerifyBlob(bundle, artifact []byte, known Keyring) (Signature, error) {
	return verified(bundle, blob{digest: manifests.DigestOf(artifact), bytes: artifact, whole: true}, known)
}

func verified(data []byte, artifact blob, known Keyring) (Signature, error) {
	b, err := Parse(data)
	if err != nil {
		return Signature{}, err
	}
	s, err := b.verify(artifact, known)
	if err != nil {
		return Signature{}, fmt.Errorf("verify signature of %s: %w", artifact.digest.Short(), err)
	}
	return s, nil
}

func (b *Bundle) verify(artifact blob, known Keyring) (Signature, error) {
	if b.Keyless() {
		return Signature{}, ErrKeyless
	}
	check := b.checkMessage
	if b.envelope != nil {
		check = b.checkEnvelope
	}
	key, isKnown, err := b.findKey(known, func(k Key) error { return check(k, artifact) })
	if err != nil {
		return Signature{}, err
	}
	s := Signature{Signer: key.Signer(), Key: key, Known: isKnown, Subjects: []Subject{{Digest: artifact.digest}}}
	if b.envelope != nil {
		s.Subjects, err = CheckStatement(b.envelope.GetPayload(), artifact.digest)
	}
	return s, err
}

// findKey finds the key that check accepts. The hint only says where to begin:
// a known key decides before one that the bundle brings.
func (b *Bundle) findKey(known Keyring, check func(Key) error) (key Key, isKnown bool, err error) {
	hinted, _ := hintedSigner(b.Hint())
	if k, ok := known.Find(hinted); ok {
		return k, true, check(k)
	}
	for _, k := range known.keys {
		if err := check(k); err == nil || errors.Is(err, ErrNeedsBytes) {
			return k, true, err
		}
	}
	k, ok := b.ownKey()
	if !ok {
		return Key{}, false, &UnknownKeyError{Hint: b.Hint()}
	}
	return k, false, check(k)
}

func (b *Bundle) checkEnvelope(k Key, _ blob) error {
	e := b.envelope
	return k.verify(preAuth(e.GetPayloadType(), e.GetPayload()), e.GetSignatures()[0].GetSig())
}

func (b *Bundle) checkMessage(k Key, artifact blob) error {
	if err := artifact.matches(b.message.GetMessageDigest()); err != nil {
		return err
	}
	return k.verifyBlob(artifact, b.message.GetSignature())
}

func names(subjects []Subject) string {
	var texts []string
	for _, s := range subjects[:min(len(subjects), 3)] {
		texts = append(texts, fmt.Sprintf("%q (%s)", s.Name, s.Digest.Short()))
	}
	return strings.Join(texts, ", ")
}
