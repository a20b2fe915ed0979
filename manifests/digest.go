package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// A Digest is the SHA-256 of some bytes in the form the OCI image
// specification gives it (descriptor.md, "Digests"): "sha256:" and 64
// lower-case hexadecimal digits. The zero value matches no bytes.
type Digest string

// ErrDigest is what a digest error wraps: bytes that are not the ones a digest
// names, or a text that is not a digest.
var ErrDigest = errors.New("digest mismatch")

const digestPrefix = "sha256:"

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// ParseDigest checks that text is a digest as [Digest] describes it. The error
// wraps [ErrDigest].
func ParseDigest(text string) (Digest, error) {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	if !ok || len(digits) != hex.EncodedLen(sha256.Size) || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf(`parse digest %q: %w: want "sha256:" and 64 lower-case hexadecimal digits`, text, ErrDigest)
	}
	return Digest(text), nil
}

// Hex returns the 64 hexadecimal digits of d.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Short returns the first 12 hexadecimal digits of d, for people.
func (d Digest) Short() string {
	h := d.Hex()
	return h[:min(12, len(h))]
}

// Verify returns nil when d is the digest of b, and an error that wraps
// [ErrDigest] otherwise.
func (d Digest) Verify(b []byte) error {
	if got := DigestOf(b); got != d {
		return fmt.Errorf("%w: want %s, have %s", ErrDigest, d, got)
	}
	return nil
}
